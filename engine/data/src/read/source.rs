//! Sources of rows.

use std::io;
use std::path::PathBuf;

use crate::codes;
use crate::error::DataError;

/// The origin of rows.
#[derive(Clone, Debug)]
pub enum DataSource {
    /// A file, or a folder of files of one format.
    Path(PathBuf),
    /// Standard input, read to its end.
    StandardInput,
    /// Bytes in memory.
    Bytes {
        /// The name of the source in messages.
        name: String,
        /// The content of the file.
        bytes: Vec<u8>,
    },
}

impl DataSource {
    /// The source that a command-line argument names: `-` is standard input.
    pub fn from_argument(argument: impl Into<PathBuf>) -> Self {
        let path = argument.into();
        if path.as_os_str() == "-" { DataSource::StandardInput } else { DataSource::Path(path) }
    }

    /// The name that messages use.
    pub fn name(&self) -> String {
        match self {
            DataSource::Path(path) => path.display().to_string(),
            DataSource::StandardInput => "standard input".to_owned(),
            DataSource::Bytes { name, .. } => name.clone(),
        }
    }
}

/// The error for an input that cannot be read.
pub(super) fn unreadable(name: &str, error: &io::Error) -> DataError {
    let (message, help) = match error.kind() {
        io::ErrorKind::NotFound => ("there is no such file".to_owned(), "check the path"),
        io::ErrorKind::PermissionDenied => {
            ("there is no permission to read it".to_owned(), "check who owns the file and its mode")
        }
        io::ErrorKind::IsADirectory => ("this is a directory".to_owned(), "name a file in it"),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            return DataError::new(codes::DAMAGED, name, format!("the file is damaged: {error}"))
                .help("save or copy it again");
        }
        _ => (format!("it cannot be read: {error}"), "check that the file is complete and its disk works"),
    };
    DataError::new(codes::UNREADABLE, name, message).help(help)
}
