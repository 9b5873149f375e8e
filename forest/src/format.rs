//! Model formats as plain data: names, endings of files, and the Python packages that read or write them.

/// A format of model files. [`FORMATS`](crate::FORMATS) lists all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelFormat {
    /// The name of the format, such as `UBJSON`.
    pub name: &'static str,
    /// The program that trains models of this format, such as `XGBoost`; empty where files do not name it.
    pub trainer: &'static str,
    /// Endings of file names without the dot, the usual one first. The content, not the ending, decides which
    /// format a file has.
    pub endings: &'static [&'static str],
    /// The Python package that loads files of this format and predicts; `verify --trainer` runs it.
    pub trainer_package: &'static str,
    /// The Python package whose fitted objects can be saved in this format; `schedc.compile` takes such
    /// objects.
    pub objects_package: &'static str,
    /// Peculiarities of this format.
    pub quirks: &'static [Quirk],
}

/// A peculiarity of some formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    /// The meaning of a file depends on the release that saved it. `ReadOptions::as_release` chooses another
    /// one.
    DependsOnRelease,
    /// The trainer's predict function accepts base margins in place of the base score.
    BaseMargin,
    /// The trainer refuses rows with infinities.
    RefusesInfinities,
    /// The trainer's library rounds arrays of whole numbers to single precision.
    RoundsWholeArrays,
    /// The library predicts values alone, neither margins nor leaf indices.
    ValuesOnly,
}

impl ModelFormat {
    /// Whether the format has a quirk.
    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// Trainer and name of the format for messages, such as `XGBoost JSON`.
    pub fn title(&self) -> String {
        format!("{} {}", self.trainer, self.name).trim_start().to_owned()
    }
}
