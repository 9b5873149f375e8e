//! The state of the server: the client's abilities, folders with settings, documents, models. One lock guards
//! all of it, and no task holds it across a wait.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tower_lsp_server::Client;
use tower_lsp_server::jsonrpc::{Error, Result};
use tower_lsp_server::ls_types::{Position, ProgressToken, TextDocumentPositionParams, Uri};

use crate::abilities::Abilities;
use crate::document::{CheckInputs, Document, InternalError, Snapshot};
use crate::gains::Gains;
use crate::jobs::Jobs;
use crate::ledgers::Ledgers;
use crate::models::{FileStamp, ModelFileEndings, ModelStatus, Models};
use crate::neighbours::Neighbours;
use crate::serving::StageClient;
use crate::settings::Settings;
use crate::symbol_index::SymbolCache;
use crate::text::Encoding;

/// The path of a model to read, with the stamp of its file.
pub type ModelToRead = (PathBuf, FileStamp);

/// The server's data, shared by all requests and background tasks.
pub struct ServerData {
    /// The connection to the client.
    pub client: Client,
    /// Wakes the task that publishes diagnostics.
    pub diagnostics_due: Notify,
    /// Programs that run in the background.
    pub jobs: Jobs,
    /// Programs that keep running between requests.
    pub serving: StageClient,
    /// Sends models to the task that reads them.
    pub to_read: tokio::sync::mpsc::UnboundedSender<ModelToRead>,
    /// Symbols of the workspace's schedules on disk, for `workspace/symbol`.
    pub symbols: Mutex<SymbolCache>,
    /// Measured ledgers.
    pub ledgers: Ledgers,
    /// Predicted gains of proposals.
    pub gains: Gains,
    /// The files beside schedules.
    pub neighbours: Mutex<Neighbours>,
    /// Wakes the requests that wait for a model, after one has been read.
    pub model_read: Notify,
    state: Mutex<State>,
    running: Mutex<HashMap<ProgressToken, Arc<Notify>>>,
}

/// The changing part of the state.
#[derive(Default)]
pub struct State {
    /// The client's abilities.
    pub abilities: Abilities,
    /// The unit of columns in positions.
    pub encoding: Encoding,
    /// The workspace folders.
    pub folders: Vec<Folder>,
    /// The settings of documents outside of all folders.
    pub settings: Arc<Settings>,
    /// The open documents, by the texts of their URIs.
    pub documents: HashMap<String, Document>,
    /// The models.
    pub models: Models,
    /// File name endings of the models that the client watches.
    pub endings: ModelFileEndings,
    /// Whether the client reports changed models in the workspace folders.
    pub watches: bool,
    /// URIs of documents whose diagnostics have to be published.
    unpublished: BTreeSet<String>,
}

/// A workspace folder.
#[derive(Clone, Debug)]
pub struct Folder {
    /// URI of the folder, as the client sends it.
    pub uri: Uri,
    /// Path of the folder.
    pub path: PathBuf,
    /// Settings of this folder, if the client sends settings for each folder.
    pub settings: Option<Arc<Settings>>,
}

impl Folder {
    /// The folder at a URI, if it is a `file:` URI.
    pub fn new(uri: Uri) -> Option<Folder> {
        let path = uri.to_file_path()?.into_owned();
        Some(Folder { uri, path, settings: None })
    }
}

/// Removes `.` and `..` from a path without reading the file system.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

impl State {
    /// The innermost workspace folder that contains a document; the first folder for a document that is not a
    /// file.
    pub fn folder_of(&self, uri: &Uri) -> Option<&Folder> {
        if uri.scheme().as_str() != "file" {
            return self.folders.first();
        }
        let path = uri.to_file_path()?;
        let inside = self.folders.iter().filter(|folder| path.starts_with(&folder.path));
        inside.max_by_key(|folder| folder.path.components().count())
    }

    /// The settings of a document.
    pub fn settings_of(&self, uri: &Uri) -> Arc<Settings> {
        let own = self.folder_of(uri).and_then(|folder| folder.settings.clone());
        own.unwrap_or_else(|| Arc::clone(&self.settings))
    }

    /// The models of open documents whose changes the client does not report, with the stamps of their files.
    pub fn unwatched(&self) -> Vec<(PathBuf, Option<FileStamp>)> {
        let is_watched = |path: &Path| {
            let path = without_dots(path);
            let is_inside = self.folders.iter().any(|folder| path.starts_with(&folder.path));
            self.watches && is_inside && self.endings.matches(&path)
        };
        let bound = |document: &Document| Some((document.model()?, document.is_model_missing()));
        let models: BTreeMap<PathBuf, bool> = self.documents.values().filter_map(bound).collect();
        let known = |(path, is_missing): (PathBuf, bool)| {
            let stamp = self.models.known_stamp(&path);
            // Models that the full cache dropped are not polled; the next check looks them up again.
            (stamp.is_some() || is_missing).then_some((path, stamp))
        };
        models.into_iter().filter(|(path, _)| !is_watched(path)).filter_map(known).collect()
    }

    /// The checked present state of a document, `None` if it is not open; and the models that have to be read
    /// for it.
    pub fn snapshot(
        &mut self,
        uri: &Uri,
    ) -> (Option<std::result::Result<Arc<Snapshot>, InternalError>>, Vec<ModelToRead>) {
        let mut to_read = Vec::new();
        let settings = self.settings_of(uri);
        let folder = self.folder_of(uri).map(|folder| folder.path.clone());
        let models = &mut self.models;
        let mut look_up = |path: &Path| -> ModelStatus {
            let (status, stamp) = models.look_up(path);
            to_read.extend(stamp.map(|stamp| (path.to_path_buf(), stamp)));
            status
        };
        let Some(document) = self.documents.get_mut(uri.as_str()) else { return (None, to_read) };
        let mut around = CheckInputs { settings, folder, look_up: &mut look_up };
        let snapshot = document.snapshot(&mut around);
        (Some(snapshot), to_read)
    }
}

impl ServerData {
    /// Creates the state of a server without open documents.
    pub fn new(
        client: Client,
        jobs: Jobs,
        to_read: tokio::sync::mpsc::UnboundedSender<ModelToRead>,
        endings: ModelFileEndings,
    ) -> ServerData {
        ServerData {
            client,
            diagnostics_due: Notify::new(),
            gains: Gains::default(),
            serving: StageClient::new(jobs.clone()),
            jobs,
            to_read,
            symbols: Mutex::default(),
            ledgers: Ledgers::default(),
            neighbours: Mutex::new(Neighbours::new(endings.clone())),
            model_read: Notify::new(),
            state: Mutex::new(State { endings, ..State::default() }),
            running: Mutex::default(),
        }
    }

    /// The state. Ignores poisoning: a request that panicked under the lock leaves the state usable.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The checked present state of a document; `None` if it is not open.
    ///
    /// # Errors
    ///
    /// The checker panicked on this state.
    pub fn snapshot(&self, uri: &Uri) -> Result<Option<Arc<Snapshot>>> {
        let (snapshot, to_read) = self.lock().snapshot(uri);
        for model in to_read {
            // Sending cannot fail: the task that reads models runs as long as the server.
            let _ = self.to_read.send(model);
        }
        snapshot.transpose().map_err(|InternalError| Error {
            message: "internal error in checking this text; please report this bug".into(),
            ..Error::internal_error()
        })
    }

    /// The present state of a document and a byte offset in it.
    ///
    /// # Errors
    ///
    /// The checker panicked on this state.
    pub fn place(&self, at: &TextDocumentPositionParams) -> Result<Option<(Arc<Snapshot>, usize)>> {
        self.offset(&at.text_document.uri, at.position)
    }

    /// The present state of a document and the byte offset of a position.
    ///
    /// # Errors
    ///
    /// The checker panicked on this state.
    pub fn offset(&self, uri: &Uri, position: Position) -> Result<Option<(Arc<Snapshot>, usize)>> {
        let snapshot = self.snapshot(uri)?;
        Ok(snapshot.map(|snapshot| {
            let offset = snapshot.text.offset(position);
            (snapshot, offset)
        }))
    }

    /// Waits until a model has been read, and returns its status.
    pub async fn model(&self, path: &Path) -> ModelStatus {
        loop {
            let model_read = self.model_read.notified();
            let (status, to_read) = self.lock().models.look_up(path);
            if let Some(stamp) = to_read {
                // Sending cannot fail: the task that reads models runs as long as the server.
                let _ = self.to_read.send((path.to_path_buf(), stamp));
            }
            if !matches!(status, ModelStatus::Loading) {
                return status;
            }
            model_read.await;
        }
    }

    /// The folder to which the model paths of a document are relative.
    pub fn models_folder(&self, snapshot: &Snapshot) -> Option<PathBuf> {
        let own = snapshot.folder();
        own.or_else(|| self.lock().folder_of(&snapshot.uri).map(|folder| folder.path.clone()))
    }

    /// Calls a function with the cache of files beside schedules, in a thread that may block. The first look
    /// at a folder may take a while.
    pub async fn with_neighbours<T: Send + 'static>(
        self: &Arc<Self>,
        use_neighbours: impl FnOnce(&mut Neighbours) -> T + Send + 'static,
    ) -> Option<T> {
        let shared = Arc::clone(self);
        let looking = tokio::task::spawn_blocking(move || {
            use_neighbours(&mut shared.neighbours.lock().unwrap_or_else(PoisonError::into_inner))
        });
        looking.await.ok()
    }

    /// The last state of a document that had a nest.
    pub fn last_good(&self, uri: &Uri) -> Option<Arc<Snapshot>> {
        self.lock().documents.get(uri.as_str())?.last_good().cloned()
    }

    /// Requests the publication of a document's diagnostics.
    pub fn publish(&self, uri: &Uri) {
        self.lock().unpublished.insert(uri.as_str().to_owned());
        self.diagnostics_due.notify_one();
    }

    /// Drops the check results of the documents for which `concerns` holds, since something besides their
    /// text has changed. Requests the publication of their diagnostics, and returns their URIs.
    pub fn recheck(&self, concerns: impl Fn(&Document) -> bool) -> Vec<Uri> {
        let mut state = self.lock();
        let mut found = Vec::new();
        for document in state.documents.values_mut().filter(|document| concerns(document)) {
            document.forget();
            found.push(document.uri.clone());
        }
        state.unpublished.extend(found.iter().map(|uri| uri.as_str().to_owned()));
        drop(state);
        self.diagnostics_due.notify_one();
        found
    }

    /// The next document whose diagnostics have to be published.
    pub fn next_unpublished(&self) -> Option<String> {
        self.lock().unpublished.pop_first()
    }

    /// Waits until the user cancels the progress of a token.
    pub fn cancellation(&self, token: Option<ProgressToken>) -> impl Future<Output = ()> + Send + use<> {
        let cancelled = Arc::new(Notify::new());
        if let Some(token) = token {
            self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(token, Arc::clone(&cancelled));
        }
        async move { cancelled.notified().await }
    }

    /// Cancels the task that reports progress under a token.
    pub fn cancel(&self, token: &ProgressToken) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cancelled) = running.get(token) {
            cancelled.notify_one();
        }
    }

    /// Forgets the task of a token after its end.
    pub fn forget(&self, token: &ProgressToken) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(state: &mut State, folder: &Path, model: &str) {
        let uri = Uri::from_file_path(folder.join(model.replace('/', "-") + ".sched")).expect("a path");
        let document = Document::new(uri.clone(), 1, &format!("model \"{model}\"\n"), Encoding::default());
        state.documents.insert(uri.as_str().to_owned(), document);
        assert!(matches!(state.snapshot(&uri).0, Some(Ok(_))));
    }

    #[test]
    fn models_are_looked_at_that_no_client_watches_and_that_are_not_forgotten() {
        let folder = std::env::temp_dir().join(format!("schedc-unwatched-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("in")).expect("a folder");
        let names = |state: &State| -> Vec<String> {
            let name = |(path, _): (PathBuf, _)| path.file_name()?.to_str().map(str::to_owned);
            state.unwatched().into_iter().filter_map(name).collect()
        };
        let mut state = State {
            endings: ModelFileEndings { endings: Arc::new(["json"]), ..ModelFileEndings::default() },
            ..State::default()
        };
        let uri = Uri::from_file_path(folder.join("in")).expect("a path");
        state.folders.extend(Folder::new(uri));
        for model in ["out.json", "in/odd.bin", "in/model.json"] {
            std::fs::write(folder.join(model), "{}").expect("a file can be written");
            open(&mut state, &folder, model);
        }
        open(&mut state, &folder, "in/../gone.json");
        assert_eq!(names(&state).len(), 4, "a client that watches nothing");
        state.watches = true;
        assert_eq!(names(&state), ["gone.json", "odd.bin", "out.json"]);
        for number in 0..100 {
            let model = format!("many{number}");
            std::fs::write(folder.join(&model), "{}").expect("a file can be written");
            open(&mut state, &folder, &model);
        }
        let found = state.unwatched();
        let gone = found.iter().filter(|(_, stamp)| stamp.is_none()).count();
        assert!(gone == 1 && found.len() < 100, "{gone} of {}", found.len());
        std::fs::remove_dir_all(&folder).expect("the folder was there");
    }
}
