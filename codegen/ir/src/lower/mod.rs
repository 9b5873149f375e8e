//! MIR and its plan to LIR: loops get bounds, walks get code, targets get addresses.
//!
//! Nothing is chosen here: what could be done in several ways is in the plan.
//!
//! [`Lowering`] holds what all kernels share: the stages before, and the numbers of the model's tables. Each
//! kernel is lowered by a `KernelBuilder` of its own: the LIR builder, its `ports::Ports`, and what is in
//! `scope::Scope`.

mod kernel_builder;
mod leaf;
mod lowering;
mod nest;
mod output;
mod ports;
mod row_source;
mod scope;
mod sum_target;
mod sums;
mod unroll_and_jam;
mod walk;

use self::kernel_builder::KernelBuilder;
use self::ports::{Ports, Results};
use crate::lir::{Build, Builder, Cmp, Function, KernelKind};

pub use lowering::{Lowering, Numbers};
pub use output::{class_columns, interface, value_columns};

/// The function of one kernel under schedules for calls of different sizes: each but the last is for calls up
/// to its number of rows. Leaves are found under the last one, whatever the size. None if the model has no
/// such output.
pub fn kernel(kernel: KernelKind, choices: &[(Option<i64>, Lowering)]) -> Option<Function> {
    let last = choices.last()?;
    let (name, choices, results) = match kernel {
        KernelKind::Raw => ("raw", choices, Results::Margins),
        // The numbers of leaves are large tables, and small calls for them rare.
        KernelKind::Leaf => ("leaf", std::slice::from_ref(last), Results::LeafIndices),
        KernelKind::Value => return output::values(&last.1.hir.forest),
        KernelKind::Class => return output::classes(&last.1.hir.forest),
    };
    let mut b = Builder::new(name);
    choose(&mut b, choices, results);
    Some(b.finish())
}

/// The first schedule whose calls are large enough.
fn choose(b: &mut Builder, choices: &[(Option<i64>, Lowering)], results: Results) {
    match choices {
        [(Some(most), lowering), rest @ ..] if !rest.is_empty() => {
            let (rows, most) = (b.rows(), b.int(*most));
            let few = b.cmp(Cmp::Le, rows, most);
            b.if_else(
                few,
                |b| {
                    emit(lowering, b, results);
                    Vec::new()
                },
                |b| {
                    choose(b, rest, results);
                    Vec::new()
                },
            );
        }
        [(_, lowering), ..] => emit(lowering, b, results),
        [] => {}
    }
}

fn emit(lowering: &Lowering, b: &mut Builder, results: Results) {
    let ports = Ports::declare(lowering, b, results);
    // The builder moves into the kernel and back.
    let mut kernel = KernelBuilder::new(std::mem::replace(b, Builder::new("")), &ports);
    kernel.run(&lowering.mir.body);
    *b = kernel.b;
}
