//! Builds libraries from the bytes of a model and the text of a schedule.

use crate::language::ScheduleDict;
use crate::report::{DiagnosticCollector, FindingsReport};
use crate::rows::Probes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use sched_diagnostics::{Diagnostic, Place};
use sched_forest::{
    EncodedCategories, EncodedFeature, Float, Forest, Iterations, ParseReleaseError, ReadOptions, Release,
    codes,
};
use sched_llvm::runtime::ModelHandle;
use sched_llvm::{ArtefactForm, ArtefactName, Cpu};
use schedc_driver::cache::{self, Cache, CacheKey};
use schedc_driver::categories::{cut_names, warning_of_cut_names};
use schedc_driver::compile::RowRules;
use schedc_driver::outputs;
use schedc_driver::saved::{self, BuildInputs, SavedBuild};
use schedc_driver::versions::{ServedCalls, artefact, header_of, versions};
use schedc_driver::{
    Effort, Failure, Job, LockUse, Model, RowTypes, ScheduleLookup, ScheduleSource, ScheduleValues, Walker,
};
use serde_json::{Value, json};
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Prefix of the functions of a library.
const PREFIX: &str = "schedc";

/// A library, and the compiler's report about it.
#[pyclass(frozen, get_all, module = "schedc._native")]
pub struct Artefact {
    /// The bytes of the shared library.
    library: Py<PyBytes>,
    /// The C header of the library.
    header: String,
    /// The processor, the type of rows and the schedule of each version.
    schedules: Vec<(String, String, String)>,
    /// Warnings and notes on the model.
    notes: Vec<String>,
    /// Findings in the schedule: JSON, text, coloured text.
    findings: (String, String, String),
    /// Warnings about the compilation: the reason why the lock is unused, and names of categories that the
    /// model's file lacks.
    warnings: Vec<String>,
    /// Rows for comparing the library with the Python object, if requested: doubles in row-major order, and a
    /// bound of the magnitude of sums.
    probes: Option<(Py<PyBytes>, f64)>,
}

/// The categories of a feature that an estimator encodes, in the order of its codes.
#[derive(FromPyObject)]
pub enum EncoderCategories {
    /// Whole numbers.
    #[pyo3(transparent)]
    Numbers(Vec<u32>),
    /// Names.
    #[pyo3(transparent)]
    Names(Vec<String>),
}

impl EncoderCategories {
    fn of_feature(self, feature: u32) -> EncodedFeature {
        let categories = match self {
            EncoderCategories::Numbers(numbers) => EncodedCategories::Numbers(numbers),
            EncoderCategories::Names(names) => EncodedCategories::Names(names),
        };
        EncodedFeature { feature, categories }
    }
}

/// The keywords of [`build`] and [`begin`], from a Python dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Keywords {
    /// Name of the model in messages, and the path from which the lock is found.
    name: String,
    /// Text of the schedule; by default the lock's, or an automatic one.
    schedule: Option<String>,
    values: ScheduleDict,
    cpu: Vec<String>,
    rows: String,
    missing: Option<f64>,
    base_margin: bool,
    iterations: String,
    /// The trainer's release by whose rules the file is read; by default the release that saved it.
    as_release: Option<String>,
    /// Names of the features, for files without names.
    feature_names: Vec<String>,
    lock: Option<PathBuf>,
    locked: bool,
    /// Whether locks are ignored.
    frozen: bool,
    /// Features that scikit-learn encodes before the trees, with their categories.
    encoded: Vec<(u32, EncoderCategories)>,
    /// Whether rows for a comparison are requested.
    probes: bool,
    /// JSON text about the Python object of the model, for a section of the library.
    object: String,
    /// Name of the output that `predict` returns.
    output: String,
    /// Effort of the optimizer: `fast` or `full`.
    effort: String,
    /// Whether to take code from the user's cache, and to add new code to it.
    cache: bool,
}

/// The options of a build.
#[derive(Clone, Debug)]
struct BuildOptions {
    name: String,
    schedule: Option<String>,
    cpus: Vec<Cpu>,
    rows: RowTypes,
    rules: RowRules,
    reading: ReadOptions,
    values: ScheduleDict,
    lock: LockUse,
    encoded: Vec<EncodedFeature>,
    probes: bool,
    names: Vec<String>,
    object: String,
    output: String,
    effort: Effort,
    cache: bool,
}

impl BuildOptions {
    /// Runs `body` with the user's cache, or without it if the option `cache` is off.
    fn with_cache<T>(&self, body: impl FnOnce() -> T) -> T {
        cache::with_cache(self.cache.then(Cache::of_user).flatten(), body)
    }

    /// The key of the build in the cache. `None` if the build depends on the GPU or the tools of the machine.
    fn key(&self, model: &[u8]) -> Option<CacheKey> {
        let for_gpu = |text: &String| text.contains("gpu");
        if !self.cache || self.schedule.iter().chain(&self.values.target).any(for_gpu) {
            return None;
        }
        let circumstances = BuildInputs {
            model,
            path: Path::new(&self.name),
            cpus: &self.cpus,
            lock: &self.lock,
            options: self,
        };
        Some(circumstances.key("python"))
    }
}

/// A model that was read, with everything that its compilation needs.
struct PreparedModel {
    model: Model,
    values: ScheduleValues,
    options: BuildOptions,
}

/// The compilation of a model: its library if the cache has it, otherwise a walker that predicts until the
/// library is compiled.
#[pyclass(frozen, module = "schedc._native")]
pub struct Compilation {
    stage: CompilationStage,
    is_cancelled: AtomicBool,
}

/// The stage of a compilation.
enum CompilationStage {
    /// The cache had the build.
    Cached(SavedBuild),
    /// The model was read.
    Begun { prepared: Box<PreparedModel>, walker: Arc<Walker>, key: Option<CacheKey> },
}

/// Content of a Python capsule: the walker, which predicts without compiled code, and its handle. The capsule
/// keeps the walker alive.
#[repr(C)]
struct WalkerCapsule {
    // The first field, since the package `schedc_runtime` reads the handle at the capsule's address.
    handle: ModelHandle,
    walker: Arc<Walker>,
}

/// Name of capsules that hold a handle.
const HANDLE_CAPSULE_NAME: &CStr = c"schedc.ModelHandle";

#[pymethods]
impl Compilation {
    /// Returns a capsule with the handle of the model's walker, for `schedc_runtime`. `None` if the cache has
    /// the library, so that `finish` returns at once.
    fn walker<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyCapsule>>> {
        let CompilationStage::Begun { walker, .. } = &self.stage else { return Ok(None) };
        let walker = Arc::clone(walker);
        // SAFETY: the capsule keeps the walker alive, and the walker does not move.
        let handle = unsafe { walker.handle() };
        PyCapsule::new_with_value(py, WalkerCapsule { handle, walker }, HANDLE_CAPSULE_NAME).map(Some)
    }

    /// Rows for comparing the library with the Python object, if requested: doubles in row-major order, and a
    /// bound of the magnitude of sums.
    fn probes<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyBytes>, f64)> {
        let CompilationStage::Begun { prepared, .. } = &self.stage else { return None };
        let PreparedModel { model, options, .. } = prepared.as_ref();
        let probes = options.probes.then(|| probes_of(model, options.rows))?;
        Some((PyBytes::new(py, &bytes_of(&probes.values)), probes.magnitude))
    }

    /// Compiles the model. Raises `Refused` if it cannot be compiled, or was cancelled.
    fn finish(&self, py: Python<'_>) -> PyResult<Artefact> {
        let (prepared, key) = match &self.stage {
            CompilationStage::Cached(build) => return Artefact::of(py, build),
            CompilationStage::Begun { prepared, key, .. } => (prepared, key),
        };
        let is_cancelled = || self.is_cancelled.load(Ordering::Relaxed);
        let built = py.detach(|| {
            prepared.options.with_cache(|| {
                cached_or_built(key.as_ref(), || {
                    with_findings(|collector| compile_prepared(prepared, collector, &is_cancelled))
                })
            })
        });
        Artefact::of(py, &built.map_err(FindingsReport::error)?)
    }

    /// Ends the compilation at its next stage.
    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }
}

impl Artefact {
    /// The artefact of a build that [`compile_prepared`] made.
    fn of(py: Python<'_>, build: &SavedBuild) -> PyResult<Artefact> {
        let wrong = || PyValueError::new_err("the build in the cache has another form");
        let [library, probes] = build.files.as_slice() else { return Err(wrong()) };
        let LibraryReport { header, schedules, notes, findings, warnings, magnitude } =
            LibraryReport::of(&build.about).ok_or_else(wrong)?;
        let bytes = |bytes: &[u8]| PyBytes::new(py, bytes).unbind();
        let probes = magnitude.map(|magnitude| (bytes(probes), magnitude));
        Ok(Artefact { library: bytes(library), header, schedules, notes, findings, warnings, probes })
    }
}

/// Report that the cache stores with a library: its C header, schedules, notes and findings.
struct LibraryReport {
    header: String,
    schedules: Vec<(String, String, String)>,
    notes: Vec<String>,
    findings: (String, String, String),
    warnings: Vec<String>,
    magnitude: Option<f64>,
}

impl LibraryReport {
    /// Reads the report from the JSON that is cached with a build.
    fn of(about: &Value) -> Option<LibraryReport> {
        let text = |value: &Value| value.as_str().map(str::to_string);
        let three = |value: &Value| Some((text(&value[0])?, text(&value[1])?, text(&value[2])?));
        Some(LibraryReport {
            header: text(&about["header"])?,
            schedules: about["schedules"].as_array()?.iter().map(three).collect::<Option<_>>()?,
            notes: about["notes"].as_array()?.iter().map(text).collect::<Option<_>>()?,
            findings: three(&about["findings"])?,
            warnings: about["warnings"].as_array()?.iter().map(text).collect::<Option<_>>()?,
            magnitude: about["magnitude"].as_f64(),
        })
    }
}

/// Returns the build of a key in the cache. If there is none, calls `make` and caches its build.
fn cached_or_built<E>(
    key: Option<&CacheKey>,
    make: impl Fn() -> Result<SavedBuild, E>,
) -> Result<SavedBuild, E> {
    match key {
        Some(key) => saved::get_or_make(|| key.clone(), make),
        None => make(),
    }
}

/// Calls `make` and adds the findings in the schedule to its build. Returns the findings if the build fails.
fn with_findings(
    make: impl FnOnce(&DiagnosticCollector) -> Result<SavedBuild, Failure>,
) -> Result<SavedBuild, FindingsReport> {
    let collector = DiagnosticCollector::default();
    match make(&collector) {
        Ok(mut build) => {
            let FindingsReport { json, text, color } = collector.report();
            build.about["findings"] = json!([json, text, color]);
            Ok(build)
        }
        Err(failure) => Err(collector.stopped(failure)),
    }
}

fn options_of(keywords: Keywords) -> PyResult<BuildOptions> {
    let Keywords { frozen, locked, lock, .. } = keywords;
    Ok(BuildOptions {
        name: keywords.name,
        schedule: keywords.schedule,
        cpus: keywords.cpu.iter().map(|text| cpu_of(text)).collect::<PyResult<_>>()?,
        rows: rows_of(&keywords.rows)?,
        rules: RowRules { missing: keywords.missing, base_margin: keywords.base_margin },
        reading: ReadOptions {
            iterations: iterations_of(&keywords.iterations)?,
            as_release: keywords.as_release.as_deref().map(release_of).transpose()?,
        },
        values: keywords.values,
        lock: LockUse { file: lock, locked, frozen },
        encoded: keywords.encoded.into_iter().map(|(feature, known)| known.of_feature(feature)).collect(),
        probes: keywords.probes,
        names: keywords.feature_names,
        object: keywords.object,
        output: keywords.output,
        effort: keywords
            .effort
            .parse()
            .map_err(|help: String| PyValueError::new_err(format!("effort: {help}")))?,
        cache: keywords.cache,
    })
}

/// Compiles the bytes of a model's file to a shared library for the given processors.
#[pyfunction]
pub fn build(py: Python<'_>, model: &[u8], keywords: Keywords) -> PyResult<Artefact> {
    let options = options_of(keywords)?;
    let built = py.detach(|| {
        options.with_cache(|| {
            cached_or_built(options.key(model).as_ref(), || {
                with_findings(|collector| {
                    compile_prepared(&prepare_model(model, options.clone())?, collector, &|| false)
                })
            })
        })
    });
    Artefact::of(py, &built.map_err(FindingsReport::error)?)
}

/// Begins to compile the bytes of a model's file: looks for the library in the cache, or else reads the model
/// and checks a given schedule.
#[pyfunction]
pub fn begin(py: Python<'_>, model: &[u8], keywords: Keywords) -> PyResult<Compilation> {
    let options = options_of(keywords)?;
    let stage = py.detach(|| {
        let key = options.key(model);
        if let Some(build) = key.as_ref().and_then(|key| options.with_cache(|| saved::find(key))) {
            return Ok(CompilationStage::Cached(build));
        }
        let collector = DiagnosticCollector::default();
        let begun = prepare_model(model, options).and_then(|prepared| {
            if let Some(source) = given_schedule(&prepared.options) {
                Job { model: prepared.model.clone(), source }.nest(&prepared.values, &collector)?;
            }
            let walker = Arc::new(Walker::new(&prepared.model, prepared.options.rules));
            Ok(CompilationStage::Begun { prepared: Box::new(prepared), walker, key })
        });
        begun.map_err(|failure| collector.stopped(failure))
    });
    let stage = stage.map_err(FindingsReport::error)?;
    Ok(Compilation { stage, is_cancelled: AtomicBool::new(false) })
}

/// Reads a model, and checks the options that depend on it.
fn prepare_model(model: &[u8], options: BuildOptions) -> Result<PreparedModel, Failure> {
    let name = Path::new(&options.name);
    let values = options.values.clone().checked()?;
    let mut model = Model::of_bytes(name, model, &options.reading)?;
    if !options.encoded.is_empty() {
        let forest = Forest::clone(model.forest()).decode_categories(&options.encoded);
        model = model.with_forest(forest.map_err(|error| Failure::model(name, error))?);
        model.source.trainer = "scikit-learn";
    }
    let names = &options.names;
    if model.forest().feature_names.is_empty() && names.len() == model.forest().num_features {
        let mut parts = Forest::clone(model.forest()).into_parts();
        parts.feature_names.clone_from(names);
        let forest = Forest::new(parts).map_err(|error| Failure::model(name, error))?;
        model = model.with_forest(forest);
    }
    options.rules.check(&model)?;
    outputs::of_word(&options.output, model.forest())?;
    Ok(PreparedModel { model, values, options })
}

/// The caller's schedule, if there is one.
fn given_schedule(options: &BuildOptions) -> Option<ScheduleSource> {
    let text = options.schedule.clone()?;
    Some(ScheduleSource { name: "schedule".to_string(), text, is_chosen: false, path: None })
}

fn probes_of(model: &Model, rows: RowTypes) -> Probes {
    let float = if rows == RowTypes::F32 { Float::F32 } else { model.trainer_row_type };
    Probes::new(model.forest(), float)
}

fn bytes_of(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Compiles a model: the library, rows for a comparison, and the report.
fn compile_prepared(
    prepared: &PreparedModel,
    collector: &DiagnosticCollector,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<SavedBuild, Failure> {
    let stop = || match is_cancelled() {
        true => Err(Failure::usage("the compilation was cancelled", "compile the model again")),
        false => Ok(()),
    };
    let PreparedModel { model, values, options } = prepared;
    let BuildOptions { cpus, rows, rules, lock, object, effort, .. } = options;
    let probes = options.probes.then(|| probes_of(model, *rows));
    let first = cpus.first().copied().unwrap_or_default();
    stop()?;
    let mut miss = None;
    let source = match given_schedule(options) {
        Some(source) => source,
        None => {
            let mut report = |diagnostic: Diagnostic| miss = Some(diagnostic.to_string());
            let mut lookup = ScheduleLookup { lock, cpus, threads: None, report: &mut report };
            lookup.source(model, values.target.as_ref(), (first, effort.destination()))?
        }
    };
    stop()?;
    let mut job = Job { model: model.clone(), source };
    let served = ServedCalls { cpus: cpus.clone(), rows: *rows, rules: *rules, effort: *effort };
    let mut made = versions(&mut job, values, &served, collector)?;
    stop()?;
    made.iter_mut().for_each(|version| version.entry.python_object.clone_from(object));
    let library = artefact(&made, ArtefactName { prefix: PREFIX, file: None }, ArtefactForm::SharedLibrary)?;
    let rows_name = |rows| if rows == Float::F32 { "f32" } else { "f64" };
    let described = made
        .iter()
        .map(|version| json!([version.cpu.to_string(), rows_name(version.rows), version.schedule.as_ref()]));
    let cut = warning_of_cut_names(&cut_names(&job.model)).map(|warning| warning.to_string());
    let about = json!({
        "header": header_of(&made, PREFIX),
        "schedules": described.collect::<Vec<_>>(),
        "notes": job.notes(first).into_iter().chain(job.note_of_effort(*effort)).collect::<Vec<_>>(),
        "warnings": miss.into_iter().chain(cut).collect::<Vec<_>>(),
        "magnitude": probes.as_ref().map(|probes| probes.magnitude),
    });
    let probes = probes.map_or_else(Vec::new, |probes| bytes_of(&probes.values));
    Ok(SavedBuild { files: vec![library, probes], about })
}

/// Findings about a compiled model whose predictions differ from its object's: JSON, text, coloured text.
#[pyfunction]
pub fn difference(message: &str, notes: Vec<String>, help: &str) -> (String, String, String) {
    let diagnostic = Diagnostic::new(codes::OTHER_ANSWER, Place::Whole, message).help(help);
    let FindingsReport { json, text, color } = FindingsReport::refused(Diagnostic { notes, ..diagnostic });
    (json, text, color)
}

fn cpu_of(text: &str) -> PyResult<Cpu> {
    text.parse().map_err(|error: sched_llvm::LlvmError| {
        PyValueError::new_err(format!(
            "cpu: {}; {}",
            error.message,
            error.help.as_deref().unwrap_or_default()
        ))
    })
}

fn rows_of(text: &str) -> PyResult<RowTypes> {
    match text {
        "f32" => Ok(RowTypes::F32),
        "f64" => Ok(RowTypes::F64),
        "both" => Ok(RowTypes::Both),
        _ => Err(PyValueError::new_err(format!("rows must be \"f32\", \"f64\" or \"both\", not {text:?}"))),
    }
}

fn release_of(text: &str) -> PyResult<Release> {
    text.parse().map_err(|error: ParseReleaseError| PyValueError::new_err(error.to_string()))
}

fn iterations_of(text: &str) -> PyResult<Iterations> {
    text.parse().map_err(|error: sched_forest::ParseIterationsError| PyValueError::new_err(error.to_string()))
}
