//! Model formats as plain data: names, endings of files, and the Python packages that know them.

/// A format of model files. [`FORMATS`](crate::FORMATS) lists all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The name of the format, such as `UBJSON`.
    pub word: &'static str,
    /// The program that trains models of this format, such as `XGBoost`; empty where files do not name it.
    pub trainer: &'static str,
    /// Endings of file names without the dot, the usual one first. Content decides which format a file has.
    pub endings: &'static [&'static str],
    /// The Python package that predicts with a file of this format; `verify --trainer` runs it.
    pub library: &'static str,
    /// The Python package whose fitted objects have a file of this format; `schedc.compile` takes them.
    pub objects: &'static str,
    /// Rules of this format that most formats do not have.
    pub quirks: &'static [Quirk],
}

/// A rule that some formats have and most have not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    /// Files mean what the release that saved them computed, so that `ReadOptions::as_release` may choose
    /// another one.
    Releases,
    /// The trainer takes margins of the caller in place of the base score when it predicts.
    BaseMargin,
    /// The trainer refuses rows with infinities.
    FiniteRows,
    /// The trainer's library rounds whole numbers in arrays to single precision.
    SingleArrays,
    /// The library predicts values alone, neither margins nor leaf indices.
    ValuesOnly,
}

impl Format {
    /// Whether the format has a quirk.
    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// Trainer and name for readers, such as `XGBoost JSON`.
    pub fn title(&self) -> String {
        format!("{} {}", self.trainer, self.word).trim_start().to_owned()
    }
}
