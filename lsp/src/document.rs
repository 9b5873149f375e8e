//! Open documents, and what is known of each of their states.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sched_grammar::ast::Span;
use sched_ide::Analysis;
use sched_lang::Options;
use tower_lsp_server::ls_types::{TextDocumentContentChangeEvent, Uri};

use crate::models::{Model, Status};
use crate::settings::Settings;
use crate::text::{Encoding, Text};

/// A text that the client has open.
#[derive(Debug)]
pub struct Document {
    /// Its name.
    pub uri: Uri,
    /// The client's number of this state.
    pub version: i32,
    /// Its text now.
    pub text: Arc<Text>,
    /// A number that identifies this state of the text and of everything that its check depends on, among all
    /// documents.
    epoch: u64,
    state: State,
    /// The state that was checked before the present one: most of what was read of it still holds.
    before: Option<Arc<Snapshot>>,
    /// States that nobody wants any more.
    outdated: Vec<Arc<Snapshot>>,
    last_good: Option<Arc<Snapshot>>,
    model: Option<PathBuf>,
    is_missing: bool,
}

/// The progress of checking the present state.
#[derive(Debug)]
enum State {
    Unchecked,
    Checked(Arc<Snapshot>),
    /// The checker made a mistake; trying again would not help.
    InternalError,
}

/// A document at one moment, checked. It never changes, so that a request sees one state from its beginning
/// to its end.
#[derive(Debug)]
pub struct Snapshot {
    /// The document's name.
    pub uri: Uri,
    /// The client's number of the text.
    pub version: i32,
    /// A number that identifies this state among all others.
    pub epoch: u64,
    /// The text.
    pub text: Arc<Text>,
    /// The checker's results.
    pub analysis: Analysis,
    /// The model that it was checked with.
    pub binding: Binding,
    /// The settings that it was checked with.
    pub settings: Arc<Settings>,
}

impl Snapshot {
    /// The folder that models are relative to, if the document is a file.
    pub fn folder(&self) -> Option<PathBuf> {
        path_of(&self.uri)?.parent().map(Path::to_path_buf)
    }
}

/// Checks a text; what is known of a state before it need not be found out again.
fn analyse(text: &Text, before: Option<&Analysis>, binding: &Binding, settings: &Settings) -> Analysis {
    let options = Options {
        model: binding.model().map(|model| Arc::clone(&model.info)),
        target: settings.target.clone(),
        strict: settings.strict,
        vector_bits: crate::machine::vector_bits(),
        ..Options::default()
    };
    let source = Arc::clone(text.source());
    match before {
        Some(before) => before.edited(source, options),
        None => Analysis::new(source, options),
    }
}

/// Which model a document is checked with.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The model's file, if one is named.
    pub path: Option<PathBuf>,
    /// The `model` line that names it; a setting does otherwise.
    pub line: Option<Span>,
    /// The status of the model.
    pub status: Status,
}

impl Binding {
    fn model(&self) -> Option<&Arc<Model>> {
        self.status.model()
    }

    /// Whether the same is known of the model.
    fn is_like(&self, other: &Binding) -> bool {
        match (self.model(), other.model()) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }
}

/// Inputs of a document's check besides its text.
pub struct Surroundings<'a> {
    /// The settings of its folder.
    pub settings: Arc<Settings>,
    /// The workspace folder that it is in.
    pub folder: Option<PathBuf>,
    /// Looks up the status of a model.
    pub look_up: &'a mut dyn FnMut(&Path) -> Status,
}

fn next_epoch() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The file that a name stands for, if it does.
pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    let is_file = uri.scheme().as_str() == "file";
    uri.to_file_path().filter(|_| is_file).map(Cow::into_owned)
}

/// The checker panicked.
#[derive(Clone, Copy, Debug)]
pub struct InternalError;

impl Document {
    /// A document that was opened.
    pub fn new(uri: Uri, version: i32, text: &str, encoding: Encoding) -> Document {
        let text = Arc::new(Text::new(text, encoding));
        Document {
            uri,
            version,
            text,
            epoch: next_epoch(),
            state: State::Unchecked,
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

    /// Lets the document be checked again although its text is the same.
    pub fn forget(&mut self) {
        self.epoch = next_epoch();
        if let State::Checked(snapshot) = std::mem::replace(&mut self.state, State::Unchecked) {
            self.before = Some(snapshot);
        }
    }

    /// The present state, checked at most once.
    ///
    /// # Errors
    ///
    /// The checker made a mistake in this state.
    pub fn snapshot(&mut self, around: &mut Surroundings) -> Result<Arc<Snapshot>, InternalError> {
        match &self.state {
            State::Checked(snapshot) => return Ok(Arc::clone(snapshot)),
            State::InternalError => return Err(InternalError),
            State::Unchecked => {}
        }
        let before = self.before.take();
        let analysis = before.as_ref().map(|snapshot| &snapshot.analysis);
        let checked = catch_unwind(AssertUnwindSafe(|| self.check(analysis, around)));
        self.tidy();
        self.outdated.extend(before);
        let Ok(snapshot) = checked else {
            self.state = State::InternalError;
            return Err(InternalError);
        };
        let snapshot = Arc::new(snapshot);
        self.state = State::Checked(Arc::clone(&snapshot));
        self.model.clone_from(&snapshot.binding.path);
        self.is_missing = matches!(snapshot.binding.status, Status::Missing);
        if snapshot.analysis.is_legal() {
            self.outdated.extend(self.last_good.replace(Arc::clone(&snapshot)));
        } else {
            self.renew_last_good(around);
        }
        Ok(snapshot)
    }

    /// Checks the last state with a nest again after its model or a setting has changed. If it has errors
    /// now, it is dropped.
    fn renew_last_good(&mut self, around: &mut Surroundings) {
        let Some(last) = self.last_good.take() else { return };
        let status = last.binding.path.as_deref().map_or(Status::Missing, |path| (around.look_up)(path));
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

    /// Lets go of states that nobody wants any more. It takes a while, and nobody should wait for it.
    pub fn tidy(&mut self) {
        self.outdated.clear();
    }

    /// The model that the last state that was checked is bound to.
    pub fn model(&self) -> Option<PathBuf> {
        self.model.clone()
    }

    /// Whether there was no such model when the last state was checked.
    pub fn is_model_missing(&self) -> bool {
        self.is_missing
    }

    /// The last state that had a loop nest, which may be the present one if that has been checked.
    pub fn last_good(&self) -> Option<&Arc<Snapshot>> {
        self.last_good.as_ref()
    }

    fn check(&self, before: Option<&Analysis>, around: &mut Surroundings) -> Snapshot {
        // The line that names the model is known only after the check; it is seldom another one than before.
        let mut binding = self.guess(around);
        let mut analysis = analyse(&self.text, before, &binding, &around.settings);
        let named = analysis.checked().header.model.clone();
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

    /// The model of the first line that looks as if it named one.
    fn guess(&self, around: &mut Surroundings) -> Binding {
        let line = self.text.source().lines().find_map(|line| line.trim_start().strip_prefix("model"));
        let name = line.and_then(|rest| rest.trim_start().strip_prefix('"')?.split('"').next());
        self.bind(name.map(|name| (name.to_owned(), Span::default())), around)
    }

    /// The model that a line of the schedule names, or else the settings.
    fn bind(&self, named: Option<(String, Span)>, around: &mut Surroundings) -> Binding {
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
        let status = path.as_deref().map_or(Status::Missing, |path| (around.look_up)(path));
        Binding { path, line, status }
    }
}
