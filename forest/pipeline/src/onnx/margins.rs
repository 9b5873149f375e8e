//! Margins of forests as inputs of expressions: while a graph is read, they come after the features of a row.

use sched_columns::{ColumnId, Columns, Expr};
use sched_forest::Float;

/// The input that stands for a margin.
pub(super) fn margin_input(num_features: usize, margin: usize, float: Float) -> Expr {
    Expr::Input { feature: (num_features + margin) as u32, float }
}

/// The margins of forests that results read, numbered anew in their order.
///
/// Others are not computed: stacking, for example, reads one of the two probabilities of a random forest.
pub(super) struct ReadMargins {
    /// For each margin of the forests, its new number if results read it.
    numbers: Vec<Option<u32>>,
    /// Number of margins that results read.
    pub count: usize,
}

impl ReadMargins {
    /// The margins, of `num_margins`, that are inputs of some of the `expressions`.
    pub fn of(
        columns: &Columns,
        expressions: &[ColumnId],
        num_features: usize,
        num_margins: usize,
    ) -> ReadMargins {
        let mut is_read = vec![false; num_margins];
        for expression in expressions {
            if let Expr::Input { feature, .. } = columns.expr(*expression)
                && let Some(margin) = (*feature as usize).checked_sub(num_features)
                && let Some(is_read) = is_read.get_mut(margin)
            {
                *is_read = true;
            }
        }
        let mut next = 0..;
        let numbers: Vec<Option<u32>> =
            is_read.into_iter().map(|is_read| is_read.then(|| next.next()).flatten()).collect();
        ReadMargins { count: numbers.iter().flatten().count(), numbers }
    }

    /// The new number of a margin; `None` if no result reads it.
    pub fn number(&self, margin: usize) -> Option<u32> {
        self.numbers.get(margin).copied().flatten()
    }
}

/// Whether some of the columns depends on margins.
pub(super) fn reads_margins(columns: &Columns, wanted: &[ColumnId], num_features: usize) -> bool {
    columns.needed_for(wanted).into_iter().any(|needed| match columns.expr(needed) {
        Expr::Input { feature, .. } => *feature as usize >= num_features,
        _ => false,
    })
}
