//! Loops around the current statement.

use crate::memory::LoopAround;
use crate::value::{DEPTHS, Dependences};

/// The loops around the current statement, and whether their iterations differ.
#[derive(Clone, Debug, Default)]
pub struct LoopStack {
    /// The loops, outermost first.
    around: Vec<LoopAround>,
    /// Loops on which conditions and trip counts of the innermost open loop depend.
    deciding: Dependences,
    /// Number of loops that have been left so far.
    finished_loops: u32,
    /// Whether the iteration before the current one was simulated just before, so that carried values come
    /// from it.
    is_consecutive: bool,
}

/// The state of a [`LoopStack`] before a loop was entered.
pub struct OuterState {
    deciding: Dependences,
    finished_loops: u32,
}

impl LoopStack {
    /// Number of loops around the current statement.
    pub fn depth(&self) -> usize {
        self.around.len()
    }

    /// The loops around the current statement, outermost first.
    pub fn around(&self) -> &[LoopAround] {
        &self.around
    }

    /// Notes that a condition or a trip count depends on `dependences`. Dependences on data do not count,
    /// since all rows are assumed to be alike.
    pub fn decide_by(&mut self, dependences: Dependences) {
        self.deciding = self.deciding | dependences.without(Dependences::DATA);
    }

    /// Enters a loop.
    pub fn enter(&mut self, around: LoopAround) -> OuterState {
        let before = OuterState { deciding: self.deciding, finished_loops: self.finished_loops };
        self.deciding = Dependences::NOTHING;
        self.around.push(around);
        before
    }

    /// Whether iterations of the innermost loop differ, according to its simulated iterations. Loops deeper
    /// than [`DEPTHS`](crate::value::DEPTHS) share a slope and cannot be distinguished, so their iterations
    /// count as alike.
    pub fn iterations_differ(&self) -> bool {
        let depth = self.depth().saturating_sub(1);
        depth + 1 < DEPTHS && self.deciding.includes_loop(depth)
    }

    /// Whether iterations of the innermost loop may differ arbitrarily, because they depend on the model's
    /// tables. Otherwise they depend on the loop's counter alone, and only the last ones differ, since fewer
    /// rows remain for them.
    pub fn iterations_differ_by_table(&self) -> bool {
        self.deciding.includes_table_of(self.depth().saturating_sub(1))
    }

    /// Whether loops inside the innermost one have been left since it was entered.
    pub fn has_inner_loops(&self, outer: &OuterState) -> bool {
        self.finished_loops > outer.finished_loops
    }

    /// Leaves the innermost loop.
    pub fn leave(&mut self, outer: &OuterState) {
        self.around.pop();
        self.deciding = outer.deciding | self.deciding.without_loop(self.depth());
        self.finished_loops += 1;
    }

    /// Whether the iteration before the current one was simulated just before, so that carried values come
    /// from it.
    pub fn is_consecutive(&self) -> bool {
        self.is_consecutive
    }

    /// Sets whether iterations are simulated one after the other from now on.
    pub fn set_consecutive(&mut self, is_consecutive: bool) {
        self.is_consecutive = is_consecutive;
    }
}
