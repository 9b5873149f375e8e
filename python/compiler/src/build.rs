//! Builds libraries from the bytes of a model and the text of a schedule.

use crate::language::Values;
use crate::report::{FindingsReport, Keeper};
use crate::rows::Probes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sched_diagnostics::{Diagnostic, Place};
use sched_forest::{
    EncodedCategories, EncodedFeature, Float, Forest, Iterations, ParseReleaseError, ReadOptions, Release,
    codes,
};
use sched_llvm::{ArtefactName, Cpu, Emit};
use schedc_driver::cache::{self, Cache};
use schedc_driver::compile::RowRules;
use schedc_driver::versions::{Served, artefact, header_of, versions};
use schedc_driver::{Effort, Failure, Job, LockUse, Lookup, Model, RowTypes, Source};
use std::path::{Path, PathBuf};

/// Prefix of the functions of a library.
const PREFIX: &str = "schedc";

/// A library with the compiler's report on it.
#[pyclass(frozen, get_all, module = "schedc._native")]
pub struct Artefact {
    /// The bytes of the shared library.
    library: Py<PyBytes>,
    /// Its C header.
    header: String,
    /// The processor, type of rows and schedule of each version.
    schedules: Vec<(String, String, String)>,
    /// Warnings and notes on the model.
    notes: Vec<String>,
    /// Findings in the schedule: JSON, text, coloured text.
    findings: (String, String, String),
    /// The reason why the lock is unused, if it has entries for the model but none matches.
    miss: Option<String>,
    /// On request, rows for a comparison with the model's object: doubles, and the largest sum.
    probes: Option<(Py<PyBytes>, f64)>,
}

/// A built library, still free of Python objects.
struct Built {
    library: Vec<u8>,
    header: String,
    schedules: Vec<(String, String, String)>,
    notes: Vec<String>,
    findings: FindingsReport,
    miss: Option<String>,
    probes: Option<Probes>,
}

/// The categories of a feature that an estimator encodes, in the order of its codes.
#[derive(FromPyObject)]
pub enum Encoded {
    /// Whole numbers.
    #[pyo3(transparent)]
    Numbers(Vec<u32>),
    /// Names.
    #[pyo3(transparent)]
    Names(Vec<String>),
}

impl Encoded {
    fn of_feature(self, feature: u32) -> EncodedFeature {
        let categories = match self {
            Encoded::Numbers(numbers) => EncodedCategories::Numbers(numbers),
            Encoded::Names(names) => EncodedCategories::Names(names),
        };
        EncodedFeature { feature, categories }
    }
}

/// The options of a build.
struct BuildOptions<'a> {
    model: &'a [u8],
    name: &'a str,
    schedule: Option<String>,
    cpus: Vec<Cpu>,
    rows: RowTypes,
    rules: RowRules,
    reading: ReadOptions,
    values: Values,
    lock: LockUse,
    encoded: Vec<EncodedFeature>,
    probes: bool,
    names: Vec<String>,
    object: String,
    effort: Effort,
}

/// Compiles the bytes of a model's file to a shared library for the given processors.
///
/// Uses the given schedule, or the lock's, or an automatic one. `name` names the model in messages. It is
/// also the path from which the lock is found, unless the build is `frozen`. `encoded` has, by feature, the
/// categories that scikit-learn encodes before the trees. `probes` requests rows for a comparison of
/// predictions. `as_release` is the release whose reading of the file counts, by default the one that saved
/// it. `feature_names` are the object's, for files without names. `object` is JSON text about the object,
/// for a section of the library. `effort` is `fast` or `full`. With `cache`, code that was compiled before
/// comes from the user's cache.
#[pyfunction]
#[pyo3(signature = (
    model, *, values, name = "the model", schedule = None, cpu = vec!["native".to_string()], rows = "both",
    missing = None, base_margin = false, iterations = "all", lock = None, locked = false, frozen = true,
    encoded = vec![], probes = false, as_release = None, feature_names = vec![], object = String::new(),
    effort = "full", cache = true
))]
#[expect(clippy::too_many_arguments, reason = "each is a keyword")]
pub fn build(
    py: Python<'_>,
    model: &[u8],
    values: Values,
    name: &str,
    schedule: Option<String>,
    cpu: Vec<String>,
    rows: &str,
    missing: Option<f64>,
    base_margin: bool,
    iterations: &str,
    lock: Option<PathBuf>,
    locked: bool,
    frozen: bool,
    encoded: Vec<(u32, Encoded)>,
    probes: bool,
    as_release: Option<&str>,
    feature_names: Vec<String>,
    object: String,
    effort: &str,
    cache: bool,
) -> PyResult<Artefact> {
    let options = BuildOptions {
        model,
        name,
        schedule,
        cpus: cpu.iter().map(|text| cpu_of(text)).collect::<PyResult<_>>()?,
        rows: rows_of(rows)?,
        rules: RowRules { missing, base_margin },
        reading: ReadOptions {
            iterations: iterations_of(iterations)?,
            as_release: as_release.map(release_of).transpose()?,
        },
        values,
        lock: LockUse { file: lock, locked, frozen },
        encoded: encoded.into_iter().map(|(feature, known)| known.of_feature(feature)).collect(),
        probes,
        names: feature_names,
        object,
        effort: effort.parse().map_err(|help: String| PyValueError::new_err(format!("effort: {help}")))?,
    };
    let built = py.detach(|| {
        let keeper = Keeper::default();
        match cache::with(cache.then(Cache::of_user).flatten(), || compiled(options, &keeper)) {
            Ok(built) => Ok(Built { findings: keeper.report(), ..built }),
            Err(failure) => Err(keeper.stopped(failure)),
        }
    });
    let Built {
        library,
        header,
        schedules,
        notes,
        findings: FindingsReport { json, text, color },
        miss,
        probes,
    } = built.map_err(FindingsReport::error)?;
    let probes = probes.map(|Probes { values, magnitude }| {
        let bytes: Vec<u8> = values.into_iter().flat_map(f64::to_le_bytes).collect();
        (PyBytes::new(py, &bytes).unbind(), magnitude)
    });
    Ok(Artefact {
        library: PyBytes::new(py, &library).unbind(),
        header,
        schedules,
        notes,
        findings: (json, text, color),
        miss,
        probes,
    })
}

fn compiled(options: BuildOptions<'_>, keeper: &Keeper) -> Result<Built, Failure> {
    let BuildOptions {
        model,
        name,
        schedule,
        cpus,
        rows,
        rules,
        reading,
        values,
        lock,
        encoded,
        probes,
        names,
        object,
        effort,
    } = options;
    let values = values.checked()?;
    let mut model = Model::of_bytes(Path::new(name), model, &reading)?;
    if !encoded.is_empty() {
        let forest = Forest::clone(model.forest()).of_encoded(&encoded);
        model = model.with_forest(forest.map_err(|error| Failure::model(Path::new(name), error))?);
        model.source.trainer = "scikit-learn";
    }
    if model.forest().feature_names.is_empty() && names.len() == model.forest().num_features {
        let mut parts = Forest::clone(model.forest()).into_parts();
        parts.feature_names = names;
        let forest = Forest::new(parts).map_err(|error| Failure::model(Path::new(name), error))?;
        model = model.with_forest(forest);
    }
    let probes = probes.then(|| {
        let float = if rows == RowTypes::F32 { Float::F32 } else { model.own_rows };
        Probes::new(model.forest(), float)
    });
    let first = cpus.first().copied().unwrap_or_default();
    let mut miss = None;
    let source = match schedule {
        Some(text) => Source { name: "schedule".to_string(), text, is_chosen: false, path: None },
        None => {
            let mut tell = |diagnostic: Diagnostic| miss = Some(diagnostic.to_string());
            let mut lookup = Lookup { lock: &lock, cpus: &cpus, threads: None, tell: &mut tell };
            lookup.source(&model, values.target.as_ref(), (first, effort.destination()))?
        }
    };
    let mut job = Job { model, source };
    let mut made = versions(&mut job, &values, &Served { cpus, rows, rules, effort }, keeper)?;
    made.iter_mut().for_each(|version| version.entry.object.clone_from(&object));
    let library = artefact(&made, ArtefactName { prefix: PREFIX, file: None }, Emit::SharedLibrary)?;
    let rows_name = |rows| if rows == Float::F32 { "f32" } else { "f64" };
    let described = made.iter().map(|version| {
        (version.cpu.to_string(), rows_name(version.rows).to_string(), version.schedule.to_string())
    });
    Ok(Built {
        library,
        header: header_of(&made, PREFIX),
        schedules: described.collect(),
        notes: job.notes(first).into_iter().chain(job.note_of_effort(effort)).collect(),
        findings: FindingsReport::default(),
        miss,
        probes,
    })
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
        PyValueError::new_err(error.help.clone().unwrap_or_else(|| error.message.clone()))
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
