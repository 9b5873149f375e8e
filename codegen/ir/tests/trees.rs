//! Compares code of trees whose results are columns with the evaluation of columns: trees over features, over
//! sums, and over results of other trees.

use crate::columns::{Form, arranged_stages, check, check_arranged, function, of_columns};
use crate::layers::{in_any_order, tile};
use sched_columns::{
    Binary, ColumnId, ColumnType, ColumnValue, Columns, Expr, Float, SharedTreeProperties, Term, Ties,
};
use sched_ir::columns::arrangement::Arrangement;
use sched_ir::columns::runs::ColumnRuns;
use sched_ir::fault::{Fault, with_fault};
use sched_ir::lir::Table;
use sched_nest::{Axis, StageKind};
use sched_pipeline::PreparedForest;
use sched_testing::Rng;
use sched_testing::column_trees::column_trees;
use std::sync::Arc;

/// Features of a row.
const FEATURES: usize = 5;

/// Rows of a call.
const ROWS: usize = 13;

/// Values of features and thresholds.
const NUMBERS: [f64; 9] = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, -2.5, f64::NAN, f64::NEG_INFINITY];

/// Random columns under construction.
struct Drawn<'a> {
    rng: &'a mut Rng,
    columns: Columns,
}

impl Drawn<'_> {
    /// Some results of trees over columns of one type.
    fn trees(&mut self, of: &[ColumnId]) -> Vec<ColumnId> {
        let compared = Option::from(self.columns.column_type(of[0])).unwrap();
        let form = SharedTreeProperties {
            operands: of.len() as u32,
            results: 1 + self.rng.below(4) as u32,
            operand_type: compared,
            sum_type: if self.rng.one_in(2) { Float::F32 } else { Float::F64 },
            ties: if self.rng.one_in(2) { Ties::Above } else { Ties::Below },
        };
        let trees = Arc::new(column_trees(self.rng, form));
        let mut made = Vec::new();
        for result in 0..form.results {
            let start = ColumnValue::F64(self.rng.below(5) as f64 / 3.0).cast(form.sum_type.into());
            let expr = Expr::Trees { of: of.into(), start, trees: Arc::clone(&trees), result };
            made.push(self.columns.add(expr).unwrap());
        }
        // Code may lack results that nothing reads.
        let (first, count) = (self.rng.below(made.len()), 1 + self.rng.below(made.len()));
        made.rotate_left(first);
        made.truncate(count);
        made
    }

    /// A weighted sum of columns of one type.
    fn sum(&mut self, of: &[ColumnId]) -> ColumnId {
        let own = self.columns.column_type(of[0]);
        let weight = ColumnValue::F64(0.3).cast(own);
        let terms = of.iter().map(|column| Term { column: *column, weight }).collect();
        self.columns.add(Expr::Dot { start: weight, terms }).unwrap()
    }

    fn cast(&mut self, columns: &[ColumnId], to: ColumnType) -> Vec<ColumnId> {
        columns.iter().map(|column| self.columns.cast(*column, to).unwrap()).collect()
    }
}

/// Trees over trees, with sums and arithmetic between them.
fn stacked(rng: &mut Rng, float: Float) -> PreparedForest {
    let mut drawn = Drawn { rng, columns: Columns::default() };
    let inputs: Vec<ColumnId> = (0..FEATURES as u32).map(|x| drawn.columns.input(x, float)).collect();
    let mut below = inputs.clone();
    let mut tested = vec![inputs[0]];
    for _ in 0..1 + drawn.rng.below(3) {
        let own = if drawn.rng.one_in(2) { ColumnType::F32 } else { ColumnType::F64 };
        let operands = drawn.cast(&below, own);
        let mut made = drawn.trees(&operands);
        if drawn.rng.one_in(2) {
            let alike = drawn.cast(&made, own);
            made.push(drawn.sum(&alike));
        }
        if drawn.rng.one_in(2) {
            let alike = drawn.cast(&made, own);
            made.push(drawn.columns.add(Expr::Binary(Binary::Divide, alike[0], operands[0])).unwrap());
        }
        tested.extend(&made);
        below = made;
        below.extend(inputs.iter().filter(|_| drawn.rng.one_in(2)));
    }
    let tested = drawn.cast(&tested, float.into());
    of_columns(drawn.columns, tested, float)
}

fn random(seed: u64) -> (PreparedForest, Vec<f64>) {
    let mut rng = Rng(seed);
    let float = if rng.one_in(2) { Float::F32 } else { Float::F64 };
    let prepared = stacked(&mut rng, float);
    let mut number = || *rng.pick(&NUMBERS).unwrap();
    (prepared, (0..ROWS * FEATURES).map(|_| number()).collect())
}

#[test]
fn trees_have_the_bits_that_the_evaluation_defines() {
    for seed in 0..200 {
        let (prepared, rows) = random(seed);
        check(&prepared, &rows, FEATURES, seed);
    }
}

#[test]
#[should_panic(expected = "column")]
fn short_walks_are_seen() {
    with_fault(Fault::ColumnWalksStopEarly, trees_have_the_bits_that_the_evaluation_defines);
}

/// A random arrangement of trees: tiles of rows and trees in any order, rows in lanes, and some of the
/// innermost loops interleaved.
fn arrangement(rng: &mut Rng, trees: u32) -> Arrangement {
    let rows = *rng.pick(&[1, 2, 4, 8, 16]).unwrap();
    let lanes = *rng.pick(&[1, 2, 4, 8]).unwrap();
    let lanes = lanes.min(rows as u16);
    let tiles =
        [(rows, tile(rng, Axis::Row, rows, lanes)), (trees.into(), tile(rng, Axis::Tree, trees.into(), 1))];
    let (mut loops, bounds) = in_any_order(rng, &tiles);
    let interleaved = rng.below(4);
    for this in loops.iter_mut().rev().take(interleaved) {
        this.interleaved = true;
    }
    Arrangement::new(loops, bounds)
}

#[test]
fn arranged_trees_have_the_bits_that_the_evaluation_defines() {
    for seed in 0..200 {
        let (prepared, rows) = random(seed);
        let runs = ColumnRuns::new(&prepared, FEATURES);
        let mut rng = Rng(seed + 1000);
        let stages = arranged_stages(&runs, |_, stage| {
            (stage.kind == StageKind::ColumnTrees).then(|| arrangement(&mut rng, stage.terms))
        });
        check_arranged(&prepared, &rows, (&runs, &stages), seed);
    }
}

#[test]
#[should_panic(expected = "column")]
fn lost_trees_of_arrangements_are_seen() {
    with_fault(Fault::ArrangedTermsLost, arranged_trees_have_the_bits_that_the_evaluation_defines);
}

#[test]
fn code_does_not_grow_with_trees() {
    let statements = |count: usize| {
        let form = SharedTreeProperties {
            operands: 1,
            results: 3,
            operand_type: Float::F32,
            sum_type: Float::F32,
            ties: Ties::Below,
        };
        let one = (0..).map(|seed| column_trees(&mut Rng(seed), form)).find(|it| it.steps() > 20).unwrap();
        let trees = one.trees().iter().cycle().take(count * one.trees().len()).cloned().collect();
        let trees = Arc::new(sched_columns::ColumnTrees::new(form, trees).unwrap());
        let mut columns = Columns::default();
        let of: Arc<[ColumnId]> = [columns.input(0, Float::F32)].into();
        let start = ColumnValue::F32(0.0);
        let result = |result| Expr::Trees { of: Arc::clone(&of), start, trees: Arc::clone(&trees), result };
        let tested = (0..3).map(|number| columns.add(result(number)).unwrap()).collect();
        let prepared = of_columns(columns, tested, Float::F32);
        let mut tables: Vec<Table> = Vec::new();
        let runs = ColumnRuns::new(&prepared, 1);
        function((&runs, &[]), Form::Blocks, Some(64), &mut tables).to_string().lines().count()
    };
    let [few, many] = [2, 20].map(statements);
    assert_eq!(few, many);
}
