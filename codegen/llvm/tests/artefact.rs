//! Artefacts: their exports, their results, and their linking.

use crate::launches;
use libloading::{Library, Symbol};
use sched_diagnostics::internal;
use sched_forest::{
    Comparison, Float, Forest, ForestParts, Inner, Leaf, NodeRef, Predicate, Tree, TreeTarget, Types, predict,
};
use sched_ir::lir::*;
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_llvm::header::{self, header};
use sched_llvm::{
    ArtefactForm, ArtefactName, ArtefactOptions, CompiledCode, Cpu, EntryInfo, Jit, ModelVersion,
    PackedResults, PackedRows, build, build_named, build_versions, codes, runtime,
};
use sched_nest::Variants;
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const F32: Ty = Ty::of(Scalar::F32);
const FEATURES: usize = 3;

/// Bytes that no generated text contains by chance.
const MARK: &str = "secret weights of trees";

/// A linear model: margins are the products of rows with a table, values are their exponentials, classes are
/// 1 for positive margins, and leaves are row numbers.
fn linear(weights: [f32; FEATURES]) -> (Module, EntryInfo) {
    let bytes: Vec<u8> = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
    let module = Module {
        kernels: vec![
            (OutputKind::Raw.into(), margins()),
            (OutputKind::Value.into(), each("value", Scalar::F32, |b, x, _| b.math(Math::Exp, x))),
            (OutputKind::Class.into(), each("class", Scalar::F32, class)),
            (
                OutputKind::Leaf.into(),
                each("leaf", Scalar::I32, |b, _, i| b.cast(Cast::Trunc, i, Ty::of(Scalar::I32))),
            ),
        ],
        tables: vec![
            Table { name: "weights".into(), bytes: bytes.into() },
            Table { name: "mark".into(), bytes: MARK.as_bytes().into() },
        ],
        types: Interface::uniform(Scalar::F32),
        rows_per_run: Some(1000),
        processors: Variants::only(ProcessorKind::Host),
        least_column_rows: None,
        transfer: None,
    };
    let entry = EntryInfo {
        num_features: FEATURES as i32,
        counts: runtime::OutputCounts { values: 1, margins: 1, classes: 1, trees: 1, tree_values: 1 },
        trainer_row_type: runtime::Dtype::F32,
        ns_per_row: 1e6,
        info: r#"{"trees":0}"#.into(),
        feature_names: Vec::new(),
        ..EntryInfo::default()
    };
    (module, entry)
}

/// Element `index` of a buffer of elements of `stride` bytes.
fn at(buffer: BufferId, index: Value, stride: u32) -> Address {
    Address { buffer, index, stride, offset: 0 }
}

fn margins() -> Function {
    let mut b = Builder::new("margins");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::F32), b.buffer("out", Space::Output, Scalar::F32));
    let weights = b.buffer("weights", Space::ModelTable(0), Scalar::F32);
    let mark = b.buffer("mark", Space::ModelTable(1), Scalar::I8);
    let (zero, columns, n) = (b.int(0), b.int(FEATURES as i64), b.n_rows());
    b.parallel(n, |b, row| {
        let first = at(mark, zero, 1);
        let first = b.load(Ty::of(Scalar::I8), first);
        let start = b.cast(Cast::IntToFloat, first, F32);
        let start = b.sub(start, start);
        let sum = b.for_loop((zero, columns, 1), &[start], |b, k, sum| {
            let begin = b.mul_int(row, FEATURES as i64);
            let index = b.add(begin, k);
            let (x, w) = (b.load(F32, at(input, index, 4)), b.load(F32, at(weights, k, 4)));
            let product = b.mul(x, w);
            vec![b.add(sum[0], product)]
        });
        b.store(at(output, row, 4), sum[0]);
    });
    b.finish()
}

fn class(b: &mut Builder, x: Value, _: Value) -> Value {
    let (zero, one) = (b.float(F32, 0.0), b.float(F32, 1.0));
    let positive = b.cmp(Cmp::OLt, zero, x);
    b.select(positive, one, zero)
}

/// A kernel with one output for each row, which `f` computes from the row's first input and number.
fn each(name: &str, to: Scalar, f: impl FnOnce(&mut Builder, Value, Value) -> Value) -> Function {
    let mut b = Builder::new(name);
    let (input, output) = (b.buffer("in", Space::Input, Scalar::F32), b.buffer("out", Space::Output, to));
    let (zero, n) = (b.int(0), b.n_rows());
    b.for_loop((zero, n, 1), &[], |b, i, _| {
        let x = b.load(F32, at(input, i, 4));
        let y = f(b, x, i);
        b.store(at(output, i, 4), y);
        Vec::new()
    });
    b.finish()
}

fn options(prefix: &str, cpu: Cpu, entry: &EntryInfo, emit: ArtefactForm) -> ArtefactOptions {
    ArtefactOptions { prefix: prefix.into(), cpu, entry: entry.clone(), form: emit }
}

fn write(folder: &TempDir, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("the folder can be written to");
    path
}

fn output_of(program: &str, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(program).args(arguments).arg(file).output().expect(program);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("tools print text")
}

#[test]
fn kernels_do_not_depend_on_code_that_the_process_made_before() {
    let four_rows =
        launches::examples().into_iter().find(|(name, _)| name == "four_rows").expect("an example");
    let kernels =
        launches::compiled(&launches::model(), &four_rows.1, &[OutputKind::Raw]).expect("a legal one");
    let text = || sched_llvm::ptx_text(&kernels.lir, sched_llvm::Gpu::default()).expect("PTX");
    let (module, entry) = linear([0.5, -1.0, 2.0]);
    // The linker resets LLVM's switches, and code for x86 sets them.
    build(&module, &options("m", Cpu::X86_64V2, &entry, ArtefactForm::SharedLibrary)).expect("a library");
    let linked = text();
    Jit::compile(&module, Cpu::X86_64V2, &entry, &[OutputKind::Raw]).expect("code");
    assert!(text() == linked, "the code for x86 changed that of kernels");
}

#[test]
fn a_shared_library_predicts_as_the_jit_does() {
    let (module, entry) = linear([0.5, -1.0, 2.0]);
    let all = [OutputKind::Raw, OutputKind::Value, OutputKind::Class, OutputKind::Leaf];
    let jit = Jit::compile(&module, Cpu::Native, &entry, &all).unwrap();
    let rows: Vec<f32> = (0..300).map(|i| (i % 7) as f32 - 3.0).collect();
    let n = rows.len() / FEATURES;
    let expected = |kind| {
        let mut out = vec![0.0_f32; n];
        jit.predict(kind, PackedRows::F32(&rows), n, PackedResults::F32(&mut out), 2).unwrap();
        out
    };
    let mut leaves = vec![0; n];
    jit.predict(OutputKind::Leaf, PackedRows::F32(&rows), n, PackedResults::I32(&mut leaves), 0).unwrap();
    assert_eq!(leaves, (0..n as i32).collect::<Vec<_>>());
    let (raw, value, class) =
        (expected(OutputKind::Raw), expected(OutputKind::Value), expected(OutputKind::Class));
    assert_eq!(raw[0], -3.0 * 0.5 + 2.0 - 1.0 * 2.0);
    assert!(class.contains(&0.0) && class.contains(&1.0));

    let folder = tempfile::tempdir().unwrap();
    for cpu in [Cpu::X86_64V2, Cpu::Native] {
        let bytes = build(&module, &options("m", cpu, &entry, ArtefactForm::SharedLibrary)).unwrap();
        let path = write(&folder, &format!("{cpu}.so"), &bytes);
        let library = sched_llvm::Library::load(&path, "m").unwrap();
        let mut out = vec![0.0; n];
        library
            .predict(OutputKind::Value, PackedRows::F32(&rows), n, PackedResults::F32(&mut out), 0)
            .unwrap();
        assert_eq!(out, value);
        // SAFETY: the library runs no code when loaded, and the signatures are those of its header.
        unsafe {
            let library = Library::new(&path).unwrap();
            type Predict = unsafe extern "C" fn(*const f32, i64, *mut f32) -> i32;
            for (name, expected) in [("m_predict", &value), ("m_predict_raw", &raw)] {
                let predict: Symbol<Predict> = library.get(name).unwrap();
                let mut out = vec![0.0; n];
                assert_eq!(predict(rows.as_ptr(), n as i64, out.as_mut_ptr()), 0);
                assert_eq!(&out, expected);
                assert_eq!(predict(rows.as_ptr(), -1, out.as_mut_ptr()), runtime::CallStatus::ARGUMENT);
            }
            let predict_ex: Symbol<unsafe extern "C" fn(*const runtime::Call) -> i32> =
                library.get("m_predict_ex").unwrap();
            let mut out = vec![0.0_f32; n];
            let (kind, dtype) = (OutputKind::Class, runtime::Dtype::F32);
            let call =
                runtime::Call::new(kind, dtype, rows.as_ptr().cast(), n as i64, out.as_mut_ptr().cast());
            assert_eq!((predict_ex(&call), &out), (0, &class));
            let features: Symbol<unsafe extern "C" fn() -> i32> = library.get("m_num_features").unwrap();
            assert_eq!(features(), FEATURES as i32);
            let outputs: Symbol<unsafe extern "C" fn(i32) -> i32> = library.get("m_num_outputs").unwrap();
            assert_eq!([0, 1, 2, 3, 4].map(|kind| outputs(kind)), [1, 1, 1, 1, 0]);
            let info: Symbol<unsafe extern "C" fn() -> *const c_char> = library.get("m_info").unwrap();
            assert_eq!(CStr::from_ptr(info()).to_str(), Ok(r#"{"trees":0}"#));
            let error: Symbol<unsafe extern "C" fn(i32) -> *const c_char> = library.get("m_error").unwrap();
            assert!(CStr::from_ptr(error(1)).to_str().unwrap().contains("argument"));
        }
    }
}

/// The exported functions, as a sorted list.
fn exports(prefix: &str) -> Vec<String> {
    let names = [
        "abi_version",
        "error",
        "feature_name",
        "info",
        "num_features",
        "num_outputs",
        "output_type",
        "predict",
        "predict_ex",
        "predict_raw",
    ]
    .map(|name| format!("{prefix}_{name}"));
    let mut names: Vec<String> = names.into_iter().chain([INTERFACE.to_string()]).collect();
    names.sort();
    names
}

/// The table of a library's functions, whatever its prefix.
const INTERFACE: &str = "schedc_interface_v1";

/// A stump for each threshold, which adds one bit of the sum.
fn stumps(thresholds: &[f64]) -> Forest {
    let stump = |(source, threshold): (u32, &f64)| {
        let leaf = |source, value| Leaf { source, values: [value].into() };
        let leaves = vec![leaf(1, f64::from(1u32 << source)), leaf(2, 0.0)];
        let (left, right) = (NodeRef::Leaf(0), NodeRef::Leaf(1));
        let predicate = Predicate::Numeric { threshold: *threshold };
        let inner = vec![Inner { feature: 0, predicate, missing_left: false, left, right }];
        Tree { root: NodeRef::Inner(0), inner, leaves, target: TreeTarget::One(0), source }
    };
    let parts = ForestParts {
        trees: (0..).zip(thresholds).map(stump).collect(),
        num_features: 1,
        base: vec![0.0],
        comparison: Comparison::LessOrEqual,
        types: Types::all(Float::F64),
        ..ForestParts::default()
    };
    Forest::new(parts).expect("a valid forest")
}

#[test]
fn a_library_has_code_for_rows_of_each_type() {
    let thresholds = [0.1, 0.7, f64::from(0.3f32), f64::from(0.3f32).next_up(), 1e-40, 1e300, -0.1];
    let forest = stumps(&thresholds);
    let mut wide: Vec<f64> = thresholds.iter().flat_map(|t| [t.next_down(), *t, t.next_up()]).collect();
    wide.extend([f64::NAN, f64::INFINITY, 0.0, -0.0]);
    let near = |t: &f64| [(*t as f32).next_down(), *t as f32, (*t as f32).next_up()];
    let mut narrow: Vec<f32> = thresholds.iter().flat_map(near).collect();
    narrow.extend([f32::NAN, f32::INFINITY, 0.0, -0.0]);
    let n = wide.len();
    let walked = |rows: &dyn Fn(&mut [f64])| {
        let mut expected = vec![0f64; n];
        rows(&mut expected);
        expected
    };
    let of_wide = walked(&|out| predict(&forest, &wide, out).expect("rows"));
    let of_narrow = walked(&|out| predict(&forest, &narrow, out).expect("rows"));

    let schedule =
        "tile(batch, b0, b1, 8)\nreorder(b0, tree, b1)\nrepresentation(levels)\nvectorize(b1, 8)\n";
    let compiled_for = |rows: Float, schedule: &str| {
        let model = Some(sched_testing::forests::model_info(&forest).into());
        let options = CheckOptions { model, purpose: CheckPurpose::Compile, ..CheckOptions::default() };
        let nest = check(schedule, &options).nest().cloned().expect("a legal schedule");
        let kernels = [OutputKind::Raw, OutputKind::Leaf];
        let forest = forest.clone().for_rows(rows);
        sched_ir::compile(forest, None, Variants::only(nest), &kernels, &sched_ir::Budget::default())
            .expect("LIR")
            .lir
    };
    let (_, about) = linear([0.0; FEATURES]);
    let entry = EntryInfo {
        num_features: 1,
        counts: runtime::OutputCounts { trees: 7, ..about.counts },
        trainer_row_type: runtime::Dtype::F64,
        ..about
    };
    let load = |folder: &TempDir, versions: &[(&Module, Cpu)]| {
        let entry = &entry;
        let of = |(module, cpu)| ModelVersion { module, cpu, entry, launches: None };
        let versions: Vec<ModelVersion> = versions.iter().copied().map(of).collect();
        let bytes = build_versions(&versions, "m", ArtefactForm::SharedLibrary).expect("a library");
        let path = write(folder, &format!("{}.so", versions.len()), &bytes);
        sched_llvm::Library::load(&path, "m").expect("a library of ours")
    };
    for schedule in [schedule, "representation(quantized)\n", "\n"] {
        let (floats, doubles) = (compiled_for(Float::F32, schedule), compiled_for(Float::F64, schedule));
        let (old, new) = (Cpu::X86_64V2, Cpu::Native);
        let folder = tempfile::tempdir().unwrap();
        let all = [(&floats, old), (&doubles, old), (&doubles, new), (&floats, new)];
        let library = load(&folder, &all);
        let mut out = vec![0f64; n];
        library.predict(OutputKind::Raw, PackedRows::F64(&wide), n, PackedResults::F64(&mut out), 1).unwrap();
        assert_eq!(out, of_wide, "rows of doubles\n{schedule}");
        library
            .predict(OutputKind::Raw, PackedRows::F32(&narrow), n, PackedResults::F64(&mut out), 1)
            .unwrap();
        assert_eq!(out, of_narrow, "rows of floats\n{schedule}");

        let of_doubles = load(&folder, &all[1..2]);
        of_doubles
            .predict(OutputKind::Raw, PackedRows::F32(&narrow), n, PackedResults::F64(&mut out), 1)
            .unwrap();
        assert_eq!(out, of_narrow, "rows of floats that are widened\n{schedule}");
    }
    let folder = tempfile::tempdir().unwrap();
    let floats = compiled_for(Float::F32, schedule);
    let of_floats = load(&folder, &[(&floats, Cpu::Native)]);
    let mut out = vec![0f64; n];
    let refused =
        of_floats.predict(OutputKind::Raw, PackedRows::F64(&wide), n, PackedResults::F64(&mut out), 1);
    assert!(refused.is_err_and(|why| why.message.contains("64-bit floats")));
}

#[test]
fn a_shared_library_exports_its_functions_only() {
    let (module, entry) = linear([1.0; 3]);
    let folder = tempfile::tempdir().unwrap();
    let bytes =
        build(&module, &options("forest", Cpu::X86_64V3, &entry, ArtefactForm::SharedLibrary)).unwrap();
    let path = write(&folder, "forest.so", &bytes);
    let symbols = output_of("nm", &["-D", "--defined-only", "--format=posix"], &path);
    let mut names: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    let versioned: Vec<String> = exports("forest").iter().map(|name| format!("{name}@@SCHEDC_1")).collect();
    names.retain(|name| *name != "SCHEDC_1");
    assert_eq!(names, versioned);

    let headers = output_of("readelf", &["--wide", "--program-headers", "--dynamic"], &path);
    let stack = headers.lines().find(|line| line.contains("GNU_STACK")).unwrap();
    assert!(stack.contains("RW ") && !stack.contains("RWE"), "{stack}");
    assert!(headers.contains("NOW"), "{headers}");
    assert!(!headers.contains("TEXTREL"), "{headers}");
}

#[test]
fn a_shared_library_has_the_soname_that_it_is_given() {
    let (module, entry) = linear([1.0; 3]);
    let folder = tempfile::tempdir().unwrap();
    let versions = [ModelVersion { module: &module, cpu: Cpu::X86_64V2, entry: &entry, launches: None }];
    for (file, wanted) in
        [(Some("libforest.so.3"), "[libforest.so.3]"), (Some("odd, name.so"), "[odd, name.so]")]
    {
        let bytes = build_named(&versions, ArtefactName { prefix: "m", file }, ArtefactForm::SharedLibrary)
            .expect("a library");
        let path = write(&folder, "m.so", &bytes);
        let dynamic = output_of("readelf", &["--wide", "--dynamic"], &path);
        let soname = dynamic.lines().find(|line| line.contains("SONAME")).expect("a soname");
        assert!(soname.contains(wanted), "{soname}");
    }
    let bytes = build_versions(&versions, "m", ArtefactForm::SharedLibrary).expect("a library");
    let path = write(&folder, "m.so", &bytes);
    assert!(!output_of("readelf", &["--wide", "--dynamic"], &path).contains("SONAME"));
}

/// The first fields of a library's `schedc_interface_v1`, which this test reads.
#[repr(C)]
struct FunctionTable {
    size: u32,
    abi_version: i32,
    prefix: *const c_char,
    predict: unsafe extern "C" fn(*const f32, i64, *mut f32) -> i32,
    predict_raw: unsafe extern "C" fn(*const f32, i64, *mut f32) -> i32,
}

#[test]
fn libraries_of_one_prefix_each_call_their_own_functions() {
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
    let folder = tempfile::tempdir().unwrap();
    // With `RTLD_GLOBAL`, later look-ups by name find the functions of the first library.
    let loaded = [(1.0, RTLD_GLOBAL), (2.0, RTLD_LOCAL)].map(|(weight, flag)| {
        let (module, entry) = linear([weight, 0.0, 0.0]);
        let bytes =
            build(&module, &options("same", Cpu::X86_64V2, &entry, ArtefactForm::SharedLibrary)).unwrap();
        let path = write(&folder, &format!("{weight}.so"), &bytes);
        // SAFETY: the library runs no code when it is loaded.
        (weight, unsafe { Library::open(Some(&path), RTLD_NOW | flag) }.expect("it loads"))
    });
    for (weight, library) in &loaded {
        // SAFETY: the table has this form, and the row is as long as the model's.
        unsafe {
            let symbol = library.get::<*const FunctionTable>(INTERFACE.as_bytes()).expect("the table");
            let table = &**symbol;
            assert_eq!((table.size as usize, table.abi_version), (8 + 11 * 8, header::ABI_VERSION));
            assert_eq!(CStr::from_ptr(table.prefix), c"same");
            let mut out = 0.0;
            assert_eq!((table.predict_raw)([1.0f32, 1.0, 1.0].as_ptr(), 1, &mut out), 0);
            assert_eq!(out, *weight);
            assert_eq!((table.predict)([0.0f32; 3].as_ptr(), 1, &mut out), 0);
            assert_eq!(out, 1.0, "the exponential of nothing");
        }
    }
}

/// The names that a library with these feature names returns for the feature numbers `features`.
fn names_in_library(feature_names: Vec<String>, features: &[i32]) -> Vec<Option<String>> {
    let (module, entry) = linear([1.0; 3]);
    let entry = EntryInfo { feature_names, ..entry };
    let folder = tempfile::tempdir().expect("a folder");
    let bytes =
        build(&module, &options("m", Cpu::X86_64V2, &entry, ArtefactForm::SharedLibrary)).expect("a library");
    let path = write(&folder, "names.so", &bytes);
    // SAFETY: the library runs no code when loaded, and the signature is that of its header.
    unsafe {
        let library = Library::new(&path).expect("it loads");
        let name: Symbol<unsafe extern "C" fn(i32) -> *const c_char> =
            library.get("m_feature_name").expect("an export");
        let text = |at: &i32| {
            let text = name(*at);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_str().expect("UTF-8").to_owned())
        };
        features.iter().map(text).collect()
    }
}

#[test]
fn names_of_features_may_be_any_text() {
    let long = "long".repeat(100_000);
    let names = ["\"quoted\" \\ */ \n%s", "gr\u{f6}\u{df}e \u{1f332}", "", "a\0b", &long];
    let names: Vec<String> = names.map(str::to_owned).to_vec();
    let found = names_in_library(names.clone(), &[0, 1, 2, 3, 4, 5, 6, -1, i32::MIN, i32::MAX]);
    let mut wanted: Vec<Option<String>> = names.into_iter().map(Some).collect();
    wanted[3] = None; // C cannot hold this name.
    wanted.extend([const { None }; 5]);
    assert_eq!(found, wanted);
    assert_eq!(names_in_library(Vec::new(), &[0, -1, 1]), [const { None }; 3]);
}

#[test]
fn very_many_names_fit() {
    let names: Vec<String> = (0..20_000).map(|at| format!("feature {at}")).collect();
    let found = names_in_library(names, &[0, 19_999, 20_000]);
    assert_eq!(found, [Some("feature 0".into()), Some("feature 19999".into()), None]);
}

#[test]
fn objects_of_two_models_link_into_one_program() {
    two_models_in_one_program(ArtefactForm::Object, "o");
}

#[test]
fn static_libraries_of_two_models_link_into_one_program() {
    two_models_in_one_program(ArtefactForm::StaticLibrary, "a");
}

fn two_models_in_one_program(emit: ArtefactForm, extension: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut files = Vec::new();
    for (prefix, weights) in [("first", [1.0, 10.0, 100.0]), ("second", [2.0, 0.0, 0.0])] {
        let (module, entry) = linear(weights);
        let bytes = build(&module, &options(prefix, Cpu::X86_64V2, &entry, emit)).expect("an artefact");
        let path = write(&folder, &format!("{prefix}.{extension}"), &bytes);
        let symbols = output_of("nm", &["--defined-only", "--extern-only", "--format=posix"], &path);
        // The name of an archive's member is on a separate line.
        let mut names: Vec<&str> =
            symbols.lines().filter_map(|line| line.split_once(' ').map(|(name, _)| name)).collect();
        names.sort_unstable();
        assert_eq!(names, exports(prefix));
        let text = header(prefix, &entry.for_header(&module));
        write(&folder, &format!("{prefix}.h"), text.as_bytes());
        files.push(path);
    }
    let program = r#"
        #include "first.h"
        #include "second.h"
        #include <stdio.h>
        int main(void) {
            const float row[] = {1, 2, 3};
            float a, b;
            if (first_predict_raw(row, 1, &a) || second_predict_raw(row, 1, &b))
                return 1;
            if (first_feature_name(0))
                return 2;
            if (first_abi_version() != FIRST_ABI_VERSION || second_abi_version() != SECOND_ABI_VERSION)
                return 3;
            printf("%g %g %d %d\n", a, b, first_num_outputs(FIRST_CLASS), SECOND_NUM_FEATURES);
            return 0;
        }"#;
    let source = write(&folder, "main.c", program.as_bytes());
    let main = folder.path().join("main");
    let mut cc = Command::new("cc");
    let cc = cc
        .arg("-o")
        .arg(&main)
        .arg(&source)
        .args(&files)
        .args(["-pthread", "-lm"])
        .output()
        .expect("a C compiler");
    assert!(cc.status.success(), "{}", String::from_utf8_lossy(&cc.stderr));
    assert_eq!(output_of(main.to_str().expect("a name"), &[], Path::new("")), "321 2 1 3\n");
}

#[test]
fn texts_leave_out_the_model() {
    let (module, entry) = linear([1.0; 3]);
    let library = build(&module, &options("m", Cpu::X86_64V3, &entry, ArtefactForm::SharedLibrary)).unwrap();
    assert!(library.windows(MARK.len()).any(|bytes| bytes == MARK.as_bytes()));
    for (emit, line) in [(ArtefactForm::Llvm, "define i32 @m_predict("), (ArtefactForm::Asm, "m_predict:")] {
        let bytes = build(&module, &options("m", Cpu::X86_64V3, &entry, emit)).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(
            text.contains(line) && text.contains("kernel.margins") && text.contains("table.weights"),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn equal_input_gives_equal_artefacts() {
    let (module, entry) = linear([1.0; 3]);
    for emit in
        [ArtefactForm::SharedLibrary, ArtefactForm::Object, ArtefactForm::StaticLibrary, ArtefactForm::Llvm]
    {
        let options = options("m", Cpu::X86_64V4, &entry, emit);
        assert_eq!(build(&module, &options), build(&module, &options), "{emit:?}");
    }
}

#[test]
fn bad_names_are_refused() {
    let (module, entry) = linear([1.0; 3]);
    for prefix in ["", "9lives", "a-b", "a b", "é", "x;y"] {
        let error = build(&module, &options(prefix, Cpu::Native, &entry, ArtefactForm::Llvm)).unwrap_err();
        assert_eq!(error.code, codes::BAD_PREFIX, "{prefix:?}");
    }
    let entry = EntryInfo { info: "a\0b".into(), ..entry };
    let error = build(&module, &options("m", Cpu::Native, &entry, ArtefactForm::Llvm)).unwrap_err();
    assert_eq!(error.code, internal::ILL_FORMED);
}

/// Versions with different first weights.
const VERSIONS: [(Cpu, f32); 3] = [(Cpu::X86_64V3, 3.0), (Cpu::X86_64V2, 2.0), (Cpu::X86_64V4, 4.0)];

fn three_versions() -> Vec<u8> {
    let models = VERSIONS.map(|(_, weight)| linear([weight, 0.0, 0.0]));
    let of = |((module, entry), (cpu, _))| sched_llvm::ModelVersion { launches: None, module, cpu, entry };
    let versions: Vec<_> =
        models.iter().map(|(module, entry)| (module, entry)).zip(VERSIONS).map(of).collect();
    sched_llvm::build_versions(&versions, "many", ArtefactForm::SharedLibrary)
        .expect("three versions compile")
}

#[test]
fn a_library_of_versions_runs_the_best_one_that_is_allowed() {
    let levels: [(&str, bool, f32); 4] = [
        ("x86-64-v2", is_x86_feature_detected!("sse4.2"), 2.0),
        ("x86-64-v3", is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"), 3.0),
        ("x86-64-v4", is_x86_feature_detected!("avx512vl"), 4.0),
        // An unknown level sets no limit.
        ("newest", is_x86_feature_detected!("avx512vl"), 4.0),
    ];
    let folder = TempDir::new().unwrap();
    let library = write(&folder, "many.so", &three_versions());
    // Each library reads the limit once, so each case runs in a separate process.
    let this = std::env::current_exe().unwrap();
    for (level, runs_here, weight) in levels.into_iter().filter(|(_, runs_here, _)| *runs_here) {
        let output = Command::new(&this)
            .args(["--exact", "artefact::print_first_margin", "--ignored", "--nocapture"])
            .env("SCHEDC_CPU", level)
            .env("SCHEDC_TEST_LIBRARY", &library)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(runs_here && text.contains(&format!("margin {weight};")), "{level}: {text}");
    }
}

/// The part of the test above that runs in a separate process.
#[test]
#[ignore = "run by another test in a process of its own"]
fn print_first_margin() {
    let Some(path) = std::env::var_os("SCHEDC_TEST_LIBRARY") else { return };
    // SAFETY: the library was built by the other test.
    let library = unsafe { Library::new(path) }.unwrap();
    type Predict = unsafe extern "C" fn(*const f32, i64, *mut f32) -> i32;
    // SAFETY: the function has this type, and the row and the margin have the lengths that it expects.
    let margin = unsafe {
        let predict: Symbol<Predict> = library.get(b"many_predict_raw\0").unwrap();
        let mut margin = 0.0;
        assert_eq!(predict([1.0_f32, 0.0, 0.0].as_ptr(), 1, &mut margin), 0);
        margin
    };
    println!("margin {margin};");
}
