//! Writes files atomically: a path has either its old content or the whole new one.

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
/// The content goes to a new file in the target's directory, which is then renamed. Symbolic links are
/// followed, even dangling ones. Devices, pipes and other special files are written directly.
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
    match WriteTarget::of(path).map_err(failed)? {
        WriteTarget::Direct => {
            let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            buffered(&mut file).map_err(failed)
        }
        WriteTarget::Replace(target) => {
            let mut temporary = create_temporary(&target).map_err(failed)?;
            buffered(temporary.file.as_file_mut()).map_err(failed)?;
            put_in_place(vec![(temporary.close(), target)]).map_err(|(_, error)| failed(error))
        }
    }
}

/// Refuses a path that [`write_atomically`] could not write, before the work for its content begins.
///
/// # Errors
///
/// `D0012` if no file can be made in its folder.
pub fn expect_writable(path: &Path) -> Result<(), DataError> {
    let failed = |error: io::Error| unwritable(path, &error);
    match WriteTarget::of(path).map_err(failed)? {
        WriteTarget::Direct => Ok(()),
        WriteTarget::Replace(target) => create_temporary(&target).map(drop).map_err(failed),
    }
}

/// A file that is written step by step. Until [`finish`](Unfinished::finish), its path keeps its old content,
/// or stays absent. Dropping it removes the unfinished file.
pub(crate) struct Unfinished {
    path: PathBuf,
    temporary: Option<(TemporaryFile, PathBuf)>,
    file: File,
}

impl Unfinished {
    /// Creates an unfinished file in the folder of the target, as [`write_atomically`] does.
    pub(crate) fn create(path: &Path) -> Result<Self, DataError> {
        let failed = |error: io::Error| unwritable(path, &error);
        let (file, temporary) = match WriteTarget::of(path).map_err(failed)? {
            WriteTarget::Direct => (OpenOptions::new().write(true).open(path).map_err(failed)?, None),
            WriteTarget::Replace(target) => {
                let temporary = create_temporary(&target).map_err(failed)?;
                (temporary.file.as_file().try_clone().map_err(failed)?, Some((temporary, target)))
            }
        };
        Ok(Unfinished { path: path.to_path_buf(), temporary, file })
    }

    /// A handle for writing to the file.
    pub(crate) fn file(&self) -> Result<File, DataError> {
        self.file.try_clone().map_err(|error| unwritable(&self.path, &error))
    }

    /// Whether the file can seek: it is neither a pipe nor a device.
    pub(crate) fn is_regular(&self) -> bool {
        self.temporary.is_some()
    }

    /// Completes the file: renames it from its temporary name to its path.
    pub(crate) fn finish(self) -> Result<(), DataError> {
        let Some((temporary, target)) = self.temporary else { return Ok(()) };
        put_in_place(vec![(temporary.close(), target)]).map_err(|(_, error)| unwritable(&self.path, &error))
    }
}

/// Writes several files that belong together: unless all of them can be written, all paths keep their old
/// content.
///
/// # Errors
///
/// `D0012` if a target cannot be written.
pub fn write_together(files: &[(&Path, &[u8])]) -> Result<(), DataError> {
    let mut closed = Vec::new();
    let mut direct = Vec::new();
    let mut paths = Vec::new();
    for (path, bytes) in files {
        let failed = |error: io::Error| unwritable(path, &error);
        match WriteTarget::of(path).map_err(failed)? {
            WriteTarget::Direct => direct.push((path, bytes)),
            WriteTarget::Replace(target) => {
                let mut temporary = create_temporary(&target).map_err(failed)?;
                temporary.file.write_all(bytes).map_err(failed)?;
                closed.push((temporary.close(), target));
                paths.push(path);
            }
        }
    }
    for (path, bytes) in direct {
        write_atomically(path, |out| out.write_all(bytes))?;
    }
    put_in_place(closed)
        .map_err(|(at, error)| unwritable(paths.get(at).copied().unwrap_or(&Path::new("")), &error))
}

/// Like [`write_atomically`], for writers that need a path, such as a linker. `make` receives the path of an
/// empty file in the folder of the target, and fills or replaces it.
///
/// # Errors
///
/// The error of `make`; or `D0012`, converted, if the target cannot be written or is no regular file.
pub fn replace_atomically<T, E: From<DataError>>(
    path: &Path,
    make: impl FnOnce(&Path) -> Result<T, E>,
) -> Result<T, E> {
    let failed = |error: io::Error| unwritable(path, &error);
    match WriteTarget::of(path).map_err(failed)? {
        WriteTarget::Direct => {
            let error =
                DataError::new(codes::UNWRITABLE, &path.display().to_string(), "this is no regular file");
            Err(error.help("name a file that does not exist yet, or one that may be replaced").into())
        }
        WriteTarget::Replace(target) => {
            let temporary = create_temporary(&target).map_err(failed)?.close();
            let made = make(&temporary.path)?;
            put_in_place(vec![(temporary, target)]).map_err(|(_, error)| failed(error))?;
            Ok(made)
        }
    }
}

/// A path to write: a file to replace, or a special file to open.
enum WriteTarget {
    /// A regular file, or nothing yet: replaced by a new file.
    Replace(PathBuf),
    /// A special file, such as a device, which must not be replaced: opened and written.
    Direct,
}

impl WriteTarget {
    fn of(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            // A rename would replace a link itself, so the target is the file at its end.
            Ok(found) if found.is_file() => Ok(WriteTarget::Replace(fs::canonicalize(path)?)),
            Ok(_) => Ok(WriteTarget::Direct),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(WriteTarget::Replace(leads_to(path))),
            Err(error) => Err(error),
        }
    }
}

/// Maximum length of a chain of links, as in Linux.
const MOST_LINKS: usize = 40;

/// The path after following all symbolic links. Its file need not exist.
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

/// Paths of unfinished files, which are not yet renamed.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Delays the clean-up after an interrupt while the value lives, so that it cannot fall between steps that
/// belong together.
pub(crate) fn uninterrupted() -> impl Drop {
    unfinished()
}

/// Removes unfinished files and folders, when a signal ends the process. Afterwards, a thread that tries to
/// finish a file waits for ever.
pub fn abandon_unfinished() {
    // A thread that the signal stopped may hold the lock, so the wait is bounded.
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

/// An unfinished file in its target's directory.
struct TemporaryFile {
    file: NamedTempFile,
    entry: CleanupEntry,
}

/// A closed [`TemporaryFile`]. Dropping it removes the file, unless it has been renamed.
struct ClosedFile {
    path: TempPath,
    _entry: CleanupEntry,
}

impl TemporaryFile {
    fn close(self) -> ClosedFile {
        ClosedFile { path: self.file.into_temp_path(), _entry: self.entry }
    }
}

/// Keeps a path in [`UNFINISHED`] while it lives.
pub(crate) struct CleanupEntry(PathBuf);

impl CleanupEntry {
    /// Adds the path of an unfinished file or folder.
    pub(crate) fn new(path: PathBuf) -> CleanupEntry {
        unfinished().push(path.clone());
        CleanupEntry(path)
    }
}

impl Drop for CleanupEntry {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

/// Creates an empty file in the target's directory. It is removed on drop, unless it has been renamed.
fn create_temporary(target: &Path) -> io::Result<TemporaryFile> {
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(".schedc-").suffix(".tmp");
    // The mode of an ordinary new file, which the process's umask restricts. The default would be private.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut unfinished = unfinished();
    let file = builder.tempfile_in(directory.unwrap_or(Path::new(".")))?;
    let path = file.path().to_path_buf();
    unfinished.push(path.clone());
    Ok(TemporaryFile { file, entry: CleanupEntry(path) })
}

/// Renames finished files to their targets. A file takes over the mode of a target that exists. Errors have
/// the index of the file.
fn put_in_place(files: Vec<(ClosedFile, PathBuf)>) -> Result<(), (usize, io::Error)> {
    for (at, (file, target)) in files.iter().enumerate() {
        if let Ok(replaced) = fs::metadata(target) {
            fs::set_permissions(&file.path, replaced.permissions()).map_err(|error| (at, error))?;
        }
    }
    // While the lock is held, no interrupt removes some of the files.
    let guard = unfinished();
    let mut done = Ok(());
    for (at, (file, target)) in files.iter().enumerate() {
        done = done.and_then(|()| fs::rename(&file.path, target).map_err(|error| (at, error)));
    }
    drop(guard);
    done
}

/// The error for a path that cannot be written, with advice by the kind of the cause.
pub fn unwritable(path: &Path, error: &io::Error) -> DataError {
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
