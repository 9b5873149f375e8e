//! Seeded faults: deliberate mistakes, one or more for each pass, which tests switch on to prove that they
//! detect them.

use std::cell::Cell;

/// A deliberate mistake in one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassFault {
    /// *Live*: the last column that nodes test counts as never tested.
    LiveDropsColumn,
    /// *Constants*: an operation on constants has the value of its first operand.
    ConstantsSkipOperation,
    /// *Constants*, equal columns: a column that differs from an earlier one in one operand counts as equal
    /// to it.
    EqualColumnsConfused,
    /// *Leaf vectors*: the values of the first of the merged trees stand for those of all.
    VectorRepeatsValue,
    /// *Fold*: the value next above a threshold passes the test, too.
    FoldThresholdBeside,
    /// *Fold*: missing values go to the side of values that do not pass.
    FoldForgetsMissing,
    /// *Fold*, categories: a set lacks its last member.
    FoldLosesMember,
    /// *Leaf sums*: the first two leaves of each tree swap the products that they hold.
    LeafEntriesSwapped,
    /// *Tables*: a value on the first edge gets the entry of the values below the edge.
    TableEdgeBeside,
    /// *Tables*: the last two entries are swapped.
    TableEntriesSwapped,
    /// *Tables*: a missing value gets the entry of the smallest values.
    TableForgetsMissing,
    /// *Categories*, classes: the last category has the class of values in no set.
    ClassLosesCategory,
    /// *Sums*: the last number of a chain of additions is not added.
    SumLosesColumn,
    /// *Scores*: each score lacks its last term.
    ScoreLosesTerm,
}

thread_local!(static SEEDED: Cell<Option<PassFault>> = const { Cell::new(None) });

/// Runs `body` with one fault switched on in this thread.
pub fn with_pass_fault<R>(fault: PassFault, body: impl FnOnce() -> R) -> R {
    struct PassFaultReset;
    impl Drop for PassFaultReset {
        fn drop(&mut self) {
            SEEDED.set(None);
        }
    }
    SEEDED.set(Some(fault));
    let _reset = PassFaultReset;
    body()
}

/// Whether this fault is switched on in this thread.
pub(crate) fn seeded(fault: PassFault) -> bool {
    SEEDED.get() == Some(fault)
}
