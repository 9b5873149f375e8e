//! Files that a `model` line could name. Every key press in a `model` line requests them, so the listings of
//! folders are cached: a folder is read again only after it has changed.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sched_lang::diagnostics::nearest;

use crate::models::ModelFileEndings;

/// Maximum number of entries that are read of a folder.
const MOST_ENTRIES: usize = 10_000;
/// Number of first bytes of a file that decide whether it may be a model. More bytes would recognise rare
/// forms of models, and take longer to read.
const PREFIX_BYTES: u64 = 4096;
/// Maximum number of folders in which one search for models looks.
const MOST_FOLDERS: usize = 64;
/// Maximum depth of folders that a search for models opens, below the folder where it begins.
const MAX_FOLDER_DEPTH: usize = 4;
/// Maximum number of folders beside the schedule's own in which a search for models looks.
const MOST_FOLDERS_AROUND: usize = 16;
/// Maximum number of cached listings; a full cache is emptied.
const MOST_LISTINGS: usize = 512;
/// Maximum number of existing models that are proposed in place of a wrong path.
const MAX_SIMILAR_MODELS: usize = 3;
/// Resolution of modification times: a second change this soon after the first may leave a folder's time
/// unchanged. A listing that was read so early is therefore not reused.
const MTIME_RESOLUTION: Duration = Duration::from_millis(100);

/// Cached listings of folders.
#[derive(Debug, Default)]
pub struct Neighbours {
    endings: ModelFileEndings,
    folders: HashMap<PathBuf, Listing>,
    /// The number of times that a folder was read.
    reads: usize,
}

/// The contents of a folder, in the order of names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FolderEntries {
    /// Files that may be models.
    pub models: Vec<String>,
    /// Subfolders, without hidden ones and `target` and `node_modules`.
    pub folders: Vec<String>,
}

#[derive(Debug)]
struct Listing {
    changed: SystemTime,
    is_settled: bool,
    entries: Arc<FolderEntries>,
}

impl Neighbours {
    /// Creates an empty cache; files with these endings may be models.
    pub fn new(endings: ModelFileEndings) -> Neighbours {
        Neighbours { endings, ..Neighbours::default() }
    }

    /// The contents of a folder; empty if it cannot be read.
    pub fn entries(&mut self, folder: &Path) -> Arc<FolderEntries> {
        let now = SystemTime::now();
        let Ok(changed) = std::fs::metadata(folder).and_then(|found| found.modified()) else {
            self.folders.remove(folder);
            return Arc::default();
        };
        match self.folders.get(folder) {
            Some(known) if known.is_settled && known.changed == changed => Arc::clone(&known.entries),
            _ => {
                let is_settled = now.duration_since(changed).is_ok_and(|age| age > MTIME_RESOLUTION);
                let entries = Arc::new(read(folder, &self.endings));
                self.reads += 1;
                if self.folders.len() >= MOST_LISTINGS {
                    self.folders.clear();
                }
                let listing = Listing { changed, is_settled, entries: Arc::clone(&entries) };
                self.folders.insert(folder.to_path_buf(), listing);
                entries
            }
        }
    }

    /// The models in a folder and its subfolders as relative paths, those of outer folders first.
    pub fn models_below(&mut self, folder: &Path) -> Vec<String> {
        let mut open = VecDeque::from([(String::new(), 0)]);
        let (mut found, mut seen) = (Vec::new(), 0);
        while let Some((inner, level)) = open.pop_front() {
            seen += 1;
            if seen > MOST_FOLDERS {
                break;
            }
            let entries = self.entries(&folder.join(&inner));
            found.extend(entries.models.iter().map(|name| format!("{inner}{name}")));
            if level < MAX_FOLDER_DEPTH {
                open.extend(entries.folders.iter().map(|name| (format!("{inner}{name}/"), level + 1)));
            }
        }
        found
    }

    /// The models in the folder around a folder, and in the other folders there, as relative paths.
    fn models_around(&mut self, folder: &Path) -> Vec<String> {
        let around = folder.join("..");
        let entries = self.entries(&around);
        let mut found: Vec<String> = entries.models.iter().map(|name| format!("../{name}")).collect();
        let own = folder.file_name();
        let others = entries.folders.iter().filter(|name| own != Some(std::ffi::OsStr::new(name)));
        for name in others.take(MOST_FOLDERS_AROUND) {
            let models = self.entries(&around.join(name));
            found.extend(models.models.iter().map(|model| format!("../{name}/{model}")));
        }
        found
    }

    /// The existing models that `path`, which names none, may be a misspelling of; the most similar first.
    /// All paths are relative to `folder`.
    /// Looks in the folders beside `folder` too, if they are in the folder `workspace`.
    pub fn similar_models(&mut self, folder: &Path, workspace: Option<&Path>, path: &str) -> Vec<String> {
        let (inner, name) = path.rsplit_once('/').map_or(("", path), |(inner, name)| (inner, name));
        let beside = match inner {
            "" => Vec::new(),
            inner => {
                let entries = self.entries(&folder.join(inner));
                entries.models.iter().map(|name| format!("{inner}/{name}")).collect()
            }
        };
        let mut seen = BTreeSet::new();
        let has_around = workspace.is_some_and(|whole| folder.starts_with(whole) && folder != whole);
        let around = if has_around { self.models_around(folder) } else { Vec::new() };
        let nearby = self.models_below(folder).into_iter().chain(around);
        let mut known: Vec<String> = beside.into_iter().chain(nearby).collect();
        known.retain(|model| seen.insert(model.clone()));
        let stem = |path: &str| Path::new(path).file_stem().map(std::ffi::OsStr::to_os_string);
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut meant: Vec<String> =
            nearest(path, known.iter().map(String::as_str)).map(str::to_owned).into_iter().collect();
        meant.extend(known.iter().filter(|model| last(model) == name).cloned());
        meant.extend(known.iter().filter(|model| stem(model) == stem(name)).cloned());
        let names: BTreeSet<String> = known.iter().map(|model| last(model)).collect();
        let alike = nearest(name, names.iter().map(String::as_str));
        meant.extend(known.iter().filter(|model| alike == Some(&*last(model))).cloned());
        let mut seen = BTreeSet::new();
        meant.retain(|model| seen.insert(model.clone()));
        meant.truncate(MAX_SIMILAR_MODELS);
        meant
    }
}

fn read(folder: &Path, endings: &ModelFileEndings) -> FolderEntries {
    let mut found = FolderEntries::default();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES) {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_filled = ["target", "node_modules"].contains(&name.as_str());
        if name.starts_with('.') || name.chars().any(char::is_control) {
            continue;
        }
        if is_folder && !is_filled {
            found.folders.push(name);
        } else if !is_folder && endings.matches(Path::new(&name)) && begins_as_model(&entry.path(), endings) {
            found.models.push(name);
        }
    }
    found.models.sort();
    found.folders.sort();
    found
}

/// Whether a file may be a model, by its first bytes.
fn begins_as_model(path: &Path, endings: &ModelFileEndings) -> bool {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut beginning = Vec::new();
        std::fs::File::open(path)?.take(PREFIX_BYTES).read_to_end(&mut beginning)?;
        Ok(beginning)
    };
    read().is_ok_and(|beginning| (endings.may_be_model)(&beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates an empty cache with the endings of two formats.
    fn neighbours() -> Neighbours {
        Neighbours::new(ModelFileEndings { endings: Arc::new(["json", "tl", "ubj"]), may_be_model: |_| true })
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[&str]) -> Folder {
            let folder = Folder(std::env::temp_dir().join(format!("schedc-{name}-{}", std::process::id())));
            for file in files {
                folder.add(file);
            }
            folder
        }

        fn add(&self, file: &str) {
            let path = self.0.join(file);
            let parent = path.parent().expect("a folder");
            std::fs::create_dir_all(parent).expect("a folder can be made");
            std::fs::write(path, "{}").expect("a file can be written");
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// Sets the modification time of a folder to an hour ago.
    fn settle(folder: &Path) {
        let old = SystemTime::now() - Duration::from_secs(3600);
        let open = std::fs::File::open(folder).expect("a folder");
        open.set_modified(old).expect("its time can be set");
    }

    #[test]
    fn models_below_a_folder_come_outer_ones_first() {
        let files =
            ["z.json", "a.ubj", "rows.csv", ".hidden/m.json", "target/m.json", "in/m.tl", "in/er/m.json"];
        let folder = Folder::new("below", &files);
        let mut neighbours = neighbours();
        assert_eq!(neighbours.models_below(&folder.0), ["a.ubj", "z.json", "in/m.tl", "in/er/m.json"]);
        assert_eq!(neighbours.entries(&folder.0).folders, ["in"]);
        assert_eq!(*neighbours.entries(&folder.0.join("away")), FolderEntries::default());
    }

    #[test]
    fn a_folder_is_read_again_only_when_it_has_changed() {
        let folder = Folder::new("cached", &["in/m.json"]);
        let mut neighbours = neighbours();
        settle(&folder.0);
        settle(&folder.0.join("in"));
        for _ in 0..3 {
            assert_eq!(neighbours.models_below(&folder.0), ["in/m.json"]);
        }
        assert_eq!(neighbours.reads, 2, "two folders, each once");
        folder.add("in/n.json");
        assert_eq!(neighbours.models_below(&folder.0), ["in/m.json", "in/n.json"]);
        assert_eq!(neighbours.reads, 3);
    }

    #[test]
    fn a_huge_tree_is_not_walked() {
        let files: Vec<String> = (0..3 * MOST_FOLDERS).map(|number| format!("f{number:03}/m.json")).collect();
        let deep = format!("{}m.json", "d/".repeat(MAX_FOLDER_DEPTH + 1));
        let all: Vec<&str> = files.iter().map(String::as_str).chain([deep.as_str()]).collect();
        let folder = Folder::new("huge", &all);
        let mut neighbours = neighbours();
        let found = neighbours.models_below(&folder.0);
        assert!(neighbours.reads <= MOST_FOLDERS && !found.contains(&deep), "{}", neighbours.reads);
    }

    #[test]
    fn files_that_do_not_begin_as_models_are_no_models() {
        let folder = Folder::new("begin", &["model.json", "settings.json"]);
        std::fs::write(folder.0.join("model.json"), "{\"learner\": {}}").expect("a file");
        let endings = ModelFileEndings {
            endings: Arc::new(["json"]),
            may_be_model: |beginning| beginning.starts_with(b"{\"learner\""),
        };
        assert_eq!(Neighbours::new(endings).entries(&folder.0).models, ["model.json"]);
    }

    #[test]
    fn proposed_models_are_spelled_alike_or_have_the_same_name() {
        let folder = Folder::new("meant", &["model.json", "other.json", "in/forest.json", "in/model.ubj"]);
        let mut neighbours = neighbours();
        let mut meant = |path: &str| neighbours.similar_models(&folder.0, Some(&folder.0), path);
        assert_eq!(meant("modle.json"), ["model.json"]);
        assert_eq!(meant("forest.json"), ["in/forest.json"]);
        assert_eq!(meant("in/forst.json"), ["in/forest.json"]);
        assert_eq!(meant("forest.ubj"), ["in/forest.json"]);
        assert_eq!(meant("in/model.json"), ["model.json", "in/model.ubj"], "the nearest first");
        assert_eq!(meant("something.else"), Vec::<String>::new());
    }

    #[test]
    fn models_in_folders_beside_the_own_one_are_proposed() {
        let files = ["models/abalone.json", "schedules/own.json", "whole.json"];
        let folder = Folder::new("around", &files);
        let mut neighbours = neighbours();
        let own = folder.0.join("schedules");
        assert_eq!(neighbours.similar_models(&own, None, "whole.json"), Vec::<String>::new());
        let mut meant = |path: &str| neighbours.similar_models(&own, Some(&folder.0), path);
        assert_eq!(meant("abalone.json"), ["../models/abalone.json"]);
        assert_eq!(meant("models/abalone.json"), ["../models/abalone.json"]);
        assert_eq!(meant("abalon.json"), ["../models/abalone.json"]);
        assert_eq!(meant("whole.json"), ["../whole.json"]);
        assert_eq!(meant("own.jsn"), ["own.json"], "not also as `../schedules/own.json`");
    }
}
