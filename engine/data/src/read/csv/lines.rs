//! Line ends of every kind, made one.

use std::io::{self, Read};

/// A stream of text that ends every line with LF, in place of CRLF or CR or, for the last line, nothing. So
/// records end where their lines do, and lines can be counted.
pub(super) struct LfLines<R> {
    inner: R,
    /// The last byte that `inner` gave; a line has ended before the first one.
    last: u8,
    /// Whether the end has been seen.
    ended: bool,
}

impl<R> LfLines<R> {
    pub(super) fn new(inner: R) -> Self {
        LfLines { inner, last: b'\n', ended: false }
    }

    /// Whether the stream has reported its end to a reader.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }
}

impl<R: Read> Read for LfLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() {
            let read = self.inner.read(buffer)?;
            if read == 0 {
                let lacking = !matches!(self.last, b'\n' | b'\r');
                if let (true, Some(first)) = (lacking, buffer.first_mut()) {
                    *first = b'\n';
                    self.last = b'\n';
                    return Ok(1);
                }
                self.ended = true;
                return Ok(0);
            }
            let kept = self.normalise(buffer.get_mut(..read).unwrap_or_default());
            // A lone LF after a CR at the end of the last read leaves nothing.
            if kept > 0 {
                return Ok(kept);
            }
        }
        Ok(0)
    }
}

impl<R> LfLines<R> {
    /// Turns CRLF and CR into LF in place. Returns the new length.
    fn normalise(&mut self, bytes: &mut [u8]) -> usize {
        if self.last != b'\r' && !bytes.contains(&b'\r') {
            self.last = bytes.last().copied().unwrap_or(self.last);
            return bytes.len();
        }
        let cells = std::cell::Cell::from_mut(bytes).as_slice_of_cells();
        let mut kept = cells.iter();
        let mut left = 0;
        for byte in cells.iter().map(std::cell::Cell::get) {
            let after_return = std::mem::replace(&mut self.last, byte) == b'\r';
            if byte == b'\n' && after_return {
                continue;
            }
            if let Some(place) = kept.next() {
                place.set(if byte == b'\r' { b'\n' } else { byte });
                left += 1;
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reader that returns one byte for each read, so that every pair such as `\r\n` is split between two
    /// reads.
    struct Bytewise<'a>(&'a [u8]);

    impl Read for Bytewise<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn line_ends_become_one() {
        let cases = [
            ("", ""),
            ("a", "a\n"),
            ("a\n", "a\n"),
            ("a\r\n", "a\n"),
            ("a\r", "a\n"),
            ("a\r\nb\rc\nd", "a\nb\nc\nd\n"),
            ("\r\n\r\n\n\r\r", "\n\n\n\n\n"),
        ];
        for (text, wanted) in cases {
            let mut whole = String::new();
            LfLines::new(text.as_bytes()).read_to_string(&mut whole).unwrap();
            assert_eq!(whole, wanted, "{text:?}");
            let mut pieces = String::new();
            LfLines::new(Bytewise(text.as_bytes())).read_to_string(&mut pieces).unwrap();
            assert_eq!(pieces, wanted, "{text:?}, byte by byte");
        }
    }
}
