//! Detection of truncated shared objects. The system maps a file without checking its length, and the first
//! access to a page after the file's end would kill the process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// First bytes of little-endian 64-bit ELF files.
const MAGIC: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
/// Offsets of three fields of the file header: the offset of the program headers, their size and their
/// number.
const PROGRAM_HEADERS_FIELDS: (usize, usize, usize) = (32, 54, 56);
/// Offsets of three fields of a program header: its type, and the offset and the length of the segment in the
/// file.
const PROGRAM_HEADER_FIELDS: (usize, usize, usize) = (0, 8, 32);
/// Type of segments that are loaded.
const LOADED_SEGMENT: u64 = 1;

/// Returns the length that a shared object must have, if its file is shorter. `None` for files of other kinds
/// and for unreadable ones, for which the system's loader has better messages.
pub fn length_if_truncated(path: &Path) -> Option<u64> {
    let needed = needed_length(path).ok()??;
    (std::fs::metadata(path).ok()?.len() < needed).then_some(needed)
}

/// Returns the offset of the end of the last loaded segment.
fn needed_length(path: &Path) -> io::Result<Option<u64>> {
    let file = File::open(path)?;
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0)?;
    if !header.starts_with(&MAGIC) {
        return Ok(None);
    }
    let (first, size) =
        (number(&header, PROGRAM_HEADERS_FIELDS.0, 8), number(&header, PROGRAM_HEADERS_FIELDS.1, 2));
    let mut ends = Vec::new();
    for at in 0..number(&header, PROGRAM_HEADERS_FIELDS.2, 2) {
        let mut segment = [0; 56];
        file.read_exact_at(&mut segment, first.saturating_add(at * size))?;
        if number(&segment, PROGRAM_HEADER_FIELDS.0, 4) == LOADED_SEGMENT {
            ends.push(number(&segment, PROGRAM_HEADER_FIELDS.1, 8).saturating_add(number(
                &segment,
                PROGRAM_HEADER_FIELDS.2,
                8,
            )));
        }
    }
    Ok(ends.into_iter().max())
}

/// Returns the little-endian number in the `width` bytes from offset `at` on; 0 if they exceed `bytes`.
fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let bytes = bytes.get(at..at + width).unwrap_or_default();
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
