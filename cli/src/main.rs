//! The program `schedc`.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: schedc_cli::Allocator = schedc_cli::Allocator;

fn main() -> ExitCode {
    ExitCode::from(schedc_cli::run(std::env::args_os().collect(), None))
}
