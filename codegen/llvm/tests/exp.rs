//! Comparison of powers of e and of 2 in code of launches with the C library's, bit for bit.

use crate::launches::host::Host;
use sched_ir::lir::{
    Address, BuildStmts, Builder, GpuAxis, GpuDimension, GpuLevel, Interface, Math, Module, OutputKind,
    ProcessorKind, Scalar, Space, Ty,
};
use sched_llvm::{Gpu, Ptxas, amdgpu_text, ptx_text};
use sched_machines::Maker;
use sched_nest::Variants;
use sched_testing::schedules::Rng;

/// The functions, with those of the C library.
const FUNCTIONS: [Tested; 2] = [
    Tested { math: Math::Exp, single: f32::exp, double: f64::exp },
    Tested { math: Math::PowerOfTwo, single: f32::exp2, double: f64::exp2 },
];

/// A function in code of launches.
#[derive(Clone, Copy)]
struct Tested {
    math: Math,
    /// The C library's function of floats.
    single: fn(f32) -> f32,
    /// The C library's function of doubles.
    double: fn(f64) -> f64,
}

/// A launch in which one thread computes a function of all rows.
fn module_of(math: Math, scalar: Scalar) -> Module {
    let mut b = Builder::with_index("raw", Scalar::I32);
    let (rows, out) = (b.buffer("rows", Space::Input, scalar), b.buffer("out", Space::Output, scalar));
    let (zero, one, n) = (b.int(0), b.int(1), b.n_rows());
    b.launch("exp", [one, one, one], [1, 1, 1], |b| {
        let first = b.id(GpuDimension { level: GpuLevel::Block, axis: GpuAxis::X });
        let first = b.add(first, zero);
        b.for_loop((first, n, 1), &[], |b, index, _| {
            let x = b.load(Ty::of(scalar), Address::element(rows, index, scalar));
            let power = b.math(math, x);
            b.store(Address::element(out, index, scalar), power);
            Vec::new()
        });
    });
    let kernels = vec![(OutputKind::Raw.into(), b.finish())];
    Module {
        kernels,
        tables: Vec::new(),
        types: Interface::uniform(scalar),
        rows_per_run: None,
        processors: Variants::only(ProcessorKind::Host),
        least_column_rows: None,
        transfer: None,
    }
}

/// Whether the C library uses the variant with fused multiply-add, as the code of launches does.
fn library_fuses() -> bool {
    let fuses = is_x86_feature_detected!("fma");
    if !fuses {
        println!("left out: without fused multiply-add the C library rounds a few results the other way");
    }
    fuses
}

fn same(found: f64, expected: f64) -> bool {
    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
}

fn compare_floats(host: &mut Host, tested: Tested, xs: &[f32]) {
    let input: Vec<u8> = xs.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut output = vec![0; input.len()];
    host.run(OutputKind::Raw.into(), xs.len(), &input, &mut output);
    for (x, found) in xs.iter().zip(output.chunks_exact(4)) {
        let found = f32::from_le_bytes([found[0], found[1], found[2], found[3]]);
        let expected = (tested.single)(*x);
        assert!(
            same(found.into(), expected.into()),
            "{:?} of {x:e} is {expected:e}, not {found:e}",
            tested.math
        );
    }
}

fn compare_doubles(host: &mut Host, tested: Tested, xs: &[f64]) {
    let input: Vec<u8> = xs.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut output = vec![0; input.len()];
    host.run(OutputKind::Raw.into(), xs.len(), &input, &mut output);
    for (x, found) in xs.iter().zip(output.chunks_exact(8)) {
        let found = f64::from_le_bytes(found.try_into().expect("8 bytes"));
        let expected = (tested.double)(*x);
        assert!(same(found, expected), "{:?} of {x:e} is {expected:e}, not {found:e}", tested.math);
    }
}

/// Floats at the ends of the ranges, and floats whose results are hardest to round.
const EDGES: [u32; 24] = [
    0,
    0x8000_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x42b1_7217,
    0x42b1_7218,
    0xc2cf_f1b4,
    0xc2cf_f1b5,
    0xc2ae_ac50,
    0x0000_0001,
    0x8000_0001,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x4202_422c,
    0xc27c_65d8,
    0x42ff_ffff,
    0x4300_0000,
    0xc2fc_0000,
    0xc314_ffff,
    0xc315_0000,
    0xc316_0000,
    0x3f80_0000,
    0xbf80_0000,
];

#[test]
fn powers_of_floats_equal_the_librarys() {
    if !library_fuses() {
        return;
    }
    for tested in FUNCTIONS {
        let module = module_of(tested.math, Scalar::F32);
        let mut host = Host::compile(&module);
        let near = |bits: &u32| (bits.saturating_sub(300)..=bits.saturating_add(300)).map(f32::from_bits);
        compare_floats(&mut host, tested, &EDGES.iter().flat_map(near).collect::<Vec<f32>>());
        let spread = (0..=u32::MAX).step_by(9973).map(f32::from_bits);
        compare_floats(&mut host, tested, &spread.collect::<Vec<f32>>());
    }
}

/// `cargo test -p sched-llvm exp:: -- --ignored`: four minutes.
#[test]
#[ignore = "all floats take minutes"]
fn powers_of_all_floats_equal_the_librarys() {
    if !library_fuses() {
        return;
    }
    for tested in FUNCTIONS {
        let module = module_of(tested.math, Scalar::F32);
        let mut host = Host::compile(&module);
        for first in (0..=u32::MAX).step_by(1 << 22) {
            let xs = (0..1 << 22).map(|n| f32::from_bits(first + n)).collect::<Vec<f32>>();
            compare_floats(&mut host, tested, &xs);
        }
    }
}

#[test]
fn powers_of_doubles_equal_the_librarys() {
    for tested in FUNCTIONS {
        // The library fuses no operations of powers of 2.
        if tested.math == Math::Exp && !library_fuses() {
            continue;
        }
        let module = module_of(tested.math, Scalar::F64);
        compare_doubles(&mut Host::compile(&module), tested, &some_doubles(40_000));
    }
}

/// `cargo test -p sched-llvm exp:: -- --ignored`: half a minute.
#[test]
#[ignore = "millions of doubles take long"]
fn powers_of_2_of_millions_of_doubles_equal_the_librarys() {
    let [_, tested] = FUNCTIONS;
    let module = module_of(tested.math, Scalar::F64);
    compare_doubles(&mut Host::compile(&module), tested, &some_doubles(1_000_000));
}

/// Doubles at the ends of the ranges, and `count` random ones of each of several ranges.
fn some_doubles(count: usize) -> Vec<f64> {
    let mut rng = Rng(7);
    let mut uniform = |low: f64, high: f64| low + (high - low) * rng.next_u64() as f64 / u64::MAX as f64;
    let mut xs = vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN];
    let ends = [1024.0, -1022.0, -1074.0, -1075.0, -928.0, 928.0, 709.782712893384, -745.1332191019412];
    let near = |x: f64| (0..5).map(move |n| f64::from_bits(x.to_bits() - 2 + n));
    xs.extend(ends.into_iter().flat_map(near));
    xs.extend([1024.0, -1024.0, 512.0, -512.0, 5e-324]);
    let ranges = [
        (-40.0, 40.0),
        (-1.0, 1.0),
        (-1e-9, 1e-9),
        (500.0, 720.0),
        (-760.0, -500.0),
        (900.0, 1030.0),
        (-1080.0, -900.0),
    ];
    for (low, high) in ranges {
        xs.extend((0..count).map(|_| uniform(low, high)));
    }
    xs.extend((0..count).map(|_| f64::from_bits(rng.next_u64())));
    xs
}

#[test]
fn powers_on_gpus_are_plain_operations() {
    let all = FUNCTIONS
        .into_iter()
        .flat_map(|tested| [Scalar::F32, Scalar::F64].map(|scalar| (tested.math, scalar)));
    for (math, scalar) in all {
        let ptx = ptx_text(&module_of(math, scalar), Gpu::default()).expect("PTX");
        assert!(ptx.contains("fma.rn.f64") && !ptx.contains(".ftz"), "{ptx}");
        assert!(!ptx.contains("call") && !ptx.contains(".extern"), "{ptx}");
        assert!(ptx.contains("schedc_powers_of_2_by_"), "{ptx}");
        let gcn = amdgpu_text(&module_of(math, scalar), Gpu::default_of(Maker::Amd)).expect("assembly");
        assert!(gcn.contains("v_fma_f64") && gcn.contains("schedc_powers_of_2_by_"), "{gcn}");
        assert!(!gcn.contains("s_swappc"), "{gcn}");
        if let Some(ptxas) = Ptxas::find() {
            let cubin = ptxas.assemble(&ptx, Gpu::default()).expect("machine code");
            let kernel = &cubin.kernels[0];
            assert_eq!((kernel.stack_bytes, kernel.spill_store_bytes), (0, 0), "{kernel:?}");
        }
    }
}
