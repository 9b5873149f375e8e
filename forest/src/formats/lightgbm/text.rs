//! The parts of a file: lines of `key=value` before the trees, blocks of such lines for each tree, and what
//! follows.

use crate::codes;
use crate::error::ModelError;
use sched_diagnostics::Place;
use std::str::FromStr;

/// Help for damaged files.
pub(super) const SAVE_AGAIN_HELP: &str =
    "save the model again with Booster.save_model(\"model.txt\") of LightGBM";

/// Decodes a file.
///
/// # Errors
/// `M0003` with the position of the first byte that is not UTF-8.
pub(super) fn from_bytes(bytes: &[u8]) -> Result<&str, ModelError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let message = "the file has a text that is not UTF-8, such as a name in Latin-1 or Shift JIS";
        ModelError::new(codes::SYNTAX, message).at(Place::Byte(error.valid_up_to())).help(
            "write it as UTF-8, for example with `iconv -f LATIN1 -t UTF-8`, or give the features names in \
             UTF-8 and save the model again",
        )
    })
}

/// The sections of a file.
pub(super) struct Sections<'a> {
    /// The text before the first tree.
    pub header: &'a str,
    /// The lines of each tree, without `Tree=0`.
    pub trees: Vec<&'a str>,
    /// The text after the trees.
    pub footer: &'a str,
    /// The size of the file.
    pub bytes: usize,
}

impl<'a> Sections<'a> {
    /// Finds the sections by their first and last lines. Ignores the byte counts of trees (`tree_sizes`).
    ///
    /// # Errors
    /// `M0003` if the end of the trees is missing.
    pub(super) fn find(text: &'a str) -> Result<Sections<'a>, ModelError> {
        let mut sections = Sections { header: "", trees: Vec::new(), footer: "", bytes: text.len() };
        let (mut begin, mut met_tree, mut at) = (0, false, 0);
        for line in text.split_inclusive('\n') {
            let next = at + line.len();
            let is_tree = line.starts_with("Tree=");
            let is_end = is_last_line(line);
            if is_tree || is_end {
                match met_tree {
                    true => sections.trees.push(&text[begin..at]),
                    false => sections.header = &text[..at],
                }
                begin = next;
                met_tree = true;
            }
            if is_end {
                sections.footer = &text[next..];
                return Ok(sections);
            }
            at = next;
        }
        Err(ModelError::new(codes::SYNTAX, "the file ends before its trees do")
            .at(Place::Byte(text.len()))
            .help("the file was probably cut short; copy it again or save the model again"))
    }
}

/// Whether a line ends the trees. Release 2.1 writes no `end of trees`, so there the list of importances ends
/// them. A line that is cut short does not count.
fn is_last_line(line: &str) -> bool {
    let line = line.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    matches!(line, Some("end of trees" | "feature importances:"))
}

/// The values of a fixed list of keys in lines of `key=value`.
pub(super) struct KeyedValues<'a, const N: usize> {
    keys: &'static [&'static str; N],
    values: [Option<&'a str>; N],
}

impl<'a, const N: usize> KeyedValues<'a, N> {
    /// Reads the lines. Also returns the first line without `=`; such a line counts as a key with an empty
    /// value. If several lines have the same key, the last one counts, as in LightGBM.
    pub(super) fn read(
        text: &'a str,
        keys: &'static [&'static str; N],
    ) -> (KeyedValues<'a, N>, Option<&'a str>) {
        let mut bare = None;
        let mut values = [None; N];
        for line in text.split('\n') {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let (key, value) = line.split_once('=').unwrap_or_else(|| {
                if !line.is_empty() && bare.is_none() {
                    bare = Some(line);
                }
                (line, "")
            });
            if let Some(place) = keys.iter().position(|known| *known == key) {
                values[place] = Some(value);
            }
        }
        (KeyedValues { keys, values }, bare)
    }

    /// The value of a key, if there is one.
    pub(super) fn get(&self, key: &str) -> Option<&'a str> {
        self.keys.iter().position(|known| *known == key).and_then(|place| self.values[place])
    }

    /// The value of a required key.
    ///
    /// # Errors
    /// `M0004` if the key is missing.
    pub(super) fn text(&self, key: &str) -> Result<&'a str, ModelError> {
        let missing = || {
            ModelError::new(codes::STRUCTURE, format!("missing field `{key}`")).at(key).help(SAVE_AGAIN_HELP)
        };
        self.get(key).ok_or_else(missing)
    }

    /// The value of a required key as a count.
    ///
    /// # Errors
    /// `M0004` if the key is missing, `M0009` if the value is not a count.
    pub(super) fn count(&self, key: &str) -> Result<usize, ModelError> {
        let text = self.text(key)?;
        text.trim().parse::<u32>().map(|count| count as usize).map_err(|_| {
            let message = format!("`{key}` should be a count, not `{}`", excerpt(text));
            ModelError::new(codes::BAD_PARAMETER, message).at(key).help(SAVE_AGAIN_HELP)
        })
    }

    /// `count` numbers, separated by spaces.
    ///
    /// # Errors
    /// `M0004` if the key is missing, `M0010` if the number of values differs from `count`, `M0015` if a
    /// value is not a number of the type.
    pub(super) fn list<T: FromStr>(&self, key: &str, count: usize) -> Result<Vec<T>, ModelError> {
        let text = self.text(key)?;
        // The length of the text bounds the allocation, so a wrong count cannot exhaust memory.
        let mut values = Vec::with_capacity(count.min(text.len() / 2 + 1));
        for number in text.split(' ').filter(|number| !number.is_empty()) {
            let value = number.parse().map_err(|_| {
                let message = format!("`{}` is not a valid number here", excerpt(number));
                ModelError::new(codes::BAD_VALUE, message)
                    .at(format!("{key}[{}]", values.len()))
                    .help(SAVE_AGAIN_HELP)
            })?;
            values.push(value);
        }
        if values.len() == count {
            return Ok(values);
        }
        let message = format!("`{key}` has {} entries where {count} are expected", values.len());
        Err(ModelError::new(codes::LENGTH_MISMATCH, message).at(key).help(SAVE_AGAIN_HELP))
    }
}

/// The start of a text, for messages.
pub(super) fn excerpt(text: &str) -> String {
    const MOST: usize = 40;
    let start: String = text.chars().take(MOST).collect();
    let dots = if start.len() < text.len() { "..." } else { "" };
    format!("{}{dots}", start.escape_debug())
}
