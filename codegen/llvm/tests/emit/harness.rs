//! Runs hand-written LIR through the just-in-time compiler and compares with the interpreter.

use sched_ir::interp::{self, CallMemory};
use sched_ir::lir::{
    Address, Builder, Function, Interface, Module, OutputKind, ProcessorKind, Scalar, Space, Table, Value,
};
use sched_llvm::runtime::{Ctx, OutputCounts};
use sched_llvm::{Cpu, EntryInfo, Jit};
use sched_nest::Variants;
use std::ptr;

/// The `EntryInfo` of kernels that tests call directly.
pub fn entry() -> EntryInfo {
    EntryInfo {
        num_features: 1,
        counts: OutputCounts { values: 1, margins: 1, classes: 1, trees: 1, tree_values: 1 },
        trainer_row_type: sched_llvm::runtime::Dtype::F32,
        ns_per_row: 1.0,
        info: "{}".to_string(),
        feature_names: Vec::new(),
        ..EntryInfo::default()
    }
}

/// A module of one kernel.
pub fn module(kernel: OutputKind, function: Function, tables: &[&[u8]]) -> Module {
    let table = |(i, bytes): (usize, &&[u8])| Table { name: format!("t{i}"), bytes: bytes.to_vec().into() };
    Module {
        types: interface(kernel, &function),
        kernels: vec![(kernel.into(), function)],
        tables: tables.iter().enumerate().map(table).collect(),
        rows_per_run: None,
        processors: Variants::only(ProcessorKind::Host),
        least_column_rows: None,
        transfer: None,
    }
}

/// The interface of a module whose one kernel has these buffers.
fn interface(kernel: OutputKind, function: &Function) -> Interface {
    let element = |space| function.buffers.iter().find(|buffer| buffer.space == space).map(|b| b.element);
    let input = element(Space::Input).unwrap_or(Scalar::F32);
    let output = element(Space::Output).unwrap_or(Scalar::F32);
    match kernel.finishes_margins() {
        false => Interface { rows: input, margins: output, results: Scalar::F32 },
        true => Interface { rows: Scalar::F32, margins: input, results: output },
    }
}

/// A type of numbers in the buffers of tests.
pub trait Element: Copy + Default {}
impl Element for i8 {}
impl Element for i16 {}
impl Element for i32 {}
impl Element for i64 {}
impl Element for f32 {}
impl Element for f64 {}

/// Runs a function once, as the given kernel, and returns its output and status. If it succeeds, the
/// interpreter must have written the same bytes.
pub fn run_as<I: Element, O: Element>(
    kernel: OutputKind,
    function: Function,
    tables: &[&[u8]],
    rows: &[I],
    n_rows: i64,
    out: usize,
) -> (Vec<O>, i64) {
    run_on(Cpu::Native, kernel, function, tables, rows, n_rows, out)
}

/// Runs a function as [`run_as`] does, with the instructions of a processor.
pub fn run_on<I: Element, O: Element>(
    cpu: Cpu,
    kernel: OutputKind,
    function: Function,
    tables: &[&[u8]],
    rows: &[I],
    n_rows: i64,
    out: usize,
) -> (Vec<O>, i64) {
    let module = module(kernel, function, tables);
    let jit = Jit::compile(&module, cpu, &entry(), &[kernel]);
    let jit = jit
        .map_err(|error| {
            format!(
                "{error}
{module}"
            )
        })
        .expect("the module compiles");
    let mut out = vec![O::default(); out];
    let mut ctx = Ctx {
        rows: rows.as_ptr().cast(),
        n_rows,
        out: out.as_mut_ptr().cast(),
        tables: jit.model().tables,
        team: ptr::null_mut(),
        status: 0,
        order: &raw const sched_llvm::runtime::ROW_MAJOR,
    };
    let code = jit.model().kernel(kernel);
    // SAFETY: the tests' functions stay inside their buffers.
    unsafe { code.expect("the kernel is compiled")(&mut ctx) };
    if ctx.status == 0 {
        let mut interpreted = vec![0; size_of_val(out.as_slice())];
        let input = bytes_of(rows);
        let memory = CallMemory { rows: n_rows, input, output: &mut interpreted, tables: &module.tables };
        assert_eq!(interp::run(&module.kernels[0].1, memory), Ok(()), "{module}");
        assert_eq!(bytes_of(&out), interpreted, "machine code and interpreter differ on\n{module}");
    }
    (out, ctx.status)
}

fn bytes_of<T: Element>(numbers: &[T]) -> &[u8] {
    // SAFETY: numbers have no padding.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// Processors whose code this machine can run.
pub fn runnable() -> Vec<Cpu> {
    let nothing = Builder::new("nothing").finish();
    let module = module(OutputKind::Raw, nothing, &[]);
    let runs = |cpu: &Cpu| Jit::compile(&module, *cpu, &entry(), &[]).is_ok();
    Cpu::all().filter(runs).collect()
}

/// Runs a function that walks from rows to margins.
pub fn run<I: Element, O: Element>(function: Function, tables: &[&[u8]], rows: &[I], out: usize) -> Vec<O> {
    let (out, status) = run_as(OutputKind::Raw, function, tables, rows, rows.len() as i64, out);
    assert_eq!(status, 0);
    out
}

/// Element `index` of a buffer of elements of `stride` bytes.
pub fn at(buffer: sched_ir::lir::BufferId, index: Value, stride: u32) -> Address {
    Address { buffer, index, stride, offset: 0 }
}

/// Address of a constant element.
pub fn at_number(b: &mut Builder, buffer: sched_ir::lir::BufferId, index: i64, stride: u32) -> Address {
    let index = b.int(index);
    at(buffer, index, stride)
}
