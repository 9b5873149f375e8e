//! The interpreter: semantics of each statement and operation, and each fault.

// Clippy's exceptions for tests do not cover functions that tests share.
use sched_ir::interp::{AccessKind, CallMemory, InterpreterError, InterpreterOptions, Race, run, run_with};
use sched_ir::lir::{
    Address, Bin, BufferId, BuildStmts, Builder, Cast, Cmp, Function, Gather, Math, Op, Scalar, Space, Stmt,
    Table, Ty, Value, WalkSteps,
};

const I8: Ty = Ty::of(Scalar::I8);
const I16: Ty = Ty::of(Scalar::I16);
const I32: Ty = Ty::of(Scalar::I32);
const F32: Ty = Ty::of(Scalar::F32);
const F64: Ty = Ty::of(Scalar::F64);

/// A kernel with an input, an output and a table.
fn kernel(body: impl FnOnce(&mut Builder, [BufferId; 3])) -> Function {
    let mut b = Builder::new("k");
    let buffers = [
        b.buffer("in", Space::Input, Scalar::F32),
        b.buffer("out", Space::Output, Scalar::F32),
        b.buffer("table", Space::ModelTable(0), Scalar::F32),
    ];
    body(&mut b, buffers);
    b.finish()
}

fn at(buffer: BufferId, index: Value, stride: u32) -> Address {
    Address { buffer, index, stride, offset: 0 }
}

/// Address of byte `offset` of a buffer.
fn byte(b: &mut Builder, buffer: BufferId, offset: u32) -> Address {
    Address { buffer, index: b.int(0), stride: 1, offset }
}

const ROWS: i64 = 7;

fn call_with(
    f: &Function,
    input: &[u8],
    output: usize,
    options: &InterpreterOptions,
) -> Result<Vec<u8>, InterpreterError> {
    let tables = [Table { name: "table".to_string(), bytes: (0..16).collect() }];
    let mut output = vec![0xaa; output];
    let memory = CallMemory { rows: ROWS, input, output: &mut output, tables: &tables };
    run_with(f, memory, options)?;
    Ok(output)
}

fn call(f: &Function, input: &[u8], output: usize) -> Result<Vec<u8>, InterpreterError> {
    call_with(f, input, output, &InterpreterOptions::default())
}

fn fault(f: &Function) -> InterpreterError {
    call(f, &[0; 16], 64).unwrap_err()
}

/// Runs the kernel in many orders of iterations, which must agree on the outcome.
fn in_many_orders(f: &Function) -> Result<Vec<u8>, InterpreterError> {
    let with =
        |seed| call_with(f, &[0; 16], 64, &InterpreterOptions { seed, ..InterpreterOptions::default() });
    let first = with(0);
    for seed in 1..20 {
        let other = with(seed);
        match (&first, &other) {
            (Ok(a), Ok(b)) => assert_eq!(a, b),
            (Err(InterpreterError::Race(_)), Err(InterpreterError::Race(_))) => {}
            _ => panic!("the outcome depends on the order: {first:?}, {other:?}"),
        }
    }
    first
}

fn race(f: &Function) -> Race {
    match in_many_orders(f) {
        Err(InterpreterError::Race(race)) => *race,
        other => panic!("no race was found: {other:?}"),
    }
}

/// Result of an operation on values from the input. Operands have type `from`, the result has type
/// `to`.
fn apply<const N: usize>(
    (from, to): (Ty, Ty),
    operands: [&[u8]; N],
    op: impl FnOnce(&mut Builder, [Value; N]) -> Value,
) -> Vec<u8> {
    let f = kernel(|b, [input, out, _]| {
        let mut n = 0;
        let values = [(); N].map(|()| {
            let from_input = byte(b, input, n * from.bytes());
            n += 1;
            b.load(from, from_input)
        });
        let result = op(b, values);
        // Truth values have no representation in memory.
        let result = if b.ty(result).scalar == Scalar::I1 { b.cast(Cast::ZExt, result, to) } else { result };
        assert_eq!(b.ty(result), to);
        let to_output = byte(b, out, 0);
        b.store(to_output, result);
    });
    call(&f, &operands.concat(), to.bytes() as usize).unwrap()
}

fn int_bin(op: Bin, ty: Ty, x: i64, y: i64) -> i64 {
    let width = ty.bytes() as usize;
    let cut = |n: i64| n.to_le_bytes()[..width].to_vec();
    let out = apply((ty, ty), [&cut(x), &cut(y)], |b, [x, y]| b.bin(op, x, y));
    let sign = if out[width - 1] & 0x80 == 0 { 0 } else { 0xff };
    let mut wide = [sign; 8];
    wide[..width].copy_from_slice(&out);
    i64::from_le_bytes(wide)
}

#[test]
fn integers_wrap_at_their_width() {
    use Bin::*;
    for (op, ty, x, y, expected) in [
        (Add, I8, 127, 1, -128),
        (Add, I16, 32767, 1, -32768),
        (Add, I32, i64::from(i32::MAX), 1, i64::from(i32::MIN)),
        (Add, Ty::I64, i64::MAX, 1, i64::MIN),
        (Sub, I8, -128, 1, 127),
        (Mul, I16, 300, 300, 90_000 - 65_536),
        (Mul, Ty::I64, i64::MAX, 2, -2),
        (And, I8, -2, 7, 6),
        (Or, I32, -8, 3, -5),
        (Xor, Ty::I64, -1, 5, -6),
        (Min, I8, -1, 1, -1),
        (Max, I8, -1, 1, 1),
        (Max, Ty::I64, i64::MIN, 0, 0),
    ] {
        assert_eq!(int_bin(op, ty, x, y), expected, "{op:?} {ty} {x}, {y}");
    }
}

#[test]
fn integer_division_rounds_towards_zero() {
    for (x, expected) in [(7_i32, 3), (-7, -3), (1, 0)] {
        let out = apply((I32, I32), [&x.to_le_bytes()], |b, [x]| {
            let two = b.int_of(I32, 2);
            b.bin(Bin::IDiv, x, two)
        });
        assert_eq!(out, i32::to_le_bytes(expected));
    }
}

fn f32_bin(op: Bin, x: f32, y: f32) -> f32 {
    let out = apply((F32, F32), [&x.to_le_bytes(), &y.to_le_bytes()], |b, [x, y]| b.bin(op, x, y));
    f32::from_le_bytes(out.try_into().unwrap())
}

fn f64_bin(op: Bin, x: f64, y: f64) -> f64 {
    let out = apply((F64, F64), [&x.to_le_bytes(), &y.to_le_bytes()], |b, [x, y]| b.bin(op, x, y));
    f64::from_le_bytes(out.try_into().unwrap())
}

#[test]
fn floats_round_at_their_width() {
    let (x, y) = (16_777_216.0, 1.0);
    assert_eq!(f32_bin(Bin::Add, x, y), 16_777_216.0);
    assert_eq!(f64_bin(Bin::Add, f64::from(x), f64::from(y)), 16_777_217.0);
    assert_eq!(f32_bin(Bin::Sub, 1.0, 0.25), 0.75);
    assert_eq!(f32_bin(Bin::Mul, 3.0, -2.0), -6.0);
    assert_eq!(f32_bin(Bin::Div, 1.0, 3.0), 1.0_f32 / 3.0);
    assert_eq!(f64_bin(Bin::Div, 1.0, 3.0), 1.0 / 3.0);
    assert_eq!(f64_bin(Bin::Div, 1.0, 0.0), f64::INFINITY);
}

#[test]
fn products_are_not_fused_into_sums() {
    let x = 1.0_f32 + f32::EPSILON;
    let y = -(x * x);
    let out = apply((F32, F32), [&x.to_le_bytes(), &y.to_le_bytes()], |b, [x, y]| {
        let product = b.mul(x, x);
        b.add(product, y)
    });
    let unfused = x * x + y;
    assert_ne!(unfused, x.mul_add(x, y), "the operands must tell the two apart");
    assert_eq!(out, unfused.to_le_bytes());
}

#[test]
fn minimum_and_maximum_return_the_second_operand_on_nan() {
    let nan = f32::NAN;
    for op in [Bin::Min, Bin::Max] {
        assert_eq!(f32_bin(op, nan, 1.0), 1.0);
        assert!(f32_bin(op, 1.0, nan).is_nan());
        assert_eq!(f64_bin(op, f64::NAN, 1.0), 1.0);
        assert!(f64_bin(op, 1.0, f64::NAN).is_nan());
        // Equal operands also give the second, which the sign of zero shows.
        assert!(f32_bin(op, 0.0, -0.0).is_sign_negative());
        assert!(f32_bin(op, -0.0, 0.0).is_sign_positive());
    }
    assert_eq!(f32_bin(Bin::Min, 1.0, 2.0), 1.0);
    assert_eq!(f32_bin(Bin::Max, 1.0, 2.0), 2.0);
}

#[test]
fn integer_comparisons_are_signed() {
    use Cmp::*;
    let cases = [(Eq, [false, true, false]), (Ne, [true, false, true]), (Lt, [true, false, false])];
    for (op, expected) in cases.into_iter().chain([(Le, [true, true, false])]) {
        for ((x, y), expected) in [(-1_i8, 1_i8), (5, 5), (1, -1)].into_iter().zip(expected) {
            let out = apply((I8, I8), [&x.to_le_bytes(), &y.to_le_bytes()], |b, [x, y]| b.cmp(op, x, y));
            assert_eq!(out, [u8::from(expected)], "{op:?} {x}, {y}");
        }
    }
}

#[test]
fn float_comparisons_know_nan() {
    use Cmp::*;
    let pairs = [(1.0, 2.0), (2.0, 2.0), (2.0, 1.0), (f64::NAN, 1.0), (1.0, f64::NAN)];
    for (op, expected) in [
        (OLt, [true, false, false, false, false]),
        (OLe, [true, true, false, false, false]),
        (ULt, [true, false, false, true, true]),
        (ULe, [true, true, false, true, true]),
        (Uno, [false, false, false, true, true]),
    ] {
        for ((x, y), expected) in pairs.into_iter().zip(expected) {
            let out = apply((F64, I8), [&x.to_le_bytes(), &y.to_le_bytes()], |b, [x, y]| b.cmp(op, x, y));
            assert_eq!(out, [u8::from(expected)], "{op:?} {x}, {y}");
            let (x, y) = (x as f32, y as f32);
            let out = apply((F32, I8), [&x.to_le_bytes(), &y.to_le_bytes()], |b, [x, y]| b.cmp(op, x, y));
            assert_eq!(out, [u8::from(expected)], "{op:?} {x}, {y} in f32");
        }
    }
}

#[test]
fn casts() {
    let cast = |cast, from, to, bytes: &[u8]| apply((from, to), [bytes], |b, [x]| b.cast(cast, x, to));
    assert_eq!(cast(Cast::ZExt, I8, I32, &[0xff]), 255_i32.to_le_bytes());
    assert_eq!(cast(Cast::SExt, I8, I32, &[0xff]), (-1_i32).to_le_bytes());
    assert_eq!(cast(Cast::ZExt, I32, Ty::I64, &[0xff; 4]), 0xffff_ffff_i64.to_le_bytes());
    assert_eq!(cast(Cast::SExt, I16, Ty::I64, &[0xfe, 0xff]), (-2_i64).to_le_bytes());
    assert_eq!(cast(Cast::Trunc, I32, I8, &[0x81, 2, 3, 4]), [0x81]);
    assert_eq!(cast(Cast::Float, F32, F64, &0.1_f32.to_le_bytes()), f64::from(0.1_f32).to_le_bytes());
    assert_eq!(cast(Cast::Float, F64, F32, &0.1_f64.to_le_bytes()), 0.1_f32.to_le_bytes());
    assert_eq!(cast(Cast::IntToFloat, I8, F32, &[0xfd]), (-3.0_f32).to_le_bytes());
    // Through f64, this integer would be rounded twice, to a neighbour.
    let twice = (1_i64 << 54) + (1 << 30) + 1;
    assert_ne!(twice as f32, twice as f64 as f32, "the operand must tell the two apart");
    assert_eq!(cast(Cast::IntToFloat, Ty::I64, F32, &twice.to_le_bytes()), (twice as f32).to_le_bytes());
    assert_eq!(cast(Cast::IntToFloat, Ty::I64, F64, &3_i64.to_le_bytes()), 3.0_f64.to_le_bytes());
    assert_eq!(cast(Cast::Bits, F32, I32, &(-1.5_f32).to_le_bytes()), (-1.5_f32).to_le_bytes());
    assert_eq!(cast(Cast::Bits, I32, F32, &(-1.5_f32).to_le_bytes()), (-1.5_f32).to_le_bytes());
    assert_eq!(cast(Cast::Bits, Ty::I64, F64, &[0x80; 8]), [0x80; 8]);
    let back = apply((I32, I8), [&2_i32.to_le_bytes()], |b, [x]| b.cast(Cast::Trunc, x, Ty::I1));
    assert_eq!(back, [0], "a truth value is the lowest bit");
}

#[test]
fn masks_are_sign_extended_to_all_ones() {
    let ty = Ty::vector(Scalar::I32, 2);
    let bytes = [1_i32, 2, 2, 1].map(i32::to_le_bytes).concat();
    let out = apply((ty, ty), [&bytes[..8], &bytes[8..]], |b, [x, y]| {
        let mask = b.cmp(Cmp::Lt, x, y);
        b.cast(Cast::SExt, mask, ty)
    });
    assert_eq!(out, [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
}

#[test]
fn distances_of_shifts_count_modulo_the_width() {
    let shifted = |x: u64, distance: u64| {
        let operands = [&x.to_le_bytes()[..], &distance.to_le_bytes()];
        let out = apply((Ty::I64, Ty::I64), operands, |b, [x, n]| b.bin(Bin::Shr, x, n));
        u64::from_le_bytes(out.try_into().unwrap())
    };
    assert_eq!([shifted(1 << 40, 37), shifted(1 << 40, 64 + 37), shifted(u64::MAX, 63)], [8, 8, 1]);
    let narrow =
        |x: u8, distance: u8| apply((I8, I8), [&[x], &[distance]], |b, [x, n]| b.bin(Bin::Shr, x, n))[0];
    assert_eq!([narrow(0x80, 7), narrow(0x80, 8), narrow(0x80, 15)], [1, 0x80, 1]);
}

#[test]
fn products_and_sums_round_once() {
    let (x, y) = (1.0 + f64::EPSILON, -1.0 - 2.0 * f64::EPSILON);
    let [a, b] = [x, y].map(f64::to_le_bytes);
    let out = apply((F64, F64), [&a, &b], |b, [x, y]| b.fma(x, x, y));
    assert_eq!(out, (f64::EPSILON * f64::EPSILON).to_le_bytes());
    let (x, y) = (1.0 + f32::EPSILON, -1.0 - 2.0 * f32::EPSILON);
    let [a, b] = [x, y].map(f32::to_le_bytes);
    let out = apply((F32, F32), [&a, &b], |b, [x, y]| b.fma(x, x, y));
    assert_eq!(out, (f32::EPSILON * f32::EPSILON).to_le_bytes());
}

#[test]
fn square_roots_are_the_nearest_ones() {
    let out = apply((F64, F64), [&2.0_f64.to_le_bytes()], |b, [x]| b.square_root(x));
    assert_eq!(out, std::f64::consts::SQRT_2.to_le_bytes());
    let out = apply((F32, F32), [&2.0_f32.to_le_bytes()], |b, [x]| b.square_root(x));
    assert_eq!(out, std::f32::consts::SQRT_2.to_le_bytes());
}

mod libm {
    unsafe extern "C" {
        pub fn expf(x: f32) -> f32;
        pub fn exp(x: f64) -> f64;
    }
}

#[test]
fn exponentials_are_those_of_the_c_library() {
    for i in -2000..2000 {
        let x = f64::from(i) * 0.05371;
        // SAFETY: pure functions of the C library, declared with their C types.
        let (single, double) = unsafe { (libm::expf(x as f32), libm::exp(x)) };
        let out = apply((F32, F32), [&(x as f32).to_le_bytes()], |b, [x]| b.math(Math::Exp, x));
        assert_eq!(out, single.to_le_bytes(), "expf({x})");
        let out = apply((F64, F64), [&x.to_le_bytes()], |b, [x]| b.math(Math::Exp, x));
        assert_eq!(out, double.to_le_bytes(), "exp({x})");
    }
}

#[test]
fn vectors_work_lane_by_lane() {
    let ty = Ty::vector(Scalar::F32, 4);
    let x = [1.0_f32, f32::NAN, -3.0, 4.0].map(f32::to_le_bytes).concat();
    let y = [2.0_f32, 2.0, 2.0, 2.0].map(f32::to_le_bytes).concat();
    let out = apply((ty, ty), [&x, &y], |b, [x, y]| {
        let less = b.cmp(Cmp::OLt, x, y);
        let sum = b.add(x, y);
        b.select(less, sum, y)
    });
    assert_eq!(out, [3.0_f32, 2.0, -1.0, 2.0].map(f32::to_le_bytes).concat());
}

#[test]
fn blocks_of_two_vectors_alternate() {
    let ty = Ty::vector(Scalar::I8, 8);
    let (x, y) = ([0, 1, 2, 3, 4, 5, 6, 7], [10, 11, 12, 13, 14, 15, 16, 17]);
    let even = apply((ty, ty), [&x, &y], |b, [x, y]| b.transpose_step(x, y, 2, 0));
    assert_eq!(even, [0, 1, 10, 11, 4, 5, 14, 15]);
    let odd = apply((ty, ty), [&x, &y], |b, [x, y]| b.transpose_step(x, y, 1, 1));
    assert_eq!(odd, [1, 11, 3, 13, 5, 15, 7, 17]);
    let both = apply((ty, Ty::vector(Scalar::I8, 16)), [&x, &y], |b, [x, y]| b.concat(x, y));
    assert_eq!(both, [x, y].concat());
}

#[test]
fn lanes_move_down_and_leave_zeros() {
    let ty = Ty::vector(Scalar::I16, 4);
    let x = [1_i16, -2, 3, -4].map(i16::to_le_bytes).concat();
    let slide = |places| apply((ty, ty), [&x], |b, [x]| b.lane_shift(x, places));
    assert_eq!(slide(0), x);
    assert_eq!(slide(1), [-2_i16, 3, -4, 0].map(i16::to_le_bytes).concat());
    assert_eq!(slide(3), [-4_i16, 0, 0, 0].map(i16::to_le_bytes).concat());
}

#[test]
fn a_scalar_condition_selects_whole_vectors() {
    let ty = Ty::vector(Scalar::I8, 3);
    for flag in [0_u8, 1] {
        let out = apply((ty, ty), [&[flag, 5, 6], &[7, 8, 9]], |b, [x, y]| {
            let first = byte(b, BufferId(0), 0);
            let flag = b.load(I8, first);
            let zero = b.int_of(I8, 0);
            let cond = b.cmp(Cmp::Ne, flag, zero);
            b.select(cond, x, y)
        });
        assert_eq!(out, if flag == 1 { [1, 5, 6] } else { [7, 8, 9] });
    }
}

#[test]
fn constants_fill_all_lanes_and_wrap() {
    let f = kernel(|b, [_, out, _]| {
        let bytes = b.int_of(Ty::vector(Scalar::I8, 3), 254);
        let float = b.float(F32, 0.1);
        let rows = b.n_rows();
        for (offset, value) in [(0, bytes), (3, float), (7, rows)] {
            let to = byte(b, out, offset);
            b.store(to, value);
        }
    });
    let expected = [&[254; 3][..], &0.1_f32.to_le_bytes(), &ROWS.to_le_bytes()].concat();
    assert_eq!(call(&f, &[], 15), Ok(expected));
}

#[test]
fn addresses_are_index_times_stride_plus_offset() {
    let f = kernel(|b, [_, out, table]| {
        let two = b.int(2);
        let value = b.load(I8, Address { buffer: table, index: two, stride: 5, offset: 3 });
        let to = byte(b, out, 0);
        b.store(to, value);
    });
    assert_eq!(call(&f, &[], 1), Ok(vec![13]));
}

/// Stores an `i64` at the start of the output.
fn result(b: &mut Builder, value: Value) {
    let to = byte(b, BufferId(1), 0);
    b.store(to, value);
}

fn outcome(body: impl FnOnce(&mut Builder) -> Value) -> i64 {
    let f = kernel(|b, _| {
        let value = body(b);
        result(b, value);
    });
    i64::from_le_bytes(call(&f, &[], 8).unwrap().try_into().unwrap())
}

#[test]
fn loops_count_and_carry() {
    let sum = |lo, hi, step| {
        outcome(|b| {
            let (lo, hi, first) = (b.int(lo), b.int(hi), b.int(100));
            b.for_loop((lo, hi, step), &[first], |b, iv, carried| vec![b.add(carried[0], iv)])[0]
        })
    };
    assert_eq!(sum(0, 5, 1), 110);
    assert_eq!(sum(2, 9, 3), 100 + 2 + 5 + 8);
    assert_eq!(sum(5, 5, 1), 100);
    assert_eq!(sum(5, -5, 1), 100);
    let last = i64::MAX - 1;
    assert_eq!(sum(last, i64::MAX, 5), 100_i64.wrapping_add(last), "the counter does not wrap around");
}

#[test]
fn carried_values_change_all_at_once() {
    let fibonacci = outcome(|b| {
        let (zero, one, ten) = (b.int(0), b.int(1), b.int(10));
        b.for_loop((zero, ten, 1), &[zero, one], |b, _, c| vec![c[1], b.add(c[0], c[1])])[0]
    });
    assert_eq!(fibonacci, 55);
}

#[test]
fn a_tested_loop_yields_the_values_of_the_failing_test() {
    let f = |first| {
        outcome(|b| {
            let (first, limit) = (b.int(first), b.int(100));
            let test = |b: &mut Builder, c: &[Value]| b.cmp(Cmp::Lt, c[0], limit);
            b.while_loop(WalkSteps::default(), &[first], test, |b, c| vec![b.add(c[0], c[0])])[0]
        })
    };
    assert_eq!(f(3), 192);
    assert_eq!(f(500), 500);
}

#[test]
fn choices_join_values_of_the_arm_taken() {
    for rows in [ROWS, ROWS + 1] {
        let value = outcome(|b| {
            let (n, limit) = (b.n_rows(), b.int(rows));
            let equal = b.cmp(Cmp::Eq, n, limit);
            b.if_else(equal, |b| vec![b.add_int(n, 1), n], |b| vec![n, b.add_int(n, 20)])[1]
        });
        assert_eq!(value, if rows == ROWS { ROWS } else { ROWS + 20 });
    }
}

#[test]
fn temporary_memory_holds_what_is_stored() {
    let value = outcome(|b| {
        let (zero, size) = (b.int(0), b.int(16));
        let seven = b.int(77);
        let mut loaded = zero;
        b.alloc("tmp", Scalar::I64, size, |b, tmp| {
            b.store(at(tmp, zero, 8), seven);
            loaded = b.load(Ty::I64, at(tmp, zero, 8));
            result(b, loaded);
        });
        seven
    });
    assert_eq!(value, 77);
}

#[test]
fn prefetches_never_fault() {
    let f = kernel(|b, buffers| {
        for buffer in buffers {
            for index in [i64::MIN, -1, 0, i64::MAX] {
                let index = b.int(index);
                b.prefetch(at(buffer, index, 64));
            }
        }
    });
    assert_eq!(call(&f, &[], 0), Ok(vec![]));
}

#[test]
fn accesses_outside_a_buffer_are_faults() {
    for (index, stride, bytes) in [
        (4, 4, 16..20),
        (-1, 4, -4..0),
        (13, 1, 13..17),
        (i64::MAX, 8, i128::from(i64::MAX) * 8..i128::from(i64::MAX) * 8 + 4),
    ] {
        let f = kernel(|b, [input, ..]| {
            let index = b.int(index);
            b.load(F32, at(input, index, stride));
        });
        let InterpreterError::OutOfBounds(access) = fault(&f) else { panic!("expected a fault at {index}") };
        assert_eq!((access.buffer.as_str(), access.size, access.bytes), ("in", 16, bytes));
        assert_eq!(access.statement, format!("%1 = load in[{index}:{stride}]: f32"));
    }
    let f = kernel(|b, [_, out, _]| {
        let (index, value) = (b.int(8), b.float(Ty::vector(Scalar::F64, 2), 1.0));
        b.store(Address { buffer: out, index, stride: 7, offset: 1 }, value);
    });
    assert_eq!(
        fault(&f).to_string(),
        "bytes 57..73 of `out` reach outside the buffer, which has 64 bytes, in `store out[8:7 + 1] = 1.0`"
    );
}

#[test]
fn stores_to_read_only_memory_are_faults() {
    for buffer in [0, 2] {
        for atomic in [false, true] {
            let f = kernel(|b, buffers| {
                let value = b.float(F32, 2.0);
                let to = byte(b, buffers[buffer], 8);
                if atomic { b.atomic_add(to, value) } else { b.store(to, value) }
            });
            let InterpreterError::ReadOnly(access) = fault(&f) else { panic!("expected a fault") };
            assert_eq!((access.buffer.as_str(), access.bytes), (["in", "out", "table"][buffer], 8..12));
        }
    }
}

#[test]
fn reads_of_uninitialised_memory_are_faults() {
    let f = kernel(|b, [_, out, _]| {
        let value = b.int_of(I16, 5);
        let (whole, part) = (byte(b, out, 0), byte(b, out, 1));
        b.store(part, value);
        b.load(Ty::I64, whole);
    });
    let InterpreterError::Uninitialised(access) = fault(&f) else { panic!("expected a fault") };
    assert_eq!((access.buffer.as_str(), access.bytes), ("out", 0..1));

    let f = kernel(|b, [_, out, _]| {
        let value = b.float(F32, 1.0);
        let to = byte(b, out, 0);
        b.atomic_add(to, value);
    });
    assert!(matches!(fault(&f), InterpreterError::Uninitialised(_)));
}

#[test]
fn temporary_memory_is_fresh_each_time() {
    let f = kernel(|b, _| {
        let (zero, two, size) = (b.int(0), b.int(2), b.int(8));
        b.for_loop((zero, two, 1), &[], |b, iv, _| {
            b.alloc("tmp", Scalar::I64, size, |b, tmp| {
                let second = b.cmp(Cmp::Ne, iv, zero);
                b.if_else(
                    second,
                    |b| {
                        b.load(Ty::I64, at(tmp, zero, 8));
                        vec![]
                    },
                    |b| {
                        b.store(at(tmp, zero, 8), iv);
                        vec![]
                    },
                );
            });
            vec![]
        });
    });
    let InterpreterError::Uninitialised(access) = fault(&f) else { panic!("expected a fault") };
    assert_eq!((access.buffer.as_str(), access.bytes), ("tmp", 0..8));
}

#[test]
fn memory_of_a_senseless_size_is_a_fault() {
    for bytes in [-1, i64::MAX] {
        let f = kernel(|b, _| {
            let size = b.int(bytes);
            b.alloc("tmp", Scalar::I8, size, |_, _| {});
        });
        let left = InterpreterOptions::default().max_memory;
        assert_eq!(fault(&f), InterpreterError::Allocation { buffer: "tmp".to_string(), bytes, left });
    }
}

#[test]
fn memory_is_returned_for_the_next_use() {
    let f = kernel(|b, _| {
        let (zero, many, size) = (b.int(0), b.int(50), b.int(100));
        b.for_loop((zero, many, 1), &[], |b, _, _| {
            b.alloc("tmp", Scalar::I8, size, |_, _| {});
            vec![]
        });
    });
    let options = InterpreterOptions { max_memory: 100, ..InterpreterOptions::default() };
    assert_eq!(call_with(&f, &[], 0, &options), Ok(vec![]));
    let options = InterpreterOptions { max_memory: 99, ..options };
    assert!(matches!(call_with(&f, &[], 0, &options), Err(InterpreterError::Allocation { left: 99, .. })));
}

#[test]
fn endless_loops_are_stopped() {
    let options = InterpreterOptions { max_steps: 1000, ..InterpreterOptions::default() };
    let forever = kernel(|b, _| {
        let (n, limit) = (b.n_rows(), b.int(0));
        b.while_loop(WalkSteps::default(), &[], |b, _| b.cmp(Cmp::Lt, limit, n), |_, _| vec![]);
    });
    let long = kernel(|b, _| {
        let (zero, end) = (b.int(0), b.int(i64::MAX));
        b.for_loop((zero, end, 1), &[], |_, _, _| vec![]);
    });
    let wide = kernel(|b, _| {
        let end = b.int(i64::MAX);
        b.parallel(end, |_, _| {});
    });
    for f in [forever, long, wide] {
        assert_eq!(call_with(&f, &[], 0, &options), Err(InterpreterError::TooLong { steps: 1000 }));
    }
}

#[test]
fn tables_that_are_not_passed_are_faults() {
    let mut b = Builder::new("k");
    b.buffer("t", Space::ModelTable(3), Scalar::I8);
    assert_eq!(fault(&b.finish()), InterpreterError::NoTable { buffer: "t".to_string(), table: 3 });
}

#[test]
fn malformed_functions_do_not_run() {
    let f = kernel(|b, [_, out, _]| {
        let unknown = Value(99);
        b.store(at(out, unknown, 1), unknown);
    });
    assert!(matches!(fault(&f), InterpreterError::Malformed(_)));
}

#[test]
fn the_deepest_nesting_fits_the_stack() {
    fn nest(b: &mut Builder, cond: Value, depth: usize) {
        if depth > 0 {
            b.when(cond, |b| nest(b, cond, depth - 1));
        }
    }
    let f = kernel(|b, _| {
        let rows = b.n_rows();
        let cond = b.cmp(Cmp::Eq, rows, rows);
        nest(b, cond, sched_ir::verify::MAX_NESTING - 1);
    });
    assert_eq!(call(&f, &[], 0), Ok(vec![]));
}

// Parallel loops.

/// `parallel i in 0..4 { body }`, with `out` set to zeros before if `filled`.
fn parallel(filled: bool, body: impl FnOnce(&mut Builder, BufferId, Value)) -> Function {
    kernel(|b, [_, out, _]| {
        if filled {
            fill(b, out);
        }
        let trip = b.int(4);
        b.parallel(trip, |b, i| body(b, out, i));
    })
}

fn fill(b: &mut Builder, out: BufferId) {
    let zeros = b.int_of(Ty::vector(Scalar::I8, 64), 0);
    let start = byte(b, out, 0);
    b.store(start, zeros);
}

#[test]
fn all_iterations_run_once() {
    let f = parallel(true, |b, out, i| {
        let old = b.load(Ty::I64, at(out, i, 8));
        let new = b.add(old, i);
        let new = b.add_int(new, 1);
        b.store(at(out, i, 8), new);
    });
    let expected = [1_i64, 2, 3, 4, 0, 0, 0, 0].map(i64::to_le_bytes).concat();
    assert_eq!(in_many_orders(&f), Ok(expected));
}

#[test]
fn no_iterations_run_for_no_trips() {
    for trip in [0, -1, i64::MIN] {
        let f = kernel(|b, [input, ..]| {
            let trip = b.int(trip);
            b.parallel(trip, |b, _| b.store(at(input, trip, 1), trip));
        });
        assert_eq!(call(&f, &[], 0), Ok(vec![]));
    }
}

#[test]
fn the_order_of_iterations_depends_on_the_seed() {
    // Each iteration adds its number to a float so large that the order of additions matters.
    let f = parallel(true, |b, out, i| {
        let x = b.cast(Cast::IntToFloat, i, F32);
        let big = b.float(F32, 9_999_999.0);
        let x = b.mul(x, big);
        let to = byte(b, out, 0);
        b.atomic_add(to, x);
        let one = b.float(F32, 1.0);
        b.atomic_add(to, one);
    });
    let sums: std::collections::BTreeSet<Vec<u8>> = (0..40)
        .map(|seed| {
            call_with(&f, &[], 64, &InterpreterOptions { seed, ..InterpreterOptions::default() }).unwrap()
        })
        .collect();
    assert!(sums.len() > 1);
}

#[test]
fn two_writes_race() {
    let f = parallel(false, |b, out, i| {
        let to = byte(b, out, 8);
        b.store(to, i);
    });
    let race = race(&f);
    assert_eq!((race.access.buffer.as_str(), &race.access.bytes), ("out", &(8..16)));
    assert_eq!((race.kind, race.other_kind), (AccessKind::Write, AccessKind::Write));
    assert_ne!(race.iteration, race.other_iteration);
    assert!((0..4).contains(&race.iteration) && (0..4).contains(&race.other_iteration));
    assert_eq!(race.parallel, "parallel %1 in 0..4");
    assert_eq!(race.access.statement, "store out[0:1 + 8] = %1");
}

#[test]
fn equal_writes_race_too() {
    let f = parallel(false, |b, out, _| {
        let (to, value) = (byte(b, out, 0), b.int(5));
        b.store(to, value);
    });
    race(&f);
}

#[test]
fn writes_that_overlap_in_a_byte_race() {
    let f = parallel(false, |b, out, i| b.store(at(out, i, 7), i));
    let race = race(&f);
    assert_eq!((race.iteration - race.other_iteration).abs(), 1);
    assert_eq!(race.access.bytes.start, i128::from(race.iteration.max(race.other_iteration)) * 7);
}

#[test]
fn writes_side_by_side_do_not_race() {
    let f = parallel(false, |b, out, i| b.store(at(out, i, 8), i));
    // The rest of the output keeps the caller's bytes.
    let expected = [0_i64, 1, 2, 3].map(i64::to_le_bytes).concat();
    assert_eq!(in_many_orders(&f).map(|out| out[..32].to_vec()), Ok(expected));
}

#[test]
fn reads_race_with_writes_of_other_iterations() {
    // Iteration i reads element i + 1, which another iteration writes, in any order.
    let f = parallel(true, |b, out, i| {
        let next = b.add_int(i, 1);
        let value = b.load(Ty::I64, at(out, next, 8));
        b.store(at(out, i, 8), value);
    });
    let race = race(&f);
    assert!(race.kind != race.other_kind);
    assert_eq!((race.iteration - race.other_iteration).abs(), 1);
}

#[test]
fn common_reads_do_not_race() {
    let f = parallel(true, |b, out, _| {
        let from = byte(b, out, 0);
        b.load(Ty::I64, from);
    });
    assert_eq!(in_many_orders(&f), Ok(vec![0; 64]));
}

#[test]
fn one_writer_among_readers_races() {
    let f = parallel(true, |b, out, i| {
        let (there, three) = (byte(b, out, 0), b.int(3));
        let is_last = b.cmp(Cmp::Eq, i, three);
        b.load(Ty::I64, there);
        b.when(is_last, |b| b.store(there, i));
    });
    let race = race(&f);
    assert!(race.iteration == 3 || race.other_iteration == 3);
}

#[test]
fn atomic_additions_do_not_race() {
    let f = parallel(true, |b, out, _| {
        let (there, one) = (byte(b, out, 0), b.float(F64, 1.0));
        b.atomic_add(there, one);
    });
    assert_eq!(in_many_orders(&f).map(|out| out[..8].to_vec()), Ok(4.0_f64.to_le_bytes().to_vec()));
}

#[test]
fn plain_accesses_race_with_atomic_ones() {
    for store in [false, true] {
        let f = parallel(true, |b, out, i| {
            let (there, one, two) = (byte(b, out, 0), b.float(F32, 1.0), b.int(2));
            let plain = b.cmp(Cmp::Eq, i, two);
            b.if_else(
                plain,
                |b| {
                    if store {
                        b.store(there, one);
                    } else {
                        b.load(F32, there);
                    }
                    vec![]
                },
                |b| {
                    b.atomic_add(there, one);
                    vec![]
                },
            );
        });
        let race = race(&f);
        let plain = if store { AccessKind::Write } else { AccessKind::Read };
        let touches = [race.kind, race.other_kind];
        assert!(touches.contains(&plain) && touches.contains(&AccessKind::Atomic));
    }
}

#[test]
fn memory_made_by_an_iteration_is_its_own() {
    let f = parallel(false, |b, out, i| {
        let (zero, size) = (b.int(0), b.int(8));
        b.alloc("tmp", Scalar::I64, size, |b, tmp| {
            b.store(at(tmp, zero, 8), i);
            let value = b.load(Ty::I64, at(tmp, zero, 8));
            b.store(at(out, i, 8), value);
        });
    });
    let expected = [0_i64, 1, 2, 3].map(i64::to_le_bytes).concat();
    assert_eq!(in_many_orders(&f).map(|out| out[..32].to_vec()), Ok(expected));
}

#[test]
fn memory_made_around_a_loop_is_shared() {
    let f = kernel(|b, _| {
        let (zero, size, trip) = (b.int(0), b.int(8), b.int(2));
        b.alloc("tmp", Scalar::I64, size, |b, tmp| {
            b.parallel(trip, |b, i| b.store(at(tmp, zero, 8), i));
        });
    });
    assert_eq!(race(&f).access.buffer, "tmp");
}

#[test]
fn one_loop_after_the_other_does_not_race() {
    let f = kernel(|b, [_, out, _]| {
        let (trip, last) = (b.int(4), b.int(3));
        b.parallel(trip, |b, i| b.store(at(out, i, 8), i));
        // Mirrored, so that another iteration reads each element.
        b.parallel(trip, |b, i| {
            let mirrored = b.sub(last, i);
            let value = b.load(Ty::I64, at(out, mirrored, 8));
            let value = b.add_int(value, 10);
            b.store(at(out, mirrored, 8), value);
        });
        let end = byte(b, out, 56);
        let first = b.load(Ty::I64, at(out, last, 8));
        b.store(end, first);
    });
    let out = in_many_orders(&f).unwrap();
    assert_eq!(out[..32], [10_i64, 11, 12, 13].map(i64::to_le_bytes).concat());
    assert_eq!(out[56..], 13_i64.to_le_bytes());
}

/// `parallel i in 0..3 { parallel j in 0..3 { body } }` over a zeroed output.
fn nested(body: impl FnOnce(&mut Builder, BufferId, Value, Value)) -> Function {
    kernel(|b, [_, out, _]| {
        fill(b, out);
        let trip = b.int(3);
        b.parallel(trip, |b, i| b.parallel(trip, |b, j| body(b, out, i, j)));
    })
}

#[test]
fn nested_loops_race_at_the_level_that_they_share() {
    let inner = race(&nested(|b, out, i, _| b.store(at(out, i, 8), i)));
    assert_eq!(inner.parallel, "parallel %4 in 0..3");
    let outer = race(&nested(|b, out, _, j| b.store(at(out, j, 8), j)));
    assert_eq!(outer.parallel, "parallel %3 in 0..3");
    assert_ne!(outer.iteration, outer.other_iteration);
}

#[test]
fn nested_loops_with_disjoint_writes_do_not_race() {
    let f = nested(|b, out, i, j| {
        let row = b.mul_int(i, 3);
        let index = b.add(row, j);
        let one = b.int_of(I8, 1);
        b.store(at(out, index, 1), one);
    });
    assert_eq!(in_many_orders(&f).map(|out| out[..9].to_vec()), Ok(vec![1; 9]));
}

#[test]
fn iterations_read_the_writes_of_their_own_nested_loops() {
    // Each outer iteration has 16 bytes. A nested loop writes them, and a second one reads those of other
    // inner iterations.
    let f = kernel(|b, [_, out, _]| {
        let (outer, inner, one) = (b.int(4), b.int(2), b.int(1));
        b.parallel(outer, |b, i| {
            let base = b.mul_int(i, 2);
            b.parallel(inner, |b, j| {
                let index = b.add(base, j);
                b.store(at(out, index, 8), index);
            });
            b.parallel(inner, |b, j| {
                let other = b.sub(one, j);
                let index = b.add(base, other);
                let value = b.load(Ty::I64, at(out, index, 8));
                let value = b.add_int(value, 100);
                b.store(at(out, index, 8), value);
            });
        });
    });
    let expected: Vec<u8> = (100_i64..108).flat_map(i64::to_le_bytes).collect();
    assert_eq!(in_many_orders(&f), Ok(expected));
}

#[test]
fn writes_of_a_nested_loop_race_with_other_outer_iterations() {
    let f = kernel(|b, [_, out, _]| {
        fill(b, out);
        let (outer, inner, zero) = (b.int(3), b.int(2), b.int(0));
        b.parallel(outer, |b, i| {
            let first = b.cmp(Cmp::Eq, i, zero);
            b.if_else(
                first,
                |b| {
                    b.parallel(inner, |b, j| b.store(at(out, j, 8), j));
                    vec![]
                },
                |b| {
                    b.load(Ty::I64, at(out, zero, 8));
                    vec![]
                },
            );
        });
    });
    let race = race(&f);
    assert_eq!(race.parallel, "parallel %4 in 0..3");
    assert!(race.iteration == 0 || race.other_iteration == 0);
}

#[test]
fn memory_of_an_outer_iteration_is_shared_by_its_nested_loop() {
    let with = |racy: bool| {
        kernel(|b, _| {
            let (zero, size, trip) = (b.int(0), b.int(32), b.int(4));
            b.parallel(trip, |b, _| {
                b.alloc("tmp", Scalar::I64, size, |b, tmp| {
                    b.parallel(trip, |b, j| b.store(at(tmp, if racy { zero } else { j }, 8), j));
                });
            });
        })
    };
    assert_eq!(race(&with(true)).parallel, "parallel %4 in 0..4");
    assert!(in_many_orders(&with(false)).is_ok());
}

#[test]
fn a_reader_that_is_not_the_last_one_is_not_forgotten() {
    // Iterations 0 and 1 read in nested loops that end before iteration 2 writes.
    let f = kernel(|b, [_, out, _]| {
        fill(b, out);
        let (trip, two) = (b.int(3), b.int(2));
        let there = byte(b, out, 0);
        b.parallel(trip, |b, i| {
            let writes = b.cmp(Cmp::Eq, i, two);
            b.if_else(
                writes,
                |b| {
                    b.store(there, i);
                    vec![]
                },
                |b| {
                    b.parallel(two, |b, _| {
                        b.load(Ty::I64, there);
                    });
                    vec![]
                },
            );
        });
    });
    let race = race(&f);
    assert!(race.iteration == 2 || race.other_iteration == 2);
}

#[test]
fn messages_name_the_statement_the_bytes_and_the_iterations() {
    let f = kernel(|b, [_, out, _]| {
        let trip = b.int(2);
        b.parallel(trip, |b, i| b.store(at(out, trip, 4), i));
    });
    let race = race(&f);
    let (first, second) = (race.other_iteration, race.iteration);
    assert_eq!(
        InterpreterError::Race(Box::new(race)).to_string(),
        format!(
            "race on bytes 8..16 of `out`: iteration {first} writes them and iteration {second} writes \
             them, and \
             nothing orders the two in `parallel %1 in 0..2`, in `store out[2:4] = %1`"
        )
    );
    let f = kernel(|b, [_, out, _]| {
        let from = byte(b, out, 2);
        b.load(I16, from);
    });
    assert_eq!(
        fault(&f).to_string(),
        "bytes 2..4 of `out` are read before anything is written there, in `%1 = load out[0:1 + 2]: i16`"
    );
}

#[test]
fn the_default_run_is_the_run_with_default_options() {
    let f = kernel(|b, [_, out, _]| {
        let value = b.int_of(I8, 9);
        let to = byte(b, out, 0);
        b.store(to, value);
    });
    assert!(matches!(f.body.last(), Some(Stmt::Store(..))));
    assert!(matches!(f.body.first(), Some(Stmt::Let(_, Op::Int(_)))));
    let mut output = [0];
    let memory = CallMemory {
        rows: 1,
        input: &[],
        output: &mut output,
        tables: &[Table { name: String::new(), bytes: vec![].into() }],
    };
    assert_eq!(run(&f, memory), Ok(()));
    assert_eq!(output, [9]);
}

const I32X4: Ty = Ty::vector(Scalar::I32, 4);

/// A mask of the lanes whose numbers are below `n`.
fn first_lanes(b: &mut Builder, n: i64) -> Value {
    let (numbers, n) = (b.iota(I32X4), b.int_of(I32X4, n));
    b.cmp(Cmp::Lt, numbers, n)
}

/// The output of a kernel that stores four numbers.
fn four(body: impl FnOnce(&mut Builder, [BufferId; 3]) -> Value) -> Vec<i32> {
    let f = kernel(|b, buffers| {
        let result = body(b, buffers);
        let to = byte(b, buffers[1], 0);
        b.store(to, result);
    });
    let bytes = call(&f, &[0; 16], 16).unwrap();
    bytes.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[test]
fn vectors_are_made_and_taken_apart() {
    assert_eq!(four(|b, _| b.iota(I32X4)), [0, 1, 2, 3]);
    let third = four(|b, _| {
        let numbers = b.iota(I32X4);
        let one = b.extract(numbers, 2);
        b.splat(one, 4)
    });
    assert_eq!(third, [2; 4]);
    for (n, expected) in [(0, 0), (1, 1), (4, 1)] {
        let any = four(|b, _| {
            let mask = first_lanes(b, n);
            let any = b.any(mask);
            let any = b.cast(Cast::ZExt, any, I32);
            b.splat(any, 4)
        });
        assert_eq!(any, [expected; 4], "{n} lanes");
    }
    for (n, expected) in [(0, 0), (1, 1), (3, 7), (4, 15)] {
        let bits = four(|b, _| {
            let mask = first_lanes(b, n);
            let bits = b.mask_bits(mask);
            let bits = b.cast(Cast::Trunc, bits, I32);
            b.splat(bits, 4)
        });
        assert_eq!(bits, [expected; 4], "{n} lanes");
    }
}

#[test]
fn lookups_take_the_index_modulo_the_length() {
    // The table's bytes are their own indices.
    let found = four(|b, [_, _, table]| {
        let from = byte(b, table, 8);
        let table = b.load(Ty::vector(Scalar::I8, 4), from);
        let (numbers, less) = (b.iota(I32X4), b.int_of(I32X4, 2));
        let index = b.sub(numbers, less);
        b.lookup(table, index)
    });
    assert_eq!(found, [10, 11, 8, 9]);
    // Integers are zero-extended, even though their type is signed.
    let found = four(|b, _| {
        let table = b.int_of(Ty::vector(Scalar::I8, 2), -1);
        let index = b.iota(I32X4);
        b.lookup(table, index)
    });
    assert_eq!(found, [255; 4]);
    let found = four(|b, _| {
        let table = b.float(F32, 1.0);
        let index = b.iota(I32X4);
        let found = b.lookup(table, index);
        b.cast(Cast::Bits, found, I32X4)
    });
    assert_eq!(found, [1.0_f32.to_bits() as i32; 4]);
}

/// A gather of 32 bits from the table at bytes `(base + lane * factor) * 2 + 2`.
fn gather(b: &mut Builder, table: BufferId, (base, factor): (i64, i64), mask: Option<Value>) -> Value {
    let (lanes, factor) = (b.iota(I32X4), b.int_of(I32X4, factor));
    let index = b.mul(lanes, factor);
    let base = b.int(base);
    b.gather(Scalar::I32, Gather { buffer: table, base, index, stride: 2, offset: 2, mask })
}

#[test]
fn gathers_load_lane_by_lane() {
    let at = |byte: i32| byte * 0x0101_0101 + 0x0302_0100;
    assert_eq!(four(|b, [_, _, t]| gather(b, t, (5, -2), None)), [12, 8, 4, 0].map(at));
    let some = four(|b, [_, _, t]| {
        let mask = first_lanes(b, 2);
        gather(b, t, (1, 4), Some(mask))
    });
    assert_eq!(some, [at(4), at(12), 0, 0]);
}

#[test]
fn only_active_lanes_touch_memory() {
    // Lanes from the third on would be outside the table or the output.
    let masked = |lanes: i64| {
        kernel(move |b, [_, out, table]| {
            let mask = first_lanes(b, lanes);
            let gathered = gather(b, table, (1, 4), Some(mask));
            let from = byte(b, table, 8);
            let loaded = b.load_masked(I32X4, from, mask);
            let sum = b.add(gathered, loaded);
            let to = byte(b, out, 56);
            b.store_masked(to, sum, mask);
        })
    };
    assert!(call(&masked(2), &[], 64).is_ok());
    let InterpreterError::OutOfBounds(access) = fault(&masked(3)) else { panic!("no fault") };
    assert_eq!((access.buffer.as_str(), access.bytes), ("table", 20..24));

    let stored = |lanes: i64| {
        kernel(move |b, [_, out, _]| {
            let (mask, zeros) = (first_lanes(b, lanes), b.int_of(I32X4, 0));
            let to = byte(b, out, 56);
            b.store_masked(to, zeros, mask);
        })
    };
    let InterpreterError::OutOfBounds(access) = fault(&stored(3)) else { panic!("no fault") };
    assert_eq!((access.buffer.as_str(), access.bytes), ("out", 64..68));
    let out = call(&stored(1), &[], 64).unwrap();
    assert_eq!(out, [vec![0xaa; 56], vec![0; 4], vec![0xaa; 4]].concat());
    let far = kernel(|b, [_, out, table]| {
        let (base, index) = (b.int(i64::MAX), b.int_of(I32X4, 1));
        let all = Gather { buffer: table, base, index, stride: u32::MAX, offset: 0, mask: None };
        let found = b.gather(Scalar::I32, all);
        let to = byte(b, out, 0);
        b.store(to, found);
    });
    assert!(matches!(fault(&far), InterpreterError::OutOfBounds(_)));
}

#[test]
fn masked_stores_initialise_only_active_lanes() {
    let function = |read: i64| {
        kernel(move |b, [_, out, _]| {
            let size = b.int(16);
            b.alloc("tmp", Scalar::I32, size, |b, tmp| {
                let (two, zeros) = (first_lanes(b, 2), b.int_of(I32X4, 0));
                let (to, zero) = (byte(b, tmp, 0), byte(b, out, 0));
                b.store_masked(to, zeros, two);
                let mask = first_lanes(b, read);
                let some = b.load_masked(I32X4, to, mask);
                b.store(zero, some);
            });
        })
    };
    assert!(call(&function(2), &[], 64).is_ok());
    let InterpreterError::Uninitialised(access) = fault(&function(3)) else { panic!("no fault") };
    assert_eq!((access.buffer.as_str(), access.bytes), ("tmp", 8..12));
}

#[test]
fn lanes_race_only_where_they_are_active() {
    // Each iteration writes four numbers, of which `lanes` are active, eight bytes after the previous
    // iteration.
    let function = |lanes: i64| {
        kernel(move |b, [_, out, _]| {
            let (four, mask, zeros) = (b.int(4), first_lanes(b, lanes), b.int_of(I32X4, 0));
            b.parallel(four, |b, i| b.store_masked(at(out, i, 8), zeros, mask));
        })
    };
    assert!(in_many_orders(&function(2)).is_ok());
    let found = race(&function(3));
    assert_eq!((found.access.buffer.as_str(), found.kind), ("out", AccessKind::Write));
    let read = kernel(|b, [_, out, _]| {
        let (four, mask, zeros) = (b.int(4), first_lanes(b, 1), b.int_of(I32X4, 0));
        b.parallel(four, |b, i| {
            b.store_masked(at(out, i, 4), zeros, mask);
            let index = b.iota(I32X4);
            let all = Gather { buffer: out, base: i, index, stride: 4, offset: 0, mask: Some(mask) };
            b.gather(Scalar::I32, all);
        });
    });
    assert!(in_many_orders(&read).is_ok());
}
