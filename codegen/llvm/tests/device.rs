//! Artefacts that run on a device, called from C over a driver that uses this machine's processor.

use crate::launches::{ALL, WALKS, compiled, compiled_for, examples, model, schedules};
use crate::standin::files::image;
use crate::standin::{compiler, driver, folder, source, succeed};
use sched_forest::{Float, Forest, Output, Sigmoid, Transform, TreeTarget, Types};
use sched_ir::Budget;
use sched_ir::interp::{CallMemory, InterpreterOptions, run_with};
use sched_ir::lir::{BinTransfer, Function, KernelKind, Module, OutputKind, Scalar};
use sched_llvm::header::header;
use sched_llvm::{ArtefactForm, Cpu, DeviceCode, EntryInfo, Gpu, ModelVersion, build_versions};
use sched_machines::Maker;
use sched_nest::Accumulation;
use sched_testing::forests;
use sched_testing::schedules::Rng;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The program of `bench/gpu`, which measures artefacts on machines that have a GPU and few other programs.
fn harness() -> &'static Path {
    static HARNESS: OnceLock<PathBuf> = OnceLock::new();
    HARNESS.get_or_init(|| compile_harness("harness", &[]))
}

fn compile_harness(name: &str, options: &[&str]) -> PathBuf {
    let program = folder().join(name);
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/gpu");
    let parts = ["harness.c", "input.c", "driver.c", "check.c", "timing.c", "device.c", "sweep.c"];
    let mut cc = compiler();
    cc.args(options).args(parts.map(|part| bench.join(part)));
    succeed(cc.arg("-o").arg(&program).args(["-ldl", "-lm"]), name);
    program
}

/// A model as an artefact, with rows and their expected results.
struct Case {
    folder: PathBuf,
}

impl Case {
    fn new(name: &str, forest: &Forest, module: &Module, rows: &[f64]) -> Case {
        Case::on(Gpu::default(), name, forest, module, rows)
    }

    fn on(gpu: Gpu, name: &str, forest: &Forest, module: &Module, rows: &[f64]) -> Case {
        Case::with_base(gpu, name, (forest, module), (rows, None))
    }

    /// A case whose calls pass the base margins `base`, if there are any.
    fn with_base(
        gpu: Gpu,
        name: &str,
        (forest, module): (&Forest, &Module),
        (rows, base): (&[f64], Option<&[f64]>),
    ) -> Case {
        let folder = folder().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let case = Case { folder };
        let entry = EntryInfo { base: base.map(|_| forest.base.clone()), ..entry(forest) };
        let launches = DeviceCode::of_image(case.image(module), gpu);
        let version = ModelVersion { module, cpu: Cpu::X86_64V2, entry: &entry, launches: Some(&launches) };
        let library = build_versions(&[version], "m", ArtefactForm::SharedLibrary).expect("a library");
        fs::write(case.path("m.so"), library).expect("a file");
        fs::write(case.path("m.h"), header("m", &entry.for_header(module))).expect("a file");
        fs::write(case.path("case"), results(forest, module, rows, base)).expect("a file");
        let mut cc = compiler();
        succeed(
            cc.arg("-I").arg(&case.folder).arg("-o").arg(case.path("device")).arg(source("device.c")),
            name,
        );
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The launches as a shared library.
    fn image(&self, module: &Module) -> Vec<u8> {
        image(&self.folder, module)
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) {
        let mut program = Command::new(self.path("device"));
        program.arg(self.path("m.so")).arg(self.path("case")).args(arguments);
        program.env_remove("FAKE_CUDA");
        program.env("SCHEDC_CUDA_DRIVER", driver()).env("SCHEDC_HIP_DRIVER", driver());
        succeed(program.envs(environment.iter().copied()), &format!("{environment:?}"));
    }
}

fn entry(forest: &Forest) -> EntryInfo {
    EntryInfo {
        num_features: forest.num_features as i32,
        counts: forest.counts(),
        trainer_row_type: if forest.types.input == Float::F64 {
            sched_llvm::runtime::Dtype::F64
        } else {
            sched_llvm::runtime::Dtype::F32
        },
        ns_per_row: 100.0,
        info: "{}".to_string(),
        feature_names: Vec::new(),
        ..EntryInfo::default()
    }
}

fn as_bytes(values: &[f64], float: Float) -> Vec<u8> {
    let each = |x: &f64| match float {
        Float::F32 => (*x as f32).to_le_bytes().to_vec(),
        Float::F64 => x.to_le_bytes().to_vec(),
    };
    values.iter().flat_map(each).collect()
}

/// Rows and the interpreter's results for them, in the format of the test program.
fn results(forest: &Forest, module: &Module, rows: &[f64], base: Option<&[f64]>) -> Vec<u8> {
    let count = rows.len() / forest.num_features;
    let input = as_bytes(rows, forest.types.input);
    let run_to = |function: &Function, input: &[u8], mut output: Vec<u8>, adds_to_output: bool| {
        let memory = CallMemory { rows: count as i64, input, output: &mut output, tables: &module.tables };
        let options =
            InterpreterOptions { max_steps: u64::MAX, adds_to_output, ..InterpreterOptions::default() };
        run_with(function, memory, &options).unwrap_or_else(|fault| panic!("{fault}"));
        output
    };
    let run = |function: &Function, input: &[u8], bytes| run_to(function, input, vec![0; bytes], false);
    let sums = forest.types.accumulator;
    let base_bytes = base.map(|base| as_bytes(base, sums));
    let kernel = |wanted: KernelKind| module.kernels.iter().find(|(kind, _)| *kind == wanted);
    let margins = kernel(OutputKind::Raw.into()).map(|(_, function)| match &base_bytes {
        Some(base) => run_to(function, &input, base.clone(), true),
        None => run(function, &input, count * forest.num_margins * sums.bytes()),
    });
    let margins = margins.expect("a kernel for margins");
    let columns = forest.value_columns();
    let finished = |wanted: KernelKind, columns: usize| {
        let (_, to) = module.types.of_kernel(wanted);
        kernel(wanted).map(|(_, function)| run(function, &margins, count * columns * to.bytes() as usize))
    };
    assert_eq!(module.types.margins, module.types.results, "raw margins are results");
    let leaves = kernel(OutputKind::Leaf.into())
        .map(|(_, function)| run(function, &input, count * forest.trees.len() * 4));
    let kinds = [
        finished(OutputKind::Value.into(), columns).unwrap_or_else(|| margins.clone()),
        margins.clone(),
        finished(OutputKind::Class.into(), 1).unwrap_or_default(),
        leaves.unwrap_or_default(),
    ];
    let number = |n: usize| (n as i64).to_le_bytes();
    let dtype = usize::from(module.types.rows == Scalar::F64);
    let mut case = [number(count), number(forest.num_features), number(dtype)].concat();
    case.extend(input);
    for output in kinds {
        case.extend(number(output.len() / count));
        case.extend(output);
    }
    case.extend(number(base_bytes.as_ref().map_or(0, |base| base.len() / count)));
    case.extend(base_bytes.into_iter().flatten());
    case.extend(base.map(|_| as_bytes(&forest.base, sums)).unwrap_or_default());
    case
}

fn some_rows(rng: &mut Rng, forest: &Forest, count: usize) -> Vec<f64> {
    let value = |_| match rng.one_in(6) {
        true => f64::NAN,
        false => rng.below(4000) as f64 / 50.0 - 20.0,
    };
    (0..count * forest.num_features).map(value).collect()
}

#[test]
fn every_way_to_call_gives_the_results_of_the_simulator() {
    let forest = model();
    let rows = some_rows(&mut Rng(5), &forest, 300);
    for (name, schedule) in examples() {
        let module = compiled(&forest, &schedule, &ALL).expect("the schedule is legal").lir;
        Case::new(&name, &forest, &module, &rows).run(&[], &[]);
    }
}

/// Powers of two, as in predictions of isolation forests, and logarithms, in both types of results.
#[test]
fn functions_in_launches_equal_those_of_the_interpreter() {
    let sigmoid = Transform::Sigmoid(Sigmoid::Plain { slope: 0.7 });
    let outputs = [
        ("powers", vec![Transform::PowerOfTwo { by: 7.5 }]),
        ("log1p", vec![Transform::LogOnePlusExp]),
        ("probit", vec![sigmoid, Transform::Probit]),
        ("ascending", vec![Transform::Ascending]),
    ];
    let float_of = |name: &str| if name.ends_with("64") { Float::F64 } else { Float::F32 };
    for (name, value) in outputs {
        for name in [format!("{name}32"), format!("{name}64")] {
            let forest = several_margins(float_of(&name), value.clone());
            let module = compiled(&forest, SHARED, &ALL).expect("the schedule is legal").lir;
            Case::new(&name, &forest, &module, &some_rows(&mut Rng(13), &forest, 300)).run(&[], &[]);
        }
    }
}

/// The example model with three margins, to which its trees add in turn, and with these steps to values.
fn several_margins(float: Float, value: Vec<Transform>) -> Forest {
    let mut parts = model().into_parts();
    parts.types = Types::all(float);
    parts.output = Output { value, ..Output::default() };
    (parts.num_margins, parts.base) = (3, vec![0.25, -0.5, 0.75]);
    for (tree, margin) in parts.trees.iter_mut().zip((0..3).cycle()) {
        tree.target = TreeTarget::One(margin);
    }
    Forest::new(parts).expect("trees of one value")
}

/// Calls pass base margins. Those on rows of the host copy them in pieces, as they copy rows, also if rows
/// are transferred as bins. The schedules add sums in threads, in the last block of a group, or in the
/// threads of a block.
#[test]
fn sums_begin_with_the_base_margins_of_rows() {
    let mut rng = Rng(23);
    let single = model();
    let several = (0..).map(|seed| forests::forest(&mut Rng(seed))).find(|forest| {
        forest.num_margins > 1 && forest.types == single.types && !forest.output.value.is_empty()
    });
    let forests = [single, several.expect("a forest with several margins")];
    let budget = Budget { base_is_given: true, ..Budget::default() };
    let ordered = schedules().into_iter().filter(|(_, text)| !text.contains("atomicReduce"));
    for ((_, schedule), number) in ordered.zip(0..) {
        let forest = &forests[number % 2];
        let Some(compiled) = compiled_for(forest, &schedule, &ALL, &budget) else { continue };
        let mut module = compiled.lir;
        module.rows_per_run = Some(70);
        if let Some(transfer) = &mut module.transfer {
            (transfer.least_rows, transfer.bus) = (50, 0);
        }
        let rows = some_rows(&mut rng, forest, 300);
        let base: Vec<f64> =
            (0..300 * forest.num_margins).map(|_| rng.below(64) as f64 / 4.0 - 8.0).collect();
        let name = format!("base{number}");
        let case = Case::with_base(Gpu::default(), &name, (forest, &module), (&rows, Some(&base)));
        case.run(&[], &[]);
    }
}

/// The example model under a schedule, with rows.
fn case_of(name: &str, schedule: &str, count: usize) -> Case {
    let forest = model();
    let module = compiled(&forest, schedule, &ALL).expect("the schedule is legal").lir;
    Case::new(name, &forest, &module, &some_rows(&mut Rng(7), &forest, count))
}

const SHARED: &str =
    "tile(batch, b0, b1, 64)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ncache(b0)\n";

#[test]
fn calls_are_cut_into_pieces() {
    let forest = model();
    let mut module = compiled(&forest, SHARED, &ALL).expect("the schedule is legal").lir;
    module.rows_per_run = Some(70);
    let case = Case::new("pieces", &forest, &module, &some_rows(&mut Rng(3), &forest, 300));
    // With work as late as possible, with streams in two random orders, and with a driver that completes
    // copies of pageable memory immediately.
    for mode in ["", "turns:1", "turns:2", "pageable:1"] {
        case.run(&[], &[("FAKE_CUDA", mode)]);
    }
}

#[test]
fn small_calls_may_stay_on_the_host() {
    let schedule = format!("target gpu\n{SHARED}\nwhen n_rows <= 100 {{\n    interleave(tree, 2)\n}}\n");
    let case = case_of("host_too", &schedule, 300);
    case.run(&[], &[("HOST_TOO", "1")]);
    // Without a device, small calls work.
    let driver = ("SCHEDC_CUDA_DRIVER", "no-such-driver.so");
    case_of("host_alone", &schedule, 90).run(&["0", "then"], &[driver]);
    case.run(&["5"], &[driver]);
}

#[test]
fn failures_have_a_status() {
    let case = case_of("failing", SHARED, 90);
    case.run(&["5"], &[("SCHEDC_CUDA_DRIVER", "no-such-driver.so")]);
    // No device, an old device, and a device with too little shared memory for the rows of a block.
    for fault in ["devices:0", "capability:75", "shared:1000"] {
        case.run(&["6"], &[("FAKE_CUDA", fault)]);
    }
    // A call fails because one step of the driver fails; the next call succeeds.
    for fault in ["alloc:1", "alloc:2", "alloc:3", "load:1"] {
        case.run(&["7", "then"], &[("FAKE_CUDA", fault)]);
    }
    case.run(&["8", "then"], &[("FAKE_CUDA", "launch:1")]);
    case.run(&["0", "then"], &[("FAKE_CUDA", "launch:3")]);
}

#[test]
fn grids_that_are_too_long_for_devices_are_split() {
    let mut forest = model();
    forest.trees.truncate(2);
    let schedule = "gpuDimension(batch, grid.y)\n";
    let module = compiled(&forest, schedule, &WALKS).expect("the schedule is legal").lir;
    let rows = some_rows(&mut Rng(9), &forest, 66_000);
    Case::new("long_grid", &forest, &module, &rows).run(&["0", "then"], &[]);
}

/// Kernels for AMD declare their shared memory, which this driver does not read: no memory is requested.
#[test]
fn gpus_of_amd_run_through_hip() {
    let forest = model();
    let schedule = "tile(batch, b0, b1, 64)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
    let module = compiled(&forest, schedule, &ALL).expect("the schedule is legal").lir;
    let rows = some_rows(&mut Rng(11), &forest, 200);
    let case = Case::on(Gpu::default_of(Maker::Amd), "amd", &forest, &module, &rows);
    case.run(&[], &[]);
    case.run(&["5"], &[("SCHEDC_HIP_DRIVER", "no-such-driver.so")]);
}

/// A case whose runs of at least `least` rows are transferred as bins. Small numbers keep the test fast.
fn of_bins(name: &str, forest: &Forest, schedule: &str, count: usize, least: i64) -> Case {
    let mut module = compiled(forest, schedule, &ALL).expect("the schedule is legal").lir;
    let transfer = module.transfer.as_mut().expect("rows travel as bins");
    // This machine may have few processors.
    (transfer.least_rows, transfer.bus) = (least, 0);
    let rows = some_rows(&mut Rng(17), forest, count);
    // Calls with rows of the other type return the same results.
    let rows: Vec<f64> = rows.into_iter().map(|x| f64::from(x as f32)).collect();
    Case::new(name, forest, &module, &rows)
}

#[test]
fn rows_are_transferred_as_bins() {
    let forest = model();
    let examples: BTreeMap<String, String> = examples().into_iter().collect();
    let mut in_doubles = model();
    in_doubles.types = Types::all(Float::F64);
    let preorder = format!("{SHARED}representation(preorder)\n");
    let hybrid = format!("{SHARED}representation(hybrid)\n");
    let groups =
        format!("{SHARED}tile(tree, t0, t1, 25)\ngpuDimension(t0, block.y)\nrepresentation(quantized)\n");
    let cases = [
        ("bins", &forest, &examples["quantized"], 1),
        ("bins_or_values", &forest, &examples["quantized"], 100),
        ("bins_of_four", &forest, &examples["four_rows"], 1),
        ("bins_preorder", &forest, &preorder, 1),
        ("bins_hybrid", &forest, &hybrid, 1),
        ("bins_of_doubles", &in_doubles, &examples["quantized"], 1),
        ("bins_for_groups", &forest, &groups, 1),
    ];
    for (name, forest, schedule, least) in cases {
        of_bins(name, forest, schedule, 300, least).run(&[], &[]);
    }
}

/// The transfer of rows under a schedule.
fn transfer(forest: &Forest, schedule: &str) -> BinTransfer {
    let compiled = compiled(forest, schedule, &ALL).expect("the schedule is legal");
    compiled.lir.transfer.expect("rows travel as bins")
}

/// Variants for runs whose rows are transferred as bins read the transferred bins, if they read bins at all.
#[test]
fn several_variants_read_bins() {
    let forest = model();
    let quantized = format!("{SHARED}representation(quantized)\n");
    let other = |name: &str, smaller: &str| {
        let schedule = format!("target gpu\n{quantized}\nwhen n_rows <= 5000 {{\n{smaller}}}\n");
        let least = transfer(&forest, &schedule).least_rows;
        of_bins(name, &forest, &schedule, 200, 1).run(&[], &[]);
        let compiled = compiled(&forest, &schedule, &ALL).expect("the schedule is legal");
        (least, compiled.variants.bounded()[0].value.plan.transfer.is_some())
    };
    let alone = transfer(&forest, &quantized).least_rows;
    assert!(alone < 5000);
    let four = "tile(batch, r, s, 64)\ntile(s, b1, b2, 4)\nreorder(r, b1, tree, b2)\n\
                gpuDimension(r, grid.x)\n\
        gpuDimension(b1, block.x)\ncache(r)\nrepresentation(quantized)\nvectorize(b2, 4)\n";
    assert_eq!(other("bins_twice", four), (alone, true));
    assert_eq!(other("bins_or_direct", "gpuDimension(batch, grid.x)\n"), (5001, false));
}

#[test]
fn transfers_have_the_predicted_bytes() {
    let mut forest = model();
    forest.trees.truncate(4);
    let schedule = format!("{SHARED}representation(quantized)\n");
    let BinTransfer { block_rows: block, row_bytes, value_bytes, least_rows, .. } =
        transfer(&forest, &schedule);
    assert_eq!((block, value_bytes), (64, 4 * forest.num_features as u32));
    let saved = |rows: i64| rows * i64::from(value_bytes - row_bytes);
    assert!(saved(least_rows - 1) < 250_000 && saved(least_rows) >= 250_000);
    // Pieces have 4 MiB of values. The last piece may be too short for bins.
    let piece = (4 << 20) / i64::from(value_bytes);
    let travel = |case: &Case, least: i64| {
        let numbers = [least, value_bytes.into(), row_bytes.into(), piece].map(|n| n.to_string());
        let arguments: Vec<&str> = ["bytes"].into_iter().chain(numbers.iter().map(String::as_str)).collect();
        case.run(&arguments, &[]);
    };
    travel(&of_bins("bytes", &forest, &schedule, piece as usize + 1, least_rows), least_rows);
    travel(&of_bins("all_bytes", &forest, &schedule, 130, 65), 65);
    // Two threads with the instructions of every processor quantize more slowly than the bus transfers
    // values.
    let mut module = compiled(&forest, &schedule, &ALL).expect("the schedule is legal").lir;
    module.transfer = Some(BinTransfer { least_rows: 1, ..transfer(&forest, &schedule) });
    let rows = some_rows(&mut Rng(19), &forest, 200);
    travel(&Case::new("too_few_threads", &forest, &module, &rows), 1 << 40);
}

/// A two-dimensional array of 32-bit floats in numpy's format.
fn npy(rows: &[f64], columns: usize) -> Vec<u8> {
    let shape = format!("({}, {columns})", rows.len() / columns);
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &as_bytes(rows, Float::F32)].concat()
}

/// An artefact for a processor, or for the GPU of the tests, in the harness's folder.
fn harnessed(case: &Case, forest: &Forest, schedule: &str, name: &str) -> PathBuf {
    let compiled = compiled(forest, schedule, &ALL).expect("the schedule is legal");
    let module = &compiled.lir;
    let is_exact = matches!(compiled.variants.rest().hir.nest.accumulation, Accumulation::Exact);
    let order = if is_exact { "exact" } else { "reassociated" };
    let info = format!("{{\"order\":\"{order}\",\"types\":{{\"rows\":\"f32\"}}}}");
    let entry = EntryInfo { info, ..entry(forest) };
    let on_device = schedule.contains("gpuDimension");
    let launches = on_device.then(|| DeviceCode::of_image(case.image(module), Gpu::default()));
    let version = ModelVersion { module, cpu: Cpu::X86_64V2, entry: &entry, launches: launches.as_ref() };
    let library = build_versions(&[version], "schedc", ArtefactForm::SharedLibrary).expect("a library");
    fs::write(case.path(name), library).expect("a file");
    case.path(name)
}

/// Runs a command of the harness; returns whether it succeeded, its output, and its errors.
fn measured(case: &Case, part: &str, arguments: &[&str]) -> (bool, String, String) {
    measured_by(harness(), "", case, part, arguments)
}

/// Runs a command of a harness over the driver in some mode.
fn measured_by(
    harness: &Path,
    mode: &str,
    case: &Case,
    part: &str,
    arguments: &[&str],
) -> (bool, String, String) {
    let mut program = Command::new(harness);
    program.arg(part).args(arguments).current_dir(&case.folder);
    program.env("FAKE_CUDA", mode).env("SCHEDC_CUDA_DRIVER", driver());
    let output = program.output().expect("the harness runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_harness_measures_and_compares() {
    let forest = model();
    let case = Case { folder: folder().join("harnessed") };
    fs::create_dir_all(&case.folder).expect("a folder");
    let rows = some_rows(&mut Rng(11), &forest, 50);
    fs::write(case.path("all.npy"), npy(&rows, forest.num_features)).expect("a file");
    let ok = |part: &str, arguments: &[&str]| {
        let (ok, out, err) = measured(&case, part, arguments);
        assert!(ok, "{part} {arguments:?}: {err}{out}");
        out
    };
    ok("pick", &["--sample", "all.npy", "--rows", "40", "--out", "sample.npy"]);
    let picked = fs::read(case.path("sample.npy")).expect("a file");
    assert_eq!(picked[128..], as_bytes(&rows[..40 * forest.num_features], Float::F32));
    let device = ok("device", &["--rows", "100"]);
    assert!(device.contains("\"capability\":\"9.0\"") && device.contains("\"device_gb_s\""), "{device}");

    harnessed(&case, &forest, "", "cpu.so");
    let given = ["--sample", "sample.npy", "--rows", "1000", "--seed", "3"];
    ok("expect", &[&given[..], &["--artefact", "cpu.so", "--out", "expected"]].concat());
    harnessed(&case, &forest, SHARED, "gpu.so");
    let on_device = [&given[..], &["--artefact", "gpu.so", "--expected", "expected"]].concat();
    let checked = ok("check", &on_device);
    for what in ["\"batch\":0,", "\"batch\":33,", "\"batch\":1001,", "\"what\":\"threads\""] {
        assert!(checked.contains(what), "{what}: {checked}");
    }
    assert!(checked.contains("\"batch\":65537,\"left_out\":\"too few rows\""), "{checked}");
    assert!(checked.contains("\"different\":0") && !checked.contains("\"different\":1"), "{checked}");

    let timed = ok("time", &on_device);
    for what in ["kernel", "resident", "host"] {
        assert!(timed.contains(&format!("\"what\":\"{what}\",\"batch\":64,\"us\":")), "{what}: {timed}");
    }
    let late = ok("time", &[&on_device[..], &["--until", "1"]].concat());
    assert!(late.contains("\"batch\":1,\"left_out\":\"no time\""), "{late}");
    assert!(ok("once", &on_device).contains("\"rows\":1000"));
    harness_copies_in_the_stream(&case, &on_device);
    harness_sweeps(&case, &forest, &given);
    harness_detects_wrong_margins(&case, &forest, &given);
}

/// `sweep` checks each artefact of its list against the first one, and times the correct ones.
fn harness_sweeps(case: &Case, forest: &Forest, given: &[&str]) {
    // Other trees give other margins.
    let mut other = forest.clone();
    other.base.iter_mut().for_each(|base| *base += 1.0);
    harnessed(case, &other, SHARED, "other.so");
    fs::write(case.path("list"), "right ./gpu.so\nwrong ./other.so\nagain ./gpu.so\n").expect("a file");
    let mut program = Command::new(harness());
    program.arg("sweep").args(given).args(["--artefact", "cpu.so", "--model", "m"]).current_dir(&case.folder);
    program.stdin(fs::File::open(case.path("list")).expect("a file"));
    program.env("FAKE_CUDA", "").env("SCHEDC_CUDA_DRIVER", driver());
    let output = program.output().expect("the harness runs");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}{out}", String::from_utf8_lossy(&output.stderr));
    let has = |schedule: &str, what: &str| {
        out.lines().any(|line| line.contains(&format!("\"schedule\":\"{schedule}\"")) && line.contains(what))
    };
    for schedule in ["right", "again"] {
        assert!(has(schedule, "\"wrong\":0,\"ok\":true") && has(schedule, "\"batch\":64,\"us\":"), "{out}");
    }
    assert!(has("wrong", "\"ok\":false") && !has("wrong", "\"us\":"), "{out}");
}

/// The test detects a harness that copies rows in the default stream, for which the stream of the call does
/// not wait.
fn harness_copies_in_the_stream(case: &Case, on_device: &[&str]) {
    let (ok, out, err) = measured_by(harness(), "turns:1", case, "check", on_device);
    assert!(ok, "{err}{out}");
    let default_stream =
        "-Dupload_async(to, from, bytes, stream)=upload_async(to, from, bytes, ((void)(stream), NULL))";
    let faulty = compile_harness("faulty_harness", &[default_stream]);
    let (ok, out, err) = measured_by(&faulty, "", case, "check", on_device);
    assert!(
        !ok && err.contains("memory of the device is freed while work in a stream uses it"),
        "{err}{out}"
    );
}

/// Stand-ins for programs that the script calls. Of the CUDA toolkit, one runs the harness, the other counts
/// its calls. The compiler predicts what was expected, and builds the packed artefact for one schedule.
const TOOLS: [(&str, &str); 3] = [
    (
        "sanitizer",
        "#!/bin/sh\n[ \"$2\" != initcheck ] || { echo found something; exit 9; }\nshift 4\nexec \"$@\"\n",
    ),
    (
        "ncu",
        "#!/bin/sh\necho '==PROF== of a kernel'\n\
         echo '\"ID\",\"Kernel \
         Name\",\"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum\",\"smsp__inst_executed.sum\"'\n\
         echo '\"\",\"\",\"\",\"inst\"'\necho '\"0\",\"schedc_raw_b0\",\"1,234\",\"77\"'\n",
    ),
    (
        "schedc",
        "#!/bin/sh\ncase $1 in\n--version) echo schedc ;;\n\
         predict) cp \"$(dirname \"$0\")/forest/expected.csv\" \"$8\" ;;\n\
         inspect) echo ' trees 20 in 20 iterations'; echo ' rows 5 features, 1 margin'; \
         echo ' leaves -1 to 1, mean 0' ;;\n\
         build) case \"$*\" in *rows-64-array-1*) cp \"$(dirname \"$2\")/shared.so\" \"$4\" ;;\n\
         *) echo '[C0013] error: too large' >&2; exit 1 ;;\nesac ;;\nesac\n",
    ),
];

/// Facts that the packing script found.
const FACTS: &str = "{\"part\":\"packed\",\"gpu\":\"sm_80\",\"version\":\"schedc\"}\n\
    {\"part\":\"predicted\",\"model\":\"forest\",\"schedule\":\"shared\",\"rows\":40,\
    \"shared_wavefronts\":4321}\n\
    {\"part\":\"predicted_time\",\"model\":\"forest\",\"schedule\":\"chosen\",\"batch\":64,\"us\":12.5}\n";

/// A folder as the packing script makes it, with two models. The second one has no artefacts for GPUs, and
/// expects other predictions.
fn packed_folder() -> PathBuf {
    let forest = model();
    let packed = folder().join("packed");
    let _ = fs::remove_dir_all(&packed);
    let case = Case { folder: packed.join("forest") };
    fs::create_dir_all(&case.folder).expect("a folder");
    let rows = some_rows(&mut Rng(13), &forest, 40);
    fs::write(case.path("sample.npy"), npy(&rows, forest.num_features)).expect("a file");
    fs::write(case.path("model.json"), "{}").expect("a file");
    fs::write(case.path("expected.csv"), "prediction\n1\n2\n").expect("a file");
    harnessed(&case, &forest, "", "cpu.so");
    harnessed(&case, &forest, SHARED, "shared.so");
    for rest in ["launches.so", "launches.o", "counts.c"] {
        fs::remove_file(case.path(rest)).expect("what the artefact was made of");
    }
    fs::copy(case.path("shared.so"), case.path("chosen.so")).expect("a file");
    let other = packed.join("other");
    fs::create_dir_all(&other).expect("a folder");
    for name in ["sample.npy", "model.json", "cpu.so"] {
        fs::copy(case.path(name), other.join(name)).expect("a file");
    }
    fs::write(other.join("expected.csv"), "prediction\n1\n3\n").expect("a file");
    fs::write(packed.join("models.txt"), "forest 20\nother 20\n").expect("a file");
    fs::write(packed.join("facts.jsonl"), FACTS).expect("a file");
    fs::copy(harness(), packed.join("harness")).expect("a file");
    for (name, script) in TOOLS {
        fs::write(packed.join(name), script).expect("a file");
        fs::set_permissions(packed.join(name), fs::Permissions::from_mode(0o755)).expect("a program");
    }
    packed
}

#[test]
fn one_call_measures_a_folder() {
    let packed = packed_folder();
    let run = |driver: &Path, limit: &str| {
        let mut script = Command::new("bash");
        script.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/gpu/run.sh")).arg(&packed);
        script.env_remove("FAKE_CUDA").env("SCHEDC_CUDA_DRIVER", driver).env("ROWS", "500");
        script.env("LIMIT", limit);
        script.env("SANITIZER", packed.join("sanitizer")).env("NCU", packed.join("ncu"));
        let output = script.output().expect("the script runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, out, err) = run(driver(), "240");
    // A tool reports an error, and a model has other predictions than expected.
    assert_eq!(status, Some(1), "{err}{out}");
    assert!(err.contains("failed: initcheck of forest shared: status 1: found something"), "{err}");
    assert!(err.contains("failed: predict of other chosen: status 1: predictions differ"), "{err}");
    assert!(!err.contains("failed: predict of forest"), "{err}");
    let line = |words: &[&str]| out.lines().any(|line| line.split_whitespace().eq(words.iter().copied()));
    assert!(line(&["forest", "shared", "4321", "1234"]), "{out}");
    assert!(out.contains("FAILED: forest shared: initcheck"), "{out}");
    assert!(out.contains("schedc predict --target gpu, other: 2 rows, 1 different"), "{out}");
    assert!(!out.contains(": check") && !out.contains("WRONG"), "{out}");
    let result = fs::read_to_string(packed.join("result.json")).expect("a file");
    let has = |words: &[&str]| result.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(result.starts_with("{\"format\":2,") && result.contains("\"failures\":3"), "{result}");
    for part in ["check", "time", "memcheck", "ncu"] {
        assert!(has(&[&format!("\"part\":\"{part}\""), "\"schedule\":\"chosen\""]), "{part}: {result}");
    }
    assert!(has(&["\"part\":\"predict\",\"model\":\"forest\",\"rows\":2,\"different\":0", "\"ok\":true"]));
    let regret = ["\"part\":\"regret\",\"model\":\"forest\",\"batch\":64,", "\"predicted_us\":12.5,"];
    assert!(
        has(&[&regret[..], &["\"chosen_us\":", "\"fastest_us\":", "\"in_order\":\""]].concat()),
        "{result}"
    );
    let has_python = Command::new("python3").arg("--version").output().is_ok();
    // The sweep timed the packed artefacts, and the one that was built.
    let in_sweep = ["\"of\":\"sweep\",\"schedules\":3,"];
    assert_eq!(has(&[&regret[..], &in_sweep].concat()), has_python, "{result}");
    assert!(has(&["\"part\":\"not_built\"", "too large"]) == has_python, "{result}");
    // Without time, only the device is measured, and all else is reported.
    let (status, out, err) = run(driver(), "1");
    assert_eq!(status, Some(0), "{err}{out}");
    for part in [
        "predict of forest chosen",
        "expect of forest cpu",
        "time of forest chosen",
        "sweep",
        "ncu of forest chosen",
    ] {
        assert!(err.contains(&format!("left out: {part}: no time")), "{part}: {err}");
    }
    let result = fs::read_to_string(packed.join("result.json")).expect("a file");
    assert!(result.contains("\"part\":\"device\"") && result.contains("\"failures\":0"), "{result}");
    assert!(!result.contains("\"us\":0") && !result.contains("\"part\":\"regret\""), "{result}");
    let (status, out, err) = run(Path::new("no-such-driver.so"), "240");
    assert!(status == Some(1) && err.contains("this machine has no GPU or no driver"), "{err}{out}");
}

/// The harness detects wrong margins, within a bound if trees are added in another order.
fn harness_detects_wrong_margins(case: &Case, forest: &Forest, given: &[&str]) {
    let check = |artefact: &str, more: &[&str]| {
        measured(case, "check", &[given, &["--artefact", artefact, "--expected", "expected"], more].concat())
    };
    // One bit of one margin.
    let mut expected = fs::read(case.path("expected")).expect("a file");
    expected[4 * 600] ^= 1;
    fs::write(case.path("expected"), &expected).expect("a file");
    let (ok, out, err) = check("gpu.so", &[]);
    assert!(!ok && err.contains("margins are wrong"), "{err}{out}");
    assert!(out.contains("\"different\":1,\"wrong\":1,"), "{out}");
    let grouped =
        format!("tile(batch, b0, b1, 64)\ntile(tree, t0, t1, 25)\nreorder(b0, b1, t0, t1)\n{GROUPED}");
    harnessed(case, forest, &grouped, "grouped.so");
    let (ok, out, err) = check("grouped.so", &["--magnitude", "1e3"]);
    assert!(ok && out.contains("\"exact\":false"), "{err}{out}");
    let (ok, out, _) = check("grouped.so", &["--magnitude", "1e-9"]);
    assert!(!ok, "{out}");
    // Rows that do not belong to the margins.
    let (ok, _, err) = check("gpu.so", &["--rows", "999"]);
    assert!(!ok && err.contains("--expected has other rows than"), "{err}");
}

const GROUPED: &str = "gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ngpuDimension(t0, block.y)\n";
