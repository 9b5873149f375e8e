//! The pipeline from a model's file and a schedule's text to code, which the command line and the Python
//! package share.
//!
//! [`Job::load`] finds a model and its schedule, [`Job::nest`] checks the schedule, and [`compile::compile`]
//! lowers the model under it. [`versions::versions`] does all of this for each kind of processor and each
//! type of rows of an artefact.

pub mod cache;
pub mod calibrate;
pub mod categories;
pub mod choice;
pub mod compile;
pub mod failure;
pub mod job;
pub mod lock;
pub mod machines;
pub mod model;
pub mod outputs;
pub mod predictor;
pub mod row_memory;
pub mod saved;
pub mod schedule;
pub mod shares;
pub mod simulator;
pub mod versions;
pub mod walker;

pub use choice::{CodeDestination, Effort};
pub use failure::{Failure, reason};
pub use job::{Job, PendingJob, Reporter, ScheduleLookup};
pub use lock::LockUse;
pub use model::{Model, RowTypes};
pub use predictor::{Predictor, help_for_status};
pub use row_memory::RowMemory;
pub use sched_pipeline::{ColumnFate, ColumnSummary, StageSummary, UnfoldedPipeline};
pub use schedule::{NamedModel, ScheduleSource, ScheduleValues};
pub use simulator::Simulator;
pub use walker::Walker;
