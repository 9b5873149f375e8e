//! Kernels on resident rows, over the driver of the tests: it runs them on this machine's processor, and its
//! clock counts the blocks of launches. A kernel that accesses other memory than the call's ends the program.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

#[path = "../../llvm/tests/standin/files.rs"]
mod files;

use sched_forest::{Float, Forest, Types};
use sched_gpu::{GpuError, ResidentRows};
use sched_ir::{Budget, Compiled, compile};
use sched_lang::{CheckOptions, CheckPurpose, Target, check};
use sched_llvm::runtime::{Dtype, OutputKind};
use sched_llvm::{Cpu, DeviceCode, EntryInfo, Gpu, Jit, PackedRows};
use sched_testing::forests;
use sched_testing::schedules::Rng;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Nanoseconds of a block by the driver's clock.
const BLOCK_NS: u64 = 1000;
const ROWS: usize = 200;

/// One launch for each call, with a block for every 32 rows.
const DIRECT: &str = "tile(batch, b0, b1, 32)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("resident");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The example model for rows of a type.
fn model(float: Float) -> Forest {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/model/breast_cancer.json");
    let forest = sched_forest::read(&std::fs::read(path).expect("the example model")).expect("a model");
    let mut parts = forest.into_parts();
    parts.types = Types::all(float);
    Forest::new(parts).expect("a forest")
}

fn compiled(forest: &Forest, schedule: &str) -> Compiled {
    let options = CheckOptions {
        model: Some(forests::model_info(forest).into()),
        purpose: CheckPurpose::Display,
        target: schedule.contains("gpuDimension").then(Target::gpu),
        ..CheckOptions::default()
    };
    let nest = check(schedule, &options).nests.expect("a legal schedule");
    compile(forest.clone(), None, nest, &OutputKind::ALL, &Budget::default()).expect("code")
}

fn entry(forest: &Forest) -> EntryInfo {
    EntryInfo {
        num_features: forest.num_features as i32,
        counts: forest.counts(),
        trainer_row_type: if forest.types.input == Float::F64 { Dtype::F64 } else { Dtype::F32 },
        ns_per_row: 100.0,
        info: "{}".to_string(),
        ..EntryInfo::default()
    }
}

/// Code whose kernels are this machine's code.
fn on_gpu(name: &str, forest: &Forest, schedule: &str) -> Jit {
    let compiled = compiled(forest, schedule);
    let folder = folder().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let launches = DeviceCode::of_image(files::image(&folder, &compiled.lir), Gpu::default());
    Jit::compile_with_launches(&compiled.lir, Cpu::X86_64V2, launches, &entry(forest), &OutputKind::ALL)
        .expect("code")
}

/// The time of calls whose launches have this number of blocks.
fn blocks(number: u64) -> Duration {
    Duration::from_nanos(number * BLOCK_NS)
}

/// One test, since the driver reads the environment of the process.
#[test]
fn resident_rows_are_timed_by_events() {
    let driver = files::driver(&folder());
    // SAFETY: this program has one test, and no other thread reads the environment.
    unsafe {
        std::env::set_var("SCHEDC_CUDA_DRIVER", driver);
        std::env::set_var("FAKE_CUDA", format!("clock:{BLOCK_NS}"));
    }
    let forest = model(Float::F32);
    let values = forests::rows_of(&mut Rng(3), &forest, ROWS);
    let code = on_gpu("single", &forest, DIRECT);
    let rows = ResidentRows::new(&code, PackedRows::F64(&values)).expect("rows on the GPU");
    // More calls than the host queues at once, calls that end at the last row, and the largest call.
    for (batch, calls) in [(1, 1), (33, 3), (50, 150), (ROWS, 7)] {
        rows.warm_up(&code, batch).expect("a call");
        let wanted = blocks((batch.div_ceil(32) * calls) as u64);
        assert_eq!(rows.time_calls(&code, batch, calls), Ok(wanted), "{batch} rows, {calls} calls");
    }
    // Code of another schedule runs on the same rows.
    let other = on_gpu("other", &forest, &DIRECT.replace("32)", "64)\ncache(b0)"));
    rows.warm_up(&other, ROWS).expect("a call");
    assert_eq!(rows.time_calls(&other, ROWS, 2), Ok(blocks(2 * 4)));
    drop(other);
    refusals(&rows, &code, &forest);

    // Rows in double precision, from single precision and from double precision.
    let doubles = model(Float::F64);
    let code = on_gpu("double", &doubles, DIRECT);
    let singles: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    for packed in [PackedRows::F32(&singles), PackedRows::F64(&values)] {
        let rows = ResidentRows::new(&code, packed).expect("rows on the GPU");
        rows.warm_up(&code, ROWS).expect("a call");
        assert_eq!(rows.time_calls(&code, ROWS, 2), Ok(blocks(2 * 7)));
    }
    assert!(matches!(rows.time_calls(&code, 1, 1), Err(GpuError::Unsuitable(_))), "rows of another type");
}

fn refusals(rows: &ResidentRows, code: &Jit, forest: &Forest) {
    assert!(matches!(rows.time_calls(code, ROWS + 1, 1), Err(GpuError::Unsuitable(_))), "too few rows");
    let on_host = compiled(forest, "");
    let on_host =
        Jit::compile(&on_host.lir, Cpu::X86_64V2, &entry(forest), &[OutputKind::Raw]).expect("code");
    let refusal = ResidentRows::new(&on_host, PackedRows::F32(&[0.0])).err();
    assert_eq!(refusal, Some(GpuError::Unsuitable("the code runs on the processor")));
    assert!(rows.warm_up(&on_host, 1).is_err());
    let both = on_gpu("both", forest, &format!("{DIRECT}when n_rows <= 20 {{ interleave(tree, 2) }}\n"));
    assert!(rows.warm_up(&both, 20).is_err_and(|error| error.is_call_for_processor()));
    assert_eq!(rows.time_calls(&both, 40, 1), Ok(blocks(2)));
}
