//! The header of an array: a Python dictionary, of which we read exactly the literals that NumPy writes.
//!
//! ```text
//! {'descr': '<f4', 'fortran_order': False, 'shape': (100, 30), }
//! ```

use std::io::{self, Read};

use super::element::NpyType;
use crate::codes;
use crate::error::{DataError, shorten};
use crate::read::source::unreadable;

/// The facts of a header.
#[derive(Debug, PartialEq)]
pub(super) struct NpyHeader {
    /// The elements' type.
    pub(super) element: NpyType,
    /// Whether elements are stored column by column.
    pub(super) fortran: bool,
    /// The size of each dimension.
    pub(super) shape: Vec<usize>,
}

/// The longest header read, in bytes. NumPy's are below 200 for arrays of numbers.
const LONGEST: usize = 1 << 16;

/// The most dimensions read; NumPy has no more.
const DIMENSIONS: usize = 64;

/// Reads magic string, version and header. Also returns their size in bytes.
pub(super) fn read(stream: &mut impl Read, name: &str) -> Result<(NpyHeader, u64), DataError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => malformed(name, "the file ends within the header"),
        _ => unreadable(name, &error),
    };
    let mut start = [0; 8];
    stream.read_exact(&mut start).map_err(failed)?;
    let [.., major, minor] = start;
    let (length, before) = match (major, minor) {
        (1, 0) => {
            let mut field = [0; 2];
            stream.read_exact(&mut field).map_err(failed)?;
            (usize::from(u16::from_le_bytes(field)), 10)
        }
        (2 | 3, 0) => {
            let mut field = [0; 4];
            stream.read_exact(&mut field).map_err(failed)?;
            (usize::try_from(u32::from_le_bytes(field)).unwrap_or(usize::MAX), 12)
        }
        _ => return Err(malformed(name, &format!("version {major}.{minor} of the format is not known"))),
    };
    if length > LONGEST {
        return Err(malformed(name, &format!("a header of {length} bytes is too long")));
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).map_err(failed)?;
    let text = str::from_utf8(&bytes).map_err(|_| malformed(name, "it is not text"))?;
    let fields = Parser { rest: text }.dictionary().map_err(|message| malformed(name, &message))?;
    Ok((fields.check(name)?, before + length as u64))
}

fn malformed(name: &str, message: &str) -> DataError {
    DataError::new(
        codes::MALFORMED_HEADER,
        name,
        format!("the header of the .npy array is malformed: {message}"),
    )
    .help("save the array again with numpy.save")
}

/// The dictionary's entries, as far as they have been seen.
#[derive(Debug, Default)]
struct HeaderFields {
    descr: Option<Descr>,
    fortran: Option<bool>,
    shape: Option<Vec<usize>>,
}

/// The value of `descr`.
#[derive(Debug)]
enum Descr {
    /// The name of a type.
    Simple(String),
    /// A list: a structured type.
    Structured,
}

impl HeaderFields {
    fn check(self, name: &str) -> Result<NpyHeader, DataError> {
        let lacking = |key: &str| malformed(name, &format!("it lacks '{key}'"));
        let shape = match (&self.descr, self.shape) {
            // The header's text after a structured type is not read.
            (Some(Descr::Structured), _) => Vec::new(),
            (_, shape) => shape.ok_or_else(|| lacking("shape"))?,
        };
        let descr = match self.descr.ok_or_else(|| lacking("descr"))? {
            Descr::Simple(descr) => descr,
            Descr::Structured => return Err(unsupported(name, "named fields (a structured type)")),
        };
        let element = NpyType::parse(&descr).ok_or_else(|| unsupported(name, describe(&descr)))?;
        let fortran = self.fortran.ok_or_else(|| lacking("fortran_order"))?;
        Ok(NpyHeader { element, fortran, shape })
    }
}

fn unsupported(name: &str, elements: impl std::fmt::Display) -> DataError {
    DataError::new(
        codes::UNSUPPORTED_ARRAY,
        name,
        format!("the array's elements are {elements}, not real numbers"),
    )
    .help("convert the array before saving it, e.g. with .astype('float32')")
}

/// The name of an unsupported element type.
fn describe(descr: &str) -> String {
    let kind = match descr.chars().nth(1) {
        Some('O') => "Python objects",
        Some('U' | 'S' | 'a') => "text",
        Some('c') => "complex numbers",
        Some('M' | 'm') => "dates or times",
        _ => return format!("of the type '{}'", shorten(descr)),
    };
    format!("{kind} ('{}')", shorten(descr))
}

/// A cursor over the header's text.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// `{'key': value, ...}` and nothing but blanks after it. Stops early at a structured type.
    fn dictionary(mut self) -> Result<HeaderFields, String> {
        let mut fields = HeaderFields::default();
        self.expect('{')?;
        while !self.accept('}') {
            let key = self.string()?;
            self.expect(':')?;
            let repeated = match key {
                "descr" if self.peek() == Some('[') => {
                    fields.descr = Some(Descr::Structured);
                    return Ok(fields);
                }
                "descr" => fields.descr.replace(Descr::Simple(self.string()?.to_owned())).is_some(),
                "fortran_order" => fields.fortran.replace(self.boolean()?).is_some(),
                "shape" => fields.shape.replace(self.shape()?).is_some(),
                other => return Err(format!("'{}' is not known", shorten(other))),
            };
            if repeated {
                return Err(format!("it has '{key}' twice"));
            }
            if !self.accept(',') {
                self.expect('}')?;
                break;
            }
        }
        match self.peek() {
            None => Ok(fields),
            Some(_) => Err("something follows the dictionary".to_owned()),
        }
    }

    /// A string literal without escapes, in either quotes.
    fn string(&mut self) -> Result<&'a str, String> {
        let quote = self.peek().filter(|quote| matches!(quote, '\'' | '"'));
        let quote = quote.ok_or_else(|| self.wanted("a string"))?;
        self.expect(quote)?;
        let (text, rest) = self.rest.split_once(quote).ok_or_else(|| self.wanted("a closing quote"))?;
        self.rest = rest;
        Ok(text)
    }

    /// `True` or `False`.
    fn boolean(&mut self) -> Result<bool, String> {
        self.skip_blanks();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.wanted("True or False"))
    }

    /// A tuple of sizes: `()`, `(3,)`, `(3, 4)`. Python 2 wrote `3L`.
    fn shape(&mut self) -> Result<Vec<usize>, String> {
        let mut sizes = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            if sizes.len() == DIMENSIONS {
                return Err("the shape has too many dimensions".to_owned());
            }
            sizes.push(self.size()?);
            if !self.accept(',') {
                self.expect(')')?;
                // `(3)` is a number, not a tuple.
                if sizes.len() == 1 {
                    return Err("the shape is not a tuple".to_owned());
                }
                break;
            }
        }
        Ok(sizes)
    }

    fn size(&mut self) -> Result<usize, String> {
        self.skip_blanks();
        let end = self.rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        if digits.is_empty() {
            return Err(self.wanted("a size"));
        }
        let size = digits.parse().map_err(|_| format!("the size {} is too large", shorten(digits)))?;
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        Ok(size)
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    /// The next character that is not blank.
    fn peek(&mut self) -> Option<char> {
        self.skip_blanks();
        self.rest.chars().next()
    }

    /// Steps over `character` if it is next.
    fn accept(&mut self, character: char) -> bool {
        self.skip_blanks();
        let rest = self.rest.strip_prefix(character);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, character: char) -> Result<(), String> {
        if self.accept(character) { Ok(()) } else { Err(self.wanted(&format!("'{character}'"))) }
    }

    fn wanted(&self, what: &str) -> String {
        match self.rest {
            "" => format!("it ends where {what} is wanted"),
            rest => format!("{what} is wanted at \"{}\"", shorten(rest)),
        }
    }
}
