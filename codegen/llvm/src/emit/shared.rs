//! Statements that kernels have in common: their code is one function, which each kernel calls. LLVM takes
//! most of the time of a compilation, and kernels with the same copies of rows repeat up to half of the code.

use inkwell::values::FunctionValue;
use sched_ir::lir::{Block, Function, Standalone, Stmt};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Fewest statements of common code. Beside smaller code, writing and reading the environment takes time.
const LEAST_STATEMENTS: usize = 100;

/// The statements that the kernels of a module have in common, and the functions emitted for them.
#[derive(Default)]
pub(super) struct SharedCode<'ctx> {
    /// For each large statement, by its address.
    statements: HashMap<*const Stmt, Rc<Standalone>>,
    /// Texts of statements that occur at least twice.
    repeated: HashSet<String>,
    /// For a text and the constants among its values, its function.
    pub(super) functions: HashMap<(String, Vec<String>), FunctionValue<'ctx>>,
}

impl<'ctx> SharedCode<'ctx> {
    /// The statements that some of these kernels have in common. No function is emitted yet.
    pub(super) fn of<'f>(kernels: impl Iterator<Item = &'f Function>) -> SharedCode<'ctx> {
        let (mut shared, mut seen) = (SharedCode::default(), HashSet::new());
        for function in kernels {
            shared.find(function, &function.body, &mut seen);
        }
        shared
    }

    /// Finds large statements in a block. Inside a statement that occurred before, nothing is counted again.
    fn find(&mut self, function: &Function, block: &Block, seen: &mut HashSet<String>) {
        for stmt in block {
            if is_candidate(stmt) {
                let standalone = Standalone::of(function, stmt);
                let is_first = seen.insert(standalone.text.clone());
                if !is_first {
                    self.repeated.insert(standalone.text.clone());
                }
                self.statements.insert(stmt, Rc::new(standalone));
                if !is_first {
                    continue;
                }
            }
            // The iterations of other loops may be too short for calls.
            let is_outer = match stmt {
                Stmt::Parallel(_) | Stmt::Alloc(_) | Stmt::If(_) => true,
                Stmt::For(stmt) => stmt.body.iter().any(|stmt| matches!(stmt, Stmt::Alloc(_))),
                _ => false,
            };
            if is_outer {
                stmt.blocks().into_iter().for_each(|block| self.find(function, block, seen));
            }
        }
    }

    /// The statement on its own, if it occurs at least twice.
    pub(super) fn get(&self, stmt: &Stmt) -> Option<Rc<Standalone>> {
        let standalone = self.statements.get(&std::ptr::from_ref(stmt))?;
        self.repeated.contains(&standalone.text).then(|| Rc::clone(standalone))
    }
}

/// Whether a statement can be common code: a large loop or choice that defines no values for others.
fn is_candidate(stmt: &Stmt) -> bool {
    let defines_none = match stmt {
        Stmt::For(stmt) => stmt.carried.is_empty(),
        Stmt::If(stmt) => stmt.joined.is_empty(),
        _ => false,
    };
    let (mut statements, mut is_on_host) = (0, true);
    if defines_none {
        Stmt::visit_all(std::slice::from_ref(stmt), |stmt| {
            statements += 1;
            is_on_host &= !matches!(stmt, Stmt::Launch(_));
        });
    }
    is_on_host && statements >= LEAST_STATEMENTS
}
