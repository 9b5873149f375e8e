//! Functions of columns in machine code, compared with the evaluator of columns: for every processor whose
//! code this machine can run, and as text for GPUs.

use super::harness::{Element, at, module, run_on, runnable};
use super::on_pairs;
use sched_columns::functions;
use sched_columns::{Float, Unary};
use sched_ir::columns::functions as code;
use sched_ir::lir::*;
use sched_llvm::{Gpu, amdgpu_text, asm_text, ptx_text};
use sched_testing::schedules::Rng;

const FUNCTIONS: [Unary; 10] = [
    Unary::SquareRoot,
    Unary::Exp,
    Unary::ExpMinusOne,
    Unary::Log,
    Unary::LogOnePlus,
    Unary::Tanh,
    Unary::Logistic,
    Unary::Erf,
    Unary::Sin,
    Unary::Cos,
];

const SPECIAL: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -3.0,
    0.5,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MIN_POSITIVE,
    1e-320,
    -1e-40,
    709.9,
    -745.5,
    88.75,
];

/// Results of all functions on a pair. All NaNs get the same bits.
fn results(b: &mut Builder, x: Value, y: Value) -> Vec<Value> {
    let mut all: Vec<Value> = FUNCTIONS.into_iter().map(|op| one(b, op, x)).collect();
    all.push(code::power(b, x, y));
    let nan = b.float(b.ty(x), f64::NAN);
    all.into_iter()
        .map(|result| {
            let is_nan = b.cmp(Cmp::Uno, result, result);
            b.select(is_nan, nan, result)
        })
        .collect()
}

fn one(b: &mut Builder, op: Unary, x: Value) -> Value {
    if op == Unary::SquareRoot { b.square_root(x) } else { code::unary(b, op, x) }
}

/// The results of the evaluator, which defines the functions.
fn expected(float: Float, x: f64, y: f64) -> Vec<f64> {
    let mut all: Vec<f64> =
        FUNCTIONS.into_iter().map(|op| functions::unary(op, float, x).expect("a function")).collect();
    all.push(functions::power(float, x, y));
    all
}

/// Special numbers, numbers near 0 and 1, and numbers with random bits.
fn operands(float: Float) -> Vec<f64> {
    let mut rng = Rng(5);
    let mut all = SPECIAL.to_vec();
    for _ in 0..300 {
        let bits = rng.next_u64();
        let unit = (bits >> 11) as f64 / (1_u64 << 53) as f64;
        let any = match float {
            Float::F32 => f64::from(f32::from_bits(bits as u32)),
            Float::F64 => f64::from_bits(bits),
        };
        all.extend([unit * 2.0 - 1.0, unit * 64.0 - 32.0, unit + 0.5, any]);
    }
    all.truncate(all.len() / 16 * 16);
    all
}

fn check<T: Element>(float: Float, round: impl Fn(f64) -> T, bits: impl Fn(T) -> u64) {
    let scalar = if float == Float::F32 { Scalar::F32 } else { Scalar::F64 };
    let xs = operands(float);
    let wide = |x: f64| if float == Float::F32 { f64::from(x as f32) } else { x };
    for cpu in runnable() {
        for lanes in [1, 8, 16] {
            let ty = Ty::vector(scalar, lanes);
            let lanes = usize::from(lanes);
            // Pairs of vectors: the second vectors have the same numbers in reverse order.
            let vectors: Vec<&[f64]> = xs.chunks(lanes).collect();
            let pairs = vectors.iter().zip(vectors.iter().rev());
            let rows: Vec<T> =
                pairs.clone().flat_map(|(x, y)| x.iter().chain(*y)).map(|x| round(*x)).collect();
            let function = on_pairs(ty, results);
            let count = (FUNCTIONS.len() + 1) * xs.len();
            let n = vectors.len() as i64;
            let (out, _) = run_on::<T, T>(cpu, OutputKind::Raw, function, &[], &rows, n, count);
            for (pair, (x, y)) in pairs.enumerate() {
                for lane in 0..lanes {
                    let (x, y) = (wide(x[lane]), wide(y[lane]));
                    for (number, value) in expected(float, x, y).into_iter().enumerate() {
                        let found = out[(pair * (FUNCTIONS.len() + 1) + number) * lanes + lane];
                        let is_equal = bits(found) == bits(round(value)) || value.is_nan();
                        let op = FUNCTIONS.get(number);
                        assert!(is_equal, "{cpu}, {ty}: {op:?} of {x:e}, {y:e} is not {value:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn functions_of_singles_have_the_bits_of_their_evaluation() {
    check::<f32>(Float::F32, |x| x as f32, |x| x.to_bits().into());
}

#[test]
fn functions_of_doubles_have_the_bits_of_their_evaluation() {
    check::<f64>(Float::F64, |x| x, f64::to_bits);
}

/// A launch in which a thread computes all functions of its row.
fn launch(scalar: Scalar) -> Module {
    let mut b = Builder::with_index("raw", Scalar::I32);
    let (rows, out) = (b.buffer("rows", Space::Input, scalar), b.buffer("out", Space::Output, scalar));
    let one = b.int(1);
    b.launch("functions", [one, one, one], [64, 1, 1], |b| {
        let row = b.id(GpuDimension { level: GpuLevel::Block, axis: GpuAxis::X });
        let x = b.load(Ty::of(scalar), Address::element(rows, row, scalar));
        let all = results(b, x, x);
        let stride = scalar.bytes() * all.len() as u32;
        for (value, number) in all.into_iter().zip(0..) {
            let to = Address { offset: number * scalar.bytes(), ..at(out, row, stride) };
            b.store(to, value);
        }
    });
    module(OutputKind::Raw, b.finish(), &[])
}

/// GPUs have no C library. Division and roots must round to nearest there, and products may be fused with
/// sums only where the code does that.
#[test]
fn functions_are_instructions_of_gpus() {
    for scalar in [Scalar::F32, Scalar::F64] {
        let module = launch(scalar);
        let ptx = ptx_text(&module, Gpu::default()).expect("PTX");
        assert!(ptx.contains("fma.rn.f64") && ptx.contains("div.rn.f64"), "{ptx}");
        assert!(ptx.contains(&format!("sqrt.rn.{scalar}")), "{ptx}");
        for other in ["call", ".approx", ".ftz", "mad."] {
            let is_other = |line: &&str| line.contains(other) && !line.contains("mad.lo");
            assert_eq!(ptx.lines().find(is_other), None, "{ptx}");
        }
        for name in ["gfx90a", "gfx1100"] {
            let text = amdgpu_text(&module, name.parse().expect("a GPU")).expect("code");
            assert!(text.contains("v_fma_f64") && !text.contains("s_swappc"), "{text}");
        }
    }
}

/// Processors with fused multiply-add call no function.
#[test]
fn functions_are_instructions_of_processors() {
    for scalar in [Scalar::F32, Scalar::F64] {
        let module = module(OutputKind::Raw, on_pairs(Ty::vector(scalar, 8), results), &[]);
        let text = asm_text(&module, "x86-64-v3".parse().expect("a processor")).expect("code");
        assert!(text.contains("vfmadd") && text.contains("vsqrt"), "{text}");
        assert_eq!(text.lines().find(|line| line.trim_start().starts_with("call")), None, "{text}");
    }
}
