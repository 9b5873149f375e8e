//! Compares predictions of real models, under every example schedule, with the trainer's.
//!
//! The example model is always tested. The variable `SCHEDC_MODELS` names a folder with more models: folders
//! with `model.json`, `X_test.npy`, `expected.npy`, `expected_raw.npy` and `meta.json`, and a folder `random`
//! with `NAME.json`, `NAME.X.npy` and `NAME.y.npy`. Unsupported formats are skipped.

use sched_cost::{Level, Machine};
use sched_forest::{Forest, ForestParts, Iterations, ReadOptions, predict, predict_margins};
use sched_ir::Budget;
use sched_lang::{CheckOptions, CheckPurpose, CheckedSchedule, ModelInfo, TargetKind, check};
use sched_llvm::runtime::OutputKind;
use sched_llvm::{CompiledCode, Cpu, EntryInfo, Jit, PackedResults, PackedRows};
use sched_nest::Accumulation;
use sched_testing::in_parallel;
use schedc_data::{DataSource, Expect, read_rows};
use schedc_driver::Model;
use schedc_driver::choice::{ChosenSchedules, CodeDestination, Evaluator};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Rows per call. The last one runs over several blocks of every schedule.
const BATCHES: [usize; 5] = [0, 1, 7, 64, 1000];
/// The property `batch_size` of schedules that use it: below the largest batch, so that the nest runs more
/// than once.
const BATCH_SIZE: u64 = 400;
/// Tolerance of a margin, relative to |base| + the sum of |leaf|, if the order of additions is free and the
/// trees are few.
const MARGIN_TOLERANCE: f64 = 1e-6;
/// Rounding error of one addition of floats, relative to the sum.
const ROUNDING: f64 = 1.0 / (1 << 24) as f64;
/// Classes may differ if the two best margins are closer than this.
const CLASS_GAP: f32 = 1e-4;
/// Name of the automatic schedule in reports.
const CHOSEN: &str = "chosen schedule";
/// Models with fewer trees are too small for some schedules, such as those that split the trees.
const LARGE: usize = 20;

/// A model with rows and their expected results.
struct Case {
    name: String,
    forest: Forest,
    facts: ModelInfo,
    rows: Vec<f32>,
    /// The trainer's margins, to the last bit.
    margins: Vec<f32>,
    /// The trainer's predictions.
    values: Vec<f32>,
    /// Tolerance of each margin if the order of additions is free.
    slack: Vec<f64>,
    /// Relative and absolute tolerance of predictions.
    tolerance: (f64, f64),
}

/// A schedule to try.
#[derive(Clone)]
struct Schedule {
    name: String,
    text: String,
}

impl Schedule {
    /// This schedule with the sparse layout of trees, unless it chooses a layout.
    fn sparse(&self) -> Option<Schedule> {
        let free = !self.text.contains("representation(");
        let text = format!("{}\nrepresentation(sparse)\n", self.text);
        free.then(|| Schedule { name: self.name.clone(), text })
    }
}

/// The outcome of a model's predictions under a schedule.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Exact,
    Close,
    Refused,
}

#[test]
fn the_example_model_is_predicted_to_the_last_bit() -> Result<()> {
    let case = example()?;
    let mut exact = 0;
    for schedule in schedules()?.into_iter().chain(chosen(&case)) {
        let outcome = try_out(&case, &schedule)?;
        exact += usize::from(outcome == Outcome::Exact);
        assert!(outcome != Outcome::Refused, "{} is refused", schedule.name);
    }
    assert!(exact >= 5, "only {exact} schedules are exact");
    Ok(())
}

#[test]
fn real_models_are_predicted_as_by_their_trainer() -> Result<()> {
    let Some(folder) = std::env::var_os("SCHEDC_MODELS") else {
        eprintln!("skipped: SCHEDC_MODELS does not name a folder of models");
        return Ok(());
    };
    let cases = cases(Path::new(&folder))?;
    let schedules = schedules()?;
    assert!(!cases.is_empty(), "no model in {}", Path::new(&folder).display());
    let chosen = in_parallel(&cases, chosen);
    let tried =
        |(case, chosen)| schedules.iter().cloned().chain(chosen).map(move |schedule| (case, schedule));
    let jobs: Vec<(&Case, Schedule)> = cases.iter().zip(chosen).flat_map(tried).collect();
    let outcomes = in_parallel(&jobs, |(case, schedule)| try_out(case, schedule));

    let mut problems = Vec::new();
    let mut counts = [0; 3];
    for ((case, schedule), outcome) in jobs.iter().zip(outcomes) {
        let large = case.forest.trees.len() >= LARGE;
        let must_be_exact = ["xgboost.sched", "figure1b.sched", CHOSEN].contains(&schedule.name.as_str());
        match outcome {
            Ok(outcome) => {
                counts[outcome as usize] += 1;
                if large && (outcome == Outcome::Refused || must_be_exact && outcome != Outcome::Exact) {
                    problems.push(format!("{} under {}: refused or not exact", case.name, schedule.name));
                }
            }
            Err(error) => problems.push(format!("{} under {}: {error}", case.name, schedule.name)),
        }
    }
    let [exact, close, refused] = counts;
    eprintln!(
        "{} models under {} schedules: {exact} to the last bit, {close} within the tolerance, {refused} \
         refused",
        cases.len(),
        schedules.len() + 2
    );
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// Runs a model under a schedule in all batch sizes, with one thread and two.
fn try_out(case: &Case, schedule: &Schedule) -> Result<Outcome> {
    let checked = checked(case, schedule);
    let Some(nests) = checked.nests else { return Ok(Outcome::Refused) };
    let kernels = [OutputKind::Raw, OutputKind::Value];
    let (forest, budget) = (case.forest.clone(), Budget::default());
    let compiled = sched_ir::compile(forest, None, nests.clone(), &kernels, &budget)?;
    let jit = Jit::compile(&compiled.lir, Cpu::Native, &facts(&case.forest)?, &kernels)?;
    for rows in BATCHES.map(|rows| rows.min(case.rows.len() / case.forest.num_features)) {
        let exact = nests.for_rows(rows).accumulation == Accumulation::Exact;
        for threads in [1, 2] {
            let margins = run(&jit, case, OutputKind::Raw, rows, threads)?;
            let place =
                |at: usize| format!("{rows} rows, {threads} threads, row {}", at / case.forest.num_margins);
            if let Some(at) = wrong_margin(case, &margins, exact) {
                let (found, wanted) = (margins[at], case.margins[at]);
                return Err(format!("{}: margin {found} instead of {wanted}", place(at)).into());
            }
            let values = run(&jit, case, OutputKind::Value, rows, threads)?;
            if let Some(at) = wrong_value(case, &values) {
                let (found, wanted) = (values[at], case.values[at]);
                return Err(format!("value {at} of {rows} rows is {found} instead of {wanted}").into());
            }
        }
    }
    let exact = nests.iter().all(|(_, nest)| nest.accumulation == Accumulation::Exact);
    Ok(if exact { Outcome::Exact } else { Outcome::Close })
}

/// The schedule checked for the model.
fn checked(case: &Case, schedule: &Schedule) -> CheckedSchedule {
    let options = CheckOptions {
        model: Some(case.facts.clone().into()),
        batch_size: schedule.text.contains("batch_size").then_some(BATCH_SIZE),
        purpose: CheckPurpose::Compile,
        ..CheckOptions::default()
    };
    check(&schedule.text, &options)
}

fn facts(forest: &Forest) -> Result<EntryInfo> {
    Ok(EntryInfo {
        num_features: i32::try_from(forest.num_features)?,
        counts: forest.counts(),
        trainer_row_type: sched_llvm::runtime::Dtype::F32,
        // Large enough that a second thread is always worth waking.
        ns_per_row: 1e6,
        info: String::new(),
        feature_names: Vec::new(),
        ..EntryInfo::default()
    })
}

/// Predicts the first rows.
fn run(jit: &Jit, case: &Case, kind: OutputKind, rows: usize, threads: i32) -> Result<Vec<f32>> {
    let columns = match kind {
        OutputKind::Raw => case.forest.num_margins,
        _ => case.forest.value_columns(),
    };
    let mut results = vec![f32::NAN; rows * columns];
    let values = &case.rows[..rows * case.forest.num_features];
    let done = jit.predict(kind, PackedRows::F32(values), rows, PackedResults::F32(&mut results), threads);
    done.map_err(|status| status.to_string())?;
    Ok(results)
}

/// The first wrong margin.
fn wrong_margin(case: &Case, margins: &[f32], exact: bool) -> Option<usize> {
    let right = |at: &usize| {
        let (found, wanted) = (margins[*at], case.margins[*at]);
        match exact {
            true => found.to_bits() == wanted.to_bits(),
            false => (f64::from(found) - f64::from(wanted)).abs() <= case.slack[*at],
        }
    };
    (0..margins.len()).find(|at| !right(at))
}

/// The first wrong prediction.
fn wrong_value(case: &Case, values: &[f32]) -> Option<usize> {
    let (relative, absolute) = case.tolerance;
    let classes = case.forest.num_margins > 1 && case.forest.value_columns() == 1;
    let right = |at: &usize| {
        let (found, wanted) = (f64::from(values[*at]), f64::from(case.values[*at]));
        (found - wanted).abs() <= absolute + relative * wanted.abs() || classes && undecided(case, *at)
    };
    (0..values.len()).find(|at| !right(at))
}

/// Whether the two largest margins of a row are too close to tell which is the larger.
fn undecided(case: &Case, row: usize) -> bool {
    let columns = case.forest.num_margins;
    let mut margins = case.margins[row * columns..(row + 1) * columns].to_vec();
    margins.sort_by(|a, b| b.total_cmp(a));
    margins[0] - margins[1] <= CLASS_GAP
}

/// The example schedules for CPUs, with both layouts of trees.
fn schedules() -> Result<Vec<Schedule>> {
    let mut schedules: Vec<Schedule> = Vec::new();
    for path in files(&repository().join("examples"))? {
        if path.extension().is_some_and(|extension| extension == "sched") {
            let text = fs::read_to_string(&path)?;
            if check(&text, &CheckOptions::default()).target.kind == TargetKind::Cpu {
                schedules.push(Schedule { name: file_name(&path), text });
            }
        }
    }
    assert!(!schedules.is_empty(), "no example schedule");
    let sparse: Vec<Schedule> = schedules.iter().filter_map(Schedule::sparse).collect();
    Ok(schedules.into_iter().chain(sparse).collect())
}

/// The automatic schedules for one of several machines, which depends on the model. With `SCHEDC_NIGHTLY`,
/// those for all machines: with and without wide vectors and quantized rows.
fn chosen(case: &Case) -> Vec<Schedule> {
    let model = Model::of_forest(Arc::new(case.forest.clone()));
    let machines = [("", Level::V2), ("", Level::V3), ("znver4", Level::Vbmi), ("skylake-avx512", Level::V4)];
    let nightly = std::env::var_os("SCHEDC_NIGHTLY").is_some();
    let one = case.forest.trees.iter().map(|tree| tree.leaves.len()).sum::<usize>() % machines.len();
    let machines = if nightly { &machines[..] } else { &machines[one..=one] };
    let all = machines.iter().flat_map(|&(name, level)| {
        let machine = Machine::like(name, level);
        let evaluator = Evaluator::new(&model, &machine);
        [CodeDestination::Memory, CodeDestination::Artefact].map(|kept| ChosenSchedules::by(&evaluator, kept))
    });
    let schedule = |(_, text): (_, &String)| Schedule { name: CHOSEN.to_string(), text: text.clone() };
    let mut all: Vec<_> =
        all.flat_map(|chosen| chosen.variants.iter().map(schedule).collect::<Vec<_>>()).collect();
    // The destinations often have the same schedule.
    let mut seen = BTreeSet::new();
    all.retain(|schedule| seen.insert(schedule.text.clone()));
    all
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The example model. The trainer printed its predictions with enough digits to be exact.
fn example() -> Result<Case> {
    let folder = repository().join("examples/model");
    let forest = load(&folder.join("breast_cancer.json"))?;
    let rows = numbers(&folder.join("rows.csv"), forest.num_features)?;
    let values = numbers(&folder.join("expected.csv"), 1)?;
    let case = Case::new("breast_cancer".to_string(), forest, rows, None, values, (0.0, 1e-6))?;
    let mut walked = vec![0.0; case.values.len()];
    predict(&case.forest, &case.rows, &mut walked)?;
    assert_eq!(walked, case.values, "the reference walker differs from the trainer");
    Ok(case)
}

/// All models below a folder, in supported formats.
fn cases(folder: &Path) -> Result<Vec<Case>> {
    let mut sources = Vec::new();
    for path in files(folder)? {
        if path.join("model.json").is_file() {
            sources.push(path);
        }
    }
    if folder.join("random").is_dir() {
        let random = files(&folder.join("random"))?;
        sources.extend(random.into_iter().filter(|path| path.with_extension("X.npy").is_file()));
    }
    in_parallel(&sources, |path| if path.is_dir() { named_case(path) } else { random_case(path) })
        .into_iter()
        .collect()
}

fn named_case(folder: &Path) -> Result<Case> {
    let forest = load(&folder.join("model.json"))?;
    let rows = numbers(&folder.join("X_test.npy"), forest.num_features)?;
    let values = numbers(&folder.join("expected.npy"), forest.value_columns())?;
    let margins = numbers(&folder.join("expected_raw.npy"), forest.num_margins)?;
    let meta: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("meta.json"))?)?;
    let bound = |name: &str| meta["tolerance"][name].as_f64().ok_or(format!("no tolerance {name}"));
    let tolerance = (bound("rtol")?, bound("atol")?);
    Case::new(file_name(folder), forest, rows, Some(margins), values, tolerance)
}

fn random_case(path: &Path) -> Result<Case> {
    let forest = load(path)?;
    let rows = numbers(&path.with_extension("X.npy"), forest.num_features)?;
    let values = numbers(&path.with_extension("y.npy"), 1)?;
    Case::new(file_name(path), forest, rows, None, values, (1e-5, 1e-5))
}

fn load(path: &Path) -> Result<Forest> {
    let bytes = fs::read(path)?;
    Ok(sched_forest::load(&bytes, &ReadOptions { iterations: Iterations::All, ..ReadOptions::default() })?
        .forest)
}

fn numbers(path: &Path, columns: usize) -> Result<Vec<f32>> {
    Ok(read_rows(&DataSource::Path(path.to_path_buf()), Expect::unnamed(columns))?.into_f32())
}

impl Case {
    /// A case. Margins are those of the reference walker; the trainer's margins, if given, must equal them.
    fn new(
        name: String,
        forest: Forest,
        mut rows: Vec<f32>,
        margins: Option<Vec<f32>>,
        values: Vec<f32>,
        tolerance: (f64, f64),
    ) -> Result<Case> {
        let most = BATCHES.into_iter().max().unwrap_or(0);
        rows.truncate(most * forest.num_features);
        let count = rows.len() / forest.num_features;
        let mut walked = vec![0f32; count * forest.num_margins];
        predict_margins(&forest, &rows, &mut walked)?;
        if margins.is_some_and(|margins| !margins.starts_with(&walked)) {
            return Err(format!("{name}: the reference walker's margins differ from the trainer's").into());
        }
        let mut sizes = vec![0f64; walked.len()];
        predict_margins(&absolute(&forest)?, &rows, &mut sizes)?;
        // Rounding errors add up like a random walk, in both orders. With a thousand trees, the trainer's own
        // sum is further from the exact sum than the plain tolerance.
        let wander = 2.0 * ROUNDING * (forest.trees.len() as f64).sqrt();
        let slack = sizes.into_iter().map(|size| size * MARGIN_TOLERANCE.max(wander)).collect();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let facts = ModelInfo {
            num_trees: count(forest.trees.len()),
            num_features: count(forest.num_features),
            num_classes: count(forest.num_margins),
            depths: forest.trees.iter().map(sched_forest::Tree::depth).collect(),
            ..ModelInfo::default()
        };
        Ok(Case { name, forest, facts, rows, margins: walked, values, slack, tolerance })
    }
}

/// The forest whose margins are |base| + the sum of |leaf|.
fn absolute(forest: &Forest) -> Result<Forest> {
    let mut parts: ForestParts = forest.clone().into_parts();
    parts.base.iter_mut().for_each(|base| *base = base.abs());
    for leaf in parts.trees.iter_mut().flat_map(|tree| &mut tree.leaves) {
        leaf.values.iter_mut().for_each(|value| *value = value.abs());
    }
    Ok(Forest::new(parts)?)
}
