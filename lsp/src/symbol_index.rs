//! Symbols of a workspace's schedules, both open documents and files on disk, for `workspace/symbol`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sched_ide::{self as ide, Analysis};
use sched_lang::CheckOptions;
use tower_lsp_server::ls_types::{SymbolInformation, SymbolKind, Uri};

use crate::convert::location;
use crate::document::{Binding, Snapshot};
use crate::models::{FileStamp, ModelStatus};
use crate::settings::Settings;
use crate::text::{Encoding, Text};

/// Maximum number of schedules on disk that the index reads.
const MOST_FILES: usize = 2000;
/// Maximum number of folders that the search for schedules opens.
const MOST_FOLDERS: usize = 10_000;
/// Longest schedule on disk that the index reads, in bytes.
const MAX_SCHEDULE_BYTES: u64 = 1 << 20;

/// Symbols of schedules on disk, by the paths of the schedules.
#[derive(Debug, Default)]
pub struct SymbolCache(HashMap<PathBuf, (FileStamp, Arc<Vec<SymbolInformation>>)>);

impl SymbolCache {
    /// Returns the symbols of each schedule below some folders, sorted by path. Reads only the files that
    /// changed since the last call.
    pub fn update(&mut self, folders: &[PathBuf], encoding: Encoding) -> Vec<Arc<Vec<SymbolInformation>>> {
        let mut known = HashMap::new();
        for path in schedules(folders) {
            let Some(stamp) = FileStamp::of(&path) else { continue };
            let list = match self.0.get(&path) {
                Some((old, list)) if *old == stamp => Arc::clone(list),
                _ => Arc::new(read(&path, encoding).unwrap_or_default()),
            };
            known.insert(path, (stamp, list));
        }
        self.0 = known;
        let mut paths: Vec<_> = self.0.iter().collect();
        paths.sort_by_key(|(path, _)| *path);
        paths.into_iter().map(|(_, (_, list))| Arc::clone(list)).collect()
    }
}

/// Paths of schedules below folders. Skips hidden folders, `target` and `node_modules`.
fn schedules(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut open = folders.to_vec();
    let (mut found, mut seen) = (Vec::new(), 0);
    while let Some(folder) = open.pop() {
        seen += 1;
        if seen > MOST_FOLDERS {
            break;
        }
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_filled = ["target", "node_modules"].contains(&&*name);
            if is_folder && !name.starts_with('.') && !is_filled {
                open.push(path);
            } else if !is_folder && path.extension().is_some_and(|extension| extension == "sched") {
                found.push(path);
            }
        }
        if found.len() >= MOST_FILES {
            break;
        }
    }
    found.truncate(MOST_FILES);
    found
}

fn read(path: &Path, encoding: Encoding) -> Option<Vec<SymbolInformation>> {
    if std::fs::metadata(path).ok()?.len() > MAX_SCHEDULE_BYTES {
        return None;
    }
    let source = std::fs::read_to_string(path).ok()?;
    let text = Arc::new(Text::new(source, encoding));
    let snapshot = Snapshot {
        uri: Uri::from_file_path(path)?,
        version: 0,
        epoch: 0,
        analysis: Analysis::new(Arc::clone(text.source()), CheckOptions::default()),
        text,
        binding: Binding { path: None, line: None, status: ModelStatus::Missing },
        settings: Arc::new(Settings::default()),
    };
    Some(flat(&snapshot, &ide::document_symbols(&snapshot.analysis)))
}

/// Lists all symbols, each with the name of the symbol that contains it.
pub fn flat(snapshot: &Snapshot, symbols: &[ide::Symbol]) -> Vec<SymbolInformation> {
    let mut all = Vec::new();
    let mut open: Vec<(&ide::Symbol, Option<&str>)> =
        symbols.iter().rev().map(|symbol| (symbol, None)).collect();
    while let Some((symbol, container)) = open.pop() {
        #[expect(deprecated, reason = "a field of the type that nothing reads")]
        all.push(SymbolInformation {
            name: symbol.name.clone(),
            kind: kind(symbol.kind),
            tags: None,
            deprecated: None,
            location: location(snapshot, symbol.selection),
            container_name: container.map(str::to_owned),
        });
        open.extend(symbol.children.iter().rev().map(|child| (child, Some(symbol.name.as_str()))));
    }
    all
}

/// The protocol's kind of a symbol.
pub fn kind(kind: ide::SymbolKind) -> SymbolKind {
    match kind {
        ide::SymbolKind::Model => SymbolKind::FILE,
        ide::SymbolKind::Target => SymbolKind::MODULE,
        ide::SymbolKind::Param => SymbolKind::VARIABLE,
        ide::SymbolKind::Const => SymbolKind::CONSTANT,
        ide::SymbolKind::Block => SymbolKind::NAMESPACE,
        ide::SymbolKind::Directive => SymbolKind::FUNCTION,
        ide::SymbolKind::RowIndex => SymbolKind::FIELD,
        ide::SymbolKind::TreeIndex => SymbolKind::ENUM_MEMBER,
    }
}
