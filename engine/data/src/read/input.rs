//! Bytes to read from: a file, memory or a pipe.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

use bytes::Bytes;

/// A source of bytes that has been opened.
pub(super) enum OpenedSource {
    /// A regular file, which can be read from any position.
    File(File),
    /// The content of a file.
    Memory(Cursor<Bytes>),
    /// Input that can be read once, from its beginning to its end.
    Pipe(Box<dyn Read>),
}

impl OpenedSource {
    /// The number of bytes, if it is known.
    pub(super) fn length(&self) -> Option<u64> {
        match self {
            OpenedSource::File(file) => file.metadata().ok().map(|metadata| metadata.len()),
            OpenedSource::Memory(cursor) => Some(cursor.get_ref().len() as u64),
            OpenedSource::Pipe(_) => None,
        }
    }

    /// The first bytes, at most `most`. Later reads start at the first byte again.
    pub(super) fn head(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.by_ref().take(most).read_to_end(&mut head)?;
        if let OpenedSource::Pipe(pipe) = self {
            let rest = std::mem::replace(pipe, Box::new(io::empty()));
            *pipe = Box::new(Cursor::new(head.clone()).chain(rest));
        } else {
            self.seek(SeekFrom::Start(0))?;
        }
        Ok(head)
    }

    /// Skips bytes, or all if fewer remain.
    pub(super) fn skip(&mut self, bytes: u64) -> io::Result<()> {
        match (&mut *self, i64::try_from(bytes)) {
            (OpenedSource::File(_) | OpenedSource::Memory(_), Ok(bytes)) => {
                self.seek(SeekFrom::Current(bytes)).map(drop)
            }
            _ => io::copy(&mut self.by_ref().take(bytes), &mut io::sink()).map(drop),
        }
    }

    /// Fills `bytes` from the offset `at` on.
    pub(super) fn read_at(&mut self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(at))?;
        self.read_exact(bytes)
    }

    /// Whether the input can be read from any position.
    pub(super) fn is_seekable(&self) -> bool {
        !matches!(self, OpenedSource::Pipe(_))
    }
}

impl Read for OpenedSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            OpenedSource::File(file) => file.read(buffer),
            OpenedSource::Memory(cursor) => cursor.read(buffer),
            OpenedSource::Pipe(pipe) => pipe.read(buffer),
        }
    }
}

impl Seek for OpenedSource {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            OpenedSource::File(file) => file.seek(to),
            OpenedSource::Memory(cursor) => cursor.seek(to),
            OpenedSource::Pipe(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}
