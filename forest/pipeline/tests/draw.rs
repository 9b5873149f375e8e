//! Draws random inputs, columns and rows.

use sched_columns::{
    Binary, CategoryTable, ColumnId, ColumnTree, ColumnTrees, ColumnType, ColumnValue, Columns, Edges, Expr,
    SharedTreeProperties, Ties, TreeNode, TreeTest, Unary,
};
use sched_forest::{CategoryRule, Float, Label, Names};
use sched_pipeline::{InputKind, OTHER, PipelineInput};
use std::sync::Arc;

/// Default number of pipelines. `SCHEDC_CASES` sets another one.
const CASES: u64 = 400;

/// Number of categories of each text input.
const NAMES: u32 = 5;

pub fn cases() -> u64 {
    std::env::var("SCHEDC_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

/// Random numbers with a fixed seed (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// A number: often on a grid of quarters or a small whole one, sometimes another, and sometimes a special
    /// one.
    pub fn number(&mut self) -> f64 {
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

    /// A constant of a scaler: finite, and zero or not tiny.
    pub fn constant(&mut self) -> f64 {
        let number = self.number();
        if number.is_finite() && (number == 0.0 || number.abs() > 1e-30) { number } else { 0.37 }
    }
}

/// A pipeline under construction.
pub struct Draw {
    pub random: Random,
    pub inputs: Vec<PipelineInput>,
    pub columns: Columns,
}

impl Draw {
    pub fn new(seed: u64) -> Draw {
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
            inputs.push(PipelineInput { name: format!("f{number}"), kind, names: Names::listed(labels) });
        }
        Draw { random, inputs, columns: Columns::default() }
    }

    pub fn add(&mut self, expr: Expr) -> ColumnId {
        self.columns.add(expr).expect("types that fit")
    }

    pub fn value(&mut self, like: ColumnId, value: f64) -> ColumnId {
        let value = ColumnValue::F64(value).cast(self.columns.column_type(like));
        self.columns.constant(value)
    }

    /// A column of a feature, in the type of the input. Texts are mapped to random numbers.
    pub fn input(&mut self, feature: u32) -> ColumnId {
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

    pub fn cast(&mut self, column: ColumnId, to: ColumnType) -> ColumnId {
        self.columns.cast(column, to).expect("any cast")
    }

    /// A column computed from another one, and sometimes also from a feature.
    pub fn step(&mut self, x: ColumnId) -> ColumnId {
        let column_type = self.columns.column_type(x);
        if column_type == ColumnType::Bool {
            let to = self.random.pick(&[ColumnType::F32, ColumnType::F64, ColumnType::I64]);
            return self.cast(x, to);
        }
        let number = self.random.constant();
        let mut constant = self.value(x, number);
        if self.random.one_in(6) {
            constant = self.add(Expr::Binary(Binary::Add, constant, constant));
        }
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
            20 if is_float => self.trees(x),
            _ => {
                let to = self.random.pick(&[ColumnType::F32, ColumnType::F64, ColumnType::I64]);
                self.cast(x, to)
            }
        }
    }

    /// A result of trees over a column, and sometimes also over a feature.
    fn trees(&mut self, x: ColumnId) -> ColumnId {
        let column_type = self.columns.column_type(x);
        let other = self.random.below(self.inputs.len() as u64) as u32;
        let other = if self.random.one_in(3) { self.input(other) } else { x };
        let other = self.cast(other, column_type);
        let compared = Option::from(column_type).expect("a float");
        let form = SharedTreeProperties {
            operands: 2,
            results: 2,
            operand_type: compared,
            sum_type: self.random.pick(&[Float::F32, Float::F64]),
            ties: self.random.pick(&[Ties::Above, Ties::Below]),
        };
        let mut test = |operand, left, right| TreeTest {
            operand,
            threshold: ColumnValue::F64(self.random.constant()).cast(column_type).to_f64(),
            missing_left: self.random.one_in(2),
            left,
            right,
        };
        let leaf = TreeNode::Leaf;
        let tests = vec![test(0, leaf(0), TreeNode::Test(1)), test(1, leaf(1), leaf(2))];
        let values = (0..6).map(|_| self.random.below(9) as f64 / 4.0).collect();
        let tree = ColumnTree { root: TreeNode::Test(0), tests, values };
        let trees = ColumnTrees::new(form, vec![tree.clone(), tree]).expect("two trees");
        let start = ColumnValue::F64(0.5).cast(form.sum_type.into());
        let result = self.random.below(2) as u32;
        self.add(Expr::Trees { of: [x, other].into(), start, trees: Arc::new(trees), result })
    }

    pub fn column(&mut self, float: ColumnType) -> ColumnId {
        let feature = self.random.below(self.inputs.len() as u64) as u32;
        let mut column = self.input(feature);
        for _ in 0..self.random.below(6) {
            column = self.step(column);
        }
        self.cast(column, float)
    }

    pub fn row(&mut self) -> Vec<f64> {
        let (inputs, random) = (&self.inputs, &mut self.random);
        let cell = |input: &PipelineInput| {
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
}
