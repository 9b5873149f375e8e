//! Tests of the choice of schedules, of locks, of the walker, and of the code of folded pipelines.

mod choice;
mod chosen;
mod gpu_choice;
mod gpu_targets;
mod layers;
mod lock;
mod mapped;
mod shares;
mod walker;
