//! Tests of the choice of schedules, of locks, and of the walker.

mod choice;
mod chosen;
mod gpu_choice;
mod layers;
mod lock;
mod shares;
mod walker;
