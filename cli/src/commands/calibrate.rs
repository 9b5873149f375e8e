//! `schedc calibrate`: measures the costs of this machine's instructions and memory.

use crate::args::Calibrate;
use crate::environment;
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_llvm::Cpu;
use schedc_data::write_atomically;
use schedc_driver::calibrate::calibrate;
use schedc_driver::{Failure, machines};

/// Steps of the progress bar.
const PROGRESS_STEPS: f64 = 100.0;

/// Runs the command.
pub fn run(args: &Calibrate, terminal: &Terminal) -> Result<(), Failure> {
    environment::check()?;
    let bar = terminal.progress(PROGRESS_STEPS as u64, "measuring");
    let advanced = std::cell::Cell::new(0u64);
    let machine = calibrate(args.cpu, &|share| {
        let now = (share * PROGRESS_STEPS) as u64;
        bar.advance(now.saturating_sub(advanced.replace(now)));
    })?;
    drop(bar);
    if args.json {
        return print(&(machine.to_json() + "\n"));
    }
    if args.cpu != Cpu::Native {
        let help = "leave out --cpu, or print the table with --json";
        return Err(Failure::usage("a table of costs for a level of instruction sets cannot be saved", help));
    }
    let Some(path) = machines::calibration_file(args.cpu) else {
        let help = "set XDG_CACHE_HOME or HOME, or print the table with --json";
        return Err(Failure::usage("there is no cache folder for the table of costs", help));
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            let why = format!("the folder cannot be created: {error}");
            Failure::unreadable(folder.display(), why, "name another folder in XDG_CACHE_HOME")
        })?;
    }
    write_atomically(&path, |out| out.write_all(machine.to_json().as_bytes()))?;
    terminal.say(&format!(
        "{}: {:.1} GHz, registers of {} bits; wrote {}",
        machine.name,
        machine.ghz,
        machine.register_bits,
        path.display()
    ));
    Ok(())
}
