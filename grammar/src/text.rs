//! Literals: strings with escapes, and integers.

use crate::ast::Span;
use crate::error::SyntaxErrorKind;

/// Resolves the escapes of a string's text without quotes. The text starts at byte `start` of the source. An
/// unknown escape stays as written; `report` receives it.
pub(crate) fn unescape(text: &str, start: usize, mut report: impl FnMut(Span, SyntaxErrorKind)) -> String {
    let mut value = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        value.push_str(&rest[..at]);
        let escape = &rest[at..];
        let (len, resolved) = escape_at(escape);
        let raw = &escape[..len];
        match resolved {
            Some(c) => value.push(c),
            None => {
                let from = start + (text.len() - escape.len());
                report(Span::new(from, from + len), SyntaxErrorKind::BadEscape(raw.to_owned()));
                value.push_str(raw);
            }
        }
        rest = &escape[len..];
    }
    value.push_str(rest);
    value
}

/// Length of the escape at the start of `text`, and its character.
fn escape_at(text: &str) -> (usize, Option<char>) {
    let Some(c) = text.chars().nth(1) else { return (text.len(), None) };
    let len = 1 + c.len_utf8();
    let simple = match c {
        '\\' | '"' => Some(c),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'u' => return unicode_escape(text).unwrap_or((len, None)),
        _ => None,
    };
    (len, simple)
}

/// `\u{1f600}`: one to six hexadecimal digits.
fn unicode_escape(text: &str) -> Option<(usize, Option<char>)> {
    let digits = text.strip_prefix("\\u{")?;
    let end = digits.bytes().take(7).position(|byte| byte == b'}')?;
    let hex = digits.get(..end)?;
    let is_hex = !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = if is_hex { u32::from_str_radix(hex, 16).ok().and_then(char::from_u32) } else { None };
    Some(("\\u{".len() + end + 1, value))
}

/// The value of an integer literal with `_` separators.
pub(crate) fn integer(text: &str) -> Result<i64, SyntaxErrorKind> {
    if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
        return Err(SyntaxErrorKind::BadNumber(text.to_owned()));
    }
    let mut digits = text.bytes().filter(u8::is_ascii_digit);
    digits
        .try_fold(0i64, |value, digit| value.checked_mul(10)?.checked_add(i64::from(digit - b'0')))
        .ok_or(SyntaxErrorKind::IntegerTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape::escape;

    /// The value, and the length of the first unknown escape.
    fn unescaped(text: &str) -> (String, usize) {
        let mut bad = Vec::new();
        let value = unescape(text, 7, |span, _| bad.push(span.range()));
        for span in &bad {
            assert!(text[span.start - 7..span.end - 7].starts_with('\\'));
        }
        (value, bad.first().map_or(0, ExactSizeIterator::len))
    }

    #[test]
    fn escapes() {
        let cases = [
            (r#"a\\b\"c"#, "a\\b\"c", 0),
            (r"\n\t\r\u{e9}", "\n\t\ré", 0),
            (r"x\qy", r"x\qy", 2),
            (r"\é", r"\é", 3),
            (r"a\", r"a\", 1),
            (r"\u{}", r"\u{}", 4),
            (r"\u{110000}", r"\u{110000}", 10),
            (r"\u{12", r"\u{12", 2),
        ];
        for (text, value, bad) in cases {
            assert_eq!(unescaped(text), (value.to_owned(), bad), "{text}");
        }
    }

    #[test]
    fn escape_is_undone_by_unescape() {
        for value in ["", "a\\b\"", "\u{0}\u{7f}\u{85}\n\r\t", "é😀"] {
            let text = escape(value);
            assert_eq!(unescaped(&text[1..text.len() - 1]), (value.to_owned(), 0));
        }
    }

    #[test]
    fn integers() {
        assert_eq!(integer("1_000_"), Ok(1000));
        assert_eq!(integer("9223372036854775807"), Ok(i64::MAX));
        assert_eq!(integer("9223372036854775808"), Err(SyntaxErrorKind::IntegerTooLarge));
        assert_eq!(integer("0x10"), Err(SyntaxErrorKind::BadNumber("0x10".to_owned())));
        assert_eq!(integer("00000000000000000000000001"), Ok(1));
    }
}
