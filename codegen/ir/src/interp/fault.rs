//! What the interpreter finds wrong with a run.

use crate::lir::{Function, Op, Stmt};
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The function breaks a rule of LIR; nothing was run.
    Malformed(String),
    /// A buffer stands for a table that the caller did not pass.
    NoTable {
        /// The buffer.
        buffer: String,
        /// The table's number.
        table: u32,
    },
    /// An access outside its buffer.
    OutOfBounds(Box<Access>),
    /// A write to the input or to a table.
    ReadOnly(Box<Access>),
    /// A read of bytes that nothing wrote.
    Uninitialised(Box<Access>),
    /// Two iterations that may run at the same time disturb each other.
    Race(Box<Race>),
    /// Temporary memory of a negative size, or more of it than the run may have.
    Allocation {
        /// The buffer.
        buffer: String,
        /// The size asked for, in bytes.
        bytes: i64,
        /// What was left of the run's memory, in bytes.
        left: u64,
    },
    /// The run took more steps than it may.
    TooLong {
        /// How many it may take.
        steps: u64,
    },
}

/// An access that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The buffer's name.
    pub buffer: String,
    /// Its size in bytes.
    pub size: usize,
    /// The bytes at fault; wider than an index because an address may overflow one.
    pub bytes: Range<i128>,
    /// The statement's text.
    pub statement: String,
}

/// How a statement touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// An atomic addition.
    Atomic,
}

impl Touch {
    /// The touches that it must not happen at the same time as.
    pub(super) fn conflicting(self) -> &'static [Touch] {
        match self {
            Touch::Read => &[Touch::Write, Touch::Atomic],
            Touch::Write => &[Touch::Write, Touch::Read, Touch::Atomic],
            Touch::Atomic => &[Touch::Write, Touch::Read],
        }
    }
}

/// Two accesses of which the order is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The access that found the race.
    pub access: Access,
    /// How it touches the bytes.
    pub touch: Touch,
    /// The iteration that it belongs to.
    pub iteration: i64,
    /// How the other iteration touched the bytes.
    pub other_touch: Touch,
    /// The other iteration.
    pub other_iteration: i64,
    /// The head of the parallel loop that both are iterations of, or of the launch.
    pub parallel: String,
    /// In a launch, the threads of a block: iterations are threads, counted over all blocks.
    pub threads: Option<u32>,
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Fault::Malformed(why) => write!(f, "the function is not valid LIR: {why}"),
            Fault::NoTable { buffer, table } => {
                write!(f, "buffer `{buffer}` stands for table #{table}, but the caller passed no such table")
            }
            Fault::OutOfBounds(a) => {
                write!(f, "{a} reach outside the buffer, which has {} bytes", a.size)?;
                a.location(f)
            }
            Fault::ReadOnly(a) => {
                write!(f, "{a} are written, but the buffer is read only")?;
                a.location(f)
            }
            Fault::Uninitialised(a) => {
                write!(f, "{a} are read before anything is written there")?;
                a.location(f)
            }
            Fault::Race(race) => race.fmt(f),
            Fault::Allocation { buffer, bytes, left } => {
                write!(f, "buffer `{buffer}` cannot get {bytes} bytes: {left} bytes of memory are left")
            }
            Fault::TooLong { steps } => {
                write!(
                    f,
                    "the run was stopped after {steps} steps; it may never end, or needs a larger limit"
                )
            }
        }
    }
}

impl std::error::Error for Fault {}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "bytes {}..{} of `{}`", self.bytes.start, self.bytes.end, self.buffer)
    }
}

impl Access {
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
            self.access, self.other_touch, self.touch, self.parallel
        )?;
        self.access.location(f)
    }
}

impl Display for Touch {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Touch::Read => "reads",
            Touch::Write => "writes",
            Touch::Atomic => "atomically adds to",
        })
    }
}

/// The text of a statement, of a nested one only the head. Values have the names that they have in the text
/// of the whole function, because the constants come along.
pub(super) fn text(function: &Function, stmt: &Stmt) -> String {
    let is_constant = |s: &&Stmt| matches!(s, Stmt::Let(_, Op::Int(_) | Op::Float(_) | Op::Rows));
    let mut body: Vec<Stmt> = function.body.iter().filter(is_constant).cloned().collect();
    let constants = Function { body: body.clone(), ..shell(function) }.to_string();
    body.push(stmt.clone());
    let printed = Function { body, ..shell(function) }.to_string();
    // Both texts agree up to the closing brace of the function, which is where the statement begins.
    let start = constants.len().saturating_sub("}\n".len());
    let line = printed.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    line.trim().trim_end_matches(" {").to_string()
}

/// A function without statements.
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
