//! Rows in pieces, from one file or several.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_schema::FieldRef;

use super::batch::Batch;
use super::expect::Expect;
use super::numbers::collect;
use super::reader::{Reading, RowReader};
use super::source::DataSource;
use super::{beside, categories, folder, open};
use crate::codes;
use crate::error::{DataError, shorten};

/// The columns of the input to copy to the results: their names and types.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptColumns(pub(crate) Vec<FieldRef>);

/// Rows that are read piece by piece: of a file, or of all files of a folder, one after the other.
pub struct RowStream<'a> {
    expect: Expect<'a>,
    reading: Reading<'a>,
    /// Files that have not been opened yet, each with the range of its parts to read; `None` for all.
    files: VecDeque<(DataSource, Option<Range<u64>>)>,
    /// The file that is being read, with its name.
    current: Option<(Box<dyn RowReader + 'a>, String)>,
    /// The number of all rows, if it is known.
    rows: Option<u64>,
    names: Option<Vec<String>>,
    remark: Option<String>,
    kept: Option<KeptColumns>,
    /// The number of rows returned so far.
    given: u64,
    notes: Vec<String>,
}

impl<'a> RowStream<'a> {
    /// Opens a file, a folder, or standard input.
    ///
    /// # Errors
    ///
    /// A [`DataError`] as of [`read_rows`](super::read_rows).
    pub fn open(source: &DataSource, expect: Expect<'a>, reading: Reading<'a>) -> Result<Self, DataError> {
        let kept_names = reading.kept_names();
        let repeated = kept_names
            .iter()
            .enumerate()
            .find(|(at, name)| kept_names.iter().take(*at).any(|other| other == *name));
        if let Some((_, name)) = repeated {
            let message = format!("column \"{}\" is kept twice", shorten(name));
            return Err(DataError::new(codes::KEEP, &source.name(), message)
                .help("name each column once after --keep"));
        }
        let files = match source {
            DataSource::Path(path) if path.is_dir() => folder::files(path)?,
            _ => vec![source.clone()],
        };
        let mut stream = RowStream {
            expect,
            reading,
            files: VecDeque::new(),
            current: None,
            rows: None,
            names: None,
            remark: None,
            kept: None,
            given: 0,
            notes: Vec::new(),
        };
        match files.as_slice() {
            [one] => stream.open_only(one)?,
            _ => stream.plan(files)?,
        }
        Ok(stream)
    }

    /// Opens a single file. It is read in one pass, since it may be a pipe.
    fn open_only(&mut self, file: &DataSource) -> Result<(), DataError> {
        let mut reader = self.reader(file)?;
        if let Some(shard) = self.reading.shard {
            let parts = reader.parts().ok_or_else(|| undivided(&file.name()))?;
            reader.select(shard.range(parts))?;
        }
        self.rows = reader.rows();
        self.start(reader, file.name())
    }

    /// Counts the rows and parts of several files, if the files record these numbers.
    fn plan(&mut self, files: Vec<DataSource>) -> Result<(), DataError> {
        let mut parts = Vec::new();
        let mut rows = Some(0_u64);
        for file in &files {
            let reader = self.reader(file)?;
            rows = rows.zip(reader.rows()).and_then(|(sum, rows)| sum.checked_add(rows));
            match (self.reading.shard, reader.parts()) {
                (Some(_), None) => return Err(undivided(&file.name())),
                (Some(_), Some(number)) => parts.push(number),
                // If one file does not record its number of rows, the sum stays unknown.
                (None, _) if rows.is_none() => break,
                (None, _) => {}
            }
        }
        self.rows = rows.filter(|_| self.reading.shard.is_none());
        let chosen = self.reading.shard.map(|shard| shard.range(parts.iter().sum()));
        let mut first = 0_u64;
        for (at, file) in files.into_iter().enumerate() {
            let number = parts.get(at).copied().unwrap_or(0);
            let within = chosen.as_ref().map(|chosen| {
                let own = |part: u64| part.clamp(first, first + number) - first;
                own(chosen.start)..own(chosen.end)
            });
            first += number;
            self.files.push_back((file, within));
        }
        // Files without rows of this shard are not read, but for the first one: it has the names.
        let mut at = 0;
        self.files.retain(|(_, within)| {
            at += 1;
            at == 1 || within.as_ref().is_none_or(|parts| !parts.is_empty())
        });
        self.step().map(drop)
    }

    fn reader(&self, file: &DataSource) -> Result<Box<dyn RowReader + 'a>, DataError> {
        open::reader(open::input(file)?, &file.name(), self.expect, &self.reading)
    }

    /// Opens the next file. Returns whether there is one.
    fn step(&mut self) -> Result<bool, DataError> {
        let Some((file, parts)) = self.files.pop_front() else { return Ok(false) };
        let mut reader = self.reader(&file)?;
        if let Some(parts) = parts {
            reader.select(parts)?;
        }
        self.start(reader, file.name())?;
        Ok(true)
    }

    /// Makes this file the current one.
    fn start(&mut self, reader: Box<dyn RowReader + 'a>, name: String) -> Result<(), DataError> {
        let kept = KeptColumns(reader.kept());
        beside::check(kept.0.get(self.reading.kept_names().len()..).unwrap_or_default(), &name)?;
        let first = self.kept.get_or_insert_with(|| kept.clone());
        let differs = first.0.iter().zip(&kept.0).find(|(one, other)| one.data_type() != other.data_type());
        if let Some((one, _)) = differs {
            let message =
                format!("kept column \"{}\" has another type than in the files before", shorten(one.name()));
            return Err(DataError::new(codes::KEEP, &name, message)
                .help("save the files with the same types of columns, or do not keep this one"));
        }
        self.current = Some((reader, name));
        Ok(())
    }

    /// The next rows, at most `most` and at least one, or `None` at the end.
    ///
    /// # Errors
    ///
    /// A [`DataError`] as of [`read_rows`](super::read_rows). Rows of earlier calls remain valid.
    pub fn next(&mut self, most: usize) -> Result<Option<Batch>, DataError> {
        while let Some((reader, name)) = &mut self.current {
            let mut batch =
                collect(reader.as_mut(), most.max(1), (self.expect, self.reading.by_column), name)?;
            if let Some(batch) = &mut batch {
                if let Some(categories) = self.expect.categories.filter(|_| reader.is_array()) {
                    categories::encode(categories, batch, self.expect.columns, self.given, name)?;
                }
                if let Some(missing) = self.expect.missing {
                    missing.mark(batch);
                }
                if let Some(precision) = self.reading.precision {
                    batch.convert(precision);
                }
                let first = self.reading.kept_names().len().min(batch.kept.len());
                let columns = batch.kept.split_off(first);
                let fields = self.kept.as_ref().and_then(|kept| kept.0.get(first..)).unwrap_or_default();
                batch.beside = beside::numbers(&columns, fields, batch.rows, self.given, name)?;
                self.given += batch.rows as u64;
            }
            self.notes.extend(reader.notes());
            if self.names.is_none() {
                self.names = reader.names();
                self.remark = reader.remark().map(|remark| format!("{name}: {remark}"));
            }
            if batch.is_some() || !self.step()? {
                return Ok(batch);
            }
        }
        Ok(None)
    }

    /// The number of all rows, if the files record it.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// The names of the features' columns, if the first file has names; known after the first rows.
    pub fn names(&self) -> Option<Vec<String>> {
        self.names.clone()
    }

    /// The columns that are kept.
    pub fn kept(&self) -> KeptColumns {
        let mut kept = self.kept.clone().unwrap_or_default();
        kept.0.truncate(self.reading.kept_names().len());
        kept
    }

    /// Takes the remark on columns of the first file that were found by name: their order, and unused
    /// columns. Later calls return `None`.
    pub fn remark(&mut self) -> Option<String> {
        self.remark.take()
    }

    /// Takes the notes since the last call. They report first lines of CSV text that may be a header or a
    /// row.
    pub fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

/// The error for a format that states its number of rows only at its end, so that `--shard` cannot divide it.
fn undivided(name: &str) -> DataError {
    DataError::new(
        codes::UNDIVIDED,
        name,
        "the number of rows is known only at the end, so it cannot be divided into shards",
    )
    .help("save the rows as Parquet, as an Arrow file or as .npy, or split the file and predict each part")
}
