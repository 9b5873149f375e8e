//! Rust declarations of the small C runtime of compiled models.
//!
//! `runtime/rt.h` and `runtime/api.h` document the structures; a test compares the layout of those here with
//! the C compiler's. The runtime is linked into this crate for code in memory, and [`RUNTIME_OBJECT`] is
//! linked into artefacts.

use sched_ir::lir::{Interface, Scalar};
use std::{
    ffi::{CStr, c_char, c_void},
    fmt, mem, ptr,
};

pub use sched_library::{
    Call, CallError, Dtype, Element, HandleFunctions, ModelHandle, Needs, OutputCounts, OutputKind,
    OutputVisitor,
};

/// The runtime as one relocatable ELF object; artefacts are linked with it and `-pthread`.
pub static RUNTIME_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.o"));

/// The threads of one call; opaque.
#[repr(C)]
pub struct Team {
    _opaque: [u8; 0],
}

/// One run of a kernel, `schedc_ctx` in C.
#[repr(C)]
#[derive(Debug)]
pub struct Ctx {
    /// Packed row-major input of the kernel.
    pub rows: *const c_void,
    /// Rows of the run.
    pub n_rows: i64,
    /// Packed row-major output of the kernel.
    pub out: *mut c_void,
    /// The model's buffers.
    pub tables: *const *const c_void,
    /// The call's threads; null: the calling thread runs every loop.
    pub team: *mut Team,
    /// Status of the first failure, of this run or of its part on the GPU; 0: no failure.
    pub status: i64,
    /// The order of `rows`: [`ROW_MAJOR`], or the positions at which columns begin.
    pub order: *const i64,
}

/// Value of [`Ctx::order`] for rows that are contiguous.
pub static ROW_MAJOR: i64 = 0;

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Team")
    }
}

/// A compiled function, which computes one run.
pub type KernelFn = unsafe extern "C" fn(*mut Ctx);

/// An output of a model, `schedc_output` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct OutputDescriptor {
    /// The kernel of this output alone; none: the margins are the results, or the model lacks the output.
    pub kernel: Option<KernelFn>,
    /// Number of its values per row; 0: the model lacks the output.
    pub columns: i32,
    /// The [`Dtype`] of its elements.
    pub dtype: i32,
    /// The [`Needs`] of the output.
    pub needs: i64,
}

impl OutputDescriptor {
    /// The description of an output, without the address of its kernel. `has_kernel` says whether the code
    /// has such a kernel.
    pub(crate) fn of(
        kind: OutputKind,
        counts: &OutputCounts,
        types: &Interface,
        has_kernel: bool,
    ) -> OutputDescriptor {
        OutputDescriptor {
            kernel: None,
            columns: count_as_i32(kind.columns_of_code(counts, has_kernel)),
            dtype: dtype(types.output(kind)) as i32,
            needs: kind.needs() as i64,
        }
    }

    /// All outputs of a model, from the addresses of their own kernels.
    pub fn all(
        counts: &OutputCounts,
        types: &Interface,
        kernel: impl Fn(OutputKind) -> Option<KernelFn>,
    ) -> [OutputDescriptor; OutputKind::ALL.len()] {
        OutputKind::ALL.map(|kind| {
            let kernel = kernel(kind);
            OutputDescriptor { kernel, ..OutputDescriptor::of(kind, counts, types, kernel.is_some()) }
        })
    }
}

/// The type of an element of rows or of an output.
pub fn dtype(scalar: Scalar) -> Dtype {
    match scalar {
        Scalar::F64 => Dtype::F64,
        Scalar::I32 => Dtype::I32,
        _ => Dtype::F32,
    }
}

/// A count in the runtime's form.
pub(crate) fn count_as_i32(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// A compiled model, `schedc_model` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ModelDescriptor {
    /// Bytes of this structure.
    pub size: u32,
    /// Number of features of a row.
    pub num_features: i32,
    /// Number of margins of a row.
    pub num_margins: i32,
    /// The [`Dtype`] of the rows that kernels read.
    pub row_type: i32,
    /// The [`Dtype`] of margins.
    pub margin_type: i32,
    /// The [`Dtype`] of raw and value output.
    pub result_type: i32,
    /// Most rows of a run: the runtime splits longer calls into runs.
    pub rows_per_run: i64,
    /// Estimated time of one row, in nanoseconds. The runtime compares it with the cost of waking a thread.
    pub ns_per_row: f64,
    /// The model's buffers.
    pub tables: *const *const c_void,
    /// JSON text, ended by NUL.
    pub info: *const c_char,
    /// `CPU_*` bits.
    pub cpu_needs: u64,
    /// Version of the model for processors that lack these instructions; null: none.
    pub otherwise: *const ModelDescriptor,
    /// Code for GPUs; null: none.
    pub gpu: *const GpuDescriptor,
    /// A value that counts as missing, in addition to NaN; NaN: none.
    pub missing: f64,
    /// Initial values of the margins, for kernels that add to their output; null: kernels set them.
    pub base: *const c_void,
    /// Version for the same processors and rows of another type; null: none.
    pub other_rows: *const ModelDescriptor,
    /// The [`Dtype`] of the rows that the trainer's program reads. The runtime refuses rows that it would
    /// have to round to `row_type`.
    pub own_row_type: i64,
    /// Fewest rows of a run whose input may be columns instead of rows; the largest number: no run.
    pub columns_from: i64,
    /// The outputs, by [`OutputKind`].
    pub outputs: [OutputDescriptor; OutputKind::ALL.len()],
}

impl ModelDescriptor {
    /// Returns an output's own kernel.
    pub fn kernel(&self, kind: OutputKind) -> Option<KernelFn> {
        self.outputs[kind as usize].kernel
    }
}

/// Code for GPUs of one kind, `schedc_image` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ImageDescriptor {
    /// PTX that ends with NUL, a cubin, or a code object.
    pub bytes: *const c_void,
    /// Ten times the major number of the compute capability, plus the minor one.
    pub capability: i64,
    /// 1: a cubin, for GPUs of the same major number only.
    pub is_final: i64,
}

/// A function that runs on a GPU, `schedc_launch` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LaunchDescriptor {
    /// Its name in the images.
    pub name: *const c_char,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of memory that the threads of a block share.
    pub shared: u32,
    /// Number of its parameters.
    pub num_arguments: i32,
    /// 1: it has two more parameters, the first block in the directions y and z.
    pub is_split: i32,
}

/// The place, host or device, of runs whose number of rows is in a range, `schedc_range` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RunRange {
    /// Rows of the longest run of the range; the largest number: all other runs.
    pub max_rows: i64,
    /// 1: on a device, 0: on the host.
    pub on_device: i64,
}

/// Transfer of the host's rows to a device as bins, `schedc_transfer` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TransferDescriptor {
    /// Quantizes rows, on the host.
    pub quantize: Option<KernelFn>,
    /// Computes margins from bins.
    pub raw: Option<KernelFn>,
    /// Computes predictions from bins; none: `raw` and then `value`.
    pub direct: Option<KernelFn>,
    /// Rows of a block of bins.
    pub block: i64,
    /// Bytes of a row's bins.
    pub row_bytes: i64,
    /// Fewest rows of a run whose rows are transferred as bins; shorter runs transfer values.
    pub least_rows: i64,
    /// Fewest threads of a call whose rows are transferred as bins; other calls transfer values.
    pub least_threads: i64,
}

/// Code of a model for GPUs, `schedc_gpu` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct GpuDescriptor {
    /// Entries of `images`.
    pub num_images: i32,
    /// Entries of `launches`.
    pub num_launches: i32,
    /// Entries of `table_bytes`.
    pub num_tables: i32,
    /// Maker of the GPU; 0: NVIDIA, 1: AMD.
    pub maker: i32,
    /// Images; a device uses the first one that it can run.
    pub images: *const ImageDescriptor,
    /// The launches, by their numbers.
    pub launches: *const LaunchDescriptor,
    /// Bytes of each of the model's tables.
    pub table_bytes: *const i64,
    /// Ranges of run lengths, in ascending order; the last one covers all longer runs.
    pub ranges: *const RunRange,
    /// Computes predictions from rows; none: `raw` and then `value`.
    pub direct: Option<KernelFn>,
    /// Writes the model's initial margins, if kernels add to their output.
    pub base: Option<KernelFn>,
    /// Packs columns in device memory into rows.
    pub pack: Option<KernelFn>,
    /// Transfer of rows as bins; null: rows are transferred as values.
    pub transfer: *const TransferDescriptor,
    /// Function of the runtime that runs a checked call on a device.
    pub execute: *const (),
    /// State of the runtime, null at first.
    pub state: *mut *mut c_void,
}

/// [`ModelDescriptor::size`] of this build.
pub const MODEL_SIZE: u32 = mem::size_of::<ModelDescriptor>() as u32;

/// Reason for which a call failed: a status code of `runtime/rt.h` other than 0, with its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallStatus {
    code: i32,
    message: &'static str,
}

impl CallStatus {
    /// A null pointer, a negative count, an unknown kind or type, or a stride that is too small.
    pub const ARGUMENT: i32 = 1;
    /// The processor lacks instructions that the model was compiled for.
    pub const CPU: i32 = 2;
    /// No temporary memory is left.
    pub const MEMORY: i32 = 3;
    /// The model has no output of this kind.
    pub const UNSUPPORTED: i32 = 4;
    /// No driver for GPUs is installed.
    pub const DRIVER: i32 = 5;
    /// No GPU has this number, or it cannot run the code.
    pub const DEVICE: i32 = 6;
    /// No memory of the GPU is left.
    pub const DEVICE_MEMORY: i32 = 7;
    /// The GPU failed.
    pub const LAUNCH: i32 = 8;
    /// Rows would have to be rounded, and could then reach other leaves.
    pub const ROWS: i32 = 9;

    /// Returns the number that C callers see.
    pub fn code(self) -> i32 {
        self.code
    }
}

impl fmt::Display for CallStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for CallStatus {}

impl From<CallStatus> for CallError {
    fn from(status: CallStatus) -> CallError {
        CallError { status: Some(status.code), message: status.message.to_string() }
    }
}

/// Runs one call of a model.
///
/// # Safety
/// The model's kernels and tables fit each other and the counts in `model`. `call.rows`, `call.out` and
/// `call.scratch` are valid for the rows, stride and sizes of the call, and do not overlap.
///
/// # Errors
/// The status that the runtime returns; the output is then unspecified.
pub unsafe fn call(model: &ModelDescriptor, call: &Call) -> Result<(), CallStatus> {
    // SAFETY: both structures are live and sized; the caller guarantees the memory that they point to.
    match unsafe { schedc_rt_predict_ex(ptr::from_ref(model).cast(), call) } {
        0 => Ok(()),
        code => Err(CallStatus { code, message: message(model, code) }),
    }
}

/// Returns the number of values per row of an output; 0 if the model has no output of this kind.
pub fn num_outputs(model: &ModelDescriptor, kind: OutputKind) -> i32 {
    // SAFETY: the function reads fields of a live structure.
    unsafe { schedc_rt_num_outputs(ptr::from_ref(model).cast(), kind as i32) }
}

/// Returns the element type of an output.
pub fn output_type(model: &ModelDescriptor, kind: OutputKind) -> Dtype {
    // SAFETY: the function reads fields of a live structure.
    Dtype::of(unsafe { schedc_rt_output_type(ptr::from_ref(model).cast(), kind as i32) })
}

/// Returns a handle by which other modules of this process call a model.
///
/// # Safety
/// As for [`call`], as long as a copy of the handle is in use.
pub unsafe fn handle(model: &ModelDescriptor) -> ModelHandle {
    let num_features = usize::try_from(model.num_features).unwrap_or(0);
    let functions = HandleFunctions {
        num_outputs: schedc_rt_num_outputs,
        output_type: schedc_rt_output_type,
        predict_ex: schedc_rt_predict_ex,
        error: schedc_rt_error,
        info: schedc_rt_info,
    };
    // SAFETY: these are functions of the runtime; the caller keeps the model alive.
    unsafe { ModelHandle::new(ptr::from_ref(model).cast(), num_features, functions) }
}

fn message(model: &ModelDescriptor, code: i32) -> &'static str {
    // SAFETY: the runtime returns string constants.
    let text = unsafe { CStr::from_ptr(schedc_rt_error(ptr::from_ref(model).cast(), code)) };
    text.to_str().unwrap_or("unknown status")
}

/// Names and addresses of functions that generated code may call: the runtime, and a few functions of the C
/// library.
pub fn symbols() -> [(&'static str, *const ()); 14] {
    [
        ("schedc_rt_parallel", schedc_rt_parallel as *const ()),
        ("schedc_rt_alloc", schedc_rt_alloc as *const ()),
        ("schedc_rt_free", schedc_rt_free as *const ()),
        ("schedc_rt_fail", schedc_rt_fail as *const ()),
        ("schedc_rt_launch", schedc_rt_launch as *const ()),
        ("schedc_rt_counters", schedc_rt_counters as *const ()),
        ("schedc_rt_predict", schedc_rt_predict as *const ()),
        ("schedc_rt_predict_raw", schedc_rt_predict_raw as *const ()),
        ("schedc_rt_predict_ex", schedc_rt_predict_ex as *const ()),
        ("schedc_rt_num_outputs", schedc_rt_num_outputs as *const ()),
        ("schedc_rt_output_type", schedc_rt_output_type as *const ()),
        ("schedc_rt_error", schedc_rt_error as *const ()),
        ("exp", exp as *const ()),
        ("expf", expf as *const ()),
    ]
}

/// Returns the value of [`GpuDescriptor::execute`]. No other code refers to that function, so libraries for
/// processors alone are linked without it.
pub(crate) fn execute_on_device() -> *const () {
    schedc_rt_execute_on_device as *const ()
}

/// Returns ten times the major number of a device's compute capability, plus the minor one; none without such
/// a device or a driver.
pub(crate) fn capability(ordinal: i32) -> Option<u32> {
    // SAFETY: the function takes any number.
    u32::try_from(unsafe { schedc_rt_capability(ordinal) }).ok().filter(|found| *found > 0)
}

/// Releases the memory and modules of a model on devices.
///
/// # Safety
/// Calls were made with the descriptor, and none is running.
pub(crate) unsafe fn release_devices(gpu: &GpuDescriptor) {
    // SAFETY: as the caller promises.
    unsafe { schedc_rt_release_devices(gpu) }
}

/// Body of a parallel loop. Its arguments are the loop's environment and an iteration.
pub type LoopBodyFn = unsafe extern "C" fn(*mut c_void, i64);

unsafe extern "C" {
    /// Runs `body(env, i)` for every `i` in `[0, trip)`, on the call's threads if the loop is long enough.
    pub fn schedc_rt_parallel(ctx: *mut Ctx, body: LoopBodyFn, env: *mut c_void, trip: i64);
    /// Allocates temporary memory of a run, aligned to 64 bytes; returns null after it has recorded a status.
    pub fn schedc_rt_alloc(ctx: *mut Ctx, bytes: i64) -> *mut c_void;
    /// Frees memory of [`schedc_rt_alloc`].
    pub fn schedc_rt_free(ctx: *mut Ctx, memory: *mut c_void);
    /// Records the status of a failed run; the first status stays.
    pub fn schedc_rt_fail(ctx: *mut Ctx, status: i32);

    fn schedc_rt_launch(ctx: *mut Ctx, number: i32, x: i64, y: i64, z: i64, arguments: *mut *mut c_void);
    fn schedc_rt_counters(ctx: *mut Ctx, bytes: i64) -> *mut c_void;
    fn schedc_rt_execute_on_device(plan: *const c_void) -> i32;
    fn schedc_rt_capability(ordinal: i32) -> i32;
    fn schedc_rt_release_devices(gpu: *const GpuDescriptor);
    fn schedc_rt_predict(model: *const ModelDescriptor, rows: *const f32, n_rows: i64, out: *mut f32) -> i32;
    fn schedc_rt_predict_raw(
        model: *const ModelDescriptor,
        rows: *const f32,
        n_rows: i64,
        out: *mut f32,
    ) -> i32;
    // These functions take the address of a `ModelDescriptor` as an untyped pointer, since a `ModelHandle`
    // has only the address.
    fn schedc_rt_predict_ex(model: *const c_void, call: *const Call) -> i32;
    fn schedc_rt_num_outputs(model: *const c_void, kind: i32) -> i32;
    fn schedc_rt_output_type(model: *const c_void, kind: i32) -> i32;
    fn schedc_rt_error(model: *const c_void, status: i32) -> *const c_char;
    fn schedc_rt_info(model: *const c_void) -> *const c_char;

    fn exp(x: f64) -> f64;
    fn expf(x: f32) -> f32;
}
