//! Statements on their own, to find equal ones in different functions.

use super::print::Printer;
use super::{BufferId, Function, Op, Space, Stmt, Uses, Value};
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};

/// A statement without the numbers of its function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standalone {
    /// The statement's text. Statements of equal text do the same with their values and buffers.
    pub text: String,
    /// Values that the statement uses and that are defined outside, except constants.
    pub values: Vec<Value>,
    /// Buffers that the statement uses.
    pub buffers: Vec<BufferId>,
}

impl Standalone {
    /// A statement of a function on its own.
    pub fn of(function: &Function, stmt: &Stmt) -> Standalone {
        let stmts = std::slice::from_ref(stmt);
        let constant = |stmt: &Stmt| constant(function, stmt);
        let mut names: HashMap<Value, String> = function.body.iter().filter_map(constant).collect();
        let mut inside = definitions(stmts);
        inside.sort_unstable();
        for (value, number) in inside.into_iter().zip(0..) {
            names.insert(value, format!("%{number}"));
        }
        Stmt::visit_all(stmts, |stmt| names.extend(constant(stmt)));
        let uses = Uses::of(stmts);
        let values: Vec<Value> = uses.values().filter(|value| !names.contains_key(value)).collect();
        for (value, number) in values.iter().zip(0..) {
            names.insert(*value, format!("@{number}"));
        }
        let outside: Vec<String> = values.iter().map(|value| function.ty(*value).to_string()).collect();
        let buffers: Vec<BufferId> = uses.buffers.iter().copied().collect();
        let mut names_of_buffers = vec![String::new(); function.buffers.len()];
        for (buffer, number) in buffers.iter().zip(0..) {
            names_of_buffers[buffer.0 as usize] = buffer_name(function, *buffer, number);
        }
        let text = StandaloneText { function, stmts, names: &names, buffers: &names_of_buffers };
        Standalone { text: format!("{}: {text}", outside.join(", ")), values, buffers }
    }
}

/// The constant that a statement defines, with its type as a name.
fn constant(function: &Function, stmt: &Stmt) -> Option<(Value, String)> {
    match stmt {
        Stmt::Let(value, Op::Int(n)) => Some((*value, format!("{n} {}", function.ty(*value)))),
        Stmt::Let(value, Op::Float(x)) => {
            Some((*value, format!("{:x} {}", x.to_bits(), function.ty(*value))))
        }
        _ => None,
    }
}

/// A name that includes the buffer's kind.
fn buffer_name(function: &Function, buffer: BufferId, number: usize) -> String {
    let buffer = function.buffer(buffer);
    let kind = match buffer.space {
        Space::ModelTable(table) => format!("table {table}"),
        space => format!("{space:?}"),
    };
    format!("#{number} {kind} {}", buffer.element)
}

/// The values that statements and the blocks inside define.
fn definitions(stmts: &[Stmt]) -> Vec<Value> {
    let mut defined = Vec::new();
    Stmt::visit_all(stmts, |stmt| match stmt {
        Stmt::Let(value, _) => defined.push(*value),
        Stmt::For(stmt) => {
            defined.push(stmt.iv);
            defined.extend(stmt.carried.iter().flat_map(|carried| [carried.inside, carried.after]));
        }
        Stmt::While(stmt) => {
            defined.extend(stmt.carried.iter().flat_map(|carried| [carried.inside, carried.after]));
        }
        Stmt::If(stmt) => defined.extend(stmt.joined.iter().map(|joined| joined.after)),
        Stmt::Parallel(stmt) => defined.push(stmt.iv),
        Stmt::Ticket(ticket) => defined.push(ticket.number),
        Stmt::Store(..)
        | Stmt::StoreMasked(..)
        | Stmt::AtomicAdd(..)
        | Stmt::Prefetch(_)
        | Stmt::Alloc(_)
        | Stmt::Launch(_)
        | Stmt::Barrier
        | Stmt::Fence
        | Stmt::Product(_) => {}
    });
    defined
}

/// Statements with names of their own.
struct StandaloneText<'a> {
    function: &'a Function,
    stmts: &'a [Stmt],
    names: &'a HashMap<Value, String>,
    buffers: &'a [String],
}

impl Display for StandaloneText<'_> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let StandaloneText { function, stmts, names, buffers } = self;
        Printer { function, names, buffers, depth: 0 }.block(f, stmts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lir::{Address, Bin, BuildStmts, Builder, Scalar, Ty};

    /// A function with `before` other values, whose loop stores a sum of a value of a type.
    fn stored(before: i64, number: i64, ty: Ty) -> Function {
        let mut b = Builder::new("stored");
        let output = b.buffer("out", Space::Output, Scalar::I64);
        let n = b.n_rows();
        let end = (0..before).fold(n, |end, _| b.bin(Bin::Max, end, n));
        b.for_loop((n, end, 1), &[], |b, row, _| {
            let number = b.int_of(ty, number);
            let place = Address { buffer: output, index: row, stride: 8, offset: 0 };
            b.store(place, number);
            Vec::new()
        });
        b.finish()
    }

    fn text(function: &Function) -> String {
        let is_loop = |stmt: &&Stmt| matches!(stmt, Stmt::For(_));
        Standalone::of(function, function.body.iter().find(is_loop).expect("a loop")).text
    }

    #[test]
    fn texts_do_not_depend_on_the_function_but_on_types_of_constants() {
        let one = text(&stored(1, 5, Ty::I64));
        assert_eq!(one, text(&stored(9, 5, Ty::I64)));
        assert_ne!(one, text(&stored(1, 6, Ty::I64)));
        assert_ne!(one, text(&stored(1, 5, Ty::of(Scalar::I32))));
    }
}
