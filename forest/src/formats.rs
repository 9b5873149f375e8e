//! The table of model formats. A format is a module and a row here, and a folder `formats/NAME` with its
//! sniffer and its reader.

mod catboost;
pub(crate) mod lightgbm;
pub mod onnx;
mod treelite;
mod xgboost;

use crate::error::ModelError;
use crate::format::{ModelFormat, Quirk};
use crate::loaded::{LoadedForest, ReadOptions};
pub use treelite::write_treelite;

/// The functions that recognise and read files of a format.
pub(crate) struct FormatReader {
    /// The format.
    pub format: &'static ModelFormat,
    /// The part of a file that both functions get.
    pub input: ReaderInput,
    /// The sniffer: whether a file has this format. Sniffers run in the order of the table.
    pub sniff: fn(&[u8]) -> bool,
    /// Reads a model. [`load`](crate::load) adds the format to the result.
    pub read: fn(&[u8], &ReadOptions) -> Result<LoadedForest, ModelError>,
}

/// The part of a file that a sniffer and a reader get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReaderInput {
    /// All bytes.
    Bytes,
    /// The text after a byte order mark and blanks, if any.
    Text,
}

/// Declares a constant for each format, and the lists of all formats in the order in which sniffers run.
macro_rules! formats {
    ($(
        $(#[$doc:meta])*
        $name:ident {
            name: $title:literal,
            trainer: $trainer:literal,
            endings: $endings:expr,
            trainer_package: $library:literal,
            objects_package: $objects:literal,
            quirks: [$($quirk:ident),*],
            input: $input:ident,
            sniff: $sniff:path,
            read: $read:path,
        }
    )*) => {
        $(
            $(#[$doc])*
            pub const $name: ModelFormat = ModelFormat {
                name: $title,
                trainer: $trainer,
                endings: &$endings,
                trainer_package: $library,
                objects_package: $objects,
                quirks: &[$(Quirk::$quirk),*],
            };
        )*

        /// All formats that schedc reads.
        pub const FORMATS: &[&ModelFormat] = &[$(&$name),*];

        /// The functions of each format.
        pub(crate) const READERS: &[FormatReader] = &[
            $(FormatReader { format: &$name, input: ReaderInput::$input, sniff: $sniff, read: $read }),*
        ];
    };
}

formats! {
    /// Graphs of ONNX-ML.
    ONNX {
        name: "ONNX",
        trainer: "",
        endings: ["onnx"],
        trainer_package: "onnxruntime",
        objects_package: "onnx",
        quirks: [ValuesOnly],
        input: Bytes,
        sniff: onnx::is_model,
        read: onnx::read,
    }
    /// Checkpoints of Treelite, into which scikit-learn's and cuML's forests can be converted.
    TREELITE {
        name: "Treelite",
        trainer: "",
        endings: ["treelite", "tl"],
        trainer_package: "treelite",
        objects_package: "treelite",
        quirks: [],
        input: Bytes,
        sniff: treelite::is_model,
        read: treelite::read,
    }
    /// Universal Binary JSON of XGBoost.
    XGBOOST_UBJSON {
        name: "UBJSON",
        trainer: "XGBoost",
        endings: ["ubj", "model"],
        trainer_package: "xgboost",
        objects_package: "xgboost",
        quirks: [DependsOnRelease, BaseMargin, RefusesInfinities],
        input: Bytes,
        sniff: xgboost::is_ubjson,
        read: xgboost::read_ubjson,
    }
    /// JSON of CatBoost. Its sniffer is stricter than that of XGBoost's JSON, and comes first.
    CATBOOST_JSON {
        name: "JSON",
        trainer: "CatBoost",
        endings: ["json"],
        trainer_package: "catboost",
        objects_package: "catboost",
        quirks: [],
        input: Text,
        sniff: catboost::is_model,
        read: catboost::read,
    }
    /// JSON of XGBoost. The sniffer accepts every JSON object, and the reader reports what is missing.
    XGBOOST_JSON {
        name: "JSON",
        trainer: "XGBoost",
        endings: ["json"],
        trainer_package: "xgboost",
        objects_package: "xgboost",
        quirks: [DependsOnRelease, BaseMargin, RefusesInfinities],
        input: Text,
        sniff: xgboost::is_json,
        read: xgboost::read_json,
    }
    /// Text of LightGBM.
    LIGHTGBM_TEXT {
        name: "text",
        trainer: "LightGBM",
        endings: ["txt"],
        trainer_package: "lightgbm",
        objects_package: "lightgbm",
        quirks: [RoundsWholeArrays],
        input: Text,
        sniff: lightgbm::is_model,
        read: lightgbm::read,
    }
}

/// The endings of all formats' file names without the dot, in alphabetical order.
pub fn endings() -> Vec<&'static str> {
    let mut endings: Vec<&str> = FORMATS.iter().flat_map(|format| format.endings).copied().collect();
    endings.sort_unstable();
    endings.dedup();
    endings
}

/// A phrase that lists all formats, by trainer or else by name, each with the usual endings of its files.
pub(crate) fn phrase() -> String {
    let mut families: Vec<(&str, Vec<String>)> = Vec::new();
    for format in FORMATS {
        let name = if format.trainer.is_empty() { format.name } else { format.trainer };
        let ending = format!(".{}", format.endings[0]);
        match families.iter_mut().find(|(family, _)| *family == name) {
            Some((_, endings)) => endings.push(ending),
            None => families.push((name, vec![ending])),
        }
    }
    let with_endings = |(name, mut endings): (&str, Vec<String>)| {
        endings.sort();
        format!("{name} ({})", endings.join(", "))
    };
    let mut phrase: Vec<String> = families.into_iter().map(with_endings).collect();
    let last = phrase.pop().unwrap_or_default();
    format!("{} and {last}", phrase.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_titles_of_their_own() {
        let mut titles: Vec<String> = FORMATS.iter().map(|format| format.title()).collect();
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), FORMATS.len(), "{titles:?}");
    }

    #[test]
    fn the_phrase_names_trainers_once() {
        let phrase = phrase();
        assert!(phrase.contains(", XGBoost (.json, .ubj), CatBoost (.json)"), "{phrase}");
        for format in FORMATS {
            let family = if format.trainer.is_empty() { format.name } else { format.trainer };
            assert_eq!(phrase.matches(&format!("{family} (")).count(), 1, "{family}: {phrase}");
        }
    }

    #[test]
    fn endings_come_once() {
        let endings = endings();
        assert!(endings.is_sorted_by(|left, right| left < right), "{endings:?}");
        assert!(["json", "onnx", "tl", "ubj"].iter().all(|ending| endings.contains(ending)), "{endings:?}");
    }
}
