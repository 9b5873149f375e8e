//! Tests of the C runtime with models written by hand. Their kernels are Rust functions here, and C functions
//! in the artefact that the test programs in `c/` load.

use std::{
    ffi::c_void,
    fs,
    mem::{offset_of, size_of},
    path::{Path, PathBuf},
    process::Command,
    ptr, slice,
    sync::OnceLock,
    thread,
};

use sched_ir::lir::{Interface, Scalar};
use sched_llvm::{
    column::RawColumn,
    header::{AcceptedRowTypes, HeaderInfo, header, is_valid_prefix, loader_header},
    runtime::{
        self, Call, CallStatus, Ctx, Dtype, GpuDescriptor, ImageDescriptor, LaunchDescriptor, MODEL_SIZE,
        ModelDescriptor, Needs, OutputCounts, OutputDescriptor, OutputKind, RUNTIME_OBJECT, RunRange,
        TransferDescriptor, schedc_rt_alloc, schedc_rt_fail, schedc_rt_free, schedc_rt_parallel,
    },
};
use sched_machines::Level;

mod columns;

const FEATURES: usize = 3;

fn present(x: f64) -> f64 {
    if x.is_nan() { 0.0 } else { x }
}

/// Margins of the models: a + 2 b + 4 c and a - b, where missing values count as zero.
fn margins(row: &[f64]) -> [f64; 2] {
    let [a, b, c] = [present(row[0]), present(row[1]), present(row[2])];
    [a + 2.0 * b + 4.0 * c, a - b]
}

/// The outputs of the models: at least one with each of [`Needs`], on which all differences between outputs
/// in the runtime depend.
const KINDS: [OutputKind; 5] =
    [OutputKind::Value, OutputKind::Raw, OutputKind::Class, OutputKind::Leaf, OutputKind::Tree];

/// The output of a row, as the models' kernels compute it.
fn expected(model: &ModelDescriptor, kind: OutputKind, row: &[f64]) -> Vec<f64> {
    let [first, second] = margins(row);
    match kind {
        OutputKind::Raw => vec![first, second],
        OutputKind::Value if model.kernel(kind).is_none() => vec![first, second],
        OutputKind::Value if model.outputs[kind as usize].columns == 1 => vec![first - second],
        OutputKind::Value => vec![first + 1.0, second + 1.0],
        OutputKind::Class => vec![f64::from(u8::from(second > first))],
        OutputKind::Leaf => vec![present(row[0]).trunc(), present(row[1]).trunc()],
        // `OutputKind::Tree`, the last of `KINDS`.
        _ => vec![2.0 * present(row[0]), 2.0 * present(row[1])],
    }
}

// Kernels, generic over the element types of rows (`R`), margins (`M`) and results (`O`).

trait Element: Copy + Into<f64> {
    const DTYPE: Dtype;
    fn of(x: f64) -> Self;
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;

    fn of(x: f64) -> f32 {
        x as f32
    }
}

impl Element for f64 {
    const DTYPE: Dtype = Dtype::F64;

    fn of(x: f64) -> f64 {
        x
    }
}

unsafe fn input<'a, T>(ctx: *const Ctx, columns: usize) -> &'a [T] {
    unsafe { slice::from_raw_parts((*ctx).rows.cast(), (*ctx).n_rows as usize * columns) }
}

/// Rows of one iteration of the parallel loop.
const BLOCK: i64 = 8;

unsafe extern "C" fn raw_row<R: Element, M: Element>(env: *mut c_void, i: i64) {
    let (ctx, first) = unsafe { *env.cast::<(*mut Ctx, i64)>() };
    let row = (first + i) as usize;
    let numbers: Vec<f64> = unsafe { input::<R>(ctx, FEATURES) }[row * FEATURES..][..FEATURES]
        .iter()
        .map(|&x| x.into())
        .collect();
    for (column, margin) in margins(&numbers).into_iter().enumerate() {
        unsafe { (*ctx).out.cast::<M>().add(row * 2 + column).write(M::of(margin)) };
    }
}

/// Computes a block of rows: allocates temporary memory, and runs a parallel loop over its rows inside a
/// parallel loop.
unsafe extern "C" fn raw_block<R: Element, M: Element>(env: *mut c_void, i: i64) {
    let ctx = env.cast::<Ctx>();
    let mut inner = (ctx, i * BLOCK);
    unsafe {
        let memory = schedc_rt_alloc(ctx, 1000);
        assert!(!memory.is_null() && memory.addr().is_multiple_of(64));
        let left = (*ctx).n_rows - inner.1;
        schedc_rt_parallel(ctx, raw_row::<R, M>, (&raw mut inner).cast(), left.min(BLOCK));
        schedc_rt_free(ctx, memory);
    }
}

unsafe extern "C" fn raw<R: Element, M: Element>(ctx: *mut Ctx) {
    unsafe { schedc_rt_parallel(ctx, raw_block::<R, M>, ctx.cast(), ((*ctx).n_rows + BLOCK - 1) / BLOCK) };
}

/// Finishes margins row by row, so that margins and values may share their memory.
unsafe fn finish<M: Element, O: Element, const N: usize>(
    ctx: *mut Ctx,
    values: impl Fn(f64, f64) -> [f64; N],
) {
    unsafe {
        for row in 0..(*ctx).n_rows as usize {
            let margins = (*ctx).rows.cast::<M>().add(row * 2);
            let values = values((*margins).into(), (*margins.add(1)).into());
            for (column, value) in values.into_iter().enumerate() {
                (*ctx).out.cast::<O>().add(row * N + column).write(O::of(value));
            }
        }
    }
}

unsafe extern "C" fn two_values<M: Element, O: Element>(ctx: *mut Ctx) {
    unsafe { finish::<M, O, 2>(ctx, |a, b| [a + 1.0, b + 1.0]) };
}

unsafe extern "C" fn one_value<M: Element, O: Element>(ctx: *mut Ctx) {
    unsafe { finish::<M, O, 1>(ctx, |a, b| [a - b]) };
}

unsafe extern "C" fn class<M: Element>(ctx: *mut Ctx) {
    unsafe { finish::<M, f32, 1>(ctx, |a, b| [f64::from(u8::from(b > a))]) };
}

unsafe extern "C" fn leaf<R: Element>(ctx: *mut Ctx) {
    unsafe {
        let rows = input::<R>(ctx, FEATURES);
        for (i, row) in rows.chunks_exact(FEATURES).enumerate() {
            (*ctx).out.cast::<i32>().add(2 * i).write(present(row[0].into()) as i32);
            (*ctx).out.cast::<i32>().add(2 * i + 1).write(present(row[1].into()) as i32);
        }
    }
}

unsafe extern "C" fn tree<R: Element, M: Element>(ctx: *mut Ctx) {
    unsafe {
        let rows = input::<R>(ctx, FEATURES);
        for (i, row) in rows.chunks_exact(FEATURES).enumerate() {
            (*ctx).out.cast::<M>().add(2 * i).write(M::of(2.0 * present(row[0].into())));
            (*ctx).out.cast::<M>().add(2 * i + 1).write(M::of(2.0 * present(row[1].into())));
        }
    }
}

unsafe extern "C" fn failing(ctx: *mut Ctx) {
    unsafe {
        assert!(schedc_rt_alloc(ctx, i64::MAX).is_null());
        schedc_rt_fail(ctx, CallStatus::ARGUMENT); // too late: the first status stays
    }
}

/// Counts of the models.
const COUNTS: OutputCounts = OutputCounts { values: 2, margins: 2, classes: 1, trees: 2, tree_values: 2 };

fn model<R: Element, M: Element, O: Element>() -> ModelDescriptor {
    let [rows, margins, results] = [R::DTYPE, M::DTYPE, O::DTYPE]
        .map(|dtype| if dtype == Dtype::F64 { Scalar::F64 } else { Scalar::F32 });
    let types = Interface { rows, margins, results };
    ModelDescriptor {
        size: MODEL_SIZE,
        num_features: FEATURES as i32,
        num_margins: 2,
        row_type: R::DTYPE as i32,
        margin_type: M::DTYPE as i32,
        result_type: O::DTYPE as i32,
        rows_per_run: i64::MAX,
        ns_per_row: 1e6,
        tables: ptr::null(),
        info: c"{}".as_ptr(),
        cpu_needs: 0,
        otherwise: ptr::null(),
        gpu: ptr::null(),
        missing: f64::NAN,
        base: ptr::null(),
        other_rows: ptr::null(),
        own_row_type: R::DTYPE as i64,
        columns_from: i64::MAX,
        outputs: OutputDescriptor::all(&COUNTS, &types, |kind| {
            let kernels: [runtime::KernelFn; KINDS.len()] =
                [two_values::<M, O>, raw::<R, M>, class::<M>, leaf::<R>, tree::<R, M>];
            KINDS.into_iter().zip(kernels).find(|(known, _)| *known == kind).map(|(_, kernel)| kernel)
        }),
    }
}

/// A model with another kernel for one output, and with the number of columns that it writes.
fn with(
    mut model: ModelDescriptor,
    kind: OutputKind,
    kernel: Option<runtime::KernelFn>,
    columns: i32,
) -> ModelDescriptor {
    let output = &mut model.outputs[kind as usize];
    (output.kernel, output.columns) = (kernel, columns);
    model
}

/// Values whose sums are exact in `f32`, some of them missing.
fn numbers(n: usize) -> Vec<f64> {
    (0..n * FEATURES)
        .map(|i| if i % 11 == 10 { f64::NAN } else { ((i * 37) % 1009) as f64 - 200.0 })
        .collect()
}

/// Options of a test's call.
#[derive(Debug, Clone, Copy)]
struct CallOptions {
    kind: OutputKind,
    dtype: Dtype,
    n: usize,
    stride: usize,
    threads: i32,
    scratch: usize,
    /// Bytes by which the rows miss their natural alignment.
    shift: usize,
}

impl CallOptions {
    fn plain(kind: OutputKind, dtype: Dtype, n: usize) -> CallOptions {
        CallOptions { kind, dtype, n, stride: FEATURES, threads: 1, scratch: 0, shift: 0 }
    }
}

/// Calls a model and compares every number of the output. Memory after the output must keep its content.
fn check(model: &ModelDescriptor, how: CallOptions) {
    const GUARD: u64 = 0x7fc1_2345_7fc1_2345;
    let columns = runtime::num_outputs(model, how.kind) as usize;
    let numbers = numbers(how.n);
    let mut bytes = vec![0xff; how.shift];
    for row in numbers.chunks_exact(FEATURES) {
        let padding = std::iter::repeat_n(&f64::INFINITY, how.stride - FEATURES);
        for &x in row.iter().chain(padding) {
            match how.dtype {
                Dtype::F32 => bytes.extend((x as f32).to_ne_bytes()),
                _ => bytes.extend(x.to_ne_bytes()),
            }
        }
    }
    // A u64 buffer is aligned for either type; the shift is then the only misalignment.
    let mut rows = vec![0u64; bytes.len() / 8 + 1];
    let element = runtime::output_type(model, how.kind);
    let size = if element == Dtype::F64 { 8 } else { 4 };
    let mut out = vec![GUARD; how.n * columns * size / 8 + 4];
    let mut scratch = vec![0u8; how.scratch];
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), rows.as_mut_ptr().cast(), bytes.len());
        let start = rows.as_ptr().cast::<u8>().add(how.shift);
        let mut call =
            Call::new(how.kind, how.dtype, start.cast(), how.n as i64, out.as_mut_ptr().cast::<c_void>());
        call.threads = how.threads;
        call.row_stride = how.stride as i64;
        call.scratch = scratch.as_mut_ptr().cast();
        call.scratch_size = how.scratch as i64;
        assert_eq!(runtime::call(model, &call), Ok(()), "{how:?}");
    }
    let out: Vec<u8> = out.into_iter().flat_map(u64::to_ne_bytes).collect();
    let (out, guard) = out.split_at(how.n * columns * size);
    assert!(
        guard.chunks(4).all(|word| *word == (GUARD as u32).to_ne_bytes()),
        "{how:?}: wrote past the output"
    );
    for (i, row) in numbers.chunks_exact(FEATURES).enumerate() {
        for (column, want) in expected(model, how.kind, row).into_iter().enumerate() {
            let at = (i * columns + column) * size;
            let half = || out[at..at + 4].try_into().expect("four bytes");
            let got = match element {
                Dtype::F32 => f64::from(f32::from_ne_bytes(half())),
                Dtype::F64 => f64::from_ne_bytes(out[at..at + 8].try_into().expect("eight bytes")),
                Dtype::I32 => f64::from(i32::from_ne_bytes(half())),
            };
            assert_eq!(got, want, "{how:?}: row {i}, column {column}");
        }
    }
}

fn check_kinds_and_types(model: &ModelDescriptor, change: impl Fn(CallOptions) -> CallOptions) {
    for kind in KINDS {
        for dtype in [Dtype::F32, Dtype::F64] {
            for n in [0, 1, 2, 7, 100, 3000] {
                check(model, change(CallOptions::plain(kind, dtype, n)));
            }
        }
    }
}

#[test]
fn every_kind_and_type() {
    let narrow = model::<f32, f32, f32>();
    let all = [
        narrow,
        model::<f32, f32, f64>(),
        model::<f32, f64, f32>(),
        model::<f32, f64, f64>(),
        model::<f64, f32, f32>(),
        model::<f64, f32, f64>(),
        model::<f64, f64, f32>(),
        model::<f64, f64, f64>(),
    ];
    for base in all {
        check_kinds_and_types(&base, |how| how);
        check_kinds_and_types(&base, |how| CallOptions { stride: 7, ..how });
        check_kinds_and_types(&base, |how| CallOptions { shift: 3, ..how });
        check_kinds_and_types(&base, |how| CallOptions { threads: 4, stride: 4, ..how });
        for rows_per_run in [1, 13, 64] {
            check_kinds_and_types(&ModelDescriptor { rows_per_run, ..base }, |how| CallOptions {
                threads: 2,
                ..how
            });
        }
        check_kinds_and_types(&with(base, OutputKind::Value, None, 2), |how| how);
    }
    let one = |value: runtime::KernelFn, base| with(base, OutputKind::Value, Some(value), 1);
    check_kinds_and_types(&one(one_value::<f32, f32>, narrow), |how| how);
    check_kinds_and_types(&one(one_value::<f32, f64>, model::<f64, f32, f64>()), |how| how);
    check_kinds_and_types(&one(one_value::<f64, f32>, model::<f32, f64, f32>()), |how| how);
    check_kinds_and_types(&one(one_value::<f64, f64>, model::<f32, f64, f64>()), |how| how);
}

#[test]
fn calls_larger_than_a_chunk() {
    for model in [model::<f32, f32, f32>(), model::<f64, f64, f32>()] {
        for kind in KINDS {
            for dtype in [Dtype::F32, Dtype::F64] {
                for threads in [1, 4] {
                    check(
                        &model,
                        CallOptions { stride: 4, threads, ..CallOptions::plain(kind, dtype, 30_000) },
                    );
                }
            }
        }
    }
}

#[test]
fn scratch_of_any_size() {
    let model = model::<f64, f64, f32>();
    for scratch in [1, 63, 64, 200, 1 << 12, 1 << 15, 1 << 20] {
        check_kinds_and_types(&model, |how| CallOptions { scratch, threads: 2, ..how });
    }
}

#[test]
fn rounds_doubles_to_floats() {
    // 2^24 + 1 has no 32-bit float and becomes 2^24.
    let rows = [16_777_217.0, 16_777_216.0, f64::NAN];
    for (model, want) in [(model::<f32, f32, f32>(), 0.0), (model::<f64, f64, f32>(), 1.0)] {
        let mut out = [9f32; 2];
        let call = Call::new(OutputKind::Raw, Dtype::F64, rows.as_ptr().cast(), 1, out.as_mut_ptr().cast());
        assert_eq!(unsafe { runtime::call(&model, &call) }, Ok(()));
        assert_eq!(out[1], want);
    }
}

/// A call of two rows on a model of floats.
fn code(model: &ModelDescriptor, change: impl Fn(&mut Call)) -> i32 {
    let rows = [1f32; 2 * FEATURES];
    let mut out = [0f32; 4];
    let mut call = Call::new(OutputKind::Value, Dtype::F32, rows.as_ptr().cast(), 2, out.as_mut_ptr().cast());
    change(&mut call);
    unsafe { runtime::call(model, &call) }.map_or_else(CallStatus::code, |()| 0)
}

#[test]
fn wrong_calls_are_refused() {
    type Change = fn(&mut Call);
    let wrong: [(Change, i32); 19] = [
        (|_| (), 0),
        (|c| c.n_rows = -1, CallStatus::ARGUMENT),
        (|c| c.rows = ptr::null(), CallStatus::ARGUMENT),
        (|c| c.out = ptr::null_mut(), CallStatus::ARGUMENT),
        (|c| c.out = c.out.wrapping_byte_add(2), CallStatus::ARGUMENT),
        (|c| c.kind = 5, CallStatus::ARGUMENT),
        (|c| c.kind = -1, CallStatus::ARGUMENT),
        (|c| c.dtype = 2, CallStatus::ARGUMENT),
        (|c| c.row_stride = 2, CallStatus::ARGUMENT),
        (|c| c.row_stride = -3, CallStatus::ARGUMENT),
        (|c| c.row_stride = i64::MAX, CallStatus::ARGUMENT),
        (|c| c.row_stride = i64::MAX / 4, CallStatus::ARGUMENT),
        (|c| c.n_rows = i64::MAX / 4, CallStatus::ARGUMENT),
        (|c| c.threads = -1, CallStatus::ARGUMENT),
        (|c| c.scratch_size = -1, CallStatus::ARGUMENT),
        (|c| c.size = 24, CallStatus::ARGUMENT),
        (|c| c.size = 33, CallStatus::ARGUMENT),
        (|c| c.size = 1 << 30, CallStatus::ARGUMENT),
        (|c| c.n_rows = 0, 0),
    ];
    let model = model::<f32, f32, f32>();
    for (i, (change, want)) in wrong.into_iter().enumerate() {
        assert_eq!(code(&model, change), want, "call {i}");
    }
    let no_rows = |c: &mut Call| {
        (c.rows, c.out, c.n_rows) = (ptr::null(), ptr::null_mut(), 0);
    };
    assert_eq!(code(&model, no_rows), 0);
    let odd_kind = |kind: OutputKind| move |c: &mut Call| c.kind = kind as i32;
    assert_eq!(
        code(&with(model, OutputKind::Class, None, 0), odd_kind(OutputKind::Class)),
        CallStatus::UNSUPPORTED
    );
    assert_eq!(
        code(&with(model, OutputKind::Leaf, None, 0), odd_kind(OutputKind::Leaf)),
        CallStatus::UNSUPPORTED
    );
}

#[test]
fn calls_of_other_versions() {
    let model = model::<f32, f32, f32>();
    // An older caller's structure ends after `out`; the runtime must not read beyond it.
    let older = |c: &mut Call| (c.size, c.dtype, c.threads, c.row_stride) = (32, 77, -7, 1);
    assert_eq!(code(&model, older), 0);

    // A newer caller has more fields, which must not be used.
    let rows = [1f32; FEATURES];
    let mut out = [0f32; 2];
    let mut newer =
        (Call::new(OutputKind::Raw, Dtype::F32, rows.as_ptr().cast(), 1, out.as_mut_ptr().cast()), 0u64);
    newer.0.size += 8;
    assert_eq!(unsafe { runtime::call(&model, &newer.0) }, Ok(()));
    assert_eq!(out, [7.0, 0.0]);
    newer.1 = 1;
    assert_eq!(
        unsafe { runtime::call(&model, &newer.0) }.map_err(CallStatus::code),
        Err(CallStatus::ARGUMENT)
    );
}

/// Kernels whose rows are narrower than the trainer's never get wider rows. Rows of the other type need a
/// version with kernels for them.
#[test]
fn rows_are_not_rounded_where_the_trainer_does_not() {
    let wide = |call: &mut Call| call.dtype = Dtype::F64 as i32;
    let narrow = ModelDescriptor { own_row_type: Dtype::F64 as i64, ..model::<f32, f64, f64>() };
    assert_eq!(code(&narrow, |_| ()), 0);
    assert_eq!(code(&narrow, wide), CallStatus::ROWS);
    check(&narrow, CallOptions::plain(OutputKind::Value, Dtype::F32, 100));

    // Kernels whose output tells which of them has run.
    unsafe extern "C" fn two<M: Element>(ctx: *mut Ctx) {
        unsafe {
            finish::<M, f64, 2>(ctx, |_, _| [f64::from(u8::try_from(size_of::<M>()).expect("a size")); 2])
        };
    }
    let narrow = with(model::<f32, f32, f64>(), OutputKind::Value, Some(two::<f32>), 2);
    let own_row_type = Dtype::F64 as i64;
    let narrow = ModelDescriptor { own_row_type, ..narrow };
    let both = with(model::<f64, f64, f64>(), OutputKind::Value, Some(two::<f64>), 2);
    let both = ModelDescriptor { other_rows: &raw const narrow, ..both };
    let first = ModelDescriptor { cpu_needs: 1 << 40, otherwise: &raw const both, ..both };
    for (dtype, size) in [(Dtype::F32, 4.0), (Dtype::F64, 8.0)] {
        let (floats, doubles, mut out) = ([1f32; FEATURES], [1f64; FEATURES], [0f64; 2]);
        let rows: *const c_void =
            if dtype == Dtype::F32 { floats.as_ptr().cast() } else { doubles.as_ptr().cast() };
        for model in [&both, &first] {
            let call = Call::new(OutputKind::Value, dtype, rows, 1, out.as_mut_ptr().cast());
            assert_eq!(unsafe { runtime::call(model, &call) }, Ok(()));
            assert_eq!(out, [size; 2]);
        }
    }
    let error = unsafe {
        let mut call = Call::new(OutputKind::Value, Dtype::F32, ptr::null(), 0, ptr::null_mut());
        wide(&mut call);
        runtime::call(&narrow, &call).expect_err("rows of doubles")
    };
    assert!(error.to_string().contains("--row-type both"), "{error}");
}

#[test]
fn refuses_processors_that_lack_instructions() {
    let needs = |cpu_needs| code(&ModelDescriptor { cpu_needs, ..model::<f32, f32, f32>() }, |_| ());
    let have = |there: bool| if there { 0 } else { CallStatus::CPU };
    for level in Level::ALL {
        assert_eq!(needs(level.bit()), have(Level::host() & level.bit() != 0), "{level:?}");
    }
    assert_eq!(needs(1 << 40), CallStatus::CPU);

    let model = ModelDescriptor { cpu_needs: 1 << 40, ..model::<f32, f32, f32>() };
    let call = Call::new(OutputKind::Value, Dtype::F32, ptr::null(), 0, ptr::null_mut());
    let error = unsafe { runtime::call(&model, &call) }.expect_err("no processor has bit 40");
    assert!(error.to_string().contains("processor lacks"), "{error}");
}

#[test]
fn kernels_report_errors() {
    let memory = |model: ModelDescriptor| code(&model, |_| ());
    assert_eq!(memory(with(model::<f32, f32, f32>(), OutputKind::Raw, Some(failing), 2)), CallStatus::MEMORY);
    assert_eq!(
        memory(with(model::<f32, f32, f32>(), OutputKind::Value, Some(failing), 2)),
        CallStatus::MEMORY
    );
    let failing_class = with(model::<f32, f32, f32>(), OutputKind::Class, Some(failing), 1);
    assert_eq!(code(&failing_class, |c| c.kind = OutputKind::Class as i32), CallStatus::MEMORY);
    assert_eq!(memory(failing_class), 0);
}

#[test]
fn columns_of_kinds() {
    let mut model = model::<f32, f32, f32>();
    let (counts, types) =
        (OutputCounts { values: 1, trees: 9, tree_values: 9, ..COUNTS }, Interface::uniform(Scalar::F32));
    for (kernel, columns) in [(Some(failing as runtime::KernelFn), [1, 2, 1, 9, 9]), (None, [2, 2, 0, 0, 0])]
    {
        model.outputs = OutputDescriptor::all(&counts, &types, |_| kernel);
        assert_eq!(KINDS.map(|kind| runtime::num_outputs(&model, kind)), columns);
    }
}

#[test]
fn many_callers_at_once() {
    thread::scope(|scope| {
        for caller in 0..8 {
            scope.spawn(move || {
                let model = if caller % 2 == 0 { model::<f32, f32, f32>() } else { model::<f64, f64, f32>() };
                for i in 0..60 {
                    let how = CallOptions::plain(KINDS[(caller + i) % 4], Dtype::F64, 1 + (i * 53) % 700);
                    check(&model, CallOptions { threads: 1 + (i % 5) as i32, ..how });
                }
            });
        }
    });
}

/// Counters of the runs of each iteration of a loop.
#[test]
fn loops_run_every_iteration_once() {
    use std::sync::atomic::{AtomicU32, Ordering};

    struct Env {
        counts: Vec<AtomicU32>,
        trip: i64,
    }
    unsafe extern "C" fn count(env: *mut c_void, i: i64) {
        let env = unsafe { &*env.cast::<Env>() };
        env.counts[i as usize].fetch_add(1, Ordering::Relaxed);
    }
    unsafe extern "C" fn raw(ctx: *mut Ctx) {
        unsafe {
            let env = (*(*ctx).tables).cast_mut();
            schedc_rt_parallel(ctx, count, env, (*env.cast::<Env>()).trip);
        }
    }
    for trip in [-1, 0, 1, 2, 3, 63, 64, 65, 1000, 100_003] {
        for threads in [1, 2, 3, 16] {
            let env = Env { counts: (0..trip).map(|_| AtomicU32::new(0)).collect(), trip };
            let tables = [(&raw const env).cast::<c_void>()];
            let model = with(
                with(model::<f32, f32, f32>(), OutputKind::Raw, Some(raw), 2),
                OutputKind::Value,
                None,
                2,
            );
            let model = ModelDescriptor { tables: tables.as_ptr(), ..model };
            assert_eq!(code(&model, |call| call.threads = threads), 0);
            assert!(
                env.counts.iter().all(|n| n.load(Ordering::Relaxed) == 1),
                "{trip} with {threads} threads"
            );
        }
    }
}

#[test]
fn predicts_in_the_child_of_a_fork() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn alarm(seconds: u32) -> u32;
        fn _exit(status: i32) -> !;
    }
    let model = model::<f32, f32, f32>();
    let rows: Vec<f32> = numbers(500).into_iter().map(|x| x as f32).collect();
    let predict = || {
        let mut out = vec![0f32; 1000];
        let mut call =
            Call::new(OutputKind::Value, Dtype::F32, rows.as_ptr().cast(), 500, out.as_mut_ptr().cast());
        call.threads = 4;
        // SAFETY: rows and out have room for 500 rows.
        unsafe { runtime::call(&model, &call) }.map(|()| out)
    };
    let want = predict();
    assert!(want.is_ok());
    for _ in 0..10 {
        let child = unsafe { fork() };
        assert!(child >= 0);
        if child == 0 {
            // The child of a process with threads may call only some functions safely. An alarm ends it if it
            // hangs.
            unsafe {
                alarm(20);
                _exit(i32::from(predict() != want));
            }
        }
        let mut status = -1;
        assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        assert_eq!(predict(), want);
    }
}

// Tests of the runtime by C programs.

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A compiler command with the includes and warnings of every test program.
fn compiler(name: &str) -> Command {
    let mut command = Command::new(name);
    command.args(["-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-O1", "-I"]).arg(source("runtime"));
    command.arg("-I").arg(folder());
    command
}

fn succeed(command: &mut Command) {
    let output = command.output().expect("a C compiler, or a program that it made");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
}

const PROPERTIES: HeaderInfo = HeaderInfo {
    num_features: 3,
    columns: [2; OutputKind::ALL.len()],
    has_categories: false,
    types: Interface::uniform(Scalar::F32),
    rows: AcceptedRowTypes::Converted,
};

/// A folder with the runtime's object and the header of the test artefact, `m.h`.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime");
        fs::create_dir_all(&folder).expect("a folder for test programs");
        for (name, bytes) in [("runtime.o", RUNTIME_OBJECT), ("m.h", header("m", &PROPERTIES).as_bytes())] {
            // Renamed when complete, since another process may run another of these tests at the same time.
            let mine = folder.join(format!("{name}.{}", std::process::id()));
            fs::write(&mine, bytes).expect("a writable folder");
            fs::rename(mine, folder.join(name)).expect("a writable folder");
        }
        folder
    })
}

#[test]
fn artefact_loads_runs_forks_and_unloads() {
    let (library, program) = (folder().join("libm_test.so"), folder().join("host"));
    succeed(
        compiler("cc")
            .args(["-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-o"])
            .arg(&library)
            .arg(source("tests/c/model.c"))
            .arg(folder().join("runtime.o")),
    );
    succeed(
        compiler("cc")
            .args(["-std=c11", "-pthread", "-o"])
            .arg(&program)
            .arg(source("tests/c/host.c"))
            .arg("-rdynamic")
            .arg("-ldl"),
    );
    succeed(Command::new(program).env_remove("SCHEDC_NUM_THREADS").arg(library));
}

#[test]
fn small_calls_allocate_nothing() {
    let program = folder().join("alloc");
    succeed(
        compiler("cc")
            .args(["-std=c11", "-pthread", "-Wl,--wrap=malloc,--wrap=aligned_alloc", "-o"])
            .arg(&program)
            .args([source("tests/c/alloc.c"), source("tests/c/model.c"), folder().join("runtime.o")]),
    );
    succeed(&mut Command::new(program));
}

#[test]
fn many_c_threads_at_once() {
    let program = folder().join("stress");
    succeed(compiler("cc").args(["-std=c11", "-pthread", "-o"]).arg(&program).args([
        source("tests/c/stress.c"),
        source("tests/c/model.c"),
        folder().join("runtime.o"),
    ]));
    succeed(&mut Command::new(program));
}

#[test]
fn runtime_compiles_without_warnings() {
    for name in ["cc", "clang", "clang-19"] {
        if Command::new(name).arg("--version").output().is_err() {
            assert_ne!(name, "cc", "the tests need a C compiler");
            continue;
        }
        succeed(
            compiler(name)
                .args(["-std=c11", "-Wshadow", "-Wpedantic", "-fPIC", "-fsyntax-only"])
                .arg(source("runtime/runtime.c")),
        );
    }
}

/// The structures in Rust, in C and in the public header have the same layout.
#[test]
fn layouts_agree() {
    macro_rules! asserts {
        ($name:literal, $type:ty, $($field:ident)*) => {{
            let size = size_of::<$type>();
            let mut lines = vec![format!("_Static_assert(sizeof({}) == {}, \"\");", $name, size)];
            $(lines.push(format!(
                "_Static_assert(offsetof({}, {}) == {}, \"{}\");",
                $name, stringify!($field), offset_of!($type, $field), stringify!($field)
            ));)*
            lines.join("\n")
        }};
    }
    let call = |name: &str| {
        asserts!("NAME", Call, size kind rows n_rows out dtype threads row_stride scratch scratch_size
            memory device stream missing base_margin columns)
        .replace("NAME", name)
    };
    let column = |name: &str| {
        asserts!("NAME", RawColumn, values validity validity_offset stride dictionary dictionary_size
            values_offset)
        .replace("NAME", name)
    };
    let model = asserts!("schedc_model", ModelDescriptor, size num_features num_margins row_type margin_type
        result_type rows_per_run ns_per_row tables info cpu_needs otherwise gpu other_rows own_row_type
        columns_from outputs);
    let output = asserts!("schedc_output", OutputDescriptor, kernel columns needs);
    let gpu = [
        asserts!("schedc_gpu", GpuDescriptor, num_images num_launches num_tables maker images
            launches table_bytes ranges direct transfer execute state),
        asserts!("schedc_transfer", TransferDescriptor, quantize raw direct block row_bytes least_rows
            least_threads),
        asserts!("schedc_image", ImageDescriptor, bytes capability is_final),
        asserts!("schedc_launch", LaunchDescriptor, name block shared num_arguments is_split),
        asserts!("schedc_range", RunRange, max_rows on_device),
    ];
    let ctx = asserts!("schedc_ctx", Ctx, rows n_rows out tables team status order);
    let numbers: Vec<String> =
        ["ARGUMENT", "CPU", "MEMORY", "UNSUPPORTED", "DRIVER", "DEVICE", "DEVICE_MEMORY", "LAUNCH", "ROWS"]
            .map(|name| format!("ERR_{name}"))
            .into_iter()
            .map(|name| (name.clone(), format!("SCHEDC_{name}")))
            .chain(["HOST", "DEVICE"].map(|name| (name.to_string(), format!("SCHEDC_MEMORY_{name}"))))
            .chain(
                OutputKind::ALL
                    .map(|kind| kind.word().to_uppercase())
                    .map(|name| (name.clone(), format!("SCHEDC_KIND_{name}"))),
            )
            .chain(["F32", "F64", "I32"].map(|name| (name.to_string(), format!("SCHEDC_DTYPE_{name}"))))
            .chain(
                ["F32", "F64", "I32", "I8", "I16", "I64", "U8", "U16", "U32", "U64", "BOOL", "BIT"]
                    .map(|name| (name.to_string(), format!("SCHEDC_COLUMN_{name}"))),
            )
            .map(|(public, own)| format!("_Static_assert((int)M_{public} == (int){own}, \"{own}\");"))
            .collect();
    let needs = [
        (Needs::Margins, "MARGINS"),
        (Needs::Finish, "FINISH"),
        (Needs::FinishOrNone, "FINISH_OR_NONE"),
        (Needs::Walk, "WALK"),
    ]
    .map(|(needs, name)| format!("_Static_assert(SCHEDC_NEEDS_{name} == {}, \"{name}\");", needs as i64));
    let file = folder().join("layouts.c");
    let text = [
        "#include <stddef.h>\n#include \"m.h\"\n#include \"api.h\"".to_owned(),
        call("schedc_call"),
        call("m_call"),
        column("schedc_column"),
        column("m_column"),
        model,
        output,
        needs.join("\n"),
        gpu.join("\n"),
        ctx,
        numbers.join("\n"),
    ];
    fs::write(&file, text.join("\n") + "\n").expect("layouts.c");
    succeed(compiler("cc").args(["-std=c11", "-fsyntax-only"]).arg(file));
}

#[test]
fn header_is_c_and_cpp() {
    let text = header("my_Model2", &PROPERTIES);
    assert!(!text.contains('@'), "a placeholder is left");
    for name in ["MY_MODEL2_NUM_FEATURES 3", "my_Model2_predict(", "MY_MODEL2_ERR_CPU"] {
        assert!(text.contains(name), "{name}");
    }
    let file = folder().join("pure.h");
    fs::write(&file, text).expect("pure.h");
    for language in [["-xc", "-std=c99"], ["-xc++", "-std=c++98"]] {
        // C++98 has no stdint.h, but every compiler does.
        succeed(compiler("cc").args(language).arg("-fsyntax-only").arg(&file));
    }
}

#[test]
fn the_loader_compiles_as_c_and_cpp() {
    let text = loader_header();
    assert!(!text.contains('@'), "a placeholder is left");
    let folder = folder().join("loader");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("schedc.h"), text).expect("schedc.h");
    for prefix in ["schedc", "m"] {
        fs::write(folder.join(format!("{prefix}_model.h")), header(prefix, &PROPERTIES)).expect("a header");
    }
    let all = "schedc.h schedc_model.h m_model.h";
    for order in ["schedc.h", all, "schedc_model.h m_model.h schedc.h"] {
        let includes: Vec<String> = order.split(' ').map(|name| format!("#include \"{name}\"\n")).collect();
        let file = folder.join("all.c");
        fs::write(&file, includes.concat()).expect("all.c");
        for language in [["-xc", "-std=c99"], ["-xc++", "-std=c++11"]] {
            let mut compiler = Command::new("cc");
            let strict = ["-Wall", "-Wextra", "-Werror", "-Wpedantic", "-fsyntax-only"];
            succeed(compiler.args(language).args(strict).arg(&file));
        }
    }
}

#[test]
fn example_compiles() {
    let entry = HeaderInfo { types: Interface { margins: Scalar::F64, ..PROPERTIES.types }, ..PROPERTIES };
    let include = folder().join("example");
    fs::create_dir_all(&include).expect("a folder");
    fs::write(include.join("libmodel.h"), header("schedc", &entry)).expect("libmodel.h");
    let example = source("../../examples/c/predict.c");
    succeed(compiler("cc").args(["-std=c99", "-Wpedantic", "-fsyntax-only", "-I"]).arg(include).arg(example));
}

#[test]
fn prefixes() {
    for good in ["schedc", "m", "My_model2", "schedc_rt2"] {
        assert!(is_valid_prefix(good), "{good}");
    }
    for bad in ["", "2m", "_m", "a-b", "a b", "ä", "m\n", "schedc_rt", &"m".repeat(65)] {
        assert!(!is_valid_prefix(bad), "{bad}");
    }
}
