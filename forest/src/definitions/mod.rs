//! Definitions of outputs: a file for each row of the table `outputs!`. The reference walker, the walker of
//! `engine/driver` and the code generator compute an output by its definition.

// The tests of `sched-outputs` write these lists.
mod class;
mod leaf;
mod raw;
mod tree;
mod value;

use crate::definition::OutputDefinition;
use crate::forest::Forest;
use crate::output::Transform;
use sched_outputs::{Element, OutputKind};

impl OutputDefinition {
    /// The definition of an output.
    pub const fn of(kind: OutputKind) -> OutputDefinition {
        match kind {
            OutputKind::Value => value::DEFINITION,
            OutputKind::Raw => raw::DEFINITION,
            OutputKind::Class => class::DEFINITION,
            OutputKind::Leaf => leaf::DEFINITION,
            OutputKind::Tree => tree::DEFINITION,
        }
    }
}

impl Forest {
    /// Number of columns of an output; 0 if the model lacks it.
    pub fn columns_of_output(&self, kind: OutputKind) -> usize {
        match OutputDefinition::of(kind) {
            OutputDefinition::Margins(steps) if steps(self).is_none() => 0,
            _ => kind.columns(&self.counts()),
        }
    }

    /// The steps from margins to an output. `None` if results are the margins, follow from leaves, or do not
    /// exist.
    pub fn steps_after_margins(&self, kind: OutputKind) -> Option<Vec<Transform>> {
        let OutputDefinition::Margins(steps) = OutputDefinition::of(kind) else { return None };
        let has_type_of_margins = match kind.element() {
            Element::Result => self.types.output == self.types.accumulator,
            Element::Sum => true,
            Element::Class | Element::Leaf => false,
        };
        steps(self).filter(|steps| kind.finishes_margins() && !(steps.is_empty() && has_type_of_margins))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::LeafResult;

    #[test]
    fn definitions_agree_with_the_table() {
        for kind in OutputKind::ALL {
            let (walks, element) = match OutputDefinition::of(kind) {
                OutputDefinition::Trees(LeafResult::Index) => (true, Some(Element::Leaf)),
                OutputDefinition::Trees(LeafResult::Value) => (true, Some(Element::Sum)),
                OutputDefinition::Margins(_) => (false, None),
            };
            assert_eq!(kind.walks_itself(), walks, "{kind:?}");
            assert!(element.is_none_or(|element| element == kind.element()), "{kind:?}");
        }
    }
}
