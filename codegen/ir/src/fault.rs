//! Seeded faults: deliberate mistakes, one per pass, which tests switch on to prove that the property
//! tests detect them.
//!
//! Every build contains them, so that programs and tests share the same compiled crates. Passes check for
//! faults a few dozen times in a compilation, generated code never.

use std::cell::Cell;

/// A deliberate mistake in one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Thresholds are rounded to the nearest value of the rows' type, regardless of the comparison.
    ThresholdsToNearest,
    /// HIR: `sortTrees` puts a copy of the first tree in the last place.
    SortRepeatsTree,
    /// HIR: the copies of a padded leaf lose its value.
    PadLosesLeaf,
    /// MIR: a partial tile runs over the end of the loop that was tiled.
    TileOverruns,
    /// MIR: a fold omits the last slot.
    FoldForgetsSlot,
    /// MIR: threads begin with the model's base values although the caller gives base margins.
    GivenBaseIgnored,
    /// LIR: a block that folds the slots of other blocks makes no fence.
    FenceDropped,
    /// LIR: the last but one block of a group folds the group's slots.
    TicketMiscounted,
    /// LIR: a counter of tickets keeps its number after the launch.
    CounterKept,
    /// LIR: slots that no iteration fills are folded.
    EmptySlotFolded,
    /// LIR: all iterations of loops with slots add to the first slot.
    SlotShared,
    /// LIR: the folds of all margins begin with the first slot, where each has every n-th slot.
    MarginsOutOfTurn,
    /// LIR: the features of a copy in shared memory begin in different banks.
    BankSwapped,
    /// LIR: blocks and threads beyond the iterations of a mapped loop run its body.
    GuardDropped,
    /// LIR: the threads of a block do not wait for their copy of rows or trees.
    BarrierDropped,
    /// LIR: the threads of a block do not wait for the margins of the rows whose predictions they compute.
    MarginsNotAwaited,
    /// LIR: a block loads the next slots to fold while some threads still add up the previous ones.
    PieceNotAwaited,
    /// LIR: a block does not copy the last value of its rows, or the last piece of its trees.
    CopyStopsShort,
    /// LIR: a shared copy of the tested features holds the first features of the rows.
    UntestedFeaturesCopied,
    /// LIR: walks take one straight-line step too few.
    WalkStopsEarly,
    /// LIR: a speculated walk takes the decisions of its levels in the wrong order.
    DecisionsSwapped,
    /// LIR: linear leaves add their terms instead of their leaf value if a feature is missing.
    LinearForgetsMissing,
    /// LIR: trees that are single linear leaves leave out their last term.
    DenseStopsShort,
    /// LIR: the last lane of an interleaved group reads the first lane's row.
    LaneReadsWrongRow,
    /// LIR: the remainder of an interleaved loop is dropped.
    RemainderDropped,
    /// LIR: sums are rounded to single precision.
    SumsRounded,
    /// LIR: sums of single precision keep the digits of double precision.
    SinglesNotRounded,
    /// LIR: sums that are averages are not divided.
    AverageForgotten,
    /// LIR: unroll-and-jam walks the first tree in every slot.
    UnrollAndJamRepeatsTree,
    /// Representations: walks of copies of trees number the trees from the forest's first tree, not from the
    /// first copied one.
    CopiesKeepTreeNumbers,
    /// Representations: in the array layout, values equal to a threshold go to the wrong side.
    ArrayFlipsTies,
    /// Representations: in the sparse layout, missing values always go right.
    SparseForgetsMissing,
    /// Representations: a tile's tests lead to the child of the opposite decisions.
    TileReversesDecisions,
    /// Representations: a value equal to a threshold gets a bin that is one too low or too high.
    BinsFlipTies,
    /// Representations: nodes of 16 bits lead to the wrong child.
    PairsSwapSides,
    /// Representations: the rows of a word are taken in the opposite order.
    WordReversesRows,
    /// Representations: walks of oblivious trees make the first level's test twice, and not that of the last
    /// level.
    LevelRepeated,
    /// Representations: walks of hybrid trees enter the subtree after theirs.
    SubtreesShifted,
    /// Representations: decisions at nodes that are not on a row's path move the row.
    SweepForgetsPlace,
    /// Representations: nodes rule out only the last leaf of their left subtree.
    ReachFallsShort,
    /// Representations: the members of sets go to the wrong side.
    SetChangesSides,
    /// Columns: values near zero do not count as missing.
    ZeroIsNotMissing,
    /// Columns: a value on an edge counts as below it.
    EdgeNotReached,
    /// Columns: the last column of a run has the features and constants of the first one.
    RunRepeatsColumn,
    /// Columns: functions round each product before they add to it, where they must round once.
    FunctionsRoundTwice,
    /// Columns: functions compute rare numbers as they compute all others.
    RareNumbersAreUsual,
    /// Columns: all terms of a weighted sum have the weight of the first term.
    TermsShareWeight,
    /// Columns: a layer whose loops are arranged leaves out the last term of each tile.
    ArrangedTermsLost,
    /// Columns: of the terms in the lanes of a vector, all but the first are left out.
    TermLanesLost,
    /// Columns: the walks of trees whose results are columns take one step too few.
    ColumnWalksStopEarly,
    /// LIR: the results of expressions over margins are in the opposite order.
    OutputColumnsSwapped,
    /// Runtime: rows are packed in the type of sums if that type is wider.
    RowsPackedAsSums,
    /// LLVM: ordered comparisons become unordered ones.
    CompareUnordered,
}

thread_local!(static SEEDED: Cell<Option<Fault>> = const { Cell::new(None) });

/// Runs `body` with one fault switched on in this thread.
pub fn with_fault<R>(fault: Fault, body: impl FnOnce() -> R) -> R {
    struct FaultReset;
    impl Drop for FaultReset {
        fn drop(&mut self) {
            SEEDED.set(None);
        }
    }
    SEEDED.set(Some(fault));
    let _reset = FaultReset;
    body()
}

/// The fault that is switched on in this thread.
pub fn current() -> Option<Fault> {
    SEEDED.get()
}

/// Whether a fault is switched on in this thread.
pub fn seeded(fault: Fault) -> bool {
    SEEDED.get() == Some(fault)
}
