//! Errors that the interpreter reports.

use crate::lir::{Function, Op, Stmt};
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// Reason for which a run stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum InterpreterError {
    /// The function violates a rule of LIR; no statement ran.
    Malformed(String),
    /// A buffer refers to a table that the caller did not pass.
    NoTable {
        /// The buffer.
        buffer: String,
        /// The table's number.
        table: u32,
    },
    /// An access outside its buffer.
    OutOfBounds(Box<InvalidAccess>),
    /// A write to the input or to a table.
    ReadOnly(Box<InvalidAccess>),
    /// A read of bytes that were never written.
    Uninitialised(Box<InvalidAccess>),
    /// Two concurrent iterations access the same bytes, and one of them writes.
    Race(Box<Race>),
    /// Temporary memory of a negative size, or beyond the limit of the run.
    Allocation {
        /// The buffer.
        buffer: String,
        /// Requested size in bytes.
        bytes: i64,
        /// Remaining memory of the run in bytes.
        left: u64,
    },
    /// A counter of tickets is not 0 after the launches that use it.
    CounterKept {
        /// The buffer of the counter.
        buffer: String,
    },
    /// The run exceeded its limit of steps.
    TooLong {
        /// Limit of steps.
        steps: u64,
    },
}

/// An invalid access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidAccess {
    /// Name of the buffer.
    pub buffer: String,
    /// Size of the buffer in bytes.
    pub size: usize,
    /// The invalid bytes; wider than an index because an address may overflow one.
    pub bytes: Range<i128>,
    /// Text of the statement.
    pub statement: String,
}

/// Kind of memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// An atomic addition.
    Atomic,
}

impl AccessKind {
    /// Kinds of accesses that conflict with this one.
    pub(super) fn conflicting(self) -> &'static [AccessKind] {
        match self {
            AccessKind::Read => &[AccessKind::Write, AccessKind::Atomic],
            AccessKind::Write => &[AccessKind::Write, AccessKind::Read, AccessKind::Atomic],
            AccessKind::Atomic => &[AccessKind::Write, AccessKind::Read],
        }
    }
}

/// Two concurrent accesses without a defined order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The later access in the interpreter's order.
    pub access: InvalidAccess,
    /// Kind of this access.
    pub kind: AccessKind,
    /// Iteration of this access.
    pub iteration: i64,
    /// Kind of the other access.
    pub other_kind: AccessKind,
    /// Iteration of the other access.
    pub other_iteration: i64,
    /// Head of the parallel loop or launch that runs both.
    pub parallel: String,
    /// Threads per block, in a launch; `iteration` then counts threads over all blocks.
    pub threads: Option<u32>,
}

impl Display for InterpreterError {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            InterpreterError::Malformed(why) => write!(f, "the function is not valid LIR: {why}"),
            InterpreterError::NoTable { buffer, table } => {
                write!(f, "buffer `{buffer}` refers to table #{table}, but the caller passed no such table")
            }
            InterpreterError::OutOfBounds(a) => {
                write!(f, "{a} reach outside the buffer, which has {} bytes", a.size)?;
                a.location(f)
            }
            InterpreterError::ReadOnly(a) => {
                write!(f, "{a} are written, but the buffer is read only")?;
                a.location(f)
            }
            InterpreterError::Uninitialised(a) => {
                write!(f, "{a} are read before anything is written there")?;
                a.location(f)
            }
            InterpreterError::Race(race) => race.fmt(f),
            InterpreterError::Allocation { buffer, bytes, left } => {
                write!(f, "buffer `{buffer}` cannot get {bytes} bytes: {left} bytes of memory are left")
            }
            InterpreterError::CounterKept { buffer } => {
                write!(f, "a counter of `{buffer}` is not 0 after the launches that use it")
            }
            InterpreterError::TooLong { steps } => {
                write!(
                    f,
                    "the run was stopped after {steps} steps; it may never end, or needs a larger limit"
                )
            }
        }
    }
}

impl std::error::Error for InterpreterError {}

impl Display for InvalidAccess {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "bytes {}..{} of `{}`", self.bytes.start, self.bytes.end, self.buffer)
    }
}

impl InvalidAccess {
    fn location(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, ", in `{}`", self.statement)
    }
}

impl Display for Race {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let name = |iteration: i64| match self.threads.map(i64::from) {
            None => format!("iteration {iteration}"),
            Some(threads) => format!("thread {} of block {}", iteration % threads, iteration / threads),
        };
        let (one, other) = (name(self.other_iteration), name(self.iteration));
        write!(
            f,
            "race on {}: {one} {} them and {other} {} them, and nothing orders the two in `{}`",
            self.access, self.other_kind, self.kind, self.parallel
        )?;
        self.access.location(f)
    }
}

impl Display for AccessKind {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Atomic => "atomically adds to",
        })
    }
}

/// Text of a statement, or the first line of one with statements inside. Values have the same names as in the
/// text of the whole function.
pub(super) fn statement_text(function: &Function, stmt: &Stmt) -> String {
    let is_constant = |s: &&Stmt| matches!(s, Stmt::Let(_, Op::Int(_) | Op::Float(_) | Op::RowCount));
    let mut body: Vec<Stmt> = function.body.iter().filter(is_constant).cloned().collect();
    let constants = Function { body: body.clone(), ..shell(function) }.to_string();
    body.push(stmt.clone());
    let printed = Function { body, ..shell(function) }.to_string();
    // The text without the statement ends with the function's closing brace, in whose position the statement
    // begins.
    let start = constants.len().saturating_sub("}\n".len());
    let line = printed.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    line.trim().trim_end_matches(" {").to_string()
}

/// The function without its statements.
fn shell(function: &Function) -> Function {
    let Function { name, types, origins, buffers, .. } = function;
    let index = function.index;
    Function {
        name: name.clone(),
        index,
        types: types.clone(),
        origins: origins.clone(),
        buffers: buffers.clone(),
        body: Vec::new(),
    }
}
