//! Categories in rows: the codes of cells, and the errors for cells without a code.

pub use sched_categories::Lookup;
use sched_categories::{Categories, Cell, CellForm, CellOrigin, ChoiceSyntax, Refusal};

use super::batch::Batch;
use super::columns::near::near;
use crate::codes;
use crate::error::{DataError, shorten};
use sched_diagnostics::Code;

/// The code, the message and the help of the error for a refused cell.
pub(super) fn refused(lookup: Lookup<'_>, refusal: &Refusal) -> (Code, String, String) {
    let message = refusal.message(|name| format!("\"{}\"", shorten(name)));
    let help = refusal.help(ChoiceSyntax::Options);
    let Refusal::Unseen(name) = refusal else {
        return (codes::AMBIGUOUS_CATEGORY, message, help);
    };
    let names: Vec<&str> = lookup.texts().collect();
    let meant = near(name, &names).map(|name| format!("\"{}\" may be meant; ", shorten(name)));
    (codes::UNSEEN_CATEGORY, message, meant.unwrap_or_default() + &help)
}

/// Replaces the numbers of an array by the codes of their categories. `before` rows of the file precede the
/// batch.
///
/// # Errors
/// `D0027` and `D0028` for numbers that are no category for certain.
pub(super) fn encode(
    categories: &Categories,
    batch: &mut Batch,
    columns: usize,
    before: u64,
    source: &str,
) -> Result<(), DataError> {
    for feature in 0..columns {
        let Some(lookup) = categories.lookup(feature, CellOrigin::Array) else { continue };
        let failed = |row: usize, refusal: &Refusal| {
            let (code, message, help) = refused(lookup, refusal);
            let row = before + row as u64 + 1;
            DataError::new(code, source, format!("{message}, in row {row} of the rows that are read"))
                .column(feature + 1, None)
                .help(help)
        };
        let code = |row: usize, number: f64| {
            lookup.code(Cell::Number(number), CellForm::Plain).map_err(|refusal| failed(row, &refusal))
        };
        match batch.columns.get_mut(feature) {
            Some(column) => column.replace((0, 1), code)?,
            None => batch.values.replace((feature, columns.max(1)), code)?,
        }
    }
    Ok(())
}
