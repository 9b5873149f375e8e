//! The cache of compiled artefacts: files in the user's folder for caches, each named by a digest of
//! everything that its content depends on.
//!
//! Several processes may share the folder. Entries are written under temporary names and then renamed. Each
//! begins with the digest of its content, so that no process uses a part of an entry. Every error of
//! the cache counts as a miss.

use crate::machines;
use sched_ir::lir::Module;
use sched_llvm::{Cpu, host_cpu_name, llvm_info};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fmt::{Debug, Write as _};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// Most bytes of all entries: some hundred models of usual size. Beyond it, the oldest entries are removed.
const MOST_BYTES: u64 = 256 << 20;
/// Age from which a temporary file is removed: the process that wrote it has ended without renaming it.
const ABANDONED_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Ending of the names of entries' files.
const FILE_ENDING: &str = "schedc";
/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;

thread_local!(static CURRENT: RefCell<Option<Rc<Cache>>> = const { RefCell::new(None) });

/// Runs `body`, whose compilations in this thread use the cache; without a cache if it is `None`.
pub fn with_cache<T>(cache: Option<Cache>, body: impl FnOnce() -> T) -> T {
    struct Before(Option<Rc<Cache>>);
    impl Drop for Before {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _before = Before(CURRENT.replace(cache.map(Rc::new)));
    body()
}

/// The content of an entry of the current cache, or else what `make` makes, which is then stored.
pub(crate) fn get_or_make<E>(
    key: impl FnOnce() -> CacheKey,
    make: impl FnOnce() -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    let Some(cache) = CURRENT.with_borrow(Clone::clone) else { return make() };
    let key = key();
    if let Some(content) = cache.get(&key) {
        return Ok(content);
    }
    let content = make()?;
    cache.put(&key, &content);
    Ok(content)
}

/// The content of an entry of the current cache; `None` if there is no cache, or it has no such entry.
pub(crate) fn find(key: &CacheKey) -> Option<Vec<u8>> {
    CURRENT.with_borrow(Clone::clone)?.get(key)
}

/// Stores an entry in the current cache, if there is one.
pub(crate) fn keep(key: &CacheKey, content: &[u8]) {
    if let Some(cache) = CURRENT.with_borrow(Clone::clone) {
        cache.put(key, content);
    }
}

/// The name of an entry: a digest of everything on which its content depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheKey(String);

/// Collects everything on which the content of an entry depends.
pub struct KeyBuilder(Sha256);

impl KeyBuilder {
    /// The key of entries of a kind that this program makes.
    pub fn new(kind: &str) -> KeyBuilder {
        let mut key = KeyBuilder(Sha256::new());
        key.add(&(kind, env!("CARGO_PKG_VERSION"), host_cpu_name(), llvm_info().llvm));
        // During development, different programs have the same version.
        let about = program().and_then(|path| fs::metadata(path).ok());
        key.add(&about.map(|about| (about.len(), about.modified().ok())));
        key
    }

    /// Adds bytes.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a value, by the text of all its parts.
    pub fn add(&mut self, value: &dyn Debug) {
        struct DigestText<'a>(&'a mut Sha256);
        impl std::fmt::Write for DigestText<'_> {
            fn write_str(&mut self, text: &str) -> std::fmt::Result {
                self.0.update(text.as_bytes());
                Ok(())
            }
        }
        // Writing to a digest does not fail. No text of a value contains the byte 0xff.
        let _written = write!(DigestText(&mut self.0), "{value:?}");
        self.0.update([0xff]);
    }

    /// Adds a processor, with its figures in the cost model.
    pub fn add_processor(&mut self, cpu: Cpu) {
        self.add(&cpu);
        self.add_bytes(machines::of(cpu).to_json().as_bytes());
    }

    /// Adds the code and the tables of a module.
    pub fn add_module(&mut self, module: &Module) {
        let Module { kernels, tables, types, rows_per_run, processors, least_column_rows, transfer } = module;
        self.add(&(kernels, types, rows_per_run, processors, least_column_rows, transfer));
        for table in tables {
            self.add(&table.name);
            self.add_bytes(&table.bytes);
        }
    }

    /// The key.
    pub fn finish(self) -> CacheKey {
        CacheKey(self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// The file that holds this code: a program, or a module of Python.
fn program() -> Option<PathBuf> {
    let here = program as *const () as usize;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let holds = |range: &str| {
        let (begin, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        (address(begin)?..address(end)?).contains(&here).then_some(())
    };
    let line = maps.lines().find(|line| line.split(' ').next().and_then(holds).is_some())?;
    Some(PathBuf::from(line.get(line.find('/')?..)?))
}

/// A folder of entries.
pub struct Cache {
    folder: PathBuf,
    most_bytes: u64,
}

impl Cache {
    /// The cache of the user: `artefacts` in `$SCHEDC_CACHE`, `$XDG_CACHE_HOME/schedc` or `~/.cache/schedc`.
    /// `None` if there is no such folder.
    pub fn of_user() -> Option<Cache> {
        Some(Cache::new(machines::cache_folder()?.join("artefacts"), MOST_BYTES))
    }

    /// A cache in a folder, of at most `most_bytes` bytes.
    pub fn new(folder: PathBuf, most_bytes: u64) -> Cache {
        Cache { folder, most_bytes }
    }

    /// The content of an entry. `None` if there is none, or it is damaged.
    pub fn get(&self, key: &CacheKey) -> Option<Vec<u8>> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let Some((_, content)) =
            bytes.split_at_checked(DIGEST_BYTES).filter(|(head, rest)| *head == digest(rest))
        else {
            let _gone = fs::remove_file(&path);
            return None;
        };
        // The oldest entries are removed first, so a used entry gets a new time.
        let _touched = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Some(content.to_vec())
    }

    /// Stores an entry, and removes the oldest ones beyond the limit.
    pub fn put(&self, key: &CacheKey, content: &[u8]) {
        if self.write(key, content).is_ok() {
            let _trimmed = self.trim();
        }
    }

    fn write(&self, key: &CacheKey, content: &[u8]) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&digest(content))?;
        file.write_all(content)?;
        file.persist(self.path(key))?;
        Ok(())
    }

    /// Removes the oldest entries beyond the limit, and files of processes that died.
    fn trim(&self) -> std::io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let about = entry.metadata()?;
            let modified = about.modified()?;
            if entry.path().extension().is_some_and(|ending| ending == FILE_ENDING) {
                entries.push((modified, about.len(), entry.path()));
            } else if modified.elapsed().is_ok_and(|age| age > ABANDONED_AGE) {
                fs::remove_file(entry.path())?;
            }
        }
        entries.sort();
        let mut all: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in entries {
            if all <= self.most_bytes {
                break;
            }
            // Another process may have removed it.
            let _gone = fs::remove_file(path);
            all -= bytes;
        }
        Ok(())
    }

    fn path(&self, key: &CacheKey) -> PathBuf {
        self.folder.join(format!("{}.{FILE_ENDING}", key.0))
    }
}

/// The digest of a content, with which its entry begins.
fn digest(content: &[u8]) -> [u8; DIGEST_BYTES] {
    Sha256::digest(content).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(parts: &[&str]) -> CacheKey {
        let mut key = KeyBuilder::new("test");
        parts.iter().for_each(|part| key.add_bytes(part.as_bytes()));
        key.finish()
    }

    fn key(part: &str) -> CacheKey {
        key_of(&[part])
    }

    #[test]
    fn keys_differ_by_parts_and_by_their_bounds() {
        assert_eq!(key("a"), key("a"));
        assert_ne!(key("a"), key("b"));
        assert_ne!(key_of(&["ab", "c"]), key_of(&["a", "bc"]));
        let text = |text: &str| {
            let mut key = KeyBuilder::new("test");
            key.add(&text);
            key.finish()
        };
        assert_ne!(text("a"), text("b"));
    }

    #[test]
    fn the_program_of_the_key_is_this_one() {
        assert_eq!(program(), std::env::current_exe().ok());
    }

    #[test]
    fn only_calls_with_a_cache_use_it() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let make = |content: &'static [u8]| get_or_make::<()>(|| key("a"), || Ok(content.to_vec()));
        let cache = || Some(Cache::new(folder.path().to_path_buf(), 1 << 20));
        let made = with_cache(cache(), || [make(b"first"), make(b"second")]);
        assert_eq!(made, [Ok(b"first".to_vec()), Ok(b"first".to_vec())]);
        assert_eq!(make(b"third"), Ok(b"third".to_vec()));
        assert_eq!(with_cache(cache(), || with_cache(None, || make(b"fourth"))), Ok(b"fourth".to_vec()));
        Ok(())
    }

    #[test]
    fn entries_are_found_until_they_are_damaged() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let cache = Cache::new(folder.path().join("new"), 1 << 20);
        assert_eq!(cache.get(&key("a")), None);
        cache.put(&key("a"), b"content");
        assert_eq!(cache.get(&key("a")).as_deref(), Some(b"content".as_slice()));
        assert_eq!(cache.get(&key("b")), None);
        for damaged in [b"short".to_vec(), [digest(b"content").to_vec(), b"kontent".to_vec()].concat()] {
            fs::write(cache.path(&key("a")), damaged)?;
            assert_eq!(cache.get(&key("a")), None);
            assert!(!cache.path(&key("a")).exists());
        }
        Ok(())
    }

    #[test]
    fn the_oldest_entries_go_first() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let cache = Cache::new(folder.path().to_path_buf(), 3000);
        let long_ago = |hours: u64| SystemTime::now() - Duration::from_secs(hours * 60 * 60);
        for (name, hours) in [("a", 3), ("b", 2)] {
            cache.put(&key(name), &[0; 1000]);
            File::open(cache.path(&key(name)))?.set_modified(long_ago(hours))?;
        }
        let abandoned = folder.path().join("half");
        File::create(&abandoned)?.set_modified(long_ago(25))?;
        let _used = cache.get(&key("a"));
        cache.put(&key("c"), &[0; 1000]);
        let kept = ["a", "b", "c"].map(|name| cache.get(&key(name)).is_some());
        assert_eq!((kept, abandoned.exists()), ([true, false, true], false));
        Ok(())
    }
}
