//! The exponential function in code of launches equals the C library's, bit for bit.

use crate::launches::host::Host;
use sched_ir::lir::{
    Address, Build, Builder, GpuAxis, GpuDimension, GpuLevel, Interface, Kind, Math, Module, ProcessorKind,
    Scalar, Space, Ty,
};
use sched_llvm::{Gpu, Ptxas, amdgpu_text, ptx_text};
use sched_machines::Maker;
use sched_nest::Variants;
use sched_testing::schedules::Rng;

/// A launch in which one thread computes the exponentials of all rows.
fn exponentials(scalar: Scalar) -> Module {
    let mut b = Builder::with_index("raw", Scalar::I32);
    let (rows, out) = (b.buffer("rows", Space::Input, scalar), b.buffer("out", Space::Output, scalar));
    let (zero, one, n) = (b.int(0), b.int(1), b.rows());
    b.launch("exp", [one, one, one], [1, 1, 1], |b| {
        let first = b.id(GpuDimension { level: GpuLevel::Block, axis: GpuAxis::X });
        let first = b.add(first, zero);
        b.for_loop((first, n, 1), &[], |b, index, _| {
            let x = b.load(Ty::of(scalar), Address::element(rows, index, scalar));
            let power = b.math(Math::Exp, x);
            b.store(Address::element(out, index, scalar), power);
            Vec::new()
        });
    });
    let kernels = vec![(Kind::Raw.into(), b.finish())];
    Module {
        kernels,
        tables: Vec::new(),
        types: Interface::all(scalar),
        rows_per_run: None,
        places: Variants::only(ProcessorKind::Host),
        columns_from: None,
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

fn compare_floats(host: &mut Host, xs: &[f32]) {
    let input: Vec<u8> = xs.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut output = vec![0; input.len()];
    host.run(Kind::Raw.into(), xs.len(), &input, &mut output);
    for (x, found) in xs.iter().zip(output.chunks_exact(4)) {
        let found = f32::from_le_bytes([found[0], found[1], found[2], found[3]]);
        assert!(same(found.into(), x.exp().into()), "exp({x:e}) is {:e}, not {found:e}", x.exp());
    }
}

fn compare_doubles(host: &mut Host, xs: &[f64]) {
    let input: Vec<u8> = xs.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut output = vec![0; input.len()];
    host.run(Kind::Raw.into(), xs.len(), &input, &mut output);
    for (x, found) in xs.iter().zip(output.chunks_exact(8)) {
        let found = f64::from_le_bytes(found.try_into().expect("8 bytes"));
        assert!(same(found, x.exp()), "exp({x:e}) is {:e}, not {found:e}", x.exp());
    }
}

/// Floats at the ends of the ranges, and those whose results are hardest to round.
const EDGES: [u32; 16] = [
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
];

#[test]
fn of_floats_it_is_the_librarys() {
    if !library_fuses() {
        return;
    }
    let module = exponentials(Scalar::F32);
    let mut host = Host::compile(&module);
    let near = |bits: &u32| (bits.saturating_sub(300)..=bits.saturating_add(300)).map(f32::from_bits);
    compare_floats(&mut host, &EDGES.iter().flat_map(near).collect::<Vec<f32>>());
    compare_floats(&mut host, &(0..=u32::MAX).step_by(9973).map(f32::from_bits).collect::<Vec<f32>>());
}

/// `cargo test -p sched-llvm exp:: -- --ignored`: two minutes.
#[test]
#[ignore = "all floats take minutes"]
fn of_all_floats_it_is_the_librarys() {
    if !library_fuses() {
        return;
    }
    let module = exponentials(Scalar::F32);
    let mut host = Host::compile(&module);
    for first in (0..=u32::MAX).step_by(1 << 22) {
        compare_floats(&mut host, &(0..1 << 22).map(|n| f32::from_bits(first + n)).collect::<Vec<f32>>());
    }
}

#[test]
fn of_doubles_it_is_the_librarys() {
    if !library_fuses() {
        return;
    }
    let module = exponentials(Scalar::F64);
    let mut host = Host::compile(&module);
    let mut rng = Rng(7);
    let mut uniform = |low: f64, high: f64| low + (high - low) * rng.next_u64() as f64 / u64::MAX as f64;
    let mut xs = vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN];
    xs.extend([
        1024.0,
        -1024.0,
        512.0,
        -512.0,
        709.782712893384,
        709.7827128933841,
        -745.1332191019412,
        5e-324,
    ]);
    for (low, high) in [(-40.0, 40.0), (-1.0, 1.0), (-1e-9, 1e-9), (500.0, 720.0), (-760.0, -500.0)] {
        xs.extend((0..40_000).map(|_| uniform(low, high)));
    }
    xs.extend((0..40_000).map(|_| f64::from_bits(rng.next_u64())));
    compare_doubles(&mut host, &xs);
}

#[test]
fn gpus_have_it_in_plain_operations() {
    for scalar in [Scalar::F32, Scalar::F64] {
        let ptx = ptx_text(&exponentials(scalar), Gpu::default()).expect("PTX");
        assert!(ptx.contains("fma.rn.f64") && !ptx.contains(".ftz"), "{ptx}");
        assert!(!ptx.contains("call") && !ptx.contains(".extern"), "{ptx}");
        assert!(ptx.contains("schedc_powers_of_2_by_"), "{ptx}");
        let gcn = amdgpu_text(&exponentials(scalar), Gpu::usual(Maker::Amd)).expect("assembly");
        assert!(gcn.contains("v_fma_f64") && gcn.contains("schedc_powers_of_2_by_"), "{gcn}");
        assert!(!gcn.contains("s_swappc"), "{gcn}");
        if let Some(ptxas) = Ptxas::find() {
            let cubin = ptxas.assemble(&ptx, Gpu::default()).expect("machine code");
            let kernel = &cubin.kernels[0];
            assert_eq!((kernel.stack_bytes, kernel.spill_store_bytes), (0, 0), "{kernel:?}");
        }
    }
}
