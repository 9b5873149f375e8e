//! Measures layers of sums: nanoseconds a row of 1024 rows, one by one and in blocks of 16 rows, size of the
//! code, and time of its compilation.
//!
//!     cargo bench -p sched-llvm --bench layers --profile dev

mod common;

use common::{compiled, context, module};
use sched_columns::{Binary, ColumnId, ColumnValue, Columns, Expr, Float, Term};
use sched_forest::{Forest, ForestParts, Leaf, NodeRef, Tree, TreeTarget, Types};
use sched_ir::columns::blocks::{BlockSource, CopyBlocks, RowBlocks};
use sched_ir::columns::code::{BufferElements, ColumnCode};
use sched_ir::columns::runs::ColumnRuns;
use sched_ir::columns::value::FeatureSource;
use sched_ir::lir::*;
use sched_ir::rows::CopiedRows;
use sched_ir::rows::transpose::Transpose;
use sched_llvm::Cpu;
use sched_pipeline::PreparedForest;
use std::sync::Arc;
use std::time::Instant;

/// Rows of a call.
const ROWS: usize = 1024;

/// Rows of a block.
const BLOCK: u32 = 16;

/// Calls, of which the fastest counts.
const CALLS: usize = 300;

/// Processors, with the bytes of their registers.
const CPUS: [(Cpu, u32); 2] = [(Cpu::Native, 64), (Cpu::X86_64V3, 32)];

/// Pseudo-random numbers between -1 and 1.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

fn prepared(columns: Columns, tested: Vec<ColumnId>, float: Float) -> PreparedForest {
    let tree = Tree {
        root: NodeRef::Leaf(0),
        inner: Vec::new(),
        leaves: vec![Leaf { source: 0, values: [0.0].into() }],
        target: TreeTarget::One(0),
        source: 0,
    };
    let types = Types { input: float, ..Types::all(float) };
    let parts =
        ForestParts { trees: vec![tree], num_features: tested.len(), types, ..ForestParts::default() };
    let forest = Arc::new(Forest::new(parts).expect("a forest of one leaf"));
    PreparedForest { forest, columns, tested, class_features: 0, set_columns: 0 }
}

/// Dense layers with a maximum after each but the last.
fn net(float: Float, widths: &[usize]) -> PreparedForest {
    let (mut columns, mut numbers) = (Columns::default(), RandomNumbers(1));
    let mut number = || ColumnValue::F64(numbers.next()).cast(float.into());
    let (first, layers) = widths.split_first().expect("features");
    let zero = columns.constant(ColumnValue::F64(0.0).cast(float.into()));
    let mut below: Vec<ColumnId> = (0..*first as u32).map(|x| columns.input(x, float)).collect();
    for (at, width) in layers.iter().enumerate() {
        let unit = |_| {
            let terms = below.iter().map(|column| Term { column: *column, weight: number() }).collect();
            let sum = columns.add(Expr::Dot { start: number(), terms }).expect("one type");
            let activated = Expr::Binary(Binary::Max, sum, zero);
            if at + 1 == layers.len() { sum } else { columns.add(activated).expect("one type") }
        };
        below = (0..*width).map(unit).collect();
    }
    prepared(columns, below, float)
}

/// Squared distances from points of 20 features.
fn distances(points: usize) -> PreparedForest {
    let (mut columns, mut numbers) = (Columns::default(), RandomNumbers(2));
    let of: Arc<[ColumnId]> = (0..20).map(|x| columns.input(x, Float::F64)).collect();
    let distance = |_| {
        let point = (0..20).map(|_| ColumnValue::F64(numbers.next())).collect();
        columns.add(Expr::SquaredDistance { of: Arc::clone(&of), point }).expect("one type")
    };
    let tested = (0..points).map(distance).collect();
    prepared(columns, tested, Float::F64)
}

fn function(runs: &ColumnRuns, in_blocks: bool, register: u32, tables: &mut Vec<Table>) -> Function {
    let mut b = Builder::new("layers");
    let element = runs.element;
    let (rows, to) = (b.buffer("rows", Space::Input, element), b.buffer("out", Space::Output, element));
    let mut add = |table: Table| {
        tables.push(table);
        tables.len() as u32 - 1
    };
    let pieces: Vec<u8> = runs.inputs.pieces().iter().flat_map(|first| first.to_le_bytes()).collect();
    let pieces = add(Table { name: "pieces".to_string(), bytes: pieces.into() });
    let pieces = b.buffer("pieces", Space::ModelTable(pieces), Scalar::I32);
    let pools = runs.tables(add).declare(&mut b);
    let code = ColumnCode { runs, pools, register_bytes: Some(register), stages: None };
    let features = runs.features as i64;
    let (zero, count) = (b.int(0), b.n_rows());
    if in_blocks {
        let transpose = Transpose { rows, input: element, features, subset: &runs.inputs, pieces };
        let blocks = RowBlocks { transpose, code: Some(code) };
        let to =
            CopyBlocks { copy: to, rows: CopiedRows { first: zero, count, capacity: count }, width: BLOCK };
        blocks.copy_rows(&mut b, to, BlockSource::Rows);
    } else {
        code.with_row_memory(&mut b, |b, stored| {
            b.for_loop((zero, count, 1), &[], |b, row, _| {
                let (from, first) = (b.mul_int(row, features), b.mul_int(row, runs.count as i64));
                code.store_row(
                    b,
                    FeatureSource::OfRow(rows, from),
                    stored,
                    BufferElements { buffer: to, first },
                );
                Vec::new()
            });
        });
    }
    b.finish()
}

/// Prints nanoseconds a row, bytes of code, and milliseconds of compilation.
fn measure<T: Copy + Default>(
    name: &str,
    prepared: &PreparedForest,
    features: usize,
    round: impl Fn(f64) -> T,
) {
    let mut numbers = RandomNumbers(3);
    let rows: Vec<T> = (0..ROWS * features).map(|_| round(numbers.next())).collect();
    for (in_blocks, (cpu, register)) in [false, true].into_iter().flat_map(|form| CPUS.map(|cpu| (form, cpu)))
    {
        let start = Instant::now();
        let runs = ColumnRuns::new(prepared, features);
        let mut tables = Vec::new();
        let function = function(&runs, in_blocks, register, &mut tables);
        let lines = function.to_string().lines().count();
        let lowered = start.elapsed().as_secs_f64() * 1e3;
        let module = module(function, tables, runs.element);
        let jit = compiled(&module, cpu, features);
        let compiled = start.elapsed().as_secs_f64() * 1e3;
        let mut out = vec![T::default(); ROWS * runs.count];
        let mut ctx = context(&jit, &rows, ROWS, &mut out);
        let kernel = jit.model().kernel(OutputKind::Raw).expect("the kernel is compiled");
        let call = |_| {
            let start = Instant::now();
            // SAFETY: the buffers have as many values as the kernel reads and writes.
            unsafe { kernel(&mut ctx) };
            start.elapsed().as_nanos() as f64 / ROWS as f64
        };
        let calls = if features * runs.count > 10_000 { CALLS / 10 } else { CALLS };
        let fastest = (0..calls).map(call).fold(f64::INFINITY, f64::min);
        let form = if in_blocks { "blocks" } else { "rows" };
        println!(
            "{name:22} {form:6} {register:2} bytes {fastest:10.1} ns a row, {lines:4} lines of LIR, \
             {lowered:6.1} ms to LIR, \
             {compiled:7.1} ms in all"
        );
    }
}

fn main() {
    measure("net 20-64-32-3 f32", &net(Float::F32, &[20, 64, 32, 3]), 20, |x| x as f32);
    measure("net 20-64-32-3 f64", &net(Float::F64, &[20, 64, 32, 3]), 20, |x| x);
    measure("layer 20-64 f32", &net(Float::F32, &[20, 64]), 20, |x| x as f32);
    measure("layer 20-64 f64", &net(Float::F64, &[20, 64]), 20, |x| x);
    measure("net 20-512-256-64 f32", &net(Float::F32, &[20, 512, 256, 64]), 20, |x| x as f32);
    measure("1730 distances f64", &distances(1730), 20, |x| x);
    measure("8 distances f64", &distances(8), 20, |x| x);
}
