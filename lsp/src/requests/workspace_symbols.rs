//! `workspace/symbol`: what all schedules of the workspace declare.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sched_ide::{self as ide, Analysis};
use sched_lang::Options;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{SymbolInformation, Uri, WorkspaceSymbolParams, WorkspaceSymbolResponse};

use super::symbols;
use crate::document::{Binding, Snapshot};
use crate::models::{Stamp, Status};
use crate::settings::Settings;
use crate::state::Shared;
use crate::text::{Encoding, Text};

/// Schedules on disk that are looked at.
const MOST_FILES: usize = 2000;
/// Folders that are looked into.
const MOST_FOLDERS: usize = 10_000;
/// Longest schedule on disk that is looked at, in bytes.
const LONGEST: u64 = 1 << 20;
/// Symbols that are told.
const MOST_SYMBOLS: usize = 2000;

/// What schedules on disk declare, by their paths.
#[derive(Debug, Default)]
pub struct SymbolCache(HashMap<PathBuf, (Stamp, Arc<Vec<SymbolInformation>>)>);

/// Symbols whose names have the letters of the query in its order.
pub async fn symbols(
    shared: &Arc<Shared>,
    params: WorkspaceSymbolParams,
) -> Result<Option<WorkspaceSymbolResponse>> {
    let open: Vec<Uri> = shared.lock().documents.values().map(|document| document.uri.clone()).collect();
    let mut found = Vec::new();
    for uri in &open {
        if let Ok(Some(snapshot)) = shared.snapshot(uri) {
            found.extend(symbols::flat(&snapshot, &ide::document_symbols(&snapshot.analysis)));
        }
    }
    let (folders, encoding) = {
        let state = shared.lock();
        (state.folders.iter().map(|folder| folder.path.clone()).collect::<Vec<_>>(), state.encoding)
    };
    let memory = Arc::clone(shared);
    let on_disk = tokio::task::spawn_blocking(move || {
        let mut known = memory.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.look(&folders, encoding)
    });
    for list in on_disk.await.unwrap_or_default() {
        let is_open = list.first().is_some_and(|symbol| open.contains(&symbol.location.uri));
        if !is_open {
            found.extend(list.iter().cloned());
        }
    }
    let query: Vec<char> = params.query.to_lowercase().chars().collect();
    found.retain(|symbol| matches(&symbol.name, &query));
    found.truncate(MOST_SYMBOLS);
    Ok(Some(WorkspaceSymbolResponse::Flat(found)))
}

fn matches(name: &str, query: &[char]) -> bool {
    let mut rest = query;
    for c in name.chars().flat_map(char::to_lowercase) {
        if rest.first() == Some(&c) {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest.is_empty()
}

impl SymbolCache {
    /// The symbols of each schedule below some folders; files that have not changed are not read again.
    fn look(&mut self, folders: &[PathBuf], encoding: Encoding) -> Vec<Arc<Vec<SymbolInformation>>> {
        let mut known = HashMap::new();
        for path in schedules(folders) {
            let Some(stamp) = Stamp::of(&path) else { continue };
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

/// Schedules below folders, without hidden folders and those that programs fill.
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
    if std::fs::metadata(path).ok()?.len() > LONGEST {
        return None;
    }
    let source = std::fs::read_to_string(path).ok()?;
    let text = Arc::new(Text::new(source, encoding));
    let snapshot = Snapshot {
        uri: Uri::from_file_path(path)?,
        version: 0,
        epoch: 0,
        analysis: Analysis::new(Arc::clone(text.source()), Options::default()),
        text,
        binding: Binding { path: None, line: None, status: Status::Missing },
        settings: Arc::new(Settings::default()),
    };
    Some(symbols::flat(&snapshot, &ide::document_symbols(&snapshot.analysis)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_letters_in_order() {
        let is = |name: &str, query: &str| matches(name, &query.chars().collect::<Vec<_>>());
        assert!(is("rowBlock", "rb") && is("rowBlock", "") && is("x", "x"));
        assert!(!is("rowBlock", "br") && !is("", "x"));
    }
}
