//! Changes of folders, settings and files, and the client's notifications about them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tower_lsp_server::ls_types::notification::Notification;
use tower_lsp_server::ls_types::{
    ConfigurationItem, DidChangeWatchedFilesParams, MessageType, Registration, Uri,
    WorkspaceFoldersChangeEvent,
};

use crate::document::Document;
use crate::jobs::ProgramRun;
use crate::models::{self, FileStamp, ModelFileEndings};
use crate::settings::{SECTION, Settings};
use crate::state::{Folder, ModelToRead, ServerData, State};

/// Interval between polls of models whose changes the client does not report.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Notification that a document's analysis has changed although its text has not: its model was read, or a
/// setting has changed. Clients should request pictures of the document's nest again.
pub enum AnalysisChanged {}

impl Notification for AnalysisChanged {
    type Params = Value;
    const METHOD: &'static str = "sched/changed";
}

/// Registers for messages about changed settings and files.
pub async fn register(shared: &ServerData) {
    let (abilities, ModelFileEndings { endings, .. }) = {
        let state = shared.lock();
        (state.abilities, state.endings.clone())
    };
    let mut wanted = Vec::new();
    if abilities.registers_configuration {
        wanted.push(Registration {
            id: "settings".to_owned(),
            method: "workspace/didChangeConfiguration".to_owned(),
            register_options: Some(json!({ "section": SECTION })),
        });
    }
    if abilities.registers_watchers {
        let watcher = |ending: &&str| json!({ "globPattern": format!("**/*.{ending}") });
        let watchers: Vec<Value> = endings.iter().map(watcher).collect();
        wanted.push(Registration {
            id: "models".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            register_options: Some(json!({ "watchers": watchers })),
        });
    }
    if !wanted.is_empty() {
        // If the client refuses, the server polls the files itself.
        let is_agreed = shared.client.register_capability(wanted).await.is_ok();
        shared.lock().watches = is_agreed && abilities.registers_watchers;
    }
}

/// Requests the settings of all folders, and those for documents outside of folders.
pub async fn configure(shared: &ServerData) {
    if !shared.lock().abilities.configuration {
        return;
    }
    let folders: Vec<Uri> = shared.lock().folders.iter().map(|folder| folder.uri.clone()).collect();
    let item = |scope_uri| ConfigurationItem { scope_uri, section: Some(SECTION.to_owned()) };
    let items =
        std::iter::once(item(None)).chain(folders.iter().cloned().map(|uri| item(Some(uri)))).collect();
    let Ok(values) = shared.client.configuration(items).await else { return };
    let mut complaints = Vec::new();
    let mut read = Vec::new();
    for value in &values {
        let (settings, wrong) = Settings::read(value);
        complaints.extend(wrong);
        read.push(Arc::new(settings));
    }
    let is_new = store_settings(&mut shared.lock(), &folders, read);
    report_setting_errors(shared, complaints).await;
    if is_new {
        recheck_and_notify(shared, |_| true).await;
    }
}

/// Stores settings: the first element for documents outside of folders, the others for one folder each.
/// Returns whether any setting has changed.
fn store_settings(state: &mut State, folders: &[Uri], read: Vec<Arc<Settings>>) -> bool {
    let before = Arc::clone(&state.settings);
    let mut read = read.into_iter();
    state.settings = read.next().unwrap_or_else(|| Arc::clone(&before));
    let mut is_new = state.settings != before;
    for (uri, settings) in folders.iter().zip(read) {
        if let Some(folder) = state.folders.iter_mut().find(|folder| folder.uri == *uri) {
            is_new |= *folder.settings.as_ref().unwrap_or(&before) != settings;
            folder.settings = Some(settings);
        }
    }
    is_new
}

/// Stores settings that the client sends with a notification.
pub async fn store_sent_settings(shared: &ServerData, value: &Value) {
    if shared.lock().abilities.configuration {
        return configure(shared).await;
    }
    let (settings, wrong) = Settings::read(value);
    let settings = Arc::new(settings);
    let before = std::mem::replace(&mut shared.lock().settings, Arc::clone(&settings));
    report_setting_errors(shared, wrong).await;
    if before != settings {
        recheck_and_notify(shared, |_| true).await;
    }
}

/// Reports errors of settings, each once.
pub async fn report_setting_errors(shared: &ServerData, mut complaints: Vec<String>) {
    complaints.sort();
    complaints.dedup();
    for complaint in complaints {
        shared.client.show_message(MessageType::WARNING, complaint).await;
    }
}

/// Adds and removes folders.
pub async fn change_folders(shared: &ServerData, event: WorkspaceFoldersChangeEvent) {
    {
        let mut state = shared.lock();
        state.folders.retain(|folder| !event.removed.iter().any(|gone| gone.uri == folder.uri));
        let known: Vec<Uri> = state.folders.iter().map(|folder| folder.uri.clone()).collect();
        let new = event.added.into_iter().filter(|folder| !known.contains(&folder.uri));
        state.folders.extend(new.filter_map(|folder| Folder::new(folder.uri)));
    }
    recheck_and_notify(shared, |_| true).await;
    configure(shared).await;
}

/// Checks the documents again whose models were changed, created or deleted.
pub async fn recheck_for_files(shared: &ServerData, params: DidChangeWatchedFilesParams) {
    let paths: Vec<PathBuf> =
        params.changes.iter().filter_map(|change| Some(change.uri.to_file_path()?.into_owned())).collect();
    let same = |a: &PathBuf, b: &PathBuf| a == b || a.file_name() == b.file_name();
    recheck_and_notify(shared, |document| {
        let model = document.model();
        model.is_some_and(|model| paths.iter().any(|path| same(path, &model)))
    })
    .await;
}

/// Checks documents again, and notifies the client so that it can request diagnostics, hints, lenses and
/// pictures again.
pub async fn recheck_and_notify(shared: &ServerData, concerns: impl Fn(&Document) -> bool) {
    let documents = shared.recheck(concerns);
    if documents.is_empty() {
        return;
    }
    for uri in documents {
        shared.client.send_notification::<AnalysisChanged>(json!({ "uri": uri })).await;
    }
    let abilities = shared.lock().abilities;
    let client = shared.client.clone();
    // In a task, since nothing depends on the client's answers.
    tokio::spawn(async move {
        if abilities.pulls_diagnostics && abilities.refreshes_diagnostics {
            let _ = client.workspace_diagnostic_refresh().await;
        }
        if abilities.refreshes_hints {
            let _ = client.inlay_hint_refresh().await;
        }
        if abilities.refreshes_lenses {
            let _ = client.code_lens_refresh().await;
        }
    });
}

/// Polls the models whose changes the client does not report, until the server ends: models outside of the
/// workspace or with unusual names, and all models if the client cannot watch files.
pub async fn watch(shared: &Arc<ServerData>) {
    let mut before: HashMap<PathBuf, Option<FileStamp>> = HashMap::new();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let known = shared.lock().unwatched();
        if known.is_empty() {
            continue;
        }
        let look =
            move || known.into_iter().map(|(path, known)| (FileStamp::of(&path), known, path)).collect();
        let found: Vec<_> = tokio::task::spawn_blocking(look).await.unwrap_or_default();
        let now = found.iter().map(|(now, _, path)| (path.clone(), *now)).collect();
        // A file is read only after its stamp has stopped changing, since it may be incomplete before.
        let is_new = |(now, known, path): &&(Option<FileStamp>, Option<FileStamp>, PathBuf)| {
            now != known && before.get(path) == Some(now)
        };
        let new: Vec<PathBuf> = found.iter().filter(is_new).map(|(_, _, path)| path.clone()).collect();
        before = now;
        if !new.is_empty() {
            recheck_and_notify(shared, |document| document.model().is_some_and(|model| new.contains(&model)))
                .await;
        }
    }
}

/// Reads models one after the other until the server ends.
pub async fn read_models(shared: &ServerData, mut wanted: tokio::sync::mpsc::UnboundedReceiver<ModelToRead>) {
    while let Some((path, stamp)) = wanted.recv().await {
        let arguments = vec!["inspect".into(), "--facts".into(), path.clone().into_os_string()];
        let answer = shared.jobs.run(ProgramRun { arguments, ..ProgramRun::default() }).await;
        let model = answer.and_then(|text| {
            models::parse(&text)
                .ok_or_else(|| "schedc and its language server have different versions".to_owned())
        });
        let is_new = shared.lock().models.store(&path, stamp, model);
        shared.model_read.notify_waiters();
        if is_new {
            recheck_and_notify(shared, |document| document.model().as_ref() == Some(&path)).await;
        }
    }
}
