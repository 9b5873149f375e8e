//! Tests of the choice of schedules, and of locks.

mod choice;
mod chosen;
mod gpu_choice;
mod lock;
