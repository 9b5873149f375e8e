//! Detects a model's format from its first bytes. For known formats without a reader, the error has help.

use crate::codes;
use crate::error::ModelError;
use crate::formats::{FormatReader, READERS, ReaderInput, lightgbm, phrase};

/// A known format without a reader.
struct UnreadableFormat {
    magic: &'static [u8],
    name: &'static str,
    help: &'static str,
}

const ROWS_HELP: &str = "name the model first; `schedc predict` takes a file of rows after -i";
const XGBOOST_HELP: &str = "save the model with Booster.save_model(\"model.json\") of XGBoost";
const ANY_TRAINER_HELP: &str = "save the model in its trainer's own format (XGBoost, LightGBM, CatBoost: \
                             save_model) or as ONNX or \
                             Treelite";
const LIGHTGBM_HELP: &str = "save the model with Booster.save_model(\"model.txt\") of LightGBM";
const CATBOOST_HELP: &str = "save the model with CatBoost's save_model(\"model.json\", format=\"json\", \
                        pool=train_pool), as \
                        text; the training data is needed only where features are categorical";
const OLD_BINARY_HELP: &str = "load it with XGBoost 3.0 or older and save it again as .json or .ubj";
const SERIALIZED_HELP: &str = "load the pickle or the RDS file that it comes from with XGBoost 3.0 or older, \
                          and save the booster with \
                          save_model(\"model.json\")";
const UTF16_HELP: &str = "write it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`: PowerShell's `>` \
                     makes UTF-16 of what a \
                     program prints";

/// Known formats without a reader, the longer beginnings first.
const UNREADABLE_FORMATS: &[UnreadableFormat] = &[
    UnreadableFormat {
        magic: b"CONFIG-offset:",
        name: "the raw bytes of an XGBoost booster, as pickles and RDS files contain them",
        help: SERIALIZED_HELP,
    },
    UnreadableFormat {
        magic: b"binf",
        name: "an XGBoost model in the old binary format",
        help: OLD_BINARY_HELP,
    },
    UnreadableFormat {
        magic: b"bs64",
        name: "an XGBoost model in the old text format",
        help: OLD_BINARY_HELP,
    },
    UnreadableFormat {
        magic: b"CBM1",
        name: "a model of CatBoost, in its binary format",
        help: CATBOOST_HELP,
    },
    UnreadableFormat {
        magic: b"\x1f\x8b",
        name: "a gzip-compressed file",
        help: "unpack it, for example with `gzip -d`",
    },
    UnreadableFormat {
        magic: b"PK\x03\x04",
        name: "a zip archive, such as a NumPy .npz, skops or PyTorch file",
        help: "unpack it, for example with `unzip`, and give the model that is in it",
    },
    UnreadableFormat {
        magic: b"\x28\xb5\x2f\xfd",
        name: "a Zstandard-compressed file",
        help: "unpack it, for example with `zstd -d`",
    },
    UnreadableFormat {
        magic: b"BZh",
        name: "a bzip2-compressed file",
        help: "unpack it, for example with `bzip2 -d`",
    },
    UnreadableFormat {
        magic: b"\xfd7zXZ\0",
        name: "an xz-compressed file",
        help: "unpack it, for example with `xz -d`",
    },
    UnreadableFormat {
        magic: b"\x80",
        name: "a Python pickle",
        help: "load it in Python and give the object to schedc.compile, or write a file: \
               save_model(\"model.json\") of XGBoost, \
               schedc.export(pipeline, \"model.onnx\") for scikit-learn",
    },
    UnreadableFormat {
        magic: b"\x93NUMPY",
        name: "a NumPy array, which holds data and not a model",
        help: ROWS_HELP,
    },
    UnreadableFormat {
        magic: b"PAR1",
        name: "a Parquet table, which holds data and not a model",
        help: ROWS_HELP,
    },
    UnreadableFormat {
        magic: b"ARROW1",
        name: "an Arrow or Feather table, which holds data and not a model",
        help: ROWS_HELP,
    },
    UnreadableFormat { magic: b"\x89HDF", name: "an HDF5 file", help: XGBOOST_HELP },
    UnreadableFormat {
        magic: b"\x7fELF",
        name: "a compiled library or program",
        help: "give the model that it was made from",
    },
    UnreadableFormat { magic: b"<!DOCTYPE", name: "a web page", help: "the download probably went wrong" },
    UnreadableFormat { magic: b"<html", name: "a web page", help: "the download probably went wrong" },
    UnreadableFormat { magic: b"<PMML", name: "a PMML document", help: ANY_TRAINER_HELP },
    UnreadableFormat { magic: b"<?xml", name: "an XML document, such as PMML", help: ANY_TRAINER_HELP },
    UnreadableFormat {
        magic: b"version https://git-lfs",
        name: "a Git LFS pointer to a file that was not fetched",
        help: "run `git lfs pull`",
    },
    UnreadableFormat {
        magic: b"booster[0]",
        name: "the text dump of an XGBoost model, which lacks the base score and the objective",
        help: XGBOOST_HELP,
    },
];

/// The key that every JSON model of XGBoost has, near its beginning.
const LEARNER_KEY: &[u8] = b"\"learner\"";

/// Finds the reader of a file, and the part of the file that the reader takes.
///
/// # Errors
/// `M0002` for a known format without a reader, `M0001` for anything else.
pub(crate) fn detect(bytes: &[u8]) -> Result<(&'static FormatReader, &[u8]), ModelError> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let find = |input: ReaderInput, part: &[u8]| {
        READERS.iter().find(|reader| reader.input == input && (reader.sniff)(part))
    };
    if let Some(reader) = find(ReaderInput::Bytes, bytes) {
        return Ok((reader, bytes));
    }
    // A UTF-16 file may begin like JSON.
    if is_utf16(bytes) {
        return Err(looks_like_error("a text in UTF-16", UTF16_HELP));
    }
    find(ReaderInput::Text, text).map(|reader| (reader, text)).ok_or_else(|| unrecognized_error(bytes, text))
}

/// Whether a file that begins like this may be a model. A JSON document counts only with a key of XGBoost or
/// CatBoost.
pub fn may_be_model(beginning: &[u8]) -> bool {
    let has_learner = |text: &[u8]| text.windows(LEARNER_KEY.len()).any(|window| window == LEARNER_KEY);
    match detect(beginning) {
        Ok((reader, text)) => {
            let takes_any_object = reader.format.trainer == "XGBoost" && reader.input == ReaderInput::Text;
            !takes_any_object || has_learner(text)
        }
        Err(_) => false,
    }
}

/// The error for a file that no reader takes.
fn unrecognized_error(bytes: &[u8], text: &[u8]) -> ModelError {
    let unknown = |message: &str| {
        ModelError::new(codes::UNKNOWN_FORMAT, message).help(format!("schedc reads models of {}", phrase()))
    };
    match text {
        [] => unknown("the file is empty"),
        [b'[', ..] => looks_like_error(
            "the JSON dump of an XGBoost model, which lacks the base score and the objective",
            XGBOOST_HELP,
        ),
        _ if lightgbm::is_dump(text) => {
            looks_like_error("the JSON dump of a model of LightGBM", LIGHTGBM_HELP)
        }
        _ => match UNREADABLE_FORMATS.iter().find(|format| text.starts_with(format.magic)) {
            Some(format) => looks_like_error(format.name, format.help),
            None if is_headless_xgboost(bytes) => {
                looks_like_error("an XGBoost model in the old binary format", OLD_BINARY_HELP)
            }
            None if bytes.len() >= MANY_ZEROS && bytes[..MANY_ZEROS].iter().all(|&byte| byte == 0) => {
                let message = "the file begins with zero bytes, as after an incomplete copy";
                ModelError::new(codes::UNKNOWN_FORMAT, message).help("copy or download it again")
            }
            None => unknown("the format is not known"),
        },
    }
}

/// Fewest zero bytes at the beginning of a file from which an incomplete copy is concluded. No known format
/// begins with this many; XGBoost's old binary format, whose parameters may be zero, is recognised before.
const MANY_ZEROS: usize = 16;

/// Size in bytes of the parameters at the beginning of XGBoost's old binary format.
const LEGACY_PARAMETERS: usize = 136;

/// Whether this is XGBoost's old binary format as releases up to 1.0 wrote it, without a magic number. The
/// names of the objective and of the booster follow the parameters, each after its length.
fn is_headless_xgboost(bytes: &[u8]) -> bool {
    let names = bytes.get(LEGACY_PARAMETERS..);
    let booster = names.and_then(legacy_name).and_then(|(_, rest)| legacy_name(rest));
    booster.is_some_and(|(name, _)| matches!(name, b"gbtree" | b"gblinear" | b"dart"))
}

/// A name after its length, and the rest of the bytes.
fn legacy_name(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    rest.split_at_checked(length).filter(|(name, _)| (1..=64).contains(&name.len()))
}

/// Whether the bytes begin as a UTF-16 text does: with a byte order mark, or with ASCII characters of two
/// bytes.
fn is_utf16(bytes: &[u8]) -> bool {
    let pairs = bytes.chunks_exact(2).take(4);
    let is_text = |of: fn(&[u8]) -> (u8, u8)| {
        bytes.len() >= 4 && pairs.clone().map(of).all(|(high, low)| high == 0 && low.is_ascii() && low != 0)
    };
    bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || is_text(|pair| (pair[0], pair[1]))
        || is_text(|pair| (pair[1], pair[0]))
}

fn looks_like_error(what: &str, help: &str) -> ModelError {
    ModelError::new(codes::UNSUPPORTED_FORMAT, format!("this looks like {what}; that is not supported"))
        .help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The title of a file's format and the part of it that is read.
    fn found(bytes: &[u8]) -> (String, &[u8]) {
        let (reader, input) = detect(bytes).expect("a format");
        (reader.format.title(), input)
    }

    #[test]
    fn a_beginning_shows_whether_a_file_may_be_a_model() {
        for model in [
            &b"{\"learner\":{\"attributes\":{"[..],
            b"{\"version\":[3,0,0],\"learner\":{",
            b"tree\nversion=v4\n",
            b"{\"oblivious_trees\":[{",
        ] {
            assert!(may_be_model(model), "{}", String::from_utf8_lossy(model));
        }
        for other in [&b""[..], b"{\"name\": \"package\"}", b"[1, 2]", b"numpy==2.0\n", b"id,age\n1,2\n"] {
            assert!(!may_be_model(other), "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn formats_differ_by_their_content() {
        let ubjson = b"{L\0\0".as_slice();
        assert_eq!(found(ubjson), ("XGBoost UBJSON".into(), ubjson));
        let json = b"{\"learner\":".as_slice();
        assert_eq!(found(json), ("XGBoost JSON".into(), json));
        let text = b"tree\r\nversion=v4\r\n".as_slice();
        assert_eq!(found(text), ("LightGBM text".into(), text));
        let onnx = b"\x08\x0a\x12\x08skl2onnx:\x02".as_slice();
        assert_eq!(found(onnx), ("ONNX".into(), onnx));
        assert_eq!(found(b"\xef\xbb\xbf \n{ }"), ("XGBoost JSON".into(), b"{ }".as_slice()));
        let catboost = b"{ \"model_info\": {}".as_slice();
        assert_eq!(found(catboost), ("CatBoost JSON".into(), catboost));
    }

    #[test]
    fn foreign_files_are_named() {
        let mut headless = vec![0; LEGACY_PARAMETERS];
        for name in ["binary:logistic", "gbtree"] {
            headless.extend((name.len() as u64).to_le_bytes());
            headless.extend(name.bytes());
        }
        let cases: [(&[u8], sched_diagnostics::Code, &str); 18] = [
            (&headless, codes::UNSUPPORTED_FORMAT, "old binary"),
            (&headless[..headless.len() - 1], codes::UNKNOWN_FORMAT, "zero bytes"),
            (&[0; 100], codes::UNKNOWN_FORMAT, "zero bytes"),
            (b"CONFIG-offset:\x01", codes::UNSUPPORTED_FORMAT, "raw bytes of an XGBoost booster"),
            (b"\xff\xfe{\0\"\0", codes::UNSUPPORTED_FORMAT, "UTF-16"),
            (b"\0t\0r\0e\0e\0\n", codes::UNSUPPORTED_FORMAT, "UTF-16"),
            (b"BZh91AY", codes::UNSUPPORTED_FORMAT, "bzip2"),
            (b"", codes::UNKNOWN_FORMAT, "empty"),
            (b"\x01\x02", codes::UNKNOWN_FORMAT, "the format is not known"),
            (b"\x08\x0a\x12\x08skl2onnx", codes::UNKNOWN_FORMAT, "the format is not known"),
            (b"binf\0\0", codes::UNSUPPORTED_FORMAT, "old binary"),
            (b"\x80\x04\x95", codes::UNSUPPORTED_FORMAT, "pickle"),
            (b"\x1f\x8b\x08", codes::UNSUPPORTED_FORMAT, "gzip"),
            (b"PK\x03\x04", codes::UNSUPPORTED_FORMAT, "zip"),
            (b"[ { \"nodeid\": 0 } ]", codes::UNSUPPORTED_FORMAT, "dump"),
            (
                b"{\"name\":\"tree\",\"version\":\"v4\",\"num_class\":1,\"num_tree_per_iteration\":1}",
                codes::UNSUPPORTED_FORMAT,
                "LightGBM",
            ),
            (b"CBM1\0", codes::UNSUPPORTED_FORMAT, "CatBoost"),
            (b"<?xml version=\"1.0\"?>", codes::UNSUPPORTED_FORMAT, "PMML"),
        ];
        for (bytes, code, part) in cases {
            let error = detect(bytes).err().expect("no format");
            assert_eq!(error.code, code, "{error}");
            assert!(error.message.contains(part), "{error}");
        }
    }

    #[test]
    fn other_trainers_get_help() {
        for (bytes, way) in
            [(b"CBM1\0".as_slice(), "format=\"json\""), (b"<?xml version=\"1.0\"?>", "save_model")]
        {
            let error = detect(bytes).err().expect("no format");
            assert!(error.help.as_ref().unwrap().contains(way), "{error}");
        }
        let dump = detect(b"{\"name\":\"tree\",\"num_tree_per_iteration\":1}").err().expect("no format");
        assert!(dump.help.as_ref().unwrap().contains("save_model(\"model.txt\") of LightGBM"), "{dump}");
    }

    #[test]
    fn the_order_of_keys_does_not_hide_the_trainer() {
        let lightgbm = b"{\"average_output\":false,\"num_tree_per_iteration\":1,\"version\":\"v4\"}";
        let error = crate::read(lightgbm).unwrap_err();
        assert_eq!(error.code, codes::UNSUPPORTED_FORMAT, "{error}");
        assert!(error.message.contains("LightGBM"), "{error}");
        let catboost = b"{\"scale_and_bias\":[1,[0.5]],\"oblivious_trees\":[]}";
        assert_eq!(crate::read(catboost).unwrap().num_margins, 1);
        assert_eq!(found(b"{ \"features_info\":{}}").0, "CatBoost JSON");
        let named = b"{\"learner\":{\"gradient_booster\":{},\"feature_names\":[\"num_tree_per_iteration\"]}}";
        assert_ne!(crate::read(named).unwrap_err().code, codes::UNSUPPORTED_FORMAT);
    }
}
