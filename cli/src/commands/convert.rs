//! `schedc convert`: converts a model to Treelite's format.

use crate::args::Convert;
use crate::outputs::refuse_overwriting;
use crate::terminal::Terminal;
use sched_forest::{TREELITE, write_treelite};
use schedc_data::write_atomically;
use schedc_driver::Failure;
use schedc_driver::Model;
use schedc_driver::categories::has_names;

/// Runs the command.
pub fn run(args: &Convert, terminal: &Terminal) -> Result<(), Failure> {
    let extension = args.out.extension().unwrap_or_default();
    if !TREELITE.endings.iter().any(|known| extension == *known) {
        return Err(Failure::usage(
            format!("{} does not have the ending of a Treelite checkpoint", args.out.display()),
            "models are converted to Treelite's format: use a name that ends in .treelite or .tl",
        ));
    }
    refuse_overwriting(&[Some(&args.model)], &args.out)?;
    let model = Model::read(&args.model, &args.reading.options())?;
    for note in &model.notes {
        terminal.say(&format!("note: {note}"));
    }
    let bytes = write_treelite(model.forest()).map_err(|error| Failure::model(&args.model, error))?;
    write_atomically(&args.out, |out| out.write_all(&bytes))?;
    for loss in losses(&model) {
        terminal.say(&format!("note: {loss}"));
    }
    terminal.say(&format!("wrote {} ({} KiB)", args.out.display(), bytes.len().div_ceil(1024)));
    Ok(())
}

/// The parts of a model that a Treelite checkpoint cannot store, as notes.
fn losses(model: &Model) -> Vec<String> {
    let forest = model.forest();
    let lost = [
        ("the names of features", !forest.feature_names.is_empty()),
        ("the names of categories", has_names(forest)),
        ("the names of classes", forest.output.classes.as_ref().is_some_and(|it| !it.labels.is_empty())),
    ];
    let names: Vec<&str> = lost.into_iter().filter(|(_, is_lost)| *is_lost).map(|(name, _)| name).collect();
    let mut notes = Vec::new();
    if !names.is_empty() {
        notes.push(format!("Treelite checkpoints cannot store {}", names.join(", ")));
    }
    if forest.base.iter().any(|base| *base != 0.0) {
        notes
            .push("Treelite adds base scores after the trees: sums may differ in the last digit".to_string());
    }
    notes
}
