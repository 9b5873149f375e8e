//! Open documents, and the checked snapshots of their texts.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sched_grammar::ast::Span;
use sched_ide::Analysis;
use sched_lang::CheckOptions;
use tower_lsp_server::ls_types::{TextDocumentContentChangeEvent, Uri};

use crate::models::{InspectedModel, ModelStatus};
use crate::settings::Settings;
use crate::text::{Encoding, Text};

/// A document that the client has open.
#[derive(Debug)]
pub struct Document {
    /// URI of the document.
    pub uri: Uri,
    /// The client's version number of the text.
    pub version: i32,
    /// The present text.
    pub text: Arc<Text>,
    /// Number of the present state, unique among the states of all documents. A state is the text with all
    /// other inputs of its check.
    epoch: u64,
    state: CheckState,
    /// The snapshot before the present one. The next check reuses most of its parsed text.
    before: Option<Arc<Snapshot>>,
    /// Snapshots that are no longer used; [`Document::tidy`] frees them.
    outdated: Vec<Arc<Snapshot>>,
    last_good: Option<Arc<Snapshot>>,
    model: Option<PathBuf>,
    is_missing: bool,
}

/// The progress of checking the present state.
#[derive(Debug)]
enum CheckState {
    Unchecked,
    Checked(Arc<Snapshot>),
    /// The checker panicked on this state. It is not checked again.
    InternalError,
}

/// A checked state of a document. It never changes, so that a request sees one state from start to end.
#[derive(Debug)]
pub struct Snapshot {
    /// The document's name.
    pub uri: Uri,
    /// The client's version number of the text.
    pub version: i32,
    /// A number that identifies this state among all others.
    pub epoch: u64,
    /// The text.
    pub text: Arc<Text>,
    /// The checker's results.
    pub analysis: Analysis,
    /// The model with which the text was checked.
    pub binding: Binding,
    /// The settings with which the text was checked.
    pub settings: Arc<Settings>,
}

impl Snapshot {
    /// The folder to which model paths are relative, if the document is a file.
    pub fn folder(&self) -> Option<PathBuf> {
        path_of(&self.uri)?.parent().map(Path::to_path_buf)
    }
}

/// Checks a text. Reuses the parsed parts of `before` that did not change.
fn analyse(text: &Text, before: Option<&Analysis>, binding: &Binding, settings: &Settings) -> Analysis {
    let options = CheckOptions {
        model: binding.model().map(|model| Arc::clone(&model.info)),
        target: settings.target.clone(),
        strict: settings.strict,
        vector_bits: crate::machine::vector_bits(),
        ..CheckOptions::default()
    };
    let source = Arc::clone(text.source());
    match before {
        Some(before) => before.after_edit(source, options),
        None => Analysis::new(source, options),
    }
}

/// The model with which a document is checked.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The model's file, if one is named.
    pub path: Option<PathBuf>,
    /// The `model` line that names the model; `None` if a setting names it.
    pub line: Option<Span>,
    /// The status of the model.
    pub status: ModelStatus,
}

impl Binding {
    fn model(&self) -> Option<&Arc<InspectedModel>> {
        self.status.model()
    }

    /// Whether both bindings have the same model, or both have none.
    fn is_like(&self, other: &Binding) -> bool {
        match (self.model(), other.model()) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}

/// Inputs of a document's check besides its text.
pub struct CheckInputs<'a> {
    /// The settings of the document's folder.
    pub settings: Arc<Settings>,
    /// The workspace folder that contains the document.
    pub folder: Option<PathBuf>,
    /// Looks up the status of a model.
    pub look_up: &'a mut dyn FnMut(&Path) -> ModelStatus,
}

fn next_epoch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The path of a `file:` URI; `None` for other URIs.
pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    let is_file = uri.scheme().as_str() == "file";
    uri.to_file_path().filter(|_| is_file).map(Cow::into_owned)
}

/// The checker panicked.
#[derive(Clone, Copy, Debug)]
pub struct InternalError;

impl Document {
    /// A document that the client has just opened.
    pub fn new(uri: Uri, version: i32, text: &str, encoding: Encoding) -> Document {
        let text = Arc::new(Text::new(text, encoding));
        Document {
            uri,
            version,
            text,
            epoch: next_epoch(),
            state: CheckState::Unchecked,
            before: None,
            outdated: Vec::new(),
            last_good: None,
            model: None,
            is_missing: false,
        }
    }

    /// Applies changes, one after the other.
    pub fn change(&mut self, version: i32, changes: &[TextDocumentContentChangeEvent]) {
        for change in changes {
            self.text = Arc::new(self.text.changed(change.range, &change.text));
        }
        self.version = version;
        self.forget();
    }

    /// Drops the result of the last check, so that the document is checked again with the same text.
    pub fn forget(&mut self) {
        self.epoch = next_epoch();
        if let CheckState::Checked(snapshot) = std::mem::replace(&mut self.state, CheckState::Unchecked) {
            self.before = Some(snapshot);
        }
    }

    /// Returns the present state. Checks it on the first call and caches the result.
    ///
    /// # Errors
    ///
    /// When the checker panicked on this state.
    pub fn snapshot(&mut self, around: &mut CheckInputs) -> Result<Arc<Snapshot>, InternalError> {
        match &self.state {
            CheckState::Checked(snapshot) => return Ok(Arc::clone(snapshot)),
            CheckState::InternalError => return Err(InternalError),
            CheckState::Unchecked => {}
        }
        let before = self.before.take();
        let analysis = before.as_ref().map(|snapshot| &snapshot.analysis);
        let checked = catch_unwind(AssertUnwindSafe(|| self.check(analysis, around)));
        self.tidy();
        self.outdated.extend(before);
        let Ok(snapshot) = checked else {
            self.state = CheckState::InternalError;
            return Err(InternalError);
        };
        let snapshot = Arc::new(snapshot);
        self.state = CheckState::Checked(Arc::clone(&snapshot));
        self.model.clone_from(&snapshot.binding.path);
        self.is_missing = matches!(snapshot.binding.status, ModelStatus::Missing);
        if snapshot.analysis.is_legal() {
            self.outdated.extend(self.last_good.replace(Arc::clone(&snapshot)));
        } else {
            self.renew_last_good(around);
        }
        Ok(snapshot)
    }

    /// Checks the last state with a nest again after its model or a setting has changed. If it has errors
    /// now, it is dropped.
    fn renew_last_good(&mut self, around: &mut CheckInputs) {
        let Some(last) = self.last_good.take() else { return };
        let status = last.binding.path.as_deref().map_or(ModelStatus::Missing, |path| (around.look_up)(path));
        let binding = Binding { status, ..last.binding.clone() };
        let (old, new) = (&last.settings, &around.settings);
        if binding.is_like(&last.binding) && old.target == new.target && old.strict == new.strict {
            self.last_good = Some(last);
            return;
        }
        let checked = catch_unwind(AssertUnwindSafe(|| Snapshot {
            uri: last.uri.clone(),
            version: last.version,
            epoch: next_epoch(),
            text: Arc::clone(&last.text),
            analysis: analyse(&last.text, Some(&last.analysis), &binding, new),
            binding,
            settings: Arc::clone(new),
        }));
        self.last_good = checked.ok().filter(|renewed| renewed.analysis.is_legal()).map(Arc::new);
        self.outdated.push(last);
    }

    /// Frees the snapshots that are no longer used. This is slow for large ones, so it runs after the
    /// answers.
    pub fn tidy(&mut self) {
        self.outdated.clear();
    }

    /// The model of the last checked state.
    pub fn model(&self) -> Option<PathBuf> {
        self.model.clone()
    }

    /// Whether the model's file did not exist at the last check.
    pub fn is_model_missing(&self) -> bool {
        self.is_missing
    }

    /// The last checked state that had a loop nest, possibly the present one.
    pub fn last_good(&self) -> Option<&Arc<Snapshot>> {
        self.last_good.as_ref()
    }

    fn check(&self, before: Option<&Analysis>, around: &mut CheckInputs) -> Snapshot {
        // Only the check finds the `model` line, and it needs the model. So the first check uses a guess.
        let mut binding = self.guess(around);
        let mut analysis = analyse(&self.text, before, &binding, &around.settings);
        let named = analysis.verdict().header.model.clone();
        let right = self.bind(named, around);
        if !binding.is_like(&right) {
            analysis = analyse(&self.text, Some(&analysis), &right, &around.settings);
        }
        binding = right;
        Snapshot {
            uri: self.uri.clone(),
            version: self.version,
            epoch: self.epoch,
            text: Arc::clone(&self.text),
            analysis,
            binding,
            settings: Arc::clone(&around.settings),
        }
    }

    /// The model of the first line that looks like a `model` line, without a parse.
    fn guess(&self, around: &mut CheckInputs) -> Binding {
        let line = self.text.source().lines().find_map(|line| line.trim_start().strip_prefix("model"));
        let name = line.and_then(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
        self.bind(name.map(|name| (name.to_owned(), Span::default())), around)
    }

    /// The model of the `model` line, or else of the settings.
    fn bind(&self, named: Option<(String, Span)>, around: &mut CheckInputs) -> Binding {
        let folder = around.folder.clone();
        let setting = || {
            let name = around.settings.model.as_deref()?;
            Some(folder.clone().unwrap_or_default().join(name))
        };
        let (path, line) = match named {
            Some((name, span)) => {
                let folder = path_of(&self.uri)
                    .and_then(|path| path.parent().map(Path::to_path_buf))
                    .or_else(|| folder.clone())
                    .unwrap_or_default();
                (Some(folder.join(name)), Some(span))
            }
            None => (setting(), None),
        };
        let status = path.as_deref().map_or(ModelStatus::Missing, |path| (around.look_up)(path));
        Binding { path, line, status }
    }
}
