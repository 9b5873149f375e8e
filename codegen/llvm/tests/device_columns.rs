//! Calls with columns in a device's memory, from C over a driver that uses this machine's processor.

use crate::launches::compiled;
use crate::standin::files::image;
use crate::standin::{compiler, driver, folder, source, succeed};
use sched_forest::{Float, Forest, ForestParts, Types};
use sched_ir::lir::{
    Address, Bin, BuildStmts, Builder, Cmp, Function, GpuAxis, GpuDimension, GpuLevel, KernelKind, Module,
    OutputKind, Scalar, Space, Ty,
};
use sched_llvm::header::header;
use sched_llvm::runtime::{Dtype, OutputCounts};
use sched_llvm::{ArtefactForm, Cpu, DeviceCode, EntryInfo, Gpu, ModelVersion, build_versions};
use std::fs;
use std::path::Path;
use std::process::Command;

const SCHEDULE: &str = "tile(batch, b0, b1, 64)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";

/// A kernel whose margins are the values of its rows.
fn copy(features: usize, element: Scalar) -> Function {
    const THREADS: u32 = 128;
    let mut b = Builder::with_index("raw", Scalar::I32);
    let (rows, out) = (b.buffer("rows", Space::Input, element), b.buffer("out", Space::Output, element));
    let n = b.n_rows();
    let count = b.mul_int(n, features as i64);
    let more = b.add_int(count, i64::from(THREADS) - 1);
    let (threads, one) = (b.int(THREADS.into()), b.int(1));
    let blocks = b.bin(Bin::IDiv, more, threads);
    b.launch("copy", [blocks, one, one], [THREADS, 1, 1], |b| {
        let [block, thread] =
            [GpuLevel::Grid, GpuLevel::Block].map(|level| b.id(GpuDimension { level, axis: GpuAxis::X }));
        let before = b.mul_int(block, THREADS.into());
        let at = b.add(before, thread);
        let exists = b.cmp(Cmp::Lt, at, count);
        b.when(exists, |b| {
            let value = b.load(Ty::of(element), Address::element(rows, at, element));
            b.store(Address::element(out, at, element), value);
        });
    });
    b.finish()
}

/// The module of a model with `features` features whose raw output is its rows. The kernel that packs columns
/// is that of the compiler.
fn module_of_rows(features: usize, float: Float) -> Module {
    let parts = ForestParts {
        num_features: features,
        num_margins: 1,
        base: vec![0.0],
        types: Types::all(float),
        ..ForestParts::default()
    };
    let forest = Forest::new(parts).expect("a forest without trees");
    let mut module = compiled(&forest, SCHEDULE, &[OutputKind::Raw]).expect("the schedule is legal").lir;
    module.kernels.retain(|(kind, _)| *kind == KernelKind::PackColumns);
    assert_eq!(module.kernels.len(), 1, "a kernel packs columns");
    module.kernels.insert(0, (KernelKind::RAW, copy(features, module.types.rows)));
    module.tables.clear();
    module
}

fn library(folder: &Path, module: &Module, features: usize) {
    let entry = EntryInfo {
        num_features: features as i32,
        counts: OutputCounts { values: 0, margins: features, classes: 0, trees: 0, tree_values: 0 },
        trainer_row_type: Dtype::F32,
        ns_per_row: 100.0,
        info: "{}".to_string(),
        ..EntryInfo::default()
    };
    let launches = DeviceCode::of_image(image(folder, module), Gpu::default());
    let version = ModelVersion { module, cpu: Cpu::X86_64V2, entry: &entry, launches: Some(&launches) };
    let library = build_versions(&[version], "m", ArtefactForm::SharedLibrary).expect("a library");
    fs::write(folder.join("m.so"), library).expect("a file");
    fs::write(folder.join("m.h"), header("m", &entry.for_header(module))).expect("a file");
}

/// Columns of all types are rows on the device as they are on the host: with strides, bitmaps and
/// dictionaries, in one launch or several, and in several runs.
#[test]
fn columns_on_a_device_are_packed_as_on_the_host() {
    for (features, float, rows_per_run) in [
        (1, Float::F32, None),
        (8, Float::F64, Some(70)),
        (30, Float::F32, Some(128)),
        (37, Float::F64, None),
    ] {
        let name = format!("columns{features}");
        let folder = folder().join(&name);
        fs::create_dir_all(&folder).expect("a folder");
        let mut module = module_of_rows(features, float);
        module.rows_per_run = rows_per_run;
        library(&folder, &module, features);
        let program = folder.join("device_columns");
        let mut cc = compiler();
        let cc = cc.arg("-I").arg(&folder).arg("-o").arg(&program).arg(source("device_columns.c"));
        succeed(cc.args(["-ldl", "-lm"]), &name);
        let mut call = Command::new(&program);
        call.arg(folder.join("m.so")).arg(features.to_string());
        call.arg(if float == Float::F64 { "1" } else { "0" });
        succeed(call.env_remove("FAKE_CUDA").env("SCHEDC_CUDA_DRIVER", driver()), &name);
    }
}
