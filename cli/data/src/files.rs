//! Putting files in place whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::error::{Code, DataError};

/// Writes a file through `write`. Until that has succeeded, `path` keeps its old content, or stays absent.
///
/// The content is written beside the target, in the same directory, and renamed. A symbolic link is followed. What is
/// not a regular file (a device, a pipe) is written to directly.
///
/// # Errors
///
/// `D0012` if the target cannot be written, or with the error that `write` returns.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), DataError> {
    let failed = |error: io::Error| unwritable(path, &error);
    let buffered = |file: &mut File| {
        let mut writer = BufWriter::with_capacity(1 << 16, file);
        write(&mut writer)?;
        writer.flush()
    };
    match Target::of(path).map_err(failed)? {
        Target::Direct => {
            let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            buffered(&mut file).map_err(failed)
        }
        Target::Replace(target) => {
            let mut beside = create_beside(&target).map_err(failed)?;
            buffered(beside.as_file_mut()).map_err(failed)?;
            put_in_place(beside.into_temp_path(), &target).map_err(failed)
        }
    }
}

/// Writes several files that belong together: unless all of them can be written, all paths keep their old content.
///
/// # Errors
///
/// `D0012` if a target cannot be written.
pub fn write_together(files: &[(&Path, &[u8])]) -> Result<(), DataError> {
    let mut finished = Vec::new();
    let mut direct = Vec::new();
    for (path, bytes) in files {
        let failed = |error: io::Error| unwritable(path, &error);
        match Target::of(path).map_err(failed)? {
            Target::Direct => direct.push((path, bytes)),
            Target::Replace(target) => {
                let mut beside = create_beside(&target).map_err(failed)?;
                beside.write_all(bytes).map_err(failed)?;
                finished.push((path, beside.into_temp_path(), target));
            }
        }
    }
    for (path, bytes) in direct {
        write_atomically(path, |out| out.write_all(bytes))?;
    }
    for (path, beside, target) in finished {
        put_in_place(beside, &target).map_err(|error| unwritable(path, &error))?;
    }
    Ok(())
}

/// Like [`write_atomically`], for writers that want a path, such as a linker: `make` is given the path of an empty file
/// beside the target, which it fills or replaces.
///
/// # Errors
///
/// The error of `make`; or `D0012`, converted, if the target cannot be written or is no regular file.
pub fn replace_atomically<T, E: From<DataError>>(
    path: &Path,
    make: impl FnOnce(&Path) -> Result<T, E>,
) -> Result<T, E> {
    let failed = |error: io::Error| unwritable(path, &error);
    match Target::of(path).map_err(failed)? {
        Target::Direct => {
            let error =
                DataError::new(Code::Unwritable, &path.display().to_string(), "this is no regular file");
            Err(error.help("name a file that does not exist yet, or one that may be replaced").into())
        }
        Target::Replace(target) => {
            let beside = create_beside(&target).map_err(failed)?.into_temp_path();
            let made = make(&beside)?;
            put_in_place(beside, &target).map_err(failed)?;
            Ok(made)
        }
    }
}

/// How a path is written.
enum Target {
    /// A regular file, or nothing yet: replaced by a new file.
    Replace(PathBuf),
    /// Something that must not be replaced: written to.
    Direct,
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            // Renaming would replace a link itself: replace what it leads to.
            Ok(found) if found.is_file() => Ok(Target::Replace(fs::canonicalize(path)?)),
            Ok(_) => Ok(Target::Direct),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Target::Replace(path.to_owned())),
            Err(error) => Err(error),
        }
    }
}

/// An empty file in the target's directory, removed again unless it is put in place.
fn create_beside(target: &Path) -> io::Result<NamedTempFile> {
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".schedc-").suffix(".tmp");
    // The mode that a plain new file would get, less the process's umask, rather than a private one.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory.unwrap_or(Path::new(".")))
}

/// Renames the finished file to its target, whose mode, if it exists, it takes over.
fn put_in_place(beside: TempPath, target: &Path) -> io::Result<()> {
    if let Ok(replaced) = fs::metadata(target) {
        fs::set_permissions(&beside, replaced.permissions())?;
    }
    beside.persist(target).map_err(|error| error.error)
}

/// Why nothing can be written there.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> DataError {
    let (message, help) = match error.kind() {
        io::ErrorKind::NotFound => {
            ("its directory does not exist".to_owned(), "create the directory first, or check the path")
        }
        io::ErrorKind::PermissionDenied => (
            "there is no permission to write it".to_owned(),
            "choose a place that you may write to, or change the directory's mode",
        ),
        io::ErrorKind::IsADirectory => ("this is a directory".to_owned(), "name a file in it"),
        io::ErrorKind::StorageFull => ("the disk is full".to_owned(), "make room, or choose another disk"),
        _ => (
            format!("it cannot be written: {error}"),
            "check the path and the disk, or write to another file",
        ),
    };
    DataError::new(Code::Unwritable, &path.display().to_string(), message).help(help)
}
