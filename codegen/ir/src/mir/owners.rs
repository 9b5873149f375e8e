//! Which threads of a launch add to a row's sums. No barrier stands between leaf loops, so those that add to the same sums
//! must do it in the same threads.

use super::window::spread;
use super::{Affine, Mode, Stmt, VarInfo, Walks};
use crate::codes;
use crate::error::CompileError;
use sched_nest::GpuDimension;

/// What decides which blocks or threads of a dimension run a leaf loop.
#[derive(Clone, PartialEq)]
enum Owner {
    /// Each has an iteration of a loop: from `start` on, `step` apart, up to `most` if that is known.
    Each { dimension: GpuDimension, start: i64, step: i64, most: Option<i64> },
    /// The first one.
    First(GpuDimension),
}

struct Leaf<'m> {
    walks: &'m Walks,
    owners: Vec<Owner>,
}

/// Refuses leaf loops that add to the same sums of the same rows in different threads.
pub(super) fn check(stmts: &[Stmt], vars: &[VarInfo]) -> Result<(), CompileError> {
    let mut leaves = Vec::new();
    find(stmts, vars, &mut Vec::new(), &mut leaves);
    for (at, one) in leaves.iter().enumerate() {
        let conflict = leaves[at + 1..].iter().find(|other| one.disturbs(other, vars));
        if let Some(other) = conflict {
            let [one, other] = [one, other].map(|leaf| &vars[leaf.walks.iter.var.0 as usize].name);
            return Err(CompileError::new(
                codes::GPU,
                format!("`{one}` and `{other}` add to the same rows in different threads"),
                "map the loops over rows around both in the same way, or use atomicReduce where trees are mapped",
            ));
        }
    }
    Ok(())
}

fn find<'m>(stmts: &'m [Stmt], vars: &[VarInfo], owners: &mut Vec<Owner>, leaves: &mut Vec<Leaf<'m>>) {
    for stmt in stmts {
        let before = owners.len();
        match stmt {
            Stmt::Walks(walks) => leaves.push(Leaf { walks, owners: owners.clone() }),
            Stmt::Loop(this) => {
                if let Mode::Mapped(mapping) = this.mode {
                    let (start, step) = (this.iter.start, this.iter.step);
                    let most = vars[this.iter.var.0 as usize].most;
                    owners.push(Owner::Each { dimension: mapping.dimension, start, step, most });
                }
                find(&this.body, vars, owners, leaves);
            }
            Stmt::First(dimensions, body) => {
                owners.extend(dimensions.iter().map(|dimension| Owner::First(*dimension)));
                find(body, vars, owners, leaves);
            }
            Stmt::Case(_, arms) => arms.iter().for_each(|(_, body)| find(body, vars, owners, leaves)),
            Stmt::CacheRows(copy) => find(&copy.body, vars, owners, leaves),
            _ => {}
        }
        owners.truncate(before);
    }
}

impl Leaf<'_> {
    /// Whether both may add to one sum at the same time.
    fn disturbs(&self, other: &Leaf, vars: &[VarInfo]) -> bool {
        let (one, two) = (self.walks.target, other.walks.target);
        let same_sums = one.accumulator == two.accumulator && !(one.atomic && two.atomic);
        same_sums && !same(&self.owners, &other.owners) && self.meets(other, vars)
    }

    /// Whether both have rows in common.
    fn meets(&self, other: &Leaf, vars: &[VarInfo]) -> bool {
        let (one, two) = (&self.walks.row, &other.walks.row);
        let common = one.vars.iter().copied().filter(|var| two.vars.contains(var)).collect();
        let base = Affine { vars: common, ..Affine::default() };
        let [(low, high), (other_low, other_high)] = [one, two].map(|row| spread(row, &base, vars));
        let before = |high: Option<i64>, low| high.is_some_and(|high| high < low);
        !before(high, other_low) && !before(other_high, low)
    }
}

/// Whether the same threads run both, in whatever order their loops stand.
fn same(one: &[Owner], other: &[Owner]) -> bool {
    one.len() == other.len() && one.iter().all(|owner| other.contains(owner))
}
