//! Loops around the current statement.

use crate::memory::LoopAround;
use crate::value::{DEPTHS, Varies};

/// The loops around the current statement, and whether their iterations differ.
#[derive(Clone, Debug, Default)]
pub struct LoopStack {
    /// Outermost first.
    around: Vec<LoopAround>,
    /// Loops on which conditions and trip counts of the innermost open loop depend.
    deciding: Varies,
    /// Loops that have been left so far.
    left: u32,
    /// Whether the current iteration continues the one before it.
    is_consecutive: bool,
}

/// The state of a [`LoopStack`] before a loop was entered.
pub struct OuterState {
    deciding: Varies,
    left: u32,
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

    /// Notes that a condition or a trip count depends on `varies`. Data does not make iterations differ here:
    /// all rows are taken to be alike.
    pub fn decide_by(&mut self, varies: Varies) {
        self.deciding = self.deciding | varies.without(Varies::DATA);
    }

    /// Enters a loop.
    pub fn enter(&mut self, around: LoopAround) -> OuterState {
        let before = OuterState { deciding: self.deciding, left: self.left };
        self.deciding = Varies::NOTHING;
        self.around.push(around);
        before
    }

    /// Whether iterations of the innermost loop differ, as far as its simulated iterations show. Loops
    /// that share a slope cannot be told apart, so theirs count as alike.
    pub fn iterations_differ(&self) -> bool {
        let depth = self.depth().saturating_sub(1);
        depth + 1 < DEPTHS && self.deciding.meets_loop(depth)
    }

    /// Whether iterations of the innermost loop may differ arbitrarily, because the model's tables decide.
    /// Otherwise the loop's counter alone decides, and they differ where the rows run out.
    pub fn iterations_differ_by_table(&self) -> bool {
        self.deciding.meets_table_of(self.depth().saturating_sub(1))
    }

    /// Whether loops inside the innermost one have been left since it was entered.
    pub fn has_inner_loops(&self, outer: &OuterState) -> bool {
        self.left > outer.left
    }

    /// Leaves the innermost loop.
    pub fn leave(&mut self, outer: &OuterState) {
        self.around.pop();
        self.deciding = outer.deciding | self.deciding.without_loop(self.depth());
        self.left += 1;
    }

    /// Whether the current iteration continues the one before it: carried values come from there.
    pub fn is_consecutive(&self) -> bool {
        self.is_consecutive
    }

    /// Says whether iterations from now on continue those before them.
    pub fn set_consecutive(&mut self, is_consecutive: bool) {
        self.is_consecutive = is_consecutive;
    }
}
