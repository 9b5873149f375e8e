//! Random pipelines and rows: folded forests against the evaluator of columns and the reference walker.

use sched_columns::{
    Binary, CategoryTable, ColumnId, ColumnType, ColumnValue, Columns, Edges, Expr, Ties, Unary,
};
use sched_forest::grow::{Growing, Slot};
use sched_forest::{
    CategoryRule, Comparison, Float, Forest, ForestParts, Label, Leaf, Names, Predicate, Target, Types,
    predict_leaves,
};
use sched_pipeline::{Fate, Folding, Input, InputKind, OTHER, Pipeline, Stage, constants, fold, live};
use std::sync::Arc;

/// Pipelines by default; `SCHEDC_CASES` chooses another number.
const CASES: u64 = 400;

/// Names of a text.
const NAMES: u32 = 5;

fn cases() -> u64 {
    std::env::var("SCHEDC_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

/// Random numbers with a fixed seed (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// A number on a grid, or any other, or a special one.
    fn number(&mut self) -> f64 {
        match self.below(8) {
            0..4 => self.below(80) as f64 / 4.0 - 8.0,
            4 => f64::from(self.below(1000) as f32 / 37.0),
            5 => (self.next() as i64 as f64) / 1e17,
            6 => self.pick(&[
                0.0,
                -0.0,
                1e30,
                -1e30,
                5e-324,
                -1e-40,
                f64::MAX,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ]),
            _ => self.below(7) as f64,
        }
    }

    /// A constant of a scaler: finite, and mostly of ordinary size.
    fn constant(&mut self) -> f64 {
        let number = self.number();
        if number.is_finite() && (number == 0.0 || number.abs() > 1e-30) { number } else { 0.37 }
    }
}

/// A pipeline under construction.
struct Draw {
    random: Random,
    inputs: Vec<Input>,
    columns: Columns,
}

impl Draw {
    fn new(seed: u64) -> Draw {
        let mut random = Random(seed);
        let mut inputs = Vec::new();
        for number in 0..1 + random.below(4) {
            let wide = InputKind::Float(Float::F64);
            let single = InputKind::Float(Float::F32);
            let kind = random.pick(&[
                wide,
                wide,
                single,
                single,
                InputKind::Integer,
                InputKind::Truth,
                InputKind::Text,
            ]);
            let labels = match kind {
                InputKind::Text => (0..NAMES).map(|name| Label::Text(format!("n{name}"))).collect(),
                _ => Vec::new(),
            };
            inputs.push(Input { name: format!("f{number}"), kind, names: Names::listed(labels) });
        }
        Draw { random, inputs, columns: Columns::default() }
    }

    fn add(&mut self, expr: Expr) -> ColumnId {
        self.columns.add(expr).expect("types that fit")
    }

    fn value(&mut self, like: ColumnId, value: f64) -> ColumnId {
        let value = ColumnValue::F64(value).cast(self.columns.column_type(like));
        self.columns.constant(value)
    }

    /// The column of a feature in the type of its values.
    fn input(&mut self, feature: u32) -> ColumnId {
        let kind = self.inputs[feature as usize].kind;
        let float = if kind == InputKind::Float(Float::F32) { Float::F32 } else { Float::F64 };
        let column = self.columns.input(feature, float);
        match kind {
            InputKind::Float(_) => column,
            InputKind::Integer => self.add(Expr::Unary(Unary::Cast(ColumnType::I64), column)),
            InputKind::Truth => self.add(Expr::Unary(Unary::Cast(ColumnType::Bool), column)),
            InputKind::Text => {
                let to = self.random.pick(&[ColumnType::F32, ColumnType::F64, ColumnType::I64]);
                let mut entry = || ColumnValue::F64(self.random.below(4) as f64 - 1.0).cast(to);
                let values = (0..NAMES).map(|_| entry()).collect();
                let (other, missing) = (entry(), entry());
                let table = CategoryTable { rule: CategoryRule::Whole, values, other, missing };
                self.add(Expr::Table { of: column, table: Arc::new(table) })
            }
        }
    }

    fn cast(&mut self, column: ColumnId, to: ColumnType) -> ColumnId {
        self.columns.cast(column, to).expect("any cast")
    }

    /// A column computed from another one, and from a second one now and then.
    fn step(&mut self, x: ColumnId) -> ColumnId {
        let column_type = self.columns.column_type(x);
        if column_type == ColumnType::Bool {
            let to = self.random.pick(&[ColumnType::F32, ColumnType::F64, ColumnType::I64]);
            return self.cast(x, to);
        }
        let number = self.random.constant();
        let constant = self.value(x, number);
        let binary = |op| Expr::Binary(op, x, constant);
        let is_float = column_type.is_float();
        match self.random.below(22) {
            0 | 1 => self.add(binary(Binary::Add)),
            2 | 3 => self.add(binary(Binary::Subtract)),
            4 | 5 => self.add(binary(Binary::Multiply)),
            6 | 7 if is_float => self.add(binary(Binary::Divide)),
            8 => self.add(Expr::Binary(Binary::Subtract, constant, x)),
            9 => self.add(binary(Binary::Min)),
            10 => self.add(binary(Binary::Max)),
            11 => {
                let op = self.random.pick(&[Unary::Negate, Unary::Abs]);
                self.add(Expr::Unary(op, x))
            }
            12 if is_float => {
                let op = self.random.pick(&[Unary::SquareRoot, Unary::Floor, Unary::Ceil, Unary::Round]);
                self.add(Expr::Unary(op, x))
            }
            13 if is_float => {
                let condition = self.add(Expr::Unary(Unary::IsNan, x));
                self.add(Expr::Select { condition, then: constant, otherwise: x })
            }
            14 => {
                let op = self.random.pick(&[Binary::Less, Binary::LessOrEqual, Binary::Equal]);
                let compared = self.add(binary(op));
                match self.random.one_in(2) {
                    true => self.add(Expr::Select { condition: compared, then: x, otherwise: constant }),
                    false => self.cast(compared, column_type),
                }
            }
            15 if is_float => {
                let mut at: Vec<f64> = (0..3).map(|_| self.random.constant()).collect();
                at.sort_by(f64::total_cmp);
                let ties = self.random.pick(&[Ties::Above, Ties::Below]);
                self.add(Expr::Step { of: x, edges: Arc::new(Edges { at, ties }) })
            }
            16 if is_float => {
                let mut entry = || ColumnValue::F32(self.random.below(3) as f32);
                let values = (0..4).map(|_| entry()).collect();
                let (other, missing) = (entry(), entry());
                let rule = self.random.pick(&[CategoryRule::Whole, CategoryRule::Truncated]);
                let table = CategoryTable { rule, values, other, missing };
                self.add(Expr::Table { of: x, table: Arc::new(table) })
            }
            17 => self.add(Expr::Binary(Binary::Multiply, x, x)),
            18 if is_float => self.add(Expr::Binary(Binary::Divide, constant, x)),
            19 if self.random.one_in(4) => {
                let other = self.random.below(self.inputs.len() as u64) as u32;
                let other = self.input(other);
                let other = self.cast(other, column_type);
                self.add(Expr::Binary(Binary::Add, x, other))
            }
            _ => {
                let to = self.random.pick(&[ColumnType::F32, ColumnType::F64, ColumnType::I64]);
                self.cast(x, to)
            }
        }
    }

    fn column(&mut self, float: ColumnType) -> ColumnId {
        let feature = self.random.below(self.inputs.len() as u64) as u32;
        let mut column = self.input(feature);
        for _ in 0..self.random.below(6) {
            column = self.step(column);
        }
        self.cast(column, float)
    }

    fn row(&mut self) -> Vec<f64> {
        let (inputs, random) = (&self.inputs, &mut self.random);
        let cell = |input: &Input| {
            if random.one_in(8) {
                return f64::NAN;
            }
            match input.kind {
                InputKind::Float(Float::F64) => random.number(),
                InputKind::Float(Float::F32) => f64::from(random.number() as f32),
                InputKind::Integer => random.below(40) as f64 - 10.0,
                InputKind::Truth => random.below(2) as f64,
                InputKind::Text if random.one_in(4) => OTHER,
                InputKind::Text => random.below(NAMES.into()) as f64,
            }
        };
        inputs.iter().map(cell).collect()
    }

    /// A pipeline with one forest.
    fn pipeline(mut self) -> (Pipeline, Random) {
        let float = self.random.pick(&[Float::F32, Float::F64]);
        let tested: Vec<ColumnId> =
            (0..1 + self.random.below(6)).map(|_| self.column(float.into())).collect();
        let rows: Vec<f64> = (0..20).flat_map(|_| self.row()).collect();
        let Draw { mut random, inputs, columns } = self;
        let known: Vec<f64> = rows
            .chunks(inputs.len())
            .flat_map(|row| columns.evaluate(&tested, row))
            .map(ColumnValue::to_f64)
            .collect();
        let trees = (0..1 + random.below(3) as u32).map(|source| {
            let mut tree = Growing::new(Target::One(0), source);
            let mut todo = vec![(Slot::ROOT, 3)];
            let mut leaves = 0;
            while let Some((slot, depth)) = todo.pop() {
                if depth == 0 || random.one_in(8) {
                    leaves += 1;
                    tree.leaf(
                        slot,
                        Leaf { source: leaves, values: [f64::from(leaves)].into_iter().collect() },
                    );
                    continue;
                }
                let feature = random.below(tested.len() as u64) as u32;
                let threshold = threshold(&mut random, float, &known, tested.len(), feature as usize);
                let predicate = match random.below(8) {
                    0 => Predicate::Equal { value: threshold },
                    1 => Predicate::Member { set: 0 },
                    _ => Predicate::Numeric { threshold },
                };
                let (left, right) =
                    tree.inner(slot, feature, predicate, random.one_in(2)).expect("a shallow tree");
                todo.extend([(right, depth - 1), (left, depth - 1)]);
            }
            tree.done()
        });
        let trees = trees.collect();
        let parts = ForestParts {
            trees,
            num_features: tested.len(),
            comparison: random.pick(&[Comparison::Less, Comparison::LessOrEqual]),
            types: Types::all(float),
            sets: vec![[0, 2, 3].into_iter().collect()],
            category_rule: CategoryRule::Whole,
            ..ForestParts::default()
        };
        let forest = Box::new(Forest::new(parts).expect("a forest"));
        let stage = Stage::Forest { name: "trees".into(), forest, tested };
        (Pipeline { inputs, columns, stages: vec![stage] }, random)
    }
}

/// A threshold that rows meet, or one beside it.
fn threshold(random: &mut Random, float: Float, known: &[f64], width: usize, feature: usize) -> f64 {
    let value = known[random.below((known.len() / width) as u64) as usize * width + feature];
    let value = if value.is_nan() { 0.5 } else { value };
    match (float, random.below(3)) {
        (_, 0) => value,
        (Float::F32, 1) => f64::from((value as f32).next_up()),
        (Float::F32, _) => f64::from((value as f32).next_down()),
        (Float::F64, 1) => value.next_up(),
        (Float::F64, _) => value.next_down(),
    }
}

fn leaves(pipeline: &Pipeline, rows: &[f64]) -> Vec<u32> {
    let trees = pipeline.stages[0].forest().map_or(0, |forest| forest.trees.len());
    let mut leaves = vec![0; rows.len() / pipeline.inputs.len() * trees];
    pipeline.predict_leaves(rows, &mut leaves).expect("sizes that fit");
    leaves
}

/// Values on all thresholds of a feature of a folded forest, and their neighbours.
fn boundaries(forest: &Forest, input: &Input, feature: u32) -> Vec<f64> {
    let tests = forest.trees.iter().flat_map(|tree| &tree.inner).filter(|inner| inner.feature == feature);
    let value = |predicate: &Predicate| match predicate {
        Predicate::Numeric { threshold } => Some(*threshold),
        Predicate::Equal { value } => Some(*value),
        _ => None,
    };
    let near = |value: f64| match input.kind {
        InputKind::Float(Float::F64) => vec![value.next_down(), value, value.next_up()],
        InputKind::Float(Float::F32) => {
            let single = value as f32;
            [single.next_down(), single, single.next_up()].map(f64::from).to_vec()
        }
        InputKind::Integer if value.abs() < 1e15 => vec![value.floor(), value.floor() + 1.0],
        _ => Vec::new(),
    };
    tests.filter_map(|inner| value(&inner.predicate)).flat_map(near).take(60).collect()
}

/// Rows of a pipeline: random ones, with values on boundaries put in.
fn rows(pipeline: &Pipeline, folded: &Pipeline, random: Random) -> Vec<f64> {
    let mut draw = Draw { random, inputs: pipeline.inputs.clone(), columns: Columns::default() };
    let mut rows: Vec<f64> = (0..60).flat_map(|_| draw.row()).collect();
    let forest = folded.stages[0].forest().expect("a forest");
    for (feature, input) in pipeline.inputs.iter().enumerate() {
        for value in boundaries(forest, input, feature as u32) {
            let mut row = draw.row();
            row[feature] = value;
            rows.extend(row);
        }
    }
    rows
}

#[test]
fn folded_pipelines_reach_the_same_leaves() {
    let (mut folded_columns, mut computed_columns) = (0, 0);
    for seed in 0..cases() {
        let (pipeline, random) = Draw::new(seed).pipeline();
        let live = constants(live(pipeline.clone())).expect("types that fit");
        let Folding { pipeline: folded, fates } = fold(live).expect("a forest");
        let rows = rows(&pipeline, &folded, random);
        let (expected, found) = (leaves(&pipeline, &rows), leaves(&folded, &rows));
        let forest = folded.clone().into_forest().expect("a forest with computed columns");
        let mut of_forest = vec![0; found.len()];
        predict_leaves(&forest, &rows, &mut of_forest).expect("whole rows");
        assert_eq!(of_forest, found, "seed {seed}");
        if let Some(place) = (0..expected.len()).find(|place| expected[*place] != found[*place]) {
            let row = place / (expected.len() / (rows.len() / pipeline.inputs.len()));
            let row = &rows[row * pipeline.inputs.len()..][..pipeline.inputs.len()];
            let trees = |pipeline: &Pipeline| {
                pipeline.stages[0].forest().map(|forest| format!("{:?}", forest.trees)).unwrap_or_default()
            };
            panic!(
                "seed {seed}: row {row:?} ends at leaf {} of {}, and at {} of {}; {:?}",
                expected[place],
                trees(&pipeline),
                found[place],
                trees(&folded),
                pipeline.columns
            );
        }
        folded_columns +=
            fates[0].iter().filter(|fate| matches!(fate, Fate::Folded | Fate::Categories)).count();
        computed_columns += fates[0].iter().filter(|fate| matches!(fate, Fate::Computed(_))).count();
    }
    assert!(folded_columns > 4 * computed_columns, "{folded_columns} folded, {computed_columns} computed");
}

#[test]
fn a_threshold_beside_the_right_one_is_found() {
    let (mut wrong, mut found) = (0, 0);
    for seed in 0..cases() / 4 {
        let (pipeline, random) = Draw::new(seed).pipeline();
        let live = constants(live(pipeline.clone())).expect("types that fit");
        let Folding { pipeline: folded, .. } = fold(live).expect("a forest");
        let rows = rows(&pipeline, &folded, random);
        let mut broken = folded;
        let Stage::Forest { forest, .. } = &mut broken.stages[0];
        let float = forest.types.threshold;
        let mut is_broken = false;
        for inner in forest.trees.iter_mut().flat_map(|tree| &mut tree.inner) {
            let is_float = matches!(
                pipeline.inputs.get(inner.feature as usize).map(|input| input.kind),
                Some(InputKind::Float(of)) if of == float
            );
            if let (Predicate::Numeric { threshold }, true) = (&mut inner.predicate, is_float)
                && threshold.is_finite()
                && *threshold != 0.0
            {
                is_broken = true;
                *threshold = match float {
                    Float::F32 => f64::from((*threshold as f32).next_up()),
                    Float::F64 => threshold.next_up(),
                };
            }
        }
        if is_broken {
            wrong += 1;
            found += usize::from(leaves(&pipeline, &rows) != leaves(&broken, &rows));
        }
    }
    assert!(wrong > 20 && found * 10 > wrong * 7, "{found} of {wrong} faults were found");
}
