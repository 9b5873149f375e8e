//! CSV text.

use std::io::{self, Write};

use arrow_array::ArrayRef;

use super::cells::ColumnCells;
use super::encode::{Encode, TableOut};
use super::layout::{ResultNumbers, TableLayout};

/// Text that is written row by row.
pub(super) struct TextEncoder {
    out: TableOut,
    /// The columns of results.
    columns: usize,
    labels: Vec<String>,
}

impl TextEncoder {
    pub(super) fn new(out: TableOut, layout: &TableLayout) -> Self {
        TextEncoder { out, columns: layout.headings.len(), labels: layout.labels.clone() }
    }

    /// Writes the names of the columns.
    pub(super) fn header(&mut self, layout: &TableLayout) -> io::Result<()> {
        let kept = layout.kept.0.iter().map(|field| field.name());
        for (at, name) in kept.chain(&layout.headings).enumerate() {
            if at > 0 {
                self.out.write_all(b",")?;
            }
            quote(&mut self.out, name)?;
        }
        self.out.write_all(b"\n")
    }

    fn rows<T>(
        &mut self,
        values: &[T],
        kept: &[ArrayRef],
        write: impl Fn(&mut TableOut, &T) -> io::Result<()>,
    ) -> io::Result<()> {
        let kept = kept.iter().map(ColumnCells::of).collect::<io::Result<Vec<_>>>()?;
        for (row, values) in values.chunks_exact(self.columns.max(1)).enumerate() {
            let mut is_first = true;
            for column in &kept {
                separate(&mut self.out, &mut is_first)?;
                if let Some(text) = column.text(row)? {
                    quote(&mut self.out, &text)?;
                }
            }
            for value in values {
                separate(&mut self.out, &mut is_first)?;
                write(&mut self.out, value)?;
            }
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// Writes a comma, but for the first cell of a line.
fn separate(out: &mut TableOut, is_first: &mut bool) -> io::Result<()> {
    if std::mem::take(is_first) { Ok(()) } else { out.write_all(b",") }
}

/// Writes a text, in quotation marks if it would not be one cell otherwise.
fn quote(out: &mut TableOut, text: &str) -> io::Result<()> {
    let special = |c| matches!(c, ',' | '"' | '\n' | '\r');
    if !text.contains(special) {
        return out.write_all(text.as_bytes());
    }
    write!(out, "\"{}\"", text.replace('"', "\"\""))
}

impl Encode for TextEncoder {
    fn write(&mut self, numbers: ResultNumbers<'_>, kept: &[ArrayRef]) -> io::Result<()> {
        // `Debug` of floats is the shortest text that reads back as the same float, with an exponent if that
        // is shorter.
        match numbers {
            ResultNumbers::F32(values) => self.rows(values, kept, |out, value| write!(out, "{value:?}")),
            ResultNumbers::F64(values) => self.rows(values, kept, |out, value| write!(out, "{value:?}")),
            ResultNumbers::I32(values) => self.rows(values, kept, |out, value| write!(out, "{value}")),
            ResultNumbers::I64(values) => self.rows(values, kept, |out, value| write!(out, "{value}")),
            ResultNumbers::Label(values) => {
                let labels = std::mem::take(&mut self.labels);
                let written =
                    self.rows(values, kept, |out, value| quote(out, super::layout::label(&labels, *value)));
                self.labels = labels;
                written
            }
        }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}
