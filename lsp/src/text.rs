//! A document's text with its lines, and the protocol's positions in it.

use std::sync::Arc;

use sched_grammar::ast::Span;
use tower_lsp_server::ls_types::{Position, PositionEncodingKind, Range};

/// The unit of the columns of positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes of UTF-8.
    Utf8,
    /// Code units of UTF-16, which every client understands.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

impl Encoding {
    /// Chooses among the encodings that a client offers. Prefers UTF-8, in which columns are byte offsets.
    pub fn choose(offered: Option<&[PositionEncodingKind]>) -> Encoding {
        let offered = offered.unwrap_or_default();
        let has = |kind: PositionEncodingKind| offered.contains(&kind);
        if has(PositionEncodingKind::UTF8) {
            Encoding::Utf8
        } else if has(PositionEncodingKind::UTF32) && !has(PositionEncodingKind::UTF16) {
            Encoding::Utf32
        } else {
            Encoding::Utf16
        }
    }

    /// The protocol's name of the encoding.
    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    /// The length of a character in units of the encoding.
    fn width(self, c: char) -> usize {
        match self {
            Encoding::Utf8 => c.len_utf8(),
            Encoding::Utf16 => c.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }
}

/// One state of a text. Every position and offset is accepted. Beyond the end of a line or of the text it
/// becomes that end, and inside a character it becomes the character's beginning.
#[derive(Debug)]
pub struct Text {
    source: Arc<str>,
    encoding: Encoding,
    /// The start of each line, in bytes.
    starts: Vec<usize>,
    /// Whether all characters have one byte, so that columns equal byte offsets in every encoding.
    is_ascii: bool,
}

impl Text {
    /// Finds the lines of a text. They end as the protocol says: with `\n`, `\r\n` or `\r`.
    pub fn new(source: impl Into<Arc<str>>, encoding: Encoding) -> Text {
        let source = source.into();
        let bytes = source.as_bytes();
        let is_end = |(at, byte): &(usize, &u8)| match byte {
            b'\n' => true,
            b'\r' => bytes.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        let ends = bytes.iter().enumerate().filter(is_end).map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Text { encoding, starts, is_ascii: source.is_ascii(), source }
    }

    /// The text itself.
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// Start and end of a line in bytes, without its line break.
    fn line(&self, line: usize) -> (usize, usize) {
        let start = self.starts.get(line).copied().unwrap_or(self.source.len());
        let next = self.starts.get(line + 1).copied().unwrap_or(self.source.len());
        let whole = self.source.get(start..next).unwrap_or_default();
        (start, start + whole.trim_end_matches(['\r', '\n']).len())
    }

    /// The byte offset of a position.
    pub fn offset(&self, position: Position) -> usize {
        let line = position.line as usize;
        if line >= self.starts.len() {
            return self.source.len();
        }
        let (start, end) = self.line(line);
        let column = position.character as usize;
        if self.is_ascii {
            return start.saturating_add(column).min(end);
        }
        let mut units = 0;
        let mut at = start;
        for c in self.source.get(start..end).unwrap_or_default().chars() {
            units += self.encoding.width(c);
            if units > column {
                break;
            }
            at += c.len_utf8();
        }
        at
    }

    /// The position of a byte offset.
    pub fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.source.len());
        while !self.source.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let column = if self.is_ascii || self.encoding == Encoding::Utf8 {
            offset - start
        } else {
            let before = self.source.get(start..offset).unwrap_or_default();
            before.chars().map(|c| self.encoding.width(c)).sum()
        };
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Position::new(number(line), number(column))
    }

    /// The range of a span.
    pub fn range(&self, span: Span) -> Range {
        let span = span.range();
        Range::new(self.position(span.start), self.position(span.end.max(span.start)))
    }

    /// The span of a range; empty if the range ends before it starts.
    pub fn span(&self, range: Range) -> Span {
        let start = self.offset(range.start);
        Span::new(start, self.offset(range.end).max(start))
    }

    /// The length of a part of the text in units of the encoding.
    pub fn units(&self, span: Span) -> u32 {
        let text = self.source.get(span.range()).unwrap_or_default();
        let units = match self.encoding {
            Encoding::Utf8 => text.len(),
            _ if self.is_ascii => text.len(),
            encoding => text.chars().map(|c| encoding.width(c)).sum(),
        };
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    /// Returns the text with a range replaced, or the whole text if `range` is `None`.
    pub fn changed(&self, range: Option<Range>, new: &str) -> Text {
        let Some(range) = range else { return Text::new(new, self.encoding) };
        let span = self.span(range).range();
        let before = self.source.get(..span.start).unwrap_or_default();
        let after = self.source.get(span.end..).unwrap_or_default();
        Text::new([before, new, after].concat(), self.encoding)
    }
}

/// A map from offsets in an older text to offsets in the present text. The common beginning of both texts
/// keeps its offsets, and the common end moves. Everything between them counts as replaced.
#[derive(Clone, Copy, Debug)]
pub struct Moves {
    before: usize,
    after: usize,
    old: usize,
    new: usize,
}

impl Moves {
    /// Compares two texts.
    pub fn new(old: &str, new: &str) -> Moves {
        let (a, b) = (old.as_bytes(), new.as_bytes());
        let before = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let rest = a.len().min(b.len()) - before;
        let after = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
        Moves { before, after, old: a.len(), new: b.len() }
    }

    /// Maps a span to the new text. The result is empty if the span's text was deleted. It excludes text that
    /// was inserted at the span's ends.
    pub fn span(&self, span: Span) -> Span {
        let (start, end) = (span.start as usize, span.end as usize);
        let start =
            self.shifted_offset(start).or_else(|| self.unchanged_offset(start)).unwrap_or(self.before);
        let end = self.unchanged_offset(end).or_else(|| self.shifted_offset(end)).unwrap_or(self.before);
        Span::new(start, end.max(start))
    }

    /// Maps an offset inside the common beginning of both texts: it stays the same.
    fn unchanged_offset(&self, offset: usize) -> Option<usize> {
        (offset <= self.before).then_some(offset)
    }

    /// Maps an offset inside the common end of both texts: it moves by the difference of their lengths.
    fn shifted_offset(&self, offset: usize) -> Option<usize> {
        (offset >= self.old - self.after).then(|| (offset + self.new).saturating_sub(self.old))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];
    const TEXT: &str = "a\r\nβ🌲c\rtile(🌲)\n\nend";

    #[test]
    fn positions_and_offsets_are_inverse() {
        for encoding in ALL {
            let text = Text::new(TEXT, encoding);
            for (offset, _) in TEXT.char_indices().filter(|(at, _)| *at != 2) {
                assert_eq!(text.offset(text.position(offset)), offset, "{encoding:?}");
            }
            assert_eq!(text.offset(text.position(TEXT.len())), TEXT.len());
        }
    }

    #[test]
    fn columns_count_what_was_agreed_on() {
        let column = |encoding| Text::new(TEXT, encoding).position(TEXT.find('c').unwrap_or(0)).character;
        assert_eq!(ALL.map(column), [6, 3, 2]);
    }

    #[test]
    fn positions_beyond_an_end_stand_for_it() {
        for encoding in ALL {
            let text = Text::new(TEXT, encoding);
            assert_eq!(text.offset(Position::new(0, 99)), 1, "before the line's end");
            assert_eq!(text.offset(Position::new(u32::MAX, u32::MAX)), TEXT.len());
            assert_eq!(text.position(usize::MAX), text.position(TEXT.len()));
        }
    }

    #[test]
    fn positions_inside_of_a_character_are_its_beginning() {
        let text = Text::new(TEXT, Encoding::Utf16);
        assert_eq!(text.offset(Position::new(1, 2)), text.offset(Position::new(1, 1)));
        let tree = TEXT.find('🌲').unwrap_or(0);
        assert_eq!(text.position(tree + 2), text.position(tree));
    }

    #[test]
    fn changes_replace_ranges() {
        let text = Text::new(TEXT, Encoding::Utf16);
        let range = Range::new(Position::new(1, 1), Position::new(1, 3));
        assert_eq!(&**text.changed(Some(range), "x").source(), "a\r\nβxc\rtile(🌲)\n\nend");
        let backwards = Range::new(Position::new(4, 3), Position::new(0, 0));
        assert_eq!(&**text.changed(Some(backwards), "!").source(), &format!("{TEXT}!"));
        assert_eq!(&**text.changed(None, "new").source(), "new");
    }

    #[test]
    fn places_move_with_their_text() {
        let old = "tile(a, 4)\nsplit(b)";
        let moves = Moves::new(old, "tile(a, 16\nsplit(b)");
        assert_eq!(moves.span(Span::new(0, 4)), Span::new(0, 4));
        assert_eq!(moves.span(Span::new(0, 9)), Span::new(0, 8));
        assert_eq!(moves.span(Span::new(0, 10)), Span::new(0, 10));
        assert_eq!(moves.span(Span::new(11, 19)), Span::new(11, 19));
        let moves = Moves::new(old, "tile(a, 4)\ntree\nsplit(b)");
        assert_eq!(moves.span(Span::new(11, 19)), Span::new(16, 24));
        assert_eq!(Moves::new(old, "").span(Span::new(3, 7)), Span::new(0, 0));
        assert_eq!(Moves::new("", old).span(Span::new(0, 0)), Span::new(19, 19));
    }
}
