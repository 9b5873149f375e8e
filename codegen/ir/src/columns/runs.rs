//! Runs of adjacent columns of one shape.
//!
//! The columns of a run differ in their parameters alone. Neighbours often share a part of their expressions:
//! set tests of one feature share the row's category, and equality tests share a value. Columns that share
//! such a part form a group, which computes the shared part, its *head*, once. The remainder of an expression
//! is its *tail*.

use super::compared::compared_by_forest;
use super::layers::{LayerRun, StoredLevel, StoredPlaces, stored_levels};
use super::numbers::{OperationParameter, ParameterSource};
use super::pools::{PoolTables, Pools};
use super::stored::StoredCounts;
use super::trace::{ShapeNode, ShapeOp, Trace, Tracer};
use super::trees::{TreesRun, tree_runs};
use crate::bytes::scalar;
use crate::fault::{Fault, seeded};
use crate::lir::{Scalar, Table};
use crate::rows::features::FeatureSubset;
use sched_columns::{Binary, ColumnId, Columns, Expr};
use sched_forest::Float;
use sched_nest::{StageInfo, StageKind};
use sched_pipeline::PreparedForest;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The columns of a model, as shapes and pools of parameters.
#[derive(Clone, Debug)]
pub struct ColumnRuns {
    /// Element type of rows and of columns.
    pub element: Scalar,
    /// Number of features of a row.
    pub features: usize,
    /// Number of columns.
    pub count: usize,
    /// Number of columns that say, for a set of categories, whether a row's category is in it.
    pub set_columns: usize,
    /// Features that columns read, in pieces of adjacent features. Transposed rows hold only these pieces.
    pub inputs: FeatureSubset,
    /// For each column that is the value of a feature, this feature; else `None`.
    pub column_features: Vec<Option<u32>>,
    /// Numbers of stored columns.
    pub stored: StoredCounts,
    /// The runs of stored columns, each after those that it reads.
    pub(super) stored_runs: Vec<StoredRun>,
    /// The runs of the columns that trees test, in their order.
    pub(super) runs: Vec<ColumnRun>,
    pools: Pools,
}

/// A part of a column's operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnPart {
    /// Computed once for a group.
    Head,
    /// Computed for each column.
    Tail,
}

/// Stored columns that are computed together.
#[derive(Clone, Debug)]
pub(super) enum StoredRun {
    /// Operands of sums, and other shared columns.
    Values(ColumnRun),
    /// Sums of terms.
    Layers(LayerRun),
    /// Sums of trees.
    Trees(TreesRun),
}

/// Adjacent columns of one shape.
#[derive(Clone, Debug)]
pub(super) struct ColumnRun {
    /// Element type of the columns.
    pub element: Scalar,
    /// Number of the first column, or its place if the columns are stored.
    pub first: i64,
    /// Number of groups: stretches of adjacent columns that share a head, which is computed once.
    pub groups: i64,
    /// Number of columns of each group.
    pub sizes: ParameterSource,
    /// Number of columns of the run before each group.
    pub starts: ParameterSource,
    /// Number of columns of the largest group.
    pub largest_group: i64,
    /// Whether groups are stretches of columns whose tails read consecutive features, one each.
    pub is_consecutive: bool,
    /// The operations, in an order in which operands come first.
    pub nodes: Vec<RunNode>,
}

/// An operation of a run.
#[derive(Clone, Debug)]
pub(super) struct RunNode {
    /// The operation.
    pub node: ShapeNode,
    /// Whether the operation is computed once for a group.
    pub part: ColumnPart,
    /// The parameters of the operation.
    pub parameters: Vec<ParameterSource>,
}

/// Smallest mean length for which stretches of consecutive features become groups. Each group costs a loop;
/// shorter stretches are read by gathers.
const LEAST_STRETCH: usize = 4;

impl ColumnRuns {
    /// The runs of a prepared forest's columns, for rows with `features` features.
    pub fn new(prepared: &PreparedForest, features: usize) -> ColumnRuns {
        let tested = with_seeded_fault(&prepared.columns, &prepared.tested);
        let compared = compared_by_forest(prepared, &tested);
        let float = prepared.forest.types.input;
        let runs = ColumnRuns::of((&prepared.columns, &compared), &tested, float, features);
        ColumnRuns { set_columns: prepared.set_columns, ..runs }
    }

    /// The runs of the columns `read`, in the type of rows, which have `features` features. `compared` are
    /// those whose differences later steps enlarge.
    pub(super) fn of(
        (columns, compared): (&Columns, &HashSet<ColumnId>),
        read: &[ColumnId],
        float: Float,
        features: usize,
    ) -> ColumnRuns {
        let needed = columns.needed_for(read);
        let inputs: BTreeSet<u32> = needed.iter().filter_map(|column| input(columns, *column)).collect();
        let inputs =
            FeatureSubset::of(u32::try_from(features).unwrap_or(u32::MAX), inputs.into_iter().collect());
        let mut tracer = Tracer {
            columns,
            inputs: &inputs,
            pools: Pools::default(),
            table_positions: HashMap::new(),
            places: StoredPlaces::default(),
        };
        let mut stored_runs = Vec::new();
        for level in stored_levels(columns, read) {
            for (column_type, values) in &level.values {
                let first = StoredLevel::place_values(&mut tracer.places, *column_type, values);
                let runs = runs_of(&mut tracer, values, (first, true));
                stored_runs.extend(runs.into_iter().map(StoredRun::Values));
            }
            let layers = level.layers((columns, compared), &mut tracer.places, &mut tracer.pools);
            stored_runs.extend(layers.into_iter().map(StoredRun::Layers));
            let trees = tree_runs(columns, &level.trees, &mut tracer.places, &mut tracer.pools);
            stored_runs.extend(trees.into_iter().map(StoredRun::Trees));
        }
        let runs = runs_of(&mut tracer, read, (0, false));
        let Tracer { pools, places, .. } = tracer;
        ColumnRuns {
            element: scalar(float),
            features,
            count: read.len(),
            set_columns: 0,
            column_features: read.iter().map(|column| input(columns, *column)).collect(),
            stored: StoredCounts::new(&places),
            stored_runs,
            runs,
            pools,
            inputs,
        }
    }

    /// The stages whose results are columns, in order: runs of layers and of trees. They have no names yet.
    pub fn stages(&self) -> Vec<StageInfo> {
        let count = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
        let stage = |kind, (units, terms), is_ordered, element, steps: &[Arc<str>]| {
            let (units, terms, in_doubles) = (count(units), count(terms), element == Scalar::F64);
            let steps = steps.iter().map(|step| step.to_string()).collect();
            Some(StageInfo { name: String::new(), steps, kind, units, terms, is_ordered, in_doubles })
        };
        let stages = self.stored_runs.iter().filter_map(|run| match run {
            StoredRun::Values(_) => None,
            StoredRun::Layers(run) => {
                stage(run.stage, (run.units, run.terms), run.is_ordered, run.element, &run.pipeline_steps)
            }
            StoredRun::Trees(run) => stage(
                StageKind::ColumnTrees,
                (run.units, run.trees),
                true,
                run.sum_element,
                &run.pipeline_steps,
            ),
        });
        stages.collect()
    }

    /// The columns of a linear model whose last sums are its scores.
    pub(crate) fn with_scores(mut self) -> ColumnRuns {
        if let Some(StoredRun::Layers(run)) = self.stored_runs.last_mut() {
            run.stage = StageKind::Scores;
        }
        self
    }

    /// Number of columns that are not the value of a feature.
    pub fn computed(&self) -> usize {
        self.column_features.iter().filter(|feature| feature.is_none()).count()
    }

    /// Number of sums of a panel, whose constants are adjacent, in the stage number `stage`.
    pub fn panel(&self, stage: usize) -> u16 {
        let mut stages = self.stored_runs.iter().filter(|run| !matches!(run, StoredRun::Values(_)));
        match stages.nth(stage) {
            Some(StoredRun::Layers(run)) => run.panel as u16,
            _ => 1,
        }
    }

    /// Adds the pools to the tables of a module by `add`, which returns a table's number.
    pub fn tables(&self, add: impl FnMut(Table) -> u32) -> PoolTables<u32> {
        self.pools.tables(add)
    }
}

impl ColumnRun {
    fn new(first: i64, traces: &[Trace], pools: &mut Pools) -> ColumnRun {
        let Some(shape) = traces.first() else {
            let (sizes, starts) = (ParameterSource::number(0), ParameterSource::number(0));
            return ColumnRun {
                element: Scalar::F64,
                first,
                groups: 0,
                sizes,
                starts,
                largest_group: 0,
                is_consecutive: false,
                nodes: Vec::new(),
            };
        };
        let places = 0..shape.nodes.len();
        let is_shared = |a: &Trace, b: &Trace, at: usize| a.columns.get(at) == b.columns.get(at);
        let pairs = || traces.iter().zip(traces.iter().skip(1));
        let is_head = |at: &usize| {
            let shared = pairs().filter(|(a, b)| is_shared(a, b, *at)).count();
            traces.len() > 1 && 2 * shared >= traces.len() - 1
        };
        let heads: BTreeSet<usize> = places.clone().filter(is_head).collect();
        let by_head = |a: &Trace, b: &Trace| heads.iter().all(|at| is_shared(a, b, *at));
        let mut groups: Vec<&[Trace]> = traces.chunk_by(by_head).collect();
        let own_input = own_input(shape, &heads);
        let stretches = own_input.map(|at| {
            let stretches = traces.chunk_by(|a, b| by_head(a, b) && follows(a, b, at));
            stretches.collect::<Vec<&[Trace]>>()
        });
        let long = stretches.filter(|stretches| stretches.len() * LEAST_STRETCH <= traces.len());
        let is_consecutive = long.is_some();
        groups = long.unwrap_or(groups);
        let sizes: Vec<OperationParameter> = groups.iter().map(|group| number(group.len())).collect();
        let starts = groups.iter().scan(0, |before, group| {
            let start = *before;
            *before += group.len();
            Some(number(start))
        });
        let starts: Vec<OperationParameter> = starts.collect();
        let nodes = places.map(|at| {
            let node = shape.nodes[at].clone();
            let part = if heads.contains(&at) { ColumnPart::Head } else { ColumnPart::Tail };
            let parameters = (0..shape.parameters[at].len()).map(|nth| {
                let of = |trace: &Trace| trace.parameters[at][nth];
                let mut all: Vec<OperationParameter> = match part {
                    ColumnPart::Head => groups.iter().filter_map(|group| group.first()).map(of).collect(),
                    ColumnPart::Tail => traces.iter().map(of).collect(),
                };
                if seeded(Fault::RunRepeatsColumn) {
                    all.pop();
                    all.push(of(shape));
                }
                let places = (node.op == ShapeOp::Stored && part == ColumnPart::Tail)
                    .then(|| ParameterSource::consecutive(&all));
                places.flatten().unwrap_or_else(|| ParameterSource::new(&all, node.ty, pools))
            });
            RunNode { part, parameters: parameters.collect(), node }
        });
        let nodes = nodes.collect();
        ColumnRun {
            element: shape.nodes.last().map_or(Scalar::F64, |last| last.ty),
            first,
            groups: groups.len() as i64,
            sizes: ParameterSource::new(&sizes, Scalar::I32, pools),
            starts: ParameterSource::new(&starts, Scalar::I32, pools),
            largest_group: groups.iter().map(|group| group.len()).max().unwrap_or(0) as i64,
            is_consecutive,
            nodes,
        }
    }

    /// Whether some operation reads features.
    pub fn reads_features(&self) -> bool {
        self.nodes.iter().any(|of| of.node.op == ShapeOp::Input)
    }

    /// Whether an operation is a loop whose length differs between columns.
    pub fn has_loops(&self) -> bool {
        self.nodes.iter().any(|of| matches!(of.node.op, ShapeOp::Step(_)) && of.part == ColumnPart::Tail)
    }
}

/// The runs of some columns. `first` is the number of the first column, or its place if the columns are
/// stored.
fn runs_of(
    tracer: &mut Tracer,
    columns: &[ColumnId],
    (mut first, are_stored): (i64, bool),
) -> Vec<ColumnRun> {
    let traces: Vec<Trace> = columns.iter().map(|column| tracer.trace(*column, are_stored)).collect();
    let runs = traces.chunk_by(|a, b| a.nodes == b.nodes).map(|traces| {
        let run = ColumnRun::new(first, traces, &mut tracer.pools);
        first += traces.len() as i64;
        run
    });
    runs.collect()
}

/// Position of the operation that reads a feature, if the tail of a shape reads exactly one.
fn own_input(shape: &Trace, heads: &BTreeSet<usize>) -> Option<usize> {
    let is_input = |at: &usize| shape.nodes[*at].op == ShapeOp::Input && !heads.contains(at);
    let mut inputs = (0..shape.nodes.len()).filter(is_input);
    inputs.next().filter(|_| inputs.next().is_none())
}

/// Whether the features that two columns read at position `at` of their operations are consecutive.
fn follows(a: &Trace, b: &Trace, at: usize) -> bool {
    let feature = |trace: &Trace| match trace.parameters.get(at)?.first()? {
        OperationParameter::Number(feature) => Some(*feature),
        OperationParameter::Constant(_) => None,
    };
    feature(a).map(|feature| feature + 1) == feature(b)
}

/// The feature whose value a column is, if it is one.
fn input(columns: &Columns, column: ColumnId) -> Option<u32> {
    match columns.expr(column) {
        Expr::Input { feature, .. } => Some(*feature),
        _ => None,
    }
}

fn number(n: usize) -> OperationParameter {
    OperationParameter::Number(n as i64)
}

/// The columns, or with the seeded fault `ZeroIsNotMissing` columns in which zeros are not missing.
fn with_seeded_fault(columns: &Columns, tested: &[ColumnId]) -> Vec<ColumnId> {
    let faulty = |column: &ColumnId| match columns.expr(*column) {
        Expr::Select { condition, otherwise, .. }
            if matches!(columns.expr(*condition), Expr::Binary(Binary::LessOrEqual, ..)) =>
        {
            *otherwise
        }
        _ => *column,
    };
    let is_seeded = seeded(Fault::ZeroIsNotMissing);
    tested.iter().map(|column| if is_seeded { faulty(column) } else { *column }).collect()
}
