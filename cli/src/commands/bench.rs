//! `schedc bench`: times schedules in turns, and compares the medians of their times.

mod compare;
mod kernels;
mod ledger;
mod ledger_table;
mod peers;
mod plot;
mod race;
mod run;
pub mod table;

use crate::args::Bench;
use crate::environment;
use crate::outputs::{refuse_collisions, refuse_overwriting};
use crate::stdout::print;
use crate::terminal::Terminal;
use run::BenchRun;
use schedc_data::write_atomically;
use schedc_driver::Failure;
use std::path::Path;

/// The plot of `--peers`, unless `--plot` names another file.
const PEERS_PLOT: &str = "peers.svg";

/// Runs the command.
pub fn run(args: &Bench, terminal: &Terminal) -> Result<(), Failure> {
    check_outputs(args)?;
    environment::check()?;
    if args.peers {
        peers::check()?;
    }
    if args.is_ledger() {
        return print(&ledger::text(args, terminal)?);
    }
    // Saved runs are read first, so that an unusable one is refused before minutes of timing.
    let with = args.with.iter().map(|path| BenchRun::read(path)).collect::<Result<Vec<_>, _>>()?;
    let before = args.compare.as_deref().map(BenchRun::read).transpose()?;
    let measured = match (&args.load, &args.model) {
        (Some(path), _) => BenchRun::read(path)?,
        (None, Some(model)) => {
            let mut run = race::measure(args, model, terminal)?;
            if args.peers {
                peers::add(args, model, &mut run, terminal)?;
            }
            run
        }
        (None, None) => {
            return Err(Failure::usage("there is nothing to time", "name a model, or a run with --load"));
        }
    };
    if let Some(path) = &args.save {
        let text = measured.to_json();
        write_atomically(path, |out| out.write_all(text.as_bytes()))?;
    }
    let mut shown = measured;
    for (other, path) in with.into_iter().zip(&args.with) {
        shown.add(other, path)?;
    }
    let changes = match (&before, &args.compare) {
        (Some(before), Some(path)) => Some(compare::changes(&shown, before, path)?),
        _ => None,
    };
    if let Some(path) = plot_file(args) {
        let picture = plot::svg(&shown);
        write_atomically(path, |out| out.write_all(picture.as_bytes()))?;
        if args.plot.is_none() {
            terminal.say(&format!("wrote {}", path.display()));
        }
    }
    let text = match (args.json, &changes) {
        (true, Some(changes)) => compare::to_json(&shown, changes),
        (true, None) => shown.to_json(),
        (false, _) => table::text(&shown, changes.as_deref()),
    };
    print(&text)?;
    let slower = changes.iter().flatten().any(|change| change.verdict == compare::SpeedVerdict::Slower);
    if args.exit_code && slower { Err(Failure::Findings) } else { Ok(()) }
}

/// The file of the plot, if there is one.
fn plot_file(args: &Bench) -> Option<&Path> {
    args.plot.as_deref().or_else(|| args.peers.then(|| Path::new(PEERS_PLOT)))
}

/// Refuses outputs that would overwrite inputs, before any time is spent.
fn check_outputs(args: &Bench) -> Result<(), Failure> {
    let mut inputs: Vec<Option<&Path>> = vec![
        args.model.as_deref(),
        args.rows.input.as_deref(),
        args.load.as_deref(),
        args.values.profile.as_deref(),
    ];
    inputs.extend(args.with.iter().chain(&args.schedules).map(|path| Some(path.as_path())));
    refuse_collisions(&inputs, &[("--save", args.save.as_deref()), ("--plot", plot_file(args))])?;
    // A run may replace the saved run that it was compared with.
    if let (Some(plot), Some(compared)) = (&args.plot, &args.compare) {
        refuse_overwriting(&[Some(compared.as_path())], plot)?;
    }
    Ok(())
}
