//! The small C runtime of compiled models, seen from Rust.
//!
//! `runtime/rt.h` and `runtime/api.h` say what the structures mean; the ones here have the same layout, which
//! a test compares with what the C compiler says. The runtime is linked into this crate for just-in-time
//! calls, and [`RUNTIME_OBJECT`] carries it into artefacts.

use sched_machines::Level;
use std::{
    ffi::{CStr, c_char, c_void},
    fmt, mem,
};

pub use sched_library::{Call, Counts, Dtype, Element, Kind, Needs};

/// The runtime as one relocatable ELF object, to be linked into every artefact with `-pthread`.
pub static RUNTIME_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.o"));

/// Bit of [`ModelDescriptor::cpu_needs`]: x86-64-v2.
pub const CPU_V2: u64 = Level::V2.bit();
/// Bit of [`ModelDescriptor::cpu_needs`]: x86-64-v3.
pub const CPU_V3: u64 = Level::V3.bit();
/// Bit of [`ModelDescriptor::cpu_needs`]: x86-64-v4.
pub const CPU_V4: u64 = Level::V4.bit();
/// Bit of [`ModelDescriptor::cpu_needs`]: AVX-512 VBMI.
pub const CPU_VBMI: u64 = Level::Vbmi.bit();

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
    /// The call's threads; null runs every loop in the calling thread.
    pub team: *mut Team,
    /// Set through `schedc_rt_fail`; 0 while all is well.
    pub status: i64,
    /// The order of `rows`: [`ROWS`], or where the columns begin.
    pub order: *const i64,
}

/// The order of rows that follow each other.
pub static ROWS: i64 = 0;

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Team")
    }
}

/// A compiled function that works on one run.
pub type KernelFn = unsafe extern "C" fn(*mut Ctx);

/// Everything the runtime needs to know of a compiled model, `schedc_model` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ModelDescriptor {
    /// Bytes of this structure.
    pub size: u32,
    /// Columns of a row.
    pub num_features: i32,
    /// Columns of the raw output.
    pub num_margins: i32,
    /// Columns of the value output.
    pub num_values: i32,
    /// Columns of the leaf output.
    pub num_trees: i32,
    /// The [`Dtype`] of the rows that kernels read.
    pub row_type: i32,
    /// The [`Dtype`] of margins.
    pub margin_type: i32,
    /// The [`Dtype`] of raw and value output.
    pub result_type: i32,
    /// A call is cut into runs of at most this many rows.
    pub rows_per_run: i64,
    /// Rough cost of one row in nanoseconds; decides how many threads are worth waking.
    pub ns_per_row: f64,
    /// Rows to margins.
    pub raw: Option<KernelFn>,
    /// Margins to values of the result type; none: the margins are the values.
    pub value: Option<KernelFn>,
    /// Margins to one `f32` class per row; none: the model has no classes.
    pub klass: Option<KernelFn>,
    /// Rows to `i32` leaves; none: the model does not tell its leaves.
    pub leaf: Option<KernelFn>,
    /// The model's buffers.
    pub tables: *const *const c_void,
    /// JSON text, ended by NUL.
    pub info: *const c_char,
    /// `CPU_*` bits.
    pub cpu_needs: u64,
    /// The same model for processors that lack these; null: none.
    pub otherwise: *const ModelDescriptor,
    /// What the model has for GPUs; null: nothing.
    pub gpu: *const GpuDescriptor,
    /// The columns that kernels read, where these are not the features.
    pub columns: ColumnsDescriptor,
    /// Values that are equal to it are missing, too; NaN: there are none.
    pub missing: f64,
    /// What sums begin with, for kernels that add to what is there; null: they begin themselves.
    pub base: *const c_void,
    /// The same version for rows of another type; null: none.
    pub other_rows: *const ModelDescriptor,
    /// The [`Dtype`] of the rows that the trainer reads. Rows are not rounded to `row_type` where that is narrower.
    pub own_row_type: i64,
    /// Rows to what the leaf of each tree adds, of the type of margins; none: leaves hold vectors, or it was not asked for.
    pub tree: Option<KernelFn>,
    /// Runs of at least so many rows may be handed columns; the largest number: none may.
    pub columns_from: i64,
}

/// Names of categories, `schedc_categories` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CategoriesDescriptor {
    /// Features of the model.
    pub num_features: i64,
    /// Where the names of each feature begin, and where the last ones end.
    pub starts: *const u32,
    /// The names, in ascending order for each feature.
    pub names: *const *const c_char,
    /// Their codes.
    pub codes: *const f64,
}

/// The columns that kernels read, `schedc_columns` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct ColumnsDescriptor {
    /// How many there are; 0: kernels read the features.
    pub count: i32,
    /// How many parts they have.
    pub num_parts: i32,
    /// The first one of four of the model's tables: parts, values, classes and bits.
    pub first_table: i32,
    /// How values become categories.
    pub rule: i32,
    /// The bound of that rule.
    pub below: f64,
}

/// Code for GPUs of one kind, `schedc_image` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Image {
    /// PTX, ended by NUL, a cubin, or a code object.
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
    /// What it takes.
    pub num_arguments: i32,
    /// 1: there are two arguments more, the first block in the directions y and z.
    pub is_split: i32,
}

/// Where runs of up to so many rows take place, `schedc_range` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// Rows of the longest run; the largest number: all other runs.
    pub max_rows: i64,
    /// 1: on a device, 0: on the host.
    pub on_device: i64,
}

/// How rows of the host travel to a device as bins, `schedc_transfer` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TransferDescriptor {
    /// Rows to bins, on the host.
    pub quantize: Option<KernelFn>,
    /// Bins to margins.
    pub raw: Option<KernelFn>,
    /// Bins to predictions; none: margins, and then predictions.
    pub direct: Option<KernelFn>,
    /// Rows of a block of bins.
    pub block: i64,
    /// Bytes of a row's bins.
    pub row_bytes: i64,
    /// Shorter runs take the values.
    pub least_rows: i64,
    /// Calls of fewer threads do, too.
    pub least_threads: i64,
}

/// What a model has for GPUs, `schedc_gpu` in C.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct GpuDescriptor {
    /// Entries of `images`.
    pub num_images: i32,
    /// Entries of `launches`.
    pub num_launches: i32,
    /// Entries of `table_bytes`.
    pub num_tables: i32,
    /// 0: NVIDIA makes the GPU, 1: AMD does.
    pub maker: i32,
    /// The first one that a device can run is used.
    pub images: *const Image,
    /// The launches, by their numbers.
    pub launches: *const LaunchDescriptor,
    /// Bytes of each of the model's tables.
    pub table_bytes: *const i64,
    /// In ascending order; the last one is for all other runs.
    pub ranges: *const Range,
    /// Rows to predictions; none: margins, and then predictions.
    pub direct: Option<KernelFn>,
    /// How rows of the host travel as bins; null: they travel as they are.
    pub transfer: *const TransferDescriptor,
    /// What runs a checked call on a device.
    pub execute: *const (),
    /// A word for the runtime, null at first.
    pub state: *mut *mut c_void,
}

/// [`ModelDescriptor::size`] of this build.
pub const MODEL_SIZE: u32 = mem::size_of::<ModelDescriptor>() as u32;

/// Why a call failed: a status code of `runtime/rt.h` other than 0, and its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    code: i32,
    message: &'static str,
}

impl Status {
    /// A null pointer, a negative count, an unknown kind or dtype, a stride too small.
    pub const ARGUMENT: i32 = 1;
    /// The processor lacks instructions that the model was compiled for.
    pub const CPU: i32 = 2;
    /// Temporary memory could not be had.
    pub const MEMORY: i32 = 3;
    /// The model has no such output kind.
    pub const UNSUPPORTED: i32 = 4;
    /// There is no driver for GPUs.
    pub const DRIVER: i32 = 5;
    /// No GPU of this number, or one that cannot run the code.
    pub const DEVICE: i32 = 6;
    /// Memory of the GPU could not be had.
    pub const DEVICE_MEMORY: i32 = 7;
    /// The GPU failed.
    pub const LAUNCH: i32 = 8;
    /// The rows would have to be rounded, which may lead them to other leaves.
    pub const ROWS: i32 = 9;

    /// The number, as C callers see it.
    pub fn code(self) -> i32 {
        self.code
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for Status {}

/// Runs one call of a model.
///
/// # Safety
/// The model's kernels and tables must fit each other and the counts in `model`; `call.rows`, `call.out` and
/// `call.scratch` must be valid for the rows, stride and sizes that the call names, and must not overlap.
///
/// # Errors
/// The status that the runtime returns; the output is then unspecified.
pub unsafe fn call(model: &ModelDescriptor, call: &Call) -> Result<(), Status> {
    // SAFETY: both structures are live and sized; the caller vouches for what they point to.
    match unsafe { schedc_rt_predict_ex(model, call) } {
        0 => Ok(()),
        code => Err(Status { code, message: message(model, code) }),
    }
}

/// Columns of an output kind; 0 when the model has no such kind.
pub fn num_outputs(model: &ModelDescriptor, kind: Kind) -> i32 {
    // SAFETY: reads plain fields of a live structure.
    unsafe { schedc_rt_num_outputs(model, kind as i32) }
}

/// Element type of an output kind.
pub fn output_type(model: &ModelDescriptor, kind: Kind) -> Dtype {
    // SAFETY: reads plain fields of a live structure.
    Dtype::of(unsafe { schedc_rt_output_type(model, kind as i32) })
}

fn message(model: &ModelDescriptor, code: i32) -> &'static str {
    // SAFETY: the runtime returns string constants.
    let text = unsafe { CStr::from_ptr(schedc_rt_error(model, code)) };
    text.to_str().unwrap_or("unknown status")
}

/// Names and addresses of what generated code may call: the runtime, and a few functions of the C library.
pub fn symbols() -> [(&'static str, *const ()); 14] {
    [
        ("schedc_rt_parallel", schedc_rt_parallel as *const ()),
        ("schedc_rt_alloc", schedc_rt_alloc as *const ()),
        ("schedc_rt_free", schedc_rt_free as *const ()),
        ("schedc_rt_fail", schedc_rt_fail as *const ()),
        ("schedc_rt_launch", schedc_rt_launch as *const ()),
        ("schedc_rt_predict", schedc_rt_predict as *const ()),
        ("schedc_rt_predict_raw", schedc_rt_predict_raw as *const ()),
        ("schedc_rt_predict_ex", schedc_rt_predict_ex as *const ()),
        ("schedc_rt_num_outputs", schedc_rt_num_outputs as *const ()),
        ("schedc_rt_output_type", schedc_rt_output_type as *const ()),
        ("schedc_rt_error", schedc_rt_error as *const ()),
        ("exp", exp as *const ()),
        ("expf", expf as *const ()),
        ("logf", logf as *const ()),
    ]
}

/// What [`GpuDescriptor::execute`] is. Nothing else refers to it, so that what is compiled for processors is linked
/// without it.
pub(crate) fn execute_on_device() -> *const () {
    schedc_rt_execute_on_device as *const ()
}

/// The compute capability of a device, as ten times the major number plus the minor one; none if there is no such device,
/// or no driver.
pub(crate) fn capability(ordinal: i32) -> Option<u32> {
    // SAFETY: the function takes any number.
    u32::try_from(unsafe { schedc_rt_capability(ordinal) }).ok().filter(|found| *found > 0)
}

/// Gives back what a model has on devices.
///
/// # Safety
/// The descriptor is one that calls were made with, and no call is running.
pub(crate) unsafe fn release_devices(gpu: &GpuDescriptor) {
    // SAFETY: as the caller promises.
    unsafe { schedc_rt_release_devices(gpu) }
}

/// The body of a parallel loop: called with the loop's environment and an iteration.
pub type Body = unsafe extern "C" fn(*mut c_void, i64);

unsafe extern "C" {
    /// Runs `body(env, i)` for every `i` in `[0, trip)`, on the call's threads where that is worth it.
    pub fn schedc_rt_parallel(ctx: *mut Ctx, body: Body, env: *mut c_void, trip: i64);
    /// Temporary memory of a run, 64-byte aligned; null after recording a status.
    pub fn schedc_rt_alloc(ctx: *mut Ctx, bytes: i64) -> *mut c_void;
    /// Gives back what [`schedc_rt_alloc`] gave.
    pub fn schedc_rt_free(ctx: *mut Ctx, memory: *mut c_void);
    /// Records why a run failed; the first status stays.
    pub fn schedc_rt_fail(ctx: *mut Ctx, status: i32);

    fn schedc_rt_launch(ctx: *mut Ctx, number: i32, x: i64, y: i64, z: i64, arguments: *mut *mut c_void);
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
    fn schedc_rt_predict_ex(model: *const ModelDescriptor, call: *const Call) -> i32;
    fn schedc_rt_num_outputs(model: *const ModelDescriptor, kind: i32) -> i32;
    fn schedc_rt_output_type(model: *const ModelDescriptor, kind: i32) -> i32;
    fn schedc_rt_error(model: *const ModelDescriptor, status: i32) -> *const c_char;

    fn exp(x: f64) -> f64;
    fn expf(x: f32) -> f32;
    fn logf(x: f32) -> f32;
}
