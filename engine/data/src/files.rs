//! Putting files in place whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::{NamedTempFile, TempPath};

use crate::codes;
use crate::error::DataError;

/// Writes a file through `write`. Until that has succeeded, `path` keeps its old content, or stays absent.
///
/// The content is written beside the target, in the same directory, and renamed. A symbolic link is followed,
/// also one that leads to nothing yet. Devices, pipes and other special files are written to directly.
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
            buffered(beside.file.as_file_mut()).map_err(failed)?;
            put_in_place(vec![(beside.finished(), target)]).map_err(|(_, error)| failed(error))
        }
    }
}

/// A file that is written step by step. Until [`finish`](Unfinished::finish), its path keeps its old content,
/// or stays absent. Dropping it removes the unfinished file.
pub(crate) struct Unfinished {
    path: PathBuf,
    beside: Option<(Beside, PathBuf)>,
    file: File,
}

impl Unfinished {
    /// Begins a file beside the target, as of [`write_atomically`].
    pub(crate) fn create(path: &Path) -> Result<Self, DataError> {
        let failed = |error: io::Error| unwritable(path, &error);
        let (file, beside) = match Target::of(path).map_err(failed)? {
            Target::Direct => (OpenOptions::new().write(true).open(path).map_err(failed)?, None),
            Target::Replace(target) => {
                let beside = create_beside(&target).map_err(failed)?;
                (beside.file.as_file().try_clone().map_err(failed)?, Some((beside, target)))
            }
        };
        Ok(Unfinished { path: path.to_path_buf(), beside, file })
    }

    /// The file, for one who writes to it.
    pub(crate) fn file(&self) -> Result<File, DataError> {
        self.file.try_clone().map_err(|error| unwritable(&self.path, &error))
    }

    /// Whether any place of it can be written at any time: it is no pipe and no device.
    pub(crate) fn is_regular(&self) -> bool {
        self.beside.is_some()
    }

    /// Puts the file in place.
    pub(crate) fn finish(self) -> Result<(), DataError> {
        let Some((beside, target)) = self.beside else { return Ok(()) };
        put_in_place(vec![(beside.finished(), target)]).map_err(|(_, error)| unwritable(&self.path, &error))
    }
}

/// Writes several files that belong together: unless all of them can be written, all paths keep their old
/// content.
///
/// # Errors
///
/// `D0012` if a target cannot be written.
pub fn write_together(files: &[(&Path, &[u8])]) -> Result<(), DataError> {
    let mut finished = Vec::new();
    let mut direct = Vec::new();
    let mut paths = Vec::new();
    for (path, bytes) in files {
        let failed = |error: io::Error| unwritable(path, &error);
        match Target::of(path).map_err(failed)? {
            Target::Direct => direct.push((path, bytes)),
            Target::Replace(target) => {
                let mut beside = create_beside(&target).map_err(failed)?;
                beside.file.write_all(bytes).map_err(failed)?;
                finished.push((beside.finished(), target));
                paths.push(path);
            }
        }
    }
    for (path, bytes) in direct {
        write_atomically(path, |out| out.write_all(bytes))?;
    }
    put_in_place(finished)
        .map_err(|(at, error)| unwritable(paths.get(at).copied().unwrap_or(&Path::new("")), &error))
}

/// Like [`write_atomically`], for writers that want a path, such as a linker: `make` is given the path of an
/// empty file beside the target, which it fills or replaces.
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
                DataError::new(codes::UNWRITABLE, &path.display().to_string(), "this is no regular file");
            Err(error.help("name a file that does not exist yet, or one that may be replaced").into())
        }
        Target::Replace(target) => {
            let beside = create_beside(&target).map_err(failed)?.finished();
            let made = make(&beside.path)?;
            put_in_place(vec![(beside, target)]).map_err(|(_, error)| failed(error))?;
            Ok(made)
        }
    }
}

/// The way of writing a path.
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
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Target::Replace(leads_to(path))),
            Err(error) => Err(error),
        }
    }
}

/// Maximum length of a chain of links, as in Linux.
const MOST_LINKS: usize = 40;

/// The file that a path names once all links are followed, whether or not it exists.
pub fn leads_to(path: &Path) -> PathBuf {
    let folder_of = |path: &Path| match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        if let Ok(found) = fs::canonicalize(&path) {
            return found;
        }
        let Ok(next) = fs::read_link(&path) else { break };
        path = folder_of(&path).join(next);
    }
    match (fs::canonicalize(folder_of(&path)), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// Files that are written and not yet in place.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps an interrupt from coming between steps that belong together, as long as the value lives.
pub(crate) fn whole() -> impl Drop {
    unfinished()
}

/// Removes unfinished files and folders. For a process that is about to end, as by a signal: from now on,
/// putting a file in place waits for ever.
pub fn abandon_unfinished() {
    // A thread that was stopped amidst its work may have the lock, so the wait is bounded.
    for _ in 0..100 {
        match UNFINISHED.try_lock() {
            Ok(paths) => {
                for path in paths.iter() {
                    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
                }
                std::mem::forget(paths);
                return;
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// A file that is written, beside the one that it will be.
struct Beside {
    file: NamedTempFile,
    listed: Listed,
}

/// A closed [`Unfinished`] file, which is removed unless it is put in place.
struct Finished {
    path: TempPath,
    _listed: Listed,
}

impl Beside {
    fn finished(self) -> Finished {
        Finished { path: self.file.into_temp_path(), _listed: self.listed }
    }
}

/// A path among those of [`UNFINISHED`], as long as this value lives.
pub(crate) struct Listed(PathBuf);

impl Listed {
    /// Notes that a file or a folder is not yet in place.
    pub(crate) fn new(path: PathBuf) -> Listed {
        unfinished().push(path.clone());
        Listed(path)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

/// An empty file in the target's directory, removed again unless it is put in place.
fn create_beside(target: &Path) -> io::Result<Beside> {
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".schedc-").suffix(".tmp");
    // The mode that a plain new file would get, less the process's umask, rather than a private one.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut unfinished = unfinished();
    let file = builder.tempfile_in(directory.unwrap_or(Path::new(".")))?;
    let path = file.path().to_path_buf();
    unfinished.push(path.clone());
    Ok(Beside { file, listed: Listed(path) })
}

/// Renames finished files to their targets, whose modes, if they exist, they take over. An error comes with
/// the number of its file.
fn put_in_place(files: Vec<(Finished, PathBuf)>) -> Result<(), (usize, io::Error)> {
    for (at, (file, target)) in files.iter().enumerate() {
        if let Ok(replaced) = fs::metadata(target) {
            fs::set_permissions(&file.path, replaced.permissions()).map_err(|error| (at, error))?;
        }
    }
    // An interrupt comes before all of them or after all.
    let whole = unfinished();
    let mut done = Ok(());
    for (at, (file, target)) in files.iter().enumerate() {
        done = done.and_then(|()| fs::rename(&file.path, target).map_err(|error| (at, error)));
    }
    drop(whole);
    done
}

/// The error for a path that cannot be written, with advice by the kind of the cause.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> DataError {
    let (message, help) = match error.kind() {
        io::ErrorKind::NotFound => {
            ("its directory does not exist".to_owned(), "create the directory first, or check the path")
        }
        io::ErrorKind::PermissionDenied => (
            "there is no permission to write it".to_owned(),
            "write to another directory, or change this directory's permissions",
        ),
        io::ErrorKind::IsADirectory => ("this is a directory".to_owned(), "name a file in it"),
        io::ErrorKind::StorageFull => ("the disk is full".to_owned(), "make room, or choose another disk"),
        _ => (
            format!("it cannot be written: {error}"),
            "check the path and the disk, or write to another file",
        ),
    };
    DataError::new(codes::UNWRITABLE, &path.display().to_string(), message).help(help)
}
