//! `schedc profile`: counts the rows that reach each leaf.

use crate::args::ProfileCommand;
use crate::model_rows::{expected_of, missing_in};
use crate::outputs::refuse_overwriting;
use crate::stdout::print;
use crate::terminal::Terminal;
use sched_diagnostics::internal;
use schedc_data::{DataSource, FeatureValues, read_rows, write_atomically};
use schedc_driver::Failure;
use schedc_driver::Model;
use schedc_driver::categories::categories_of;

/// Runs the command.
pub fn run(args: &ProfileCommand, terminal: &Terminal) -> Result<(), Failure> {
    refuse_overwriting(&[Some(&args.rows.input), Some(&args.model)], &args.out)?;
    let model = Model::read(&args.model, &args.reading.options())?;
    let forest = model.forest();
    let categories = categories_of(&model, args.rows.categories.choices());
    let expect = expected_of(&model)
        .by_position(args.rows.by_position)
        .with_categories(categories.as_ref())
        .with_missing(args.rows.missing.map(|value| missing_in(&model, value)));
    let rows = read_rows(&DataSource::from_argument(&args.rows.input), expect)?;
    for note in &rows.notes {
        terminal.say(&format!("note: {note}"));
    }
    let counted = match &rows.values {
        FeatureValues::F32(values) => sched_forest::Profile::count(forest, values),
        FeatureValues::F64(values) => sched_forest::Profile::count(forest, values),
    };
    let profile =
        counted.map_err(|error| Failure::new(internal::IMPOSSIBLE, error, internal::BUG_REPORT_HELP))?;
    let text = profile.to_json(&model.fingerprint);
    if args.out.as_os_str() == "-" {
        return print(&text);
    }
    write_atomically(&args.out, |out| out.write_all(text.as_bytes()))?;
    terminal.say(&format!(
        "wrote {}: {} rows, {} trees",
        args.out.display(),
        profile.rows,
        profile.trees.len()
    ));
    Ok(())
}
