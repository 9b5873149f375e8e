//! Code of columns against their evaluation: random expressions, row by row, block by block, and from the
//! columns of a call.

use sched_columns::{
    Binary, CategoryTable, ColumnId, ColumnType, ColumnValue, Columns, Edges, Expr, Term, Ties, Unary,
};
use sched_forest::{CategoryRule, Float, Forest, ForestParts, Leaf, NodeRef, Tree, TreeTarget, Types};
use sched_ir::columns::arrangement::Arrangement;
use sched_ir::columns::blocks::{BlockSource, CopyBlocks, RowBlocks};
use sched_ir::columns::code::{BufferElements, ColumnCode};
use sched_ir::columns::cooperative::BlockOfRows;
use sched_ir::columns::runs::ColumnRuns;
use sched_ir::columns::stage::ColumnStage;
use sched_ir::columns::stored::StoredColumns;
use sched_ir::columns::value::FeatureSource;
use sched_ir::fault::{Fault, with_fault};
use sched_ir::interp::{self, CallMemory};
use sched_ir::lir::{
    Address, Bin, BufferId, BuildStmts, Builder, Function, GpuAxis, GpuDimension, GpuLevel, Scalar, Space,
    Table, Ty,
};
use sched_ir::rows::input::InputColumns;
use sched_ir::rows::transpose::Transpose;
use sched_ir::rows::{BlockThreads, CopiedRows};
use sched_nest::{StageInfo, StageKind};
use sched_pipeline::PreparedForest;
use sched_testing::Rng;
use std::sync::Arc;

const FEATURES: usize = 40;
const ROWS: usize = 21;
/// Rows of a block.
const WIDTH: u32 = 8;

const NUMBERS: [f64; 18] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.5,
    -0.5,
    0.75,
    3.0,
    7.0,
    1e-36,
    16_777_216.0,
    2_147_483_648.0,
    -1e10,
    1e30,
    0.1,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

const FUNCTIONS: [Unary; 10] = [
    Unary::SquareRoot,
    Unary::Exp,
    Unary::ExpMinusOne,
    Unary::Log,
    Unary::LogOnePlus,
    Unary::Tanh,
    Unary::Logistic,
    Unary::Erf,
    Unary::Sin,
    Unary::Cos,
];

/// Form of the rows that code reads, and of the columns that it stores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    Rows,
    Blocks,
    ColumnsToRows,
    ColumnsToBlocks,
    /// Blocks of a GPU with this many rows and threads.
    Cooperative {
        rows: u32,
        threads: u32,
    },
}

pub(crate) const FORMS: [Form; 8] = [
    Form::Rows,
    Form::Blocks,
    Form::ColumnsToRows,
    Form::ColumnsToBlocks,
    Form::Cooperative { rows: 1, threads: 16 },
    Form::Cooperative { rows: 4, threads: 4 },
    Form::Cooperative { rows: 8, threads: 3 },
    Form::Cooperative { rows: 5, threads: 32 },
];

#[test]
fn code_computes_what_the_evaluation_defines() {
    for seed in 0..400 {
        let mut rng = Rng(seed);
        let float = if rng.one_in(2) { Float::F32 } else { Float::F64 };
        let prepared = random(&mut rng, float);
        let rows: Vec<f64> = (0..ROWS * FEATURES).map(|_| round(number(&mut rng), float)).collect();
        check(&prepared, &rows, FEATURES, seed);
    }
}

/// Random arguments for functions: special numbers, and numbers of random bits.
fn operand(rng: &mut Rng, float: Float) -> f64 {
    let bits = rng.next_u64();
    match rng.below(4) {
        0 => number(rng),
        1 => (bits >> 11) as f64 / (1_u64 << 47) as f64 - 32.0,
        2 => (bits >> 11) as f64 / (1_u64 << 53) as f64 + 0.5,
        _ if float == Float::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// A column of each function, of several features each, and quotients by constants.
fn all_functions(float: Float) -> PreparedForest {
    let mut columns = Columns::default();
    let mut tested = Vec::new();
    for op in FUNCTIONS {
        for feature in 0..5 {
            let x = columns.input(feature, float);
            tested.push(columns.add(Expr::Unary(op, x)).unwrap());
        }
    }
    for feature in 0..5 {
        let [x, y] = [feature, feature + 1].map(|feature| columns.input(feature, float));
        tested.push(columns.add(Expr::Binary(Binary::Power, x, y)).unwrap());
    }
    for by in [3.0, 0.1, 1e4, 1.0, 7e-9] {
        let by = columns.constant(ColumnValue::F64(by).cast(float.into()));
        for feature in 0..5 {
            let x = columns.input(feature, float);
            tested.push(columns.add(Expr::Binary(Binary::Divide, x, by)).unwrap());
        }
    }
    of_columns(columns, tested, float)
}

#[test]
fn functions_have_the_bits_that_the_evaluation_defines() {
    for seed in 0..60 {
        let mut rng = Rng(seed);
        let float = if rng.one_in(2) { Float::F32 } else { Float::F64 };
        let prepared = all_functions(float);
        let rows: Vec<f64> = (0..ROWS * FEATURES).map(|_| round(operand(&mut rng, float), float)).collect();
        check(&prepared, &rows, FEATURES, seed);
    }
}

#[test]
#[should_panic(expected = "column")]
fn functions_that_round_twice_are_seen() {
    with_fault(Fault::FunctionsRoundTwice, functions_have_the_bits_that_the_evaluation_defines);
}

#[test]
#[should_panic(expected = "column")]
fn rare_numbers_that_are_computed_as_usual_are_seen() {
    with_fault(Fault::RareNumbersAreUsual, functions_have_the_bits_that_the_evaluation_defines);
}

#[test]
#[should_panic(expected = "Cooperative")]
fn threads_that_do_not_wait_for_each_other_are_seen() {
    with_fault(Fault::BarrierDropped, code_computes_what_the_evaluation_defines);
}

fn number(rng: &mut Rng) -> f64 {
    match rng.below(3) {
        0 => rng.below(9) as f64,
        _ => *rng.pick(&NUMBERS).unwrap(),
    }
}

fn round(x: f64, float: Float) -> f64 {
    match float {
        Float::F32 => f64::from(x as f32),
        Float::F64 => x,
    }
}

/// Random columns, in families whose members have one shape.
fn random(rng: &mut Rng, float: Float) -> PreparedForest {
    let mut columns = Columns::default();
    let mut tested = Vec::new();
    for _ in 0..1 + rng.below(4) {
        let length = if rng.one_in(3) { 0 } else { 1 + rng.below(14) };
        let script: Vec<u64> = (0..length).map(|_| rng.next_u64()).collect();
        // Number of members per feature, and distance in features from one member to the next.
        let (each, step) = (1 + rng.below(3), 1 + rng.below(2));
        let first = rng.below(FEATURES);
        for member in 0..1 + rng.below(24) {
            let feature = (first + member / each * step) % FEATURES;
            tested.push(family(&mut columns, float, &script, feature, member, rng));
        }
    }
    tested.dedup();
    of_columns(columns, tested, float)
}

/// A forest that tests some columns.
pub(crate) fn of_columns(columns: Columns, tested: Vec<ColumnId>, float: Float) -> PreparedForest {
    let leaf = Leaf { source: 0, values: [0.0].into() };
    let tree = Tree {
        root: NodeRef::Leaf(0),
        inner: Vec::new(),
        leaves: vec![leaf],
        target: TreeTarget::One(0),
        source: 0,
    };
    let types = Types { input: float, ..Types::all(float) };
    let parts =
        ForestParts { trees: vec![tree], num_features: tested.len(), types, ..ForestParts::default() };
    let forest = Arc::new(Forest::new(parts).unwrap());
    PreparedForest { forest, columns, tested, class_features: 0, set_columns: 0 }
}

/// A column whose operations a script chooses. Members of a family differ in features and constants.
fn family(
    columns: &mut Columns,
    float: Float,
    script: &[u64],
    feature: usize,
    member: usize,
    rng: &mut Rng,
) -> ColumnId {
    let wanted = ColumnType::from(float);
    let mut made = vec![columns.input(feature as u32, float)];
    let types = [ColumnType::F32, ColumnType::F64, ColumnType::I64, ColumnType::Bool];
    for choice in script {
        let at = |shift: u32, n: usize| (choice >> shift) as usize % n;
        let (x, y, z) = (made[at(8, made.len())], made[at(16, made.len())], made[at(24, made.len())]);
        let constant = |rng: &mut Rng, column_type: ColumnType| {
            ColumnValue::F64(number(rng).clamp(-1e9, 1e9)).cast(column_type)
        };
        let expr = match at(32, 10) {
            0 => Expr::Const(constant(rng, types[at(40, 4)])),
            1 => Expr::Input { feature: ((feature + at(40, 2)) % FEATURES) as u32, float },
            2 | 3 => Expr::Unary(
                [
                    Unary::Cast(types[at(48, 4)]),
                    Unary::Cast(types[at(48, 4)]),
                    Unary::Negate,
                    Unary::Abs,
                    Unary::SquareRoot,
                    Unary::Exp,
                    Unary::ExpMinusOne,
                    Unary::Log,
                    Unary::LogOnePlus,
                    Unary::Tanh,
                    Unary::Logistic,
                    Unary::Erf,
                    Unary::Sin,
                    Unary::Cos,
                    Unary::Floor,
                    Unary::Ceil,
                    Unary::Round,
                    Unary::IsNan,
                    Unary::Not,
                ][at(40, 19)],
                x,
            ),
            4 | 5 => Expr::Binary(
                [
                    Binary::Add,
                    Binary::Subtract,
                    Binary::Multiply,
                    Binary::Divide,
                    Binary::Power,
                    Binary::Min,
                    Binary::Max,
                    Binary::Less,
                    Binary::LessOrEqual,
                    Binary::Equal,
                    Binary::And,
                    Binary::Or,
                ][at(40, 12)],
                x,
                y,
            ),
            6 => Expr::Select { condition: x, then: y, otherwise: z },
            7 => {
                let mut at: Vec<f64> =
                    (0..rng.below(5)).map(|_| number(rng)).filter(|x| !x.is_nan()).collect();
                at.sort_by(f64::total_cmp);
                let ties = if choice >> 40 & 1 == 0 { Ties::Above } else { Ties::Below };
                Expr::Step { of: x, edges: Arc::new(Edges { at, ties }) }
            }
            8 => {
                let rule = [
                    CategoryRule::Truncated,
                    CategoryRule::Positive { below: 16_777_216.0 },
                    CategoryRule::Positive { below: 3.3 },
                    CategoryRule::Whole,
                ][at(40, 4)];
                let mut entry = || constant(rng, types[at(44, 4)]);
                let values = (0..member % 5).map(|_| entry()).collect();
                let table = CategoryTable { rule, values, other: entry(), missing: entry() };
                Expr::Table { of: x, table: Arc::new(table) }
            }
            _ if at(40, 2) == 0 => {
                let values = (0..1 + rng.below(6)).map(|_| constant(rng, types[at(44, 4)])).collect();
                Expr::Pick { of: x, values }
            }
            _ if at(41, 2) == 0 && columns.column_type(x).is_float() => {
                let own = columns.column_type(x);
                let alike = [x, y, z, x].into_iter().filter(|column| columns.column_type(*column) == own);
                let terms: Vec<ColumnId> = alike.take(1 + at(44, 4)).collect();
                let mut term = |column| Term { column, weight: constant(rng, own) };
                let terms = terms.into_iter().map(&mut term).collect();
                Expr::Dot { start: constant(rng, own), terms }
            }
            _ => Expr::Bit { of: x, bit: (at(44, 40) + member) as u8 % 64 },
        };
        // Operations that do not take these types are left out.
        made.extend(columns.add(expr));
    }
    let last = made[made.len() - 1];
    match columns.column_type(last) {
        own if own == wanted => last,
        _ => columns.add(Expr::Unary(Unary::Cast(wanted), last)).unwrap(),
    }
}

/// Compares the code of columns with their evaluation, in all forms.
pub(crate) fn check(prepared: &PreparedForest, rows: &[f64], features: usize, seed: u64) {
    let runs = ColumnRuns::new(prepared, features);
    check_arranged(prepared, rows, (&runs, &[]), seed);
}

/// Two results that are the same.
type IsSame<'a> = &'a dyn Fn(ResultPair) -> bool;

/// A result of a column with the value that the evaluation has for it.
pub(crate) struct ResultPair {
    pub row: usize,
    pub column: usize,
    pub found: f64,
    pub expected: f64,
}

impl ResultPair {
    /// Whether both have the same bits, or are NaN.
    pub fn has_same_bits(&self) -> bool {
        self.found.to_bits() == self.expected.to_bits() || (self.found.is_nan() && self.expected.is_nan())
    }
}

/// The stages of columns, each with the arrangement that `arrange` makes of its position and its size.
pub(crate) fn arranged_stages(
    runs: &ColumnRuns,
    mut arrange: impl FnMut(usize, &StageInfo) -> Option<Arrangement>,
) -> Vec<ColumnStage> {
    let infos = StageInfo::of_model(runs.stages(), ("", 0)).into_iter();
    let infos = infos.filter(|info| info.kind != StageKind::Trees).enumerate();
    infos.map(|(at, info)| ColumnStage { arrangement: arrange(at, &info), info }).collect()
}

/// Compares the code of columns, some of whose stages are arranged, with their evaluation in all forms, bit
/// by bit.
pub(crate) fn check_arranged(
    prepared: &PreparedForest,
    rows: &[f64],
    arranged: (&ColumnRuns, &[ColumnStage]),
    seed: u64,
) {
    check_results(prepared, rows, arranged, (seed, &|pair| pair.has_same_bits()));
}

/// Compares the code of columns, some of whose stages are arranged, with their evaluation in all forms.
pub(crate) fn check_results(
    prepared: &PreparedForest,
    rows: &[f64],
    (runs, stages): (&ColumnRuns, &[ColumnStage]),
    (seed, is_same): (u64, IsSame),
) {
    let expected: Vec<Vec<f64>> = rows.chunks(runs.features).map(|row| prepared.row(row)).collect();
    for form in FORMS {
        check_form(prepared, rows, &expected, form, (runs, stages), (seed, is_same));
    }
}

fn check_form(
    prepared: &PreparedForest,
    rows: &[f64],
    expected: &[Vec<f64>],
    form: Form,
    (runs, stages): (&ColumnRuns, &[ColumnStage]),
    (seed, is_same): (u64, IsSame),
) {
    let features = runs.features;
    let element = runs.element;
    let mut tables: Vec<Table> = Vec::new();
    // Wide and narrow vector registers, and no vectors.
    let register_bytes = [Some(64), Some(16), None][(seed % 3) as usize];
    let function = function((runs, stages), form, register_bytes, &mut tables);
    let by_column = matches!(form, Form::ColumnsToRows | Form::ColumnsToBlocks);
    let values: Vec<f64> = match by_column {
        // The interpreter expects input columns in descending order of features.
        true => (0..features)
            .rev()
            .flat_map(|feature| rows.iter().skip(feature).step_by(features))
            .copied()
            .collect(),
        false => rows.to_vec(),
    };
    let input = bytes(&values, element);
    let in_blocks = matches!(form, Form::Blocks | Form::ColumnsToBlocks);
    let held = if in_blocks { expected.len().next_multiple_of(WIDTH as usize) } else { expected.len() };
    let mut output = vec![0; held * runs.count * element.bytes() as usize];
    let memory =
        CallMemory { rows: expected.len() as i64, input: &input, output: &mut output, tables: &tables };
    let options =
        interp::InterpreterOptions { input_is_columns: by_column, ..interp::InterpreterOptions::default() };
    interp::run_with(&function, memory, &options)
        .unwrap_or_else(|fault| panic!("seed {seed}, {form:?}: {fault}\n{function}"));
    for (row, expected) in expected.iter().enumerate() {
        for (column, expected) in expected.iter().enumerate() {
            let width = WIDTH as usize;
            let at = match in_blocks {
                true => row / width * width * runs.count + column * width + row % width,
                false => row * runs.count + column,
            };
            let found = value(&output, element, at);
            let is_equal = is_same(ResultPair { row, column, found, expected: *expected });
            let given = &rows[row * features..(row + 1) * features];
            let expr = prepared.columns.expr(prepared.tested[column]);
            assert!(
                is_equal,
                "seed {seed}, {form:?}: column {column} is {found}, not {expected}, for {given:?}: {expr:?} \
                 of {:#?}\n{function}",
                described(prepared, prepared.tested[column])
            );
        }
    }
}

/// The expressions that a column depends on.
fn described(prepared: &PreparedForest, column: ColumnId) -> Vec<String> {
    let needed = prepared.columns.needed_for(&[column]);
    needed.iter().map(|column| format!("{column:?}: {:?}", prepared.columns.expr(*column))).collect()
}

/// A function that stores the columns of all rows.
pub(crate) fn function(
    (runs, stages): (&ColumnRuns, &[ColumnStage]),
    form: Form,
    register_bytes: Option<u32>,
    tables: &mut Vec<Table>,
) -> Function {
    let mut b = Builder::new("columns");
    let element = runs.element;
    let rows = b.buffer("rows", Space::Input, element);
    let order = b.buffer("order", Space::InputOrder, Scalar::I64);
    let to = b.buffer("result", Space::Output, element);
    let mut add = |table: Table| {
        tables.push(table);
        tables.len() as u32 - 1
    };
    let pieces: Vec<u8> = runs.inputs.pieces().iter().flat_map(|first| first.to_le_bytes()).collect();
    let pieces = add(Table { name: "pieces".to_string(), bytes: pieces.into() });
    let pieces = b.buffer("pieces", Space::ModelTable(pieces), Scalar::I32);
    let pools = runs.tables(add).declare(&mut b);
    let code = ColumnCode { runs, pools, register_bytes, stages: Some(stages) };
    let given = InputColumns { values: rows, order, element };
    let transpose =
        Transpose { rows, input: element, features: runs.features as i64, subset: &runs.inputs, pieces };
    let blocks = RowBlocks { transpose, code: Some(code) };
    match form {
        Form::Rows => each_row(&mut b, to, code, |b, row, stored, to| {
            let first = b.mul_int(row, runs.features as i64);
            code.store_row(b, FeatureSource::OfRow(rows, first), stored, to);
        }),
        Form::ColumnsToRows => each_row(&mut b, to, code, |b, row, stored, to| {
            code.store_row(b, FeatureSource::OfColumns(given, row), stored, to);
        }),
        Form::Blocks => all_blocks(&mut b, to, blocks, BlockSource::Rows),
        Form::ColumnsToBlocks => {
            let source = BlockSource::Columns { columns: given, are_full: false };
            all_blocks(&mut b, to, blocks, source);
        }
        Form::Cooperative { rows: of_block, threads } => {
            // The loops of GPU code have neither vectors nor parallel iterations.
            let mut stages = stages.to_vec();
            let arrangements = stages.iter_mut().filter_map(|stage| stage.arrangement.as_mut());
            arrangements
                .flat_map(|arrangement| &mut arrangement.loops)
                .for_each(|this| this.parallel = false);
            let code = ColumnCode { register_bytes: None, stages: Some(&stages), ..code };
            cooperative_blocks(&mut b, code, (rows, to), (of_block, threads));
        }
    }
    b.finish()
}

/// A launch whose blocks compute the columns of some rows in shared memory, and copy them to the result.
fn cooperative_blocks(
    b: &mut Builder,
    code: ColumnCode,
    (features, result): (BufferId, BufferId),
    (most, count): (u32, u32),
) {
    let (n_rows, one, element) = (b.n_rows(), b.int(1), code.runs.element);
    let more = b.add_int(n_rows, i64::from(most) - 1);
    let (max_rows, columns) = (i64::from(most), code.runs.count as i64);
    let of_block = b.int(max_rows);
    let blocks = b.bin(Bin::IDiv, more, of_block);
    b.launch("blocks", [blocks, one, one], [count, 1, 1], |b| {
        let id = |level| GpuDimension { level, axis: GpuAxis::X };
        let (block, thread) = (b.id(id(GpuLevel::Grid)), b.id(id(GpuLevel::Block)));
        let first = b.mul(block, of_block);
        let left = b.sub(n_rows, first);
        let count_of_block = b.min(left, of_block);
        let capacity = max_rows + 3;
        let bytes = b.int(capacity * columns * i64::from(element.bytes()));
        b.alloc_in(Space::Shared, "shared", element, bytes, |b, shared| {
            let threads = BlockThreads { thread, count: count.into() };
            let rows = BlockOfRows { features, first, count: count_of_block, max_rows };
            code.store_cooperatively(b, rows, (shared, capacity), threads);
            let end = b.mul_int(count_of_block, columns);
            b.for_loop((thread, end, count.into()), &[], |b, number, _| {
                let per_row = b.int(columns);
                let row = b.bin(Bin::IDiv, number, per_row);
                let before = b.mul(row, per_row);
                let column = b.sub(number, before);
                let from = b.mul_int(column, capacity);
                let from = b.add(from, row);
                let value = b.load(Ty::of(element), Address::element(shared, from, element));
                let to = b.mul_int(first, columns);
                let to = b.add(to, number);
                b.store(Address::element(result, to, element), value);
                Vec::new()
            });
        });
    });
}

fn each_row(
    b: &mut Builder,
    buffer: BufferId,
    code: ColumnCode,
    body: impl FnOnce(&mut Builder, sched_ir::lir::Value, StoredColumns, BufferElements),
) {
    let (zero, end) = (b.int(0), b.n_rows());
    code.with_row_memory(b, |b, stored| {
        b.for_loop((zero, end, 1), &[], |b, row, _| {
            let first = b.mul_int(row, code.runs.count as i64);
            body(b, row, stored, BufferElements { buffer, first });
            Vec::new()
        });
    });
}

fn all_blocks(b: &mut Builder, copy: BufferId, blocks: RowBlocks, source: BlockSource) {
    let (first, count) = (b.int(0), b.n_rows());
    let more = b.add_int(count, i64::from(WIDTH) - 1);
    let width = b.int(WIDTH.into());
    let whole = b.bin(Bin::IDiv, more, width);
    let capacity = b.mul(whole, width);
    let rows = CopiedRows { first, count, capacity };
    blocks.copy_rows(b, CopyBlocks { copy, rows, width: WIDTH }, source);
}

fn bytes(values: &[f64], element: Scalar) -> Vec<u8> {
    match element {
        Scalar::F32 => values.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}

fn value(bytes: &[u8], element: Scalar, at: usize) -> f64 {
    match element {
        Scalar::F32 => f32::from_le_bytes(bytes.as_chunks::<4>().0[at]).into(),
        _ => f64::from_le_bytes(bytes.as_chunks::<8>().0[at]),
    }
}
