//! Tests of the verifier: it finds every seeded fault, and no fault in correct code.

#![allow(clippy::unwrap_used, clippy::panic)]

use sched_columns::{Binary, ColumnId, ColumnType, ColumnValue, Columns, Edges, Expr, Ties};
use sched_forest::{
    ClassRule, ComputedColumns, Float, Forest, ForestParts, Inner, Iterations, Leaf, LinearLeaf,
    LinearMissing, NodeRef, Output, OutputColumns, Predicate, ReadOptions, Transform, Tree, TreeTarget,
    endings,
};
use sched_ir::fault::{Fault, with_fault};
use sched_lang::CheckedSchedule;
use sched_lang::diagnostics::Severity;
use sched_llvm::runtime::{CallError, Dtype, OutputKind};
use sched_llvm::{Cpu, PackedResults, PackedRows, PredictOptions};
use sched_nest::{Nest, Variants};
use sched_pipeline::{PassFault, with_pass_fault};
use schedc_driver::{
    CodeDestination, Failure, Job, Model, Predictor, Reporter, ScheduleSource, ScheduleValues,
};
use schedc_verify::{ModelCode, VerificationTask, VerifyReport, verify};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const EXAMPLE: &str = "examples/model/breast_cancer.json";

/// The first trees of the example: four tiles of seven and a part of a fifth, which test the last feature.
const EXAMPLE_TREES: Iterations = Iterations::Range(0, 32);

/// Time limit for a verification that must be complete.
const UNLIMITED: Duration = Duration::from_secs(600);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Counts errors.
struct Counter;

impl Reporter for Counter {
    fn report(&self, _: &ScheduleSource, checked: &CheckedSchedule, _: Severity) -> usize {
        checked.diagnostics.iter().filter(|found| found.severity == Severity::Error).count()
    }
}

/// A model with a schedule, which is checked.
struct Program {
    job: Job,
    nests: Variants<Nest>,
    target: sched_lang::Target,
}

impl Program {
    fn new(job: Job) -> Result<Program, Failure> {
        let (nests, target) = job.nest(&ScheduleValues::default(), &Counter)?;
        Ok(Program { job, nests, target })
    }

    /// The program of a model under a schedule. The example model is cut to its first trees, which are
    /// enough.
    fn of(model: &str, schedule: &str) -> Result<Program, Failure> {
        let iterations = if model == EXAMPLE { EXAMPLE_TREES } else { Iterations::default() };
        let options = ReadOptions { iterations, ..ReadOptions::default() };
        let model = Model::read(&repository().join(model), &options)?;
        let source =
            ScheduleSource { name: "schedule".into(), text: schedule.into(), is_chosen: false, path: None };
        Program::new(Job { model, source })
    }

    /// The program of a model under the automatic schedule.
    fn chosen(model: &Path) -> Result<Program, Failure> {
        let place = (Cpu::Native, CodeDestination::Memory);
        Program::new(Job::load(model, None, &ScheduleValues::default(), &ReadOptions::default(), place)?)
    }

    /// Compiles and verifies the program, on the processor or in the simulator.
    fn report(&self, is_simulated: bool, budget: Duration) -> Result<VerifyReport, Failure> {
        let began = Instant::now();
        self.report_of(&self.code(is_simulated)?, None, began, budget)
    }

    /// Compiles the program.
    fn code(&self, is_simulated: bool) -> Result<ModelCode, Failure> {
        ModelCode::in_memory(&self.job, self.nests.clone(), &self.target, Cpu::Native, is_simulated)
    }

    /// Verifies code of the program.
    fn report_of(
        &self,
        code: &ModelCode,
        row_type: Option<Float>,
        began: Instant,
        budget: Duration,
    ) -> Result<VerifyReport, Failure> {
        let task = VerificationTask { model: &self.job.model, code, given: &[], row_type, began, budget };
        verify(&task, &mut |_| {}).map(|(report, _)| report)
    }
}

fn shown(failure: &Failure) -> String {
    match failure {
        Failure::Refused(diagnostic) => format!("{}: {}", diagnostic.code, diagnostic.message),
        other => format!("{other:?}"),
    }
}

const ROWS_IN_VECTORS: &str = "tile(batch, b0, b1, 16)\nreorder(b0, tree, b1)\n";

#[test]
fn one_type_of_rows_is_verified_alone() {
    let program = Program::of(EXAMPLE, ROWS_IN_VECTORS).expect("the example compiles");
    let code = program.code(false).expect("code");
    for (float, name) in [(Float::F32, "f32"), (Float::F64, "f64")] {
        let report = program.report_of(&code, Some(float), Instant::now(), UNLIMITED).expect("a report");
        assert!(report.is_equal());
        assert_eq!(report.rows.iter().map(|rows| rows.float).collect::<Vec<_>>(), [name]);
    }
}

/// Code whose calls take long.
struct SlowCode {
    code: Box<dyn Predictor>,
    /// The time from which on calls are late.
    deadline: Instant,
    /// Number of late calls.
    late: Arc<AtomicUsize>,
}

impl Predictor for SlowCode {
    fn num_features(&self) -> usize {
        self.code.num_features()
    }

    fn num_outputs(&self, kind: OutputKind) -> usize {
        self.code.num_outputs(kind)
    }

    fn output_type(&self, kind: OutputKind) -> Dtype {
        self.code.output_type(kind)
    }

    fn predict(
        &self,
        kind: OutputKind,
        rows: PackedRows,
        n: usize,
        out: PackedResults,
        extras: PredictOptions<'_>,
    ) -> Result<(), CallError> {
        self.late.fetch_add(usize::from(Instant::now() > self.deadline), Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(2));
        self.code.predict(kind, rows, n, out, extras)
    }
}

#[test]
fn calls_end_at_the_time_limit() {
    let program = Program::of(EXAMPLE, ROWS_IN_VECTORS).expect("the example compiles");
    let mut code = program.code(false).expect("code");
    let (began, late) = (Instant::now(), Arc::default());
    let deadline = began + Duration::from_secs(1);
    let slow = SlowCode { code: code.predictor, deadline, late: Arc::clone(&late) };
    code.predictor = Box::new(slow);
    let report = program.report_of(&code, None, began, Duration::from_secs(1)).expect("a report");
    assert!(report.outcome.stopped);
    // A call may begin just at the limit.
    assert!(late.load(Ordering::Relaxed) <= 1, "{late:?}");
}

#[test]
fn a_time_limit_before_the_first_call_verifies_nothing() {
    let program = Program::of(EXAMPLE, ROWS_IN_VECTORS).expect("the example compiles");
    let failure = program.report(false, Duration::ZERO).err().expect("there is no time for a call");
    assert!(shown(&failure).contains("nothing is verified"), "{}", shown(&failure));
}

/// Faults of processor code, each with a schedule whose code contains it, and the model.
fn faults() -> Vec<(Fault, String, &'static str)> {
    let vectors = |more: &str| format!("{ROWS_IN_VECTORS}{more}");
    let groups = "tile(tree, group, member, num_trees/2)\nreorder(group, batch, member)\nparallel(group)\n";
    let catboost = "forest/tests/fixtures/catboost/rmse.json";
    let of_example = [
        (Fault::SortRepeatsTree, "sortTrees(depth)".to_string()),
        (Fault::PadLosesLeaf, "unrollWalk(tree, 4)".to_string()),
        (Fault::TileOverruns, "tile(tree, t0, t1, 7)".to_string()),
        (Fault::FoldForgetsSlot, groups.to_string()),
        (Fault::WalkStopsEarly, "unrollWalk(tree, 5)".to_string()),
        (Fault::DecisionsSwapped, "speculateWalk(tree, 2)".to_string()),
        (Fault::LaneReadsWrongRow, vectors("interleave(b1, 4)")),
        (Fault::RemainderDropped, vectors("interleave(b1, 3)")),
        (Fault::UnrollAndJamRepeatsTree, vectors("vectorize(b1, 8)\ninterleave(b1, 2)\nunrollAndJam(tree)")),
        (Fault::ArrayFlipsTies, "representation(array)".to_string()),
        (Fault::SparseForgetsMissing, "representation(sparse)".to_string()),
        (Fault::TileReversesDecisions, "tileTrees(4)".to_string()),
        (Fault::BinsFlipTies, "representation(quantized)".to_string()),
        (Fault::SweepForgetsPlace, vectors("representation(preorder)\nvectorize(b1, 16)")),
        (Fault::ReachFallsShort, "representation(preorder)".to_string()),
        (Fault::SubtreesShifted, "representation(hybrid)".to_string()),
        (Fault::CompareUnordered, "representation(array)".to_string()),
    ];
    let mut faults: Vec<_> = of_example.into_iter().map(|(fault, text)| (fault, text, EXAMPLE)).collect();
    faults.push((Fault::RowsPackedAsSums, "representation(array)".to_string(), catboost));
    let categories = "forest/tests/fixtures/lightgbm/categorical.txt";
    faults.push((Fault::RunRepeatsColumn, "representation(array)".to_string(), categories));
    let (net, stacking) =
        ("forest/pipeline/tests/fixtures/net.onnx", "forest/pipeline/tests/fixtures/stacking-trees.onnx");
    let of_stages = [
        (Fault::TermsShareWeight, "", net),
        (Fault::ArrangedTermsLost, "tile(layer1.feature, f0, f1, 4)", net),
        (Fault::TermLanesLost, "vectorize(layer1.feature, 4)", net),
        (Fault::ColumnWalksStopEarly, "", stacking),
    ];
    faults.extend(of_stages.map(|(fault, text, model)| (fault, text.to_string(), model)));
    faults
}

/// Faults of GPU code, which the simulator runs. `BankSwapped` is missing: it makes code slow but not wrong.
fn faults_of_launches() -> Vec<(Fault, String)> {
    let direct = "target gpu\ntile(batch, b0, b1, 4)\nreorder(b0, b1, tree)\n\
                  gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
    let rows = format!("{direct}cache(b0)\n");
    let groups = "target gpu\ntile(batch, b0, b1, 4)\ntile(tree, t0, t1, 7)\nreorder(b0, t0, b1, t1)\n\
                  gpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\ngpuDimension(b1, block.x)\n\
                  gpuDimension(t1, block.y)\n";
    let packed = "target gpu\ntile(batch, b0, r, 8)\ntile(r, b1, b2, 4)\nreorder(b0, b1, tree, b2)\n\
                  cache(b0)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n\
                  representation(quantized)\nvectorize(b2, 4)\n";
    [
        (Fault::SlotShared, groups),
        (Fault::FoldForgetsSlot, groups),
        (Fault::EmptySlotFolded, groups),
        (Fault::GuardDropped, rows.as_str()),
        (Fault::BarrierDropped, rows.as_str()),
        (Fault::CopyStopsShort, rows.as_str()),
        (Fault::PairsSwapSides, packed),
        (Fault::WordReversesRows, packed),
    ]
    .map(|(fault, text)| (fault, text.to_string()))
    .to_vec()
}

#[test]
fn every_seeded_fault_is_found() {
    let mut missed = Vec::new();
    for (fault, schedule, model) in faults() {
        // A model caches its columns, so each verification has a new model.
        let verify = |is_simulated| Program::of(model, &schedule)?.report(is_simulated, UNLIMITED);
        let right =
            verify(false).unwrap_or_else(|failure| panic!("{fault:?}: {}\n{schedule}", shown(&failure)));
        assert!(right.is_equal(), "{schedule}\n{}", right.to_json());
        // Some faults make code read outside of its memory. The simulator reports that, and the code is then
        // not run on the processor.
        let simulated = with_fault(fault, || verify(true));
        let run = || with_fault(fault, || verify(false));
        let found = simulated.is_err() || run().map_or(true, |report| !report.is_equal());
        println!("{fault:?}: {}", if simulated.is_err() { "the simulator stops" } else { "run" });
        if !found {
            missed.push(format!("{fault:?} in {schedule}"));
        }
    }
    assert!(missed.is_empty(), "not found: {}", missed.join("\n"));
}

#[test]
fn every_seeded_fault_of_launches_is_found() {
    let mut missed = Vec::new();
    for (fault, schedule) in faults_of_launches() {
        let program = Program::of(EXAMPLE, &schedule).unwrap();
        let verify = || program.report(true, UNLIMITED);
        let right = verify().unwrap_or_else(|failure| panic!("{fault:?}: {}\n{schedule}", shown(&failure)));
        assert!(right.is_equal(), "{schedule}\n{}", right.to_json());
        let found = with_fault(fault, verify).map_or(true, |report| !report.is_equal());
        if !found {
            missed.push(format!("{fault:?} in {schedule}"));
        }
    }
    assert!(missed.is_empty(), "not found: {}", missed.join("\n"));
}

/// The example model with two predictions, the sum of its leaves and half of it, and class 1 if the sum is
/// positive.
fn with_expressions(schedule: &str) -> Program {
    let options = ReadOptions { iterations: EXAMPLE_TREES, ..ReadOptions::default() };
    let model = Model::read(&repository().join(EXAMPLE), &options).unwrap();
    let float = model.forest().types.accumulator;
    let mut columns = Columns::default();
    let number = |x: f64| ColumnValue::F64(x).cast(float.into());
    let (half, zero) = (columns.constant(number(0.5)), columns.constant(number(0.0)));
    let margin = columns.input(0, float);
    let halved = columns.add(Expr::Binary(Binary::Multiply, margin, half)).unwrap();
    let is_positive = columns.add(Expr::Binary(Binary::Less, zero, margin)).unwrap();
    let class = columns.cast(is_positive, ColumnType::I64).unwrap();
    let columns = Arc::new(columns);
    let of = |results: &[ColumnId]| {
        Arc::new(OutputColumns { columns: Arc::clone(&columns), results: results.to_vec() })
    };
    let output = Output::of(Transform::Columns(of(&[margin, halved])));
    let output = output.with_classes(ClassRule::Computed(of(&[class])));
    let forest = Forest::new(ForestParts { output, ..model.forest().as_ref().clone().into_parts() }).unwrap();
    let source =
        ScheduleSource { name: "schedule".into(), text: schedule.into(), is_chosen: false, path: None };
    Program::new(Job { model: model.with_forest(forest), source }).unwrap()
}

#[test]
fn swapped_results_of_expressions_are_found() {
    let schedules = [
        "parallel(batch)",
        "target gpu\ntile(batch, b0, b1, 4)\nreorder(b0, b1, tree)\n\
                              gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n",
    ];
    for (schedule, is_simulated) in schedules.into_iter().zip([false, true]) {
        let program = with_expressions(schedule);
        let right = program.report(is_simulated, UNLIMITED).unwrap();
        assert!(right.is_equal(), "{schedule}\n{}", right.to_json());
        // A model caches its expressions, so each fault needs a new model.
        let program = with_expressions(schedule);
        let wrong = with_fault(Fault::OutputColumnsSwapped, || program.report(is_simulated, UNLIMITED));
        let wrong = wrong.unwrap();
        assert!(!wrong.is_equal(), "{schedule}");
    }
}

/// A model of the sum of two columns: the interval of one feature, and whether another one is at least a
/// number. Random rows do not hit the edges of the intervals.
fn with_intervals(schedule: &str) -> Program {
    let options = ReadOptions { iterations: EXAMPLE_TREES, ..ReadOptions::default() };
    let model = Model::read(&repository().join(EXAMPLE), &options).unwrap();
    let parts = model.forest().as_ref().clone().into_parts();
    let float = parts.types.input;
    let mut columns = Columns::default();
    let [x, y] = [0, 1].map(|feature| columns.input(feature, float));
    let edges = Arc::new(Edges { at: vec![0.3, 7.7], ties: Ties::Above });
    let reached = columns.add(Expr::Step { of: x, edges }).unwrap();
    let least = columns.constant(ColumnValue::F64(1.1).cast(float.into()));
    let is_large = columns.add(Expr::Binary(Binary::LessOrEqual, least, y)).unwrap();
    let read = [reached, is_large].map(|column| columns.cast(column, float.into()).unwrap()).to_vec();
    let first = parts.num_features as u32;
    let leaves = vec![Leaf { source: 0, values: [0.0].into() }];
    let tree =
        Tree { root: NodeRef::Leaf(0), inner: Vec::new(), leaves, target: TreeTarget::One(0), source: 0 };
    let forest = Forest::new(ForestParts {
        trees: vec![tree],
        iteration_starts: vec![0, 1],
        linear: vec![vec![LinearLeaf { constant: 0.5, terms: vec![(first, 1.25), (first + 1, 3.5)] }]],
        linear_missing: LinearMissing::Nan,
        computed: ComputedColumns { columns, read_by_trees: read },
        best_iteration: None,
        ..parts
    });
    let source =
        ScheduleSource { name: "schedule".into(), text: schedule.into(), is_chosen: false, path: None };
    Program::new(Job { model: model.with_forest(forest.unwrap()), source }).unwrap()
}

#[test]
fn edges_of_columns_are_met() {
    let vectors = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nvectorize(b1, 16)";
    for schedule in ["parallel(batch)", vectors] {
        let program = with_intervals(schedule);
        let right = program.report(false, UNLIMITED).unwrap();
        assert!(right.is_equal(), "{schedule}\n{}", right.to_json());
        let program = with_intervals(schedule);
        let wrong = with_fault(Fault::EdgeNotReached, || program.report(false, UNLIMITED)).unwrap();
        assert!(!wrong.is_equal(), "{schedule}");
    }
}

#[test]
fn a_difference_becomes_a_row_and_a_node() {
    let program = Program::of(EXAMPLE, "representation(array)").unwrap();
    let report = with_fault(Fault::ArrayFlipsTies, || program.report(false, UNLIMITED)).unwrap();
    let found = report.first_difference.as_ref().unwrap();
    let divergence = found.divergence.as_ref().unwrap();
    assert_ne!(divergence.expected, divergence.found);
    let node = divergence.node.as_ref().unwrap();
    // A value that is equal to the threshold goes right.
    assert!(node.test.starts_with(&format!("x < {:?} ", node.value)) && !node.goes_left, "{}", node.test);
    assert!(found.differs_alone);
    let json = report.to_json();
    assert_eq!(json["equal"], false);
    assert_eq!(json["difference"]["walk"]["found_leaf"], divergence.found);
    assert_eq!(json["difference"]["values"].as_array().unwrap().len(), 30);
    assert_eq!(json["difference"]["walk"]["node"]["test"], node.test);
}

/// The faults of passes over pipelines, each with a model that the pass changes.
const FAULTS_OF_PASSES: [(PassFault, &str); 15] = [
    (PassFault::LiveDropsColumn, "forest/pipeline/tests/fixtures/standard-forest.onnx"),
    (PassFault::ConstantsSkipOperation, "forest/pipeline/tests/skl2onnx/quadratic.onnx"),
    (PassFault::EqualColumnsConfused, "forest/pipeline/tests/fixtures/bins-onehot-forest.onnx"),
    (PassFault::VectorRepeatsValue, "forest/pipeline/tests/fixtures/standard-forest.onnx"),
    (PassFault::FoldThresholdBeside, "forest/pipeline/tests/fixtures/standard-forest.onnx"),
    (PassFault::FoldForgetsMissing, "forest/pipeline/tests/fixtures/standard-forest.onnx"),
    (PassFault::FoldLosesMember, "forest/pipeline/tests/fixtures/onehot-forest.onnx"),
    (PassFault::FoldLosesMember, "forest/pipeline/tests/fixtures/target-extra.onnx"),
    (PassFault::LeafEntriesSwapped, "forest/pipeline/tests/fixtures/leaves-logistic.onnx"),
    (PassFault::TableEdgeBeside, "forest/pipeline/tests/fixtures/bins-bernoulli.onnx"),
    (PassFault::TableEntriesSwapped, "forest/pipeline/tests/fixtures/onehot-logistic.onnx"),
    (PassFault::TableForgetsMissing, "forest/pipeline/tests/fixtures/bins-bernoulli.onnx"),
    (PassFault::SumLosesColumn, "forest/pipeline/tests/skl2onnx/kernel-pca.onnx"),
    (PassFault::ClassLosesCategory, "forest/tests/fixtures/lightgbm/categorical.txt"),
    (PassFault::ScoreLosesTerm, "forest/pipeline/tests/fixtures/logistic.onnx"),
];

/// The code is that of the trees after all passes. Only the pipeline before the passes shows their faults.
#[test]
fn every_seeded_fault_of_passes_is_found() {
    let mut missed = Vec::new();
    for (fault, model) in FAULTS_OF_PASSES {
        let schedule = match fault {
            // Sets are tested by class in some layouts alone.
            PassFault::ClassLosesCategory => "representation(preorder)",
            PassFault::ScoreLosesTerm => "unroll(scores.unit)",
            _ => "",
        };
        let verify = || Program::of(model, schedule).and_then(|program| program.report(false, UNLIMITED));
        let right = verify().unwrap_or_else(|failure| panic!("{fault:?}: {}", shown(&failure)));
        assert!(right.is_equal(), "{model}\n{}", right.to_json());
        let wrong = with_pass_fault(fault, verify);
        let wrong = wrong.unwrap_or_else(|failure| panic!("{fault:?}: {}", shown(&failure)));
        if wrong.is_equal() {
            missed.push(format!("{fault:?} in {model}"));
        }
    }
    assert!(missed.is_empty(), "not found: {}", missed.join("\n"));
}

/// The models of a folder.
fn models(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        let is_model = path.extension().is_some_and(|ending| endings().iter().any(|known| ending == *known));
        if path.is_dir() && !name.ends_with("refused") {
            models(&path, into);
        } else if is_model && !name.ends_with(".expected.json") && !name.ends_with("damaged.json") {
            into.push(path);
        }
    }
}

/// Verifies models in two threads. Panics on differences, and on unfinished models unless the time is
/// limited.
fn all_equal(paths: &[PathBuf], budget: Duration) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut problems = Vec::new();
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            match Program::chosen(path).and_then(|program| program.report(false, budget)) {
                Ok(report) if report.is_equal() && report.outcome.stopped <= (budget < UNLIMITED) => {}
                Ok(report) => problems.push(format!("{:#}", report.to_json())),
                // Large models may take the whole limit to compile.
                Err(failure) if budget < UNLIMITED && shown(&failure).contains("nothing is verified") => {}
                // This model does not compile: it has categories far above all others.
                Err(failure) if shown(&failure).contains("C0014") => {}
                // These models need another release than the one that saved them.
                Err(failure) if path.parent().is_some_and(|folder| folder.ends_with("releases")) => {
                    if !["M0008", "M0010"].iter().any(|code| shown(&failure).contains(code)) {
                        problems.push(format!("{}: {}", path.display(), shown(&failure)));
                    }
                }
                Err(failure) => problems.push(format!("{}: {}", path.display(), shown(&failure))),
            }
        }
        problems
    };
    let problems: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The properties of a model that decide which code it needs, apart from sizes and other numbers.
fn properties(forest: &Forest) -> BTreeSet<String> {
    let node = |node: &Inner| {
        let test = match node.predicate {
            Predicate::Numeric { .. } => "numeric",
            Predicate::NumericNotZero { .. } => "zero",
            Predicate::Equal { .. } => "equal",
            Predicate::Member { .. } => "member",
        };
        format!("node {test}, missing left {}", node.missing_left)
    };
    let target = |tree: &Tree| format!("leaf vectors {}", tree.target == TreeTarget::All);
    let nodes = forest.trees.iter().flat_map(|tree| &tree.inner).map(node);
    // Factors and divisors are numbers in the same code.
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-';
    let steps = |when: &str, steps: &[Transform]| {
        format!("{when} {}", format!("{steps:?}").replace(is_of_number, ""))
    };
    let Output { raw, value, classes } = &forest.output;
    let others = [
        format!("{:?}", forest.types),
        format!("{:?}", forest.comparison),
        format!("{:?}", forest.category_rule),
        steps("raw", raw),
        steps("value", value),
        format!("classes {:?}", classes.as_ref().map(|classes| &classes.rule)),
        format!("margins {}", forest.num_margins.min(3)),
        format!("trees {}", forest.trees.len().min(1)),
        format!("linear {}", !forest.linear.is_empty()),
        format!("levels {}", forest.trees.iter().all(|tree| tree.level_tests().is_some())),
    ];
    nodes.chain(forest.trees.iter().map(target)).chain(others).collect()
}

/// A small subset of the models: each pair of properties that some model has occurs in the subset. Contains
/// all models that cannot be read.
fn cover_of_pairs(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut cover = Vec::new();
    let mut models: Vec<(PathBuf, BTreeSet<(String, String)>)> = Vec::new();
    for path in paths {
        let Ok(model) = Model::read(&path, &ReadOptions::default()) else {
            cover.push(path);
            continue;
        };
        let all = properties(model.forest());
        let pairs =
            all.iter().flat_map(|one| all.range(one.clone()..).map(|other| (one.clone(), other.clone())));
        models.push((path, pairs.collect()));
    }
    // The model with most pairs that are still missing is next.
    while let Some(at) = (0..models.len()).rev().max_by_key(|at| models[*at].1.len()) {
        let (path, found) = models.swap_remove(at);
        if found.is_empty() {
            break;
        }
        models.iter_mut().for_each(|(_, pairs)| pairs.retain(|pair| !found.contains(pair)));
        cover.push(path);
    }
    cover
}

/// Verifies fixtures under the automatic schedule: a subset that covers all pairs of properties; all in
/// nightly runs.
#[test]
fn fixtures_are_predicted_as_the_model_says() {
    let mut paths = Vec::new();
    models(&repository().join("forest/tests/fixtures"), &mut paths);
    paths.sort();
    assert!(paths.len() > 200, "{}", paths.len());
    if std::env::var_os("SCHEDC_NIGHTLY").is_none() {
        paths = cover_of_pairs(paths);
        assert!(paths.len() > 40, "{}", paths.len());
    }
    println!("{} fixtures", paths.len());
    all_equal(&paths, UNLIMITED);
}

/// Verifies pipelines under the automatic schedule: a subset that covers all pairs of properties; all in
/// nightly runs.
#[test]
fn pipelines_are_predicted_as_their_files_say() {
    let mut paths = Vec::new();
    models(&repository().join("forest/pipeline/tests"), &mut paths);
    // The folder also has rows, and a file that schedc refuses.
    let is_pipeline = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "onnx") && !path.ends_with("no-class-of-part.onnx")
    };
    paths.retain(is_pipeline);
    paths.sort();
    assert!(paths.len() > 100, "{}", paths.len());
    if std::env::var_os("SCHEDC_NIGHTLY").is_none() {
        paths = cover_of_pairs(paths);
        assert!(paths.len() > 20, "{}", paths.len());
    }
    println!("{} pipelines", paths.len());
    all_equal(&paths, UNLIMITED);
}

/// Real models, if `SCHEDC_MODELS` names a folder of them.
#[test]
fn real_models_are_predicted_as_they_say() {
    let Some(folder) = std::env::var_os("SCHEDC_MODELS").map(PathBuf::from) else {
        println!("skipped: SCHEDC_MODELS is not set");
        return;
    };
    let mut paths = Vec::new();
    models(&folder, &mut paths);
    paths.retain(|path| path.file_stem().is_some_and(|stem| stem == "model"));
    // Large models would take minutes, so the time is limited.
    all_equal(&paths, Duration::from_secs(2));
}
