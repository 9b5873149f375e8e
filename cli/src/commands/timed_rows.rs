//! Rows for timed calls, from a file or random, repeated to fill the largest call.

use crate::args::{RowType, TimedRowOptions};
use crate::model_rows::{precision_of, rows_of_file};
use sched_forest::Float;
use sched_lang::Target;
use sched_llvm::Gpu;
use sched_machines::Maker;
use schedc_data::FeatureValues;
use schedc_driver::compile::gpu_of;
use schedc_driver::{Failure, Model, RowMemory};
use schedc_measure::{RowNumbers, draw_rows};
use std::path::Path;

/// Most feature values of the largest call: a limit on memory (2 GiB of `f64`).
const MOST_NUMBERS: usize = 1 << 28;

/// Rows of the input file, or random ones. `rows` overrides their type, which otherwise is the file's. A
/// model that reads single precision would only round wider rows, so its rows are narrowed.
pub fn rows_of(
    options: &TimedRowOptions,
    rows: Option<RowType>,
    model: &Model,
) -> Result<FeatureValues, Failure> {
    let values = match &options.input {
        Some(input) => read(input, options, model)?,
        None => FeatureValues::F64(draw_rows(model.forest())),
    };
    let default = match (&values, model.trainer_row_type) {
        (FeatureValues::F32(_), _) | (_, Float::F32) => Float::F32,
        _ => Float::F64,
    };
    Ok(values.in_precision(precision_of(rows.map_or(default, Float::from))))
}

/// Random rows for a model, of the type that it reads.
pub fn random_rows(model: &Model) -> FeatureValues {
    FeatureValues::F64(draw_rows(model.forest())).in_precision(precision_of(model.trainer_row_type))
}

/// The rows of a file.
fn read(input: &Path, options: &TimedRowOptions, model: &Model) -> Result<FeatureValues, Failure> {
    let rows = rows_of_file(input, options.columns, model)?;
    if rows.rows == 0 {
        let help = "name a file with at least one row";
        return Err(Failure::usage(format!("{} has no rows to time", input.display()), help));
    }
    Ok(rows.values)
}

/// The rows, repeated until they fill the largest call.
pub fn filled(once: FeatureValues, features: usize, largest: usize) -> Result<RowNumbers, Failure> {
    Ok(match once {
        FeatureValues::F32(once) => RowNumbers::F32(repeated(once, features, largest)?),
        FeatureValues::F64(once) => RowNumbers::F64(repeated(once, features, largest)?),
    })
}

/// Rows repeated until they fill the largest call.
fn repeated<T: Copy>(mut values: Vec<T>, features: usize, largest: usize) -> Result<Vec<T>, Failure> {
    if largest.saturating_mul(features) > MOST_NUMBERS {
        return Err(Failure::usage(
            format!("{largest} rows of {features} features are too many to time in one call"),
            format!("time calls of at most {} rows", MOST_NUMBERS / features),
        ));
    }
    let once = values.len();
    while once > 0 && values.len() < largest * features {
        values.extend_from_within(..once);
    }
    Ok(values)
}

/// Refuses to time kernels on rows in a GPU's memory with an option that has no effect on them.
pub fn check_threads(rows_in: RowMemory, threads: &[i32]) -> Result<(), Failure> {
    if rows_in == RowMemory::Device && threads != [1] {
        return Err(Failure::usage(
            "--threads has no effect on kernels, which --rows-in device times",
            "leave out --threads, or time whole calls with --rows-in host",
        ));
    }
    Ok(())
}

/// Refuses to time the kernels of `what` for a target without kernels, and for GPUs whose driver schedc does
/// not time kernels with.
pub fn check_kernels(rows_in: RowMemory, what: &str, target: &Target) -> Result<(), Failure> {
    if rows_in == RowMemory::Host {
        return Ok(());
    }
    if !target.is_gpu() {
        return Err(runs_on_processor(what));
    }
    let gpu = gpu_of(target)?;
    match gpu.maker() {
        Maker::Nvidia => Ok(()),
        Maker::Amd => Err(Failure::usage(
            format!(
                "{what} is for {gpu}, a GPU of AMD, and --rows-in device times kernels on GPUs of NVIDIA"
            ),
            "time whole calls with --rows-in host, on a machine with this GPU, or name a GPU of NVIDIA as \
             target",
        )),
    }
}

/// Refuses to time kernels of code that has none.
pub fn runs_on_processor(what: &str) -> Failure {
    Failure::usage(
        format!("{what} runs on the processor, and --rows-in device times kernels of GPUs"),
        "name schedules for a GPU, or let schedc choose one with --target gpu; --rows-in host times both \
         kinds",
    )
}

/// Refuses to time kernels on a machine without a GPU.
pub fn check_gpu(rows_in: RowMemory) -> Result<(), Failure> {
    if rows_in == RowMemory::Device && Gpu::installed().is_none() {
        return Err(Failure::usage(
            "--rows-in device times kernels on a GPU of NVIDIA, and this machine has none, or no driver for \
             one (libcuda.so.1)",
            "use a machine with a GPU and its driver; without one, `schedc tune --target gpu --by-counts` \
             compares schedules",
        ));
    }
    Ok(())
}
