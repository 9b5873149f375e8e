//! Finding out what a file is from its first bytes, and naming what is not read together with a way out.

use crate::codes;
use crate::error::ModelError;
use crate::treelite::begins_as_treelite;

/// A format that is read.
#[derive(Debug, PartialEq)]
pub(crate) enum Format<'a> {
    /// JSON text, without a byte order mark.
    XgboostJson(&'a [u8]),
    /// LightGBM's text, without a byte order mark.
    LightgbmText(&'a [u8]),
    /// JSON text of CatBoost, without a byte order mark.
    CatboostJson(&'a [u8]),
    /// A checkpoint of Treelite.
    Treelite,
    /// Universal Binary JSON.
    XgboostUbjson,
    /// Protocol buffers of ONNX.
    Onnx,
}

/// A file that is recognised and not read.
struct Foreign {
    magic: &'static [u8],
    name: &'static str,
    help: &'static str,
}

const READ_FORMATS: &str = "models are read that XGBoost (.json, .ubj), LightGBM (.txt) and CatBoost \
                            (.json) saved, ONNX files, and \
                            Treelite checkpoints";
const SAVE: &str = "save the model with Booster.save_model(\"model.json\") of XGBoost";
const OTHER_TRAINER: &str = "save the model in its trainer's own format (XGBoost, LightGBM, CatBoost: \
                             save_model) or as ONNX or \
                             Treelite";
const LIGHTGBM: &str = "save the model with Booster.save_model(\"model.txt\") of LightGBM";
const CATBOOST: &str = "save the model with CatBoost's save_model(\"model.json\", format=\"json\", \
                        pool=train_pool), as \
                        text; the training data is needed only where features are categorical";
const RESAVE: &str = "load it with XGBoost 3.0 or older and save it again as .json or .ubj";
const SERIALIZED: &str = "load the pickle or the RDS file that it comes from with XGBoost 3.0 or older, \
                          and save the booster with \
                          save_model(\"model.json\")";
const UTF16: &str = "write it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8`: PowerShell's `>` \
                     makes UTF-16 of what a \
                     program prints";

/// First bytes of known formats that schedc does not read; a longer beginning comes before a shorter one.
const FOREIGN: &[Foreign] = &[
    Foreign {
        magic: b"CONFIG-offset:",
        name: "the memory of an XGBoost booster, as pickles and RDS files hold it",
        help: SERIALIZED,
    },
    Foreign { magic: b"binf", name: "an XGBoost model in the old binary format", help: RESAVE },
    Foreign { magic: b"bs64", name: "an XGBoost model in the old text format", help: RESAVE },
    Foreign { magic: b"CBM1", name: "a model of CatBoost, in its binary format", help: CATBOOST },
    Foreign {
        magic: b"\x1f\x8b",
        name: "a file that gzip packed",
        help: "unpack it, for example with `gzip -d`",
    },
    Foreign {
        magic: b"PK\x03\x04",
        name: "a zip archive (NumPy .npz, skops and PyTorch files are such, too)",
        help: "unpack it, for example with `unzip`, and give the model that is in it",
    },
    Foreign {
        magic: b"\x28\xb5\x2f\xfd",
        name: "a file that Zstandard packed",
        help: "unpack it, for example with `zstd -d`",
    },
    Foreign {
        magic: b"BZh",
        name: "a file that bzip2 packed",
        help: "unpack it, for example with `bzip2 -d`",
    },
    Foreign {
        magic: b"\xfd7zXZ\0",
        name: "a file that xz packed",
        help: "unpack it, for example with `xz -d`",
    },
    Foreign {
        magic: b"\x80",
        name: "a Python pickle",
        help: "unpickle it in Python and call save_model(\"model.json\") on the model",
    },
    Foreign { magic: b"\x93NUMPY", name: "a NumPy array, which holds data and not a model", help: "" },
    Foreign { magic: b"PAR1", name: "a Parquet table, which holds data and not a model", help: "" },
    Foreign { magic: b"\x89HDF", name: "an HDF5 file", help: SAVE },
    Foreign {
        magic: b"\x7fELF",
        name: "a compiled library or program",
        help: "give the model that it was made from",
    },
    Foreign { magic: b"<!DOCTYPE", name: "a web page", help: "the download probably went wrong" },
    Foreign { magic: b"<html", name: "a web page", help: "the download probably went wrong" },
    Foreign { magic: b"<PMML", name: "a PMML document", help: OTHER_TRAINER },
    Foreign { magic: b"<?xml", name: "an XML document, such as PMML", help: OTHER_TRAINER },
    Foreign {
        magic: b"version https://git-lfs",
        name: "a Git LFS pointer to a file that was not fetched",
        help: "run `git lfs pull`",
    },
    Foreign {
        magic: b"booster[0]",
        name: "the text dump of an XGBoost model, which lacks the base score and the objective",
        help: SAVE,
    },
];

/// Finds the format.
///
/// # Errors
/// `M0002` for a format that is known and not read, `M0001` for anything else.
pub(crate) fn detect(bytes: &[u8]) -> Result<Format<'_>, ModelError> {
    let unknown = |message: &str| Err(ModelError::new(codes::UNKNOWN_FORMAT, message).help(READ_FORMATS));
    if crate::onnx::is_model(bytes) {
        return Ok(Format::Onnx);
    }
    if begins_as_treelite(bytes) {
        return Ok(Format::Treelite);
    }
    if is_utf16(bytes) {
        return Err(looks_like("a text in UTF-16", UTF16));
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = text.trim_ascii_start();
    match text {
        [] => unknown("the file is empty"),
        [b'{', b'i' | b'U' | b'I' | b'l' | b'L' | b'C' | b'$' | b'#' | b'N', ..]
            if text.len() == bytes.len() =>
        {
            Ok(Format::XgboostUbjson)
        }
        [b'{', ..] if begins_as_catboost(text) => Ok(Format::CatboostJson(text)),
        [b'{', ..] => foreign_json(text).map_or(Ok(Format::XgboostJson(text)), Err),
        [b'[', ..] => Err(looks_like(
            "the JSON dump of an XGBoost model, which lacks the base score and the objective",
            SAVE,
        )),
        _ if text.starts_with(b"tree\n") || text.starts_with(b"tree\r\n") => Ok(Format::LightgbmText(text)),
        _ => match FOREIGN.iter().find(|foreign| text.starts_with(foreign.magic)) {
            Some(foreign) => Err(looks_like(foreign.name, foreign.help)),
            None if is_headless_xgboost(bytes) => {
                Err(looks_like("an XGBoost model in the old binary format", RESAVE))
            }
            None if bytes.len() >= MANY_ZEROS && bytes[..MANY_ZEROS].iter().all(|&byte| byte == 0) => {
                let message = "the file begins with zero bytes, as one that was not copied to its end does";
                Err(ModelError::new(codes::UNKNOWN_FORMAT, message).help("copy or download it again"))
            }
            None => unknown("this is no model format that is known"),
        },
    }
}

/// Zero bytes that no format begins with.
const MANY_ZEROS: usize = 16;

/// Bytes of the parameters that XGBoost's old binary format begins with.
const LEGACY_PARAMETERS: usize = 136;

/// Whether this is XGBoost's old binary format as releases up to 1.0 wrote it: without a mark at its
/// beginning. The names of the objective and of the booster follow the parameters, each after its length.
fn is_headless_xgboost(bytes: &[u8]) -> bool {
    let names = bytes.get(LEGACY_PARAMETERS..);
    let booster = names.and_then(legacy_name).and_then(|(_, rest)| legacy_name(rest));
    booster.is_some_and(|(name, _)| matches!(name, b"gbtree" | b"gblinear" | b"dart"))
}

/// A name after its length, and what follows.
fn legacy_name(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    rest.split_at_checked(length).filter(|(name, _)| (1..=64).contains(&name.len()))
}

/// Whether every second byte at the beginning is 0, and the others are of a text.
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

/// JSON models of other trainers, by their first key.
fn foreign_json(text: &[u8]) -> Option<ModelError> {
    let key = text[1..].trim_ascii_start();
    let is_lightgbm =
        key.starts_with(b"\"name\"") && contains(text.get(..400).unwrap_or(text), b"\"num_tree_per_");
    is_lightgbm.then(lightgbm)
}

/// Whether the first key is one of CatBoost's.
fn begins_as_catboost(text: &[u8]) -> bool {
    let key = text[1..].trim_ascii_start();
    let keys = ["\"oblivious_trees\"", "\"features_info\"", "\"ctr_data\"", "\"model_info\""];
    keys.into_iter().any(|name| key.starts_with(name.as_bytes()))
}

/// Whether a document in which no XGBoost model was found is one of CatBoost: the order of its keys may be
/// any.
pub(crate) fn is_catboost(bytes: &[u8]) -> bool {
    let keys = [b"\"oblivious_trees\"".as_slice(), b"\"features_info\"", b"\"scale_and_bias\""];
    !contains(bytes, b"\"gradient_booster\"") && keys.into_iter().any(|key| contains(bytes, key))
}

/// Whose JSON a document is in which no XGBoost model was found: the order of its keys may be any.
pub(crate) fn whose_json(bytes: &[u8]) -> Option<ModelError> {
    if contains(bytes, b"\"gradient_booster\"") {
        return None;
    }
    contains(bytes, b"\"num_tree_per_iteration\"").then(lightgbm)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn lightgbm() -> ModelError {
    looks_like("the JSON dump of a model of LightGBM", LIGHTGBM)
}

fn looks_like(what: &str, help: &str) -> ModelError {
    ModelError::new(codes::UNSUPPORTED_FORMAT, format!("this looks like {what}; that is not supported"))
        .help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_apart() {
        assert_eq!(detect(b"{L\0\0"), Ok(Format::XgboostUbjson));
        assert_eq!(detect(b"{\"learner\":"), Ok(Format::XgboostJson(b"{\"learner\":")));
        let text = b"tree\r\nversion=v4\r\n".as_slice();
        assert_eq!(detect(text), Ok(Format::LightgbmText(text)));
        assert_eq!(detect(b"\x08\x0a\x12\x08skl2onnx:\x02"), Ok(Format::Onnx));
        assert_eq!(detect(b"\xef\xbb\xbf \n{ }"), Ok(Format::XgboostJson(b"{ }")));
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
            (b"CONFIG-offset:\x01", codes::UNSUPPORTED_FORMAT, "memory of an XGBoost booster"),
            (b"\xff\xfe{\0\"\0", codes::UNSUPPORTED_FORMAT, "UTF-16"),
            (b"\0t\0r\0e\0e\0\n", codes::UNSUPPORTED_FORMAT, "UTF-16"),
            (b"BZh91AY", codes::UNSUPPORTED_FORMAT, "bzip2"),
            (b"", codes::UNKNOWN_FORMAT, "empty"),
            (b"\x01\x02", codes::UNKNOWN_FORMAT, "no model format"),
            (b"\x08\x0a\x12\x08skl2onnx", codes::UNKNOWN_FORMAT, "no model format"),
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
            let error = detect(bytes).unwrap_err();
            assert_eq!(error.code, code, "{error}");
            assert!(error.message.contains(part), "{error}");
        }
    }

    #[test]
    fn other_trainers_get_a_way_out() {
        for (bytes, way) in
            [(b"CBM1\0".as_slice(), "format=\"json\""), (b"<?xml version=\"1.0\"?>", "save_model")]
        {
            let error = detect(bytes).unwrap_err();
            assert!(error.help.as_ref().unwrap().contains(way), "{error}");
        }
        let dump = detect(b"{\"name\":\"tree\",\"num_tree_per_iteration\":1}").unwrap_err();
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
        assert!(matches!(detect(b"{ \"features_info\":{}}"), Ok(Format::CatboostJson(_))));
        let named = b"{\"learner\":{\"gradient_booster\":{},\"feature_names\":[\"num_tree_per_iteration\"]}}";
        assert_ne!(crate::read(named).unwrap_err().code, codes::UNSUPPORTED_FORMAT);
    }
}
