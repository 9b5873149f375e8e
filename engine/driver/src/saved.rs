//! The cache of whole builds, looked up by the bytes of the model's file.
//!
//! If a model was built before, such a look-up avoids reading and lowering it, which would take longer than
//! all other work. The key covers the bytes of the file and everything else that the result depends on.

use crate::cache::{self, CacheKey, KeyBuilder};
use crate::lock::{LockUse, beside};
use sched_llvm::Cpu;
use serde_json::Value;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

/// The results of a build.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedBuild {
    /// The contents of the built files.
    pub files: Vec<Vec<u8>>,
    /// The text that commands print about the build, and its header.
    pub about: Value,
}

/// Everything that the result of a build depends on.
#[derive(Clone, Copy, Debug)]
pub struct BuildInputs<'a> {
    /// The bytes of the model's file.
    pub model: &'a [u8],
    /// The path of the model's file, beside which a lock may be.
    pub path: &'a Path,
    /// The processors for which code is generated.
    pub cpus: &'a [Cpu],
    /// The use of the lock.
    pub lock: &'a LockUse,
    /// All options that the build depends on.
    pub options: &'a dyn Debug,
}

impl BuildInputs<'_> {
    /// The key of the build in the cache. `producer` is the part of schedc that wrote it, such as `build`.
    pub fn key(&self, producer: &str) -> CacheKey {
        let mut key = KeyBuilder::new("build");
        key.add(&(producer, self.options, self.lock));
        key.add_bytes(self.model);
        self.cpus.iter().for_each(|cpu| key.add_processor(*cpu));
        // A lock decides the schedule, and its entries name models by their paths.
        let lock = self.lock.file.clone().unwrap_or_else(|| beside(self.path));
        let lock = (!self.lock.frozen).then(|| fs::read(&lock).ok()).flatten();
        key.add(&(lock.as_ref().map(|_| self.path), lock.is_some()));
        key.add_bytes(&lock.unwrap_or_default());
        key.finish()
    }
}

/// The build with this key in the current cache, or else the result of `make`, which is then stored.
///
/// # Errors
/// The errors of `make`.
pub fn get_or_make<E>(
    key: impl FnOnce() -> CacheKey,
    make: impl Fn() -> Result<SavedBuild, E>,
) -> Result<SavedBuild, E> {
    match decoded(&cache::get_or_make(key, || make().map(|build| encoded(&build)))?) {
        Some(build) => Ok(build),
        None => make(),
    }
}

/// The build with this key, if the current cache has it.
pub fn find(key: &CacheKey) -> Option<SavedBuild> {
    decoded(&cache::find(key)?)
}

/// Stores a build in the current cache, if there is one.
pub fn keep(key: &CacheKey, build: &SavedBuild) {
    cache::keep(key, &encoded(build));
}

/// The number of files, the length of each, the files, and the text about them.
fn encoded(build: &SavedBuild) -> Vec<u8> {
    let number = |n: usize| (n as u64).to_le_bytes();
    let mut bytes = number(build.files.len()).to_vec();
    build.files.iter().for_each(|file| bytes.extend(number(file.len())));
    build.files.iter().for_each(|file| bytes.extend(file));
    bytes.extend(build.about.to_string().into_bytes());
    bytes
}

fn decoded(mut bytes: &[u8]) -> Option<SavedBuild> {
    let number = |bytes: &mut &[u8]| {
        let (number, rest) = bytes.split_first_chunk::<8>()?;
        *bytes = rest;
        usize::try_from(u64::from_le_bytes(*number)).ok()
    };
    let count = number(&mut bytes)?;
    let mut lengths = Vec::new();
    for _ in 0..count {
        lengths.push(number(&mut bytes)?);
    }
    let mut files = Vec::new();
    for length in lengths {
        let (file, rest) = bytes.split_at_checked(length)?;
        files.push(file.to_vec());
        bytes = rest;
    }
    Some(SavedBuild { files, about: serde_json::from_slice(bytes).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use serde_json::json;
    use std::cell::Cell;

    fn build() -> SavedBuild {
        SavedBuild { files: vec![b"library".to_vec(), Vec::new()], about: json!({"notes": ["a"]}) }
    }

    #[test]
    fn builds_are_read_as_they_were_written() {
        let bytes = encoded(&build());
        assert_eq!(decoded(&bytes), Some(build()));
        for end in 0..bytes.len() {
            assert_eq!(decoded(&bytes[..end]), None, "{end} bytes");
        }
    }

    #[test]
    fn a_build_is_made_once() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let made = Cell::new(0);
        let lock = LockUse { frozen: true, ..LockUse::default() };
        let of = |model: &[u8], options: &str| {
            let options: &dyn Debug = &options;
            let key =
                BuildInputs { model, path: Path::new("m"), cpus: &[], lock: &lock, options }.key("test");
            let make = || {
                made.set(made.get() + 1);
                Ok::<_, ()>(build())
            };
            let cache = Cache::new(folder.path().to_path_buf(), 1 << 20);
            cache::with_cache(Some(cache), || {
                assert_eq!(get_or_make(|| key.clone(), make), Ok(build()));
                assert_eq!(find(&key), Some(build()));
            });
            made.get()
        };
        assert_eq!([of(b"a", "x"), of(b"a", "x"), of(b"b", "x"), of(b"a", "y")], [1, 1, 2, 3]);
        Ok(())
    }

    #[test]
    fn the_key_covers_the_lock() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("model.json");
        let key = |frozen: bool| {
            let lock = LockUse { frozen, ..LockUse::default() };
            BuildInputs { model: b"a", path: &path, cpus: &[], lock: &lock, options: &"" }.key("test")
        };
        let (before, frozen) = (key(false), key(true));
        fs::write(beside(&path), "one")?;
        let one = key(false);
        fs::write(beside(&path), "two")?;
        let two = key(false);
        assert!(before != one && one != two && two != before);
        assert_eq!(frozen, key(true));
        Ok(())
    }
}
