//! A pipeline that folds completely compiles to the code of the forest with mapped thresholds.
//!
//! The tests map the thresholds themselves: a bisection over the feature's values, with the evaluator of
//! columns, for each node of the file.

use sched_columns::{ColumnId, Columns, Expr};
use sched_forest::grow::{Slot, TreeBuilder};
use sched_forest::{
    CategoryRule, CategorySet, Comparison, Float, Forest, ForestParts, Inner, NodeRef, Predicate,
    ReadOptions, Tree, Types,
};
use sched_lang::CheckedSchedule;
use sched_lang::diagnostics::Severity;
use sched_llvm::{Cpu, Gpu, Jit, ptx_text};
use sched_pipeline::{InputKind, Pipeline, PipelineStage, leaf_vectors, read_pipeline};
use schedc_driver::choice::CodeDestination;
use schedc_driver::compile::compile;
use schedc_driver::outputs::KERNELS;
use schedc_driver::{Job, Model, Reporter, ScheduleSource, ScheduleValues, machines};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pipelines that schedc exported: imputers, scalers, encoders, bins and indicators before trees of several
/// trainers. Each test of a column becomes one test of a feature.
const FIXTURES: [&str; 9] = [
    "standard-forest",
    "standard-forest-f32",
    "standard-xgboost",
    "robust-lightgbm",
    "indicator-robust-boosted",
    "minmax-boosted",
    "bins-ordinal-forest",
    "onehot-forest",
    "union-forest",
];

/// Schedules for which the code is compared, besides the chosen one.
const SCHEDULES: [&str; 2] = [
    "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\nvectorize(b1, 16)\n",
    "target gpu\ntile(batch, b0, b1, 4)\nreorder(b0, b1, tree)\ngpuDimension(b0, grid.x)\n\
     gpuDimension(b1, block.x)\n",
];

/// Whole numbers up to this magnitude are exact in double precision.
const EXACT_INTEGERS_END: f64 = 9_007_199_254_740_992.0;

/// Number of whole numbers from 0 on that an encoder of whole numbers may know.
const MOST_CATEGORIES: u32 = 100;

/// The nodes of a stage, and the columns that they test.
struct FileNodes<'a> {
    pipeline: &'a Pipeline,
    forest: &'a Forest,
    tested: &'a [ColumnId],
    rows: Float,
    sets: Vec<CategorySet>,
}

/// The number at a position in the order of numbers of a type.
fn number_at(position: i64, rows: Float) -> f64 {
    match rows {
        Float::F32 => {
            let bits = position as i32;
            f64::from(f32::from_bits(if bits < 0 { !bits as u32 | 1 << 31 } else { bits as u32 }))
        }
        Float::F64 => f64::from_bits(if position < 0 { !position as u64 | 1 << 63 } else { position as u64 }),
    }
}

/// The largest number from minus infinity on for which `holds` is true, if it is false from there on.
fn last_where(rows: Float, holds: impl Fn(f64) -> bool) -> f64 {
    let infinity = match rows {
        Float::F32 => i64::from(f32::INFINITY.to_bits()),
        Float::F64 => f64::INFINITY.to_bits() as i64,
    };
    let (mut low, mut high) = (-infinity - 1, infinity + 1);
    while high > low + 1 {
        let middle = low + (high.abs_diff(low) / 2) as i64;
        if holds(number_at(middle, rows)) { low = middle } else { high = middle }
    }
    number_at(low, rows)
}

/// The feature that a column depends on.
fn only_feature(columns: &Columns, column: ColumnId) -> u32 {
    let needed = columns.needed_for(&[column]).into_iter();
    let mut features = needed.filter_map(|column| match columns.expr(column) {
        Expr::Input { feature, .. } => Some(*feature),
        _ => None,
    });
    let first = features.next().expect("a column of a feature");
    assert!(features.all(|other| other == first), "a column of several features");
    first
}

impl FileNodes<'_> {
    /// Whether a value of the feature goes to the left child of a node of the file.
    fn goes_left(&self, inner: &Inner, feature: u32, value: f64) -> bool {
        let mut row = vec![f64::NAN; self.pipeline.inputs.len()];
        row[feature as usize] = value;
        let column = self.tested[inner.feature as usize];
        let value = self.pipeline.columns.evaluate(&[column], &row).remove(0).to_f64();
        self.forest.goes_left(inner, value)
    }

    /// The test of the feature: the predicate, whether missing values go left, and whether the left child is
    /// that of the file.
    fn mapped_test(&mut self, inner: &Inner, feature: u32) -> (Predicate, bool, bool) {
        let input = &self.pipeline.inputs[feature as usize];
        let (lowest, highest) = match input.kind {
            InputKind::Text => (-1.0, -1.0),
            InputKind::Integer => (-EXACT_INTEGERS_END, EXACT_INTEGERS_END),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let side = |value| self.goes_left(inner, feature, value);
        let (first, missing) = (side(lowest), side(f64::NAN));
        if side(highest) != first {
            let last = last_where(self.rows, |value| side(value) == first);
            let threshold = if input.kind == InputKind::Integer { last.floor() } else { last };
            return (Predicate::Numeric { threshold }, missing == first, first);
        }
        let categories = match input.kind {
            InputKind::Text => input.names.labels.len() as u32,
            InputKind::Integer => MOST_CATEGORIES,
            _ => 0,
        };
        let others: Vec<u32> = (0..categories).filter(|code| side(f64::from(*code)) != first).collect();
        let predicate = match others.as_slice() {
            [] => {
                assert_ne!(missing, first, "a test with one outcome");
                return (Predicate::Numeric { threshold: f64::INFINITY }, false, first);
            }
            [code] => Predicate::Equal { value: f64::from(*code) },
            _ => Predicate::Member { set: self.set(others.into_iter().collect()) },
        };
        (predicate, missing != first, !first)
    }

    /// The number of a set, each stored once.
    fn set(&mut self, set: CategorySet) -> u32 {
        let known = self.sets.iter().position(|known| *known == set);
        known.unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        }) as u32
    }

    fn mapped_tree(&mut self, tree: &Tree) -> Tree {
        let mut mapped = TreeBuilder::new(tree.target, tree.source);
        let mut open = vec![(Slot::ROOT, tree.root)];
        while let Some((slot, node)) = open.pop() {
            let inner = match node {
                NodeRef::Leaf(leaf) => {
                    mapped.leaf(slot, tree.leaves[leaf as usize].clone());
                    continue;
                }
                NodeRef::Inner(index) => &tree.inner[index as usize],
            };
            let feature = only_feature(&self.pipeline.columns, self.tested[inner.feature as usize]);
            let (predicate, missing_left, keeps_sides) = self.mapped_test(inner, feature);
            let (left, right) = mapped.inner(slot, feature, predicate, missing_left).expect("a shallow tree");
            let children = match keeps_sides {
                true => [inner.left, inner.right],
                false => [inner.right, inner.left],
            };
            open.extend([(right, children[1]), (left, children[0])]);
        }
        mapped.done()
    }
}

/// The forest of a pipeline's trees, with each test of a column mapped to a test of its feature.
fn mapped_forest(pipeline: &Pipeline) -> Forest {
    let PipelineStage::Forest { forest, tested, .. } = pipeline.stages.first().expect("a stage");
    let rows = pipeline.row_type();
    let mut nodes = FileNodes { pipeline, forest, tested, rows, sets: Vec::new() };
    let trees = forest.trees.iter().map(|tree| nodes.mapped_tree(tree)).collect();
    let names: Vec<String> = pipeline.inputs.iter().map(|input| input.name.clone()).collect();
    let categories: Vec<_> = pipeline.inputs.iter().map(|input| input.names.clone()).collect();
    let are_codes = categories.iter().all(|names| names.are_codes());
    let parts = ForestParts {
        trees,
        sets: nodes.sets,
        num_features: pipeline.inputs.len(),
        comparison: Comparison::LessOrEqual,
        types: Types { input: rows, threshold: rows, ..forest.types },
        category_rule: CategoryRule::Whole,
        feature_names: if names.iter().all(|name| !name.is_empty()) { names } else { Vec::new() },
        categories: if are_codes { Vec::new() } else { categories },
        ..Forest::clone(forest).into_parts()
    };
    Forest::new(parts).expect("a forest")
}

struct Silent;

impl Reporter for Silent {
    fn report(&self, _: &ScheduleSource, checked: &CheckedSchedule, _: Severity) -> usize {
        checked.diagnostics.iter().filter(|found| found.severity == Severity::Error).count()
    }
}

/// The code of a model under a schedule: LIR, and PTX or machine code.
fn code(model: &Model, schedule: &str) -> (String, Vec<u8>) {
    let source =
        ScheduleSource { name: "schedule".into(), text: schedule.into(), is_chosen: false, path: None };
    let job = Job { model: model.clone(), source };
    let (nests, _) = job.nest(&ScheduleValues::default(), &Silent).expect("a legal schedule");
    let compiled = compile(model, nests, &KERNELS, &machines::of(Cpu::Native)).expect("code");
    let bytes = match schedule.contains("target gpu") {
        true => ptx_text(&compiled.lir, Gpu::default()).expect("PTX").into_bytes(),
        false => Jit::object_file(&compiled.lir, Cpu::Native, &KERNELS).expect("machine code"),
    };
    (compiled.lir.to_string(), bytes)
}

#[test]
fn folded_pipelines_have_the_code_of_mapped_forests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../forest/pipeline/tests/fixtures");
    for name in FIXTURES {
        let path: PathBuf = folder.join(format!("{name}.onnx"));
        let folded = Model::read(&path, &ReadOptions::default()).expect("a model");
        assert!(!folded.stages.is_empty(), "{name} is no pipeline");
        let bytes = Model::bytes(&path).expect("a file");
        let pipeline = leaf_vectors(read_pipeline(&bytes).expect("a pipeline").pipeline).expect("a forest");
        let mapped = Model::of_forest(Arc::new(mapped_forest(&pipeline)));
        let chosen = [&folded, &mapped]
            .map(|model| ScheduleSource::chosen_for(model, None, Cpu::Native, CodeDestination::Memory).text);
        assert_eq!(chosen[0], chosen[1], "{name}");
        for schedule in SCHEDULES.into_iter().chain([chosen[0].as_str()]) {
            let (lir, bytes) = code(&folded, schedule);
            let (lir_of_mapped, bytes_of_mapped) = code(&mapped, schedule);
            assert_eq!(lir, lir_of_mapped, "{name} under {schedule}");
            assert!(bytes == bytes_of_mapped, "{name} under {schedule}: other bytes");
        }
    }
}
