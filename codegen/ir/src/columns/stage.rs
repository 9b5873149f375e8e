//! Stages whose results are columns.

use super::arrangement::Arrangement;
use crate::lir::{Builder, Origin, Task};
use sched_nest::StageInfo;

/// A stage whose results are columns, and its loops.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnStage {
    /// The name and the size of the stage.
    pub info: StageInfo,
    /// The loops of the stage, if the schedule has some for it. A layer without them is computed in register
    /// tiles.
    pub arrangement: Option<Arrangement>,
}

/// Attributes the code of `body` to the columns of `stage`, or to no stage if it is `None`.
pub(super) fn attribute_to_stage(
    b: &mut Builder,
    stage: Option<&ColumnStage>,
    body: impl FnOnce(&mut Builder),
) {
    let around = b.origin();
    let stage = stage.map(|stage| stage.info.name.clone());
    let outer = b.enter_origin(Origin { task: Task::Columns, stage, ..around });
    body(b);
    b.leave_origin(outer);
}
