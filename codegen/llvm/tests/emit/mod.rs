//! Every statement and every operation of LIR, run as machine code.

mod functions;
mod harness;
mod shared;
mod vectors;

use self::harness::{Element, at, at_number, entry, module, run, run_as};
use sched_diagnostics::internal;
use sched_ir::lir::*;
use sched_llvm::{CompiledCode, Cpu, EntryInfo, Jit, PackedResults, PackedRows, asm_text, codes, llvm_text};

const F32: Ty = Ty::of(Scalar::F32);
const F64: Ty = Ty::of(Scalar::F64);

/// A function whose input has pairs of vectors, and whose output has the `results` of each pair, in order.
fn on_pairs(ty: Ty, results: impl FnOnce(&mut Builder, Value, Value) -> Vec<Value>) -> Function {
    let mut b = Builder::new("pairs");
    let (input, output) =
        (b.buffer("in", Space::Input, ty.scalar), b.buffer("out", Space::Output, ty.scalar));
    let (zero, n) = (b.int(0), b.n_rows());
    b.for_loop((zero, n, 1), &[], |b, i, _| {
        let bytes = ty.bytes();
        let pair = at(input, i, 2 * bytes);
        let (x, y) = (b.load(ty, pair), b.load(ty, Address { offset: bytes, ..pair }));
        let values = results(b, x, y);
        let size = b.ty(values[0]).bytes();
        let stride = size * values.len() as u32;
        for (value, k) in values.into_iter().zip(0..) {
            b.store(Address { buffer: output, index: i, stride, offset: k * size }, value);
        }
        Vec::new()
    });
    b.finish()
}

/// Runs `on_pairs` on vectors of `lanes` equal elements, and checks that every lane equals `expected`.
fn check_pairs<I: Element, O: Element + PartialEq + std::fmt::Debug>(
    scalar: Scalar,
    pairs: &[(I, I)],
    results: impl Fn(&mut Builder, Value, Value) -> Vec<Value>,
    expected: impl Fn(I, I) -> Vec<O>,
) {
    for lanes in [1, 3, 4, 16] {
        let ty = Ty::vector(scalar, lanes);
        let lanes = usize::from(lanes);
        let rows: Vec<I> =
            pairs.iter().flat_map(|(x, y)| [vec![*x; lanes], vec![*y; lanes]].concat()).collect();
        let expected: Vec<O> =
            pairs.iter().flat_map(|(x, y)| expected(*x, *y)).flat_map(|result| vec![result; lanes]).collect();
        let function = on_pairs(ty, &results);
        let n = pairs.len() as i64;
        let (out, _) = run_as::<I, O>(OutputKind::Raw, function, &[], &rows, n, expected.len());
        assert_eq!(out, expected, "{ty}");
    }
}

/// All pairs of some numbers.
fn pairs<T: Copy>(numbers: &[T]) -> Vec<(T, T)> {
    numbers.iter().flat_map(|x| numbers.iter().map(|y| (*x, *y))).collect()
}

const INT_OPS: [Bin; 8] = [Bin::Add, Bin::Sub, Bin::Mul, Bin::And, Bin::Or, Bin::Xor, Bin::Min, Bin::Max];

macro_rules! int_arithmetic {
    ($test:ident, $int:ident, $scalar:ident) => {
        #[test]
        fn $test() {
            check_pairs::<$int, $int>(
                Scalar::$scalar,
                &pairs(&[0, 1, -1, 7, -100, $int::MAX, $int::MIN]),
                |b, x, y| {
                    let mut all: Vec<Value> = INT_OPS.into_iter().map(|op| b.bin(op, x, y)).collect();
                    let seven = b.int_of(b.ty(x), 7);
                    all.push(b.bin(Bin::IDiv, x, seven));
                    all
                },
                |x, y| {
                    let (sum, difference, product) =
                        (x.wrapping_add(y), x.wrapping_sub(y), x.wrapping_mul(y));
                    vec![sum, difference, product, x & y, x | y, x ^ y, x.min(y), x.max(y), x / 7]
                },
            );
        }
    };
}
int_arithmetic!(arithmetic_of_i8, i8, I8);
int_arithmetic!(arithmetic_of_i16, i16, I16);
int_arithmetic!(arithmetic_of_i32, i32, I32);
int_arithmetic!(arithmetic_of_i64, i64, I64);

const FLOAT_OPS: [Bin; 6] = [Bin::Add, Bin::Sub, Bin::Mul, Bin::Div, Bin::Min, Bin::Max];

macro_rules! float_arithmetic {
    ($test:ident, $float:ident, $int:ident, $scalar:ident, $bits:ident) => {
        #[test]
        fn $test() {
            const NAN: $float = $float::NAN;
            let numbers = [0.0, -0.0, 1.5, -3.25, 1e30, $float::MIN_POSITIVE / 4.0, $float::INFINITY, NAN];
            // Results are compared as bits, with all NaNs alike.
            let bits = |x: $float| if x.is_nan() { NAN.to_bits() as $int } else { x.to_bits() as $int };
            check_pairs::<$float, $int>(
                Scalar::$scalar,
                &pairs(&numbers),
                |b, x, y| {
                    let ty = b.ty(x);
                    let all: Vec<Value> = FLOAT_OPS.into_iter().map(|op| b.bin(op, x, y)).collect();
                    all.into_iter()
                        .map(|value| {
                            let nan = b.float(ty, f64::NAN);
                            let is_nan = b.cmp(Cmp::Uno, value, value);
                            let value = b.select(is_nan, nan, value);
                            b.cast(Cast::Bits, value, ty.with(Scalar::$bits))
                        })
                        .collect()
                },
                |x, y| {
                    let (min, max) = (if x < y { x } else { y }, if y < x { x } else { y });
                    [x + y, x - y, x * y, x / y, min, max].map(bits).to_vec()
                },
            );
        }
    };
}
float_arithmetic!(arithmetic_of_f32, f32, i32, F32, I32);
float_arithmetic!(arithmetic_of_f64, f64, i64, F64, I64);

#[test]
fn comparisons_of_integers() {
    check_pairs::<i32, i32>(
        Scalar::I32,
        &pairs(&[0, 1, -1, i32::MAX, i32::MIN]),
        |b, x, y| {
            let ty = b.ty(x);
            [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::UnsignedLt]
                .map(|cmp| {
                    let truth = b.cmp(cmp, x, y);
                    b.cast(Cast::ZExt, truth, ty)
                })
                .to_vec()
        },
        |x, y| [x == y, x != y, x < y, x <= y, x.cast_unsigned() < y.cast_unsigned()].map(i32::from).to_vec(),
    );
}

macro_rules! float_comparisons {
    ($test:ident, $float:ident, $scalar:ident, $int:ident, $bits:ident) => {
        #[test]
        fn $test() {
            check_pairs::<$float, $int>(
                Scalar::$scalar,
                &pairs(&[0.0, -0.0, 1.0, -1.0, $float::INFINITY, $float::NEG_INFINITY, $float::NAN]),
                |b, x, y| {
                    let ty = b.ty(x).with(Scalar::$bits);
                    [Cmp::OLt, Cmp::OLe, Cmp::ULt, Cmp::ULe, Cmp::Uno]
                        .map(|cmp| {
                            let truth = b.cmp(cmp, x, y);
                            b.cast(Cast::SExt, truth, ty)
                        })
                        .to_vec()
                },
                |x, y| {
                    let uno = x.is_nan() || y.is_nan();
                    [x < y, x <= y, uno || x < y, uno || x <= y, uno].map(|t| -$int::from(t)).to_vec()
                },
            );
        }
    };
}
float_comparisons!(comparisons_of_f32, f32, F32, i32, I32);
float_comparisons!(comparisons_of_f64, f64, F64, i64, I64);

#[test]
fn conversions() {
    check_pairs::<i32, i64>(
        Scalar::I32,
        &pairs(&[0, 1, -1, 300, i32::MAX, i32::MIN]),
        |b, x, _| {
            let ty = b.ty(x);
            let (wide, byte) = (ty.with(Scalar::I64), ty.with(Scalar::I8));
            let (f32, f64) = (ty.with(Scalar::F32), ty.with(Scalar::F64));
            let low = b.cast(Cast::Trunc, x, byte);
            let (exact, rounded) = (b.cast(Cast::IntToFloat, x, f64), b.cast(Cast::IntToFloat, x, f32));
            let (narrow, back) = (b.cast(Cast::Float, exact, f32), b.cast(Cast::Float, rounded, f64));
            let again = b.cast(Cast::Float, narrow, f64);
            vec![
                b.cast(Cast::ZExt, x, wide),
                b.cast(Cast::SExt, x, wide),
                b.cast(Cast::SExt, low, wide),
                b.cast(Cast::ZExt, low, wide),
                b.cast(Cast::Bits, exact, wide),
                b.cast(Cast::Bits, back, wide),
                b.cast(Cast::Bits, again, wide),
            ]
        },
        |x, _| {
            let (exact, rounded) = (f64::from(x).to_bits() as i64, f64::from(x as f32).to_bits() as i64);
            vec![i64::from(x as u32), x.into(), (x as i8).into(), (x as u8).into(), exact, rounded, rounded]
        },
    );
}

#[test]
fn a_scalar_condition_selects_whole_vectors() {
    let ty = Ty::vector(Scalar::I32, 4);
    let function = on_pairs(ty, |b, x, y| {
        let rows = b.n_rows();
        let two = b.int(2);
        let cond = b.cmp(Cmp::Lt, rows, two);
        vec![b.select(cond, x, y), b.select(cond, y, x)]
    });
    let rows: Vec<i32> = (0..8).collect();
    let (out, _) = run_as::<i32, i32>(OutputKind::Raw, function, &[], &rows, 1, 8);
    assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn products_and_sums_are_rounded_apart() {
    let x = 1.0 + f32::EPSILON;
    check_pairs::<f32, f32>(
        Scalar::F32,
        &[(x, -(x * x)), (3.1, 0.7)],
        |b, x, y| {
            let product = b.mul(x, x);
            vec![b.add(product, y)]
        },
        |x, y| {
            let product = std::hint::black_box(x * x);
            vec![product + y]
        },
    );
}

#[test]
fn exponentials_are_those_of_the_c_library() {
    unsafe extern "C" {
        safe fn expf(x: f32) -> f32;
        safe fn exp(x: f64) -> f64;
    }
    let numbers = [0.0, 1.0, -0.5, 88.0, 1000.0, -1000.0];
    let e = |b: &mut Builder, x: Value, _: Value| vec![b.math(Math::Exp, x)];
    check_pairs::<f64, f64>(Scalar::F64, &pairs(&numbers), e, |x, _| vec![exp(x)]);
    let numbers = numbers.map(|x| x as f32);
    check_pairs::<f32, f32>(Scalar::F32, &pairs(&numbers), e, |x, _| vec![expf(x)]);
}

#[test]
fn counted_loops_carry_values() {
    // Fibonacci numbers, and the sums of every third counter, for trip counts from the rows.
    let mut b = Builder::new("fibonacci");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::I64), b.buffer("out", Space::Output, Scalar::I64));
    let (zero, one, n) = (b.int(0), b.int(1), b.n_rows());
    b.for_loop((zero, n, 1), &[], |b, row, _| {
        let trip = b.load(Ty::I64, at(input, row, 8));
        let f = b.for_loop((zero, trip, 1), &[zero, one], |b, _, f| vec![f[1], b.add(f[0], f[1])]);
        let sum = b.for_loop((one, trip, 3), &[zero], |b, i, sum| vec![b.add(sum[0], i)]);
        b.store(at(output, row, 16), f[0]);
        b.store(Address { buffer: output, index: row, stride: 16, offset: 8 }, sum[0]);
        Vec::new()
    });
    let out: Vec<i64> = run(b.finish(), &[], &[0_i64, 1, 2, 10, -5], 10);
    assert_eq!(out, [0, 0, 1, 0, 1, 1, 55, 1 + 4 + 7, 0, 0]);
}

#[test]
fn tested_loops_carry_values() {
    // Euclid's algorithm by subtraction, with the number of steps.
    let mut b = Builder::new("gcd");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::I64), b.buffer("out", Space::Output, Scalar::I64));
    let (zero, n) = (b.int(0), b.n_rows());
    b.for_loop((zero, n, 1), &[], |b, row, _| {
        let x = b.load(Ty::I64, at(input, row, 16));
        let y = b.load(Ty::I64, Address { buffer: input, index: row, stride: 16, offset: 8 });
        let last = b.while_loop(
            WalkSteps::default(),
            &[x, y, zero],
            |b, v| b.cmp(Cmp::Ne, v[0], v[1]),
            |b, v| {
                let (larger, smaller) = (b.bin(Bin::Max, v[0], v[1]), b.min(v[0], v[1]));
                vec![smaller, b.sub(larger, smaller), b.add_int(v[2], 1)]
            },
        );
        b.store(at(output, row, 16), last[0]);
        b.store(Address { buffer: output, index: row, stride: 16, offset: 8 }, last[2]);
        Vec::new()
    });
    let (out, _) = run_as::<i64, i64>(OutputKind::Raw, b.finish(), &[], &[12, 18, 7, 7, 35, 10], 3, 6);
    assert_eq!(out, [6, 2, 7, 0, 5, 4]);
}

#[test]
fn choices_join_values() {
    let mut b = Builder::new("collatz");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::I64), b.buffer("out", Space::Output, Scalar::I64));
    let (zero, one, n) = (b.int(0), b.int(1), b.n_rows());
    b.for_loop((zero, n, 1), &[], |b, row, _| {
        let x = b.load(Ty::I64, at(input, row, 8));
        let last = b.while_loop(
            WalkSteps::default(),
            &[x, zero],
            |b, v| b.cmp(Cmp::Lt, one, v[0]),
            |b, v| {
                let odd = b.bin(Bin::And, v[0], one);
                let odd = b.cast(Cast::Trunc, odd, Ty::I1);
                let next = b.if_else(
                    odd,
                    |b| {
                        let three = b.mul_int(v[0], 3);
                        vec![b.add_int(three, 1)]
                    },
                    |b| {
                        let two = b.int(2);
                        vec![b.bin(Bin::IDiv, v[0], two)]
                    },
                );
                vec![next[0], b.add_int(v[1], 1)]
            },
        );
        let two = b.int(2);
        let long = b.cmp(Cmp::Lt, two, last[1]);
        b.when(long, |b| b.store(at(output, row, 8), last[1]));
        Vec::new()
    });
    let out: Vec<i64> = run(b.finish(), &[], &[1_i64, 2, 3, 27, 97], 5);
    assert_eq!(out, [0, 0, 7, 111, 118]);
}

#[test]
fn tables_are_read_in_every_width() {
    let floats: Vec<u8> = [1.5_f32, -2.0, 0.25, 8.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let bytes = [3_u8, 2, 1, 0];
    let mut b = Builder::new("tables");
    let input = b.buffer("in", Space::Input, Scalar::F32);
    let output = b.buffer("out", Space::Output, Scalar::F32);
    let (values, order) = (
        b.buffer("values", Space::ModelTable(0), Scalar::F32),
        b.buffer("order", Space::ModelTable(1), Scalar::I8),
    );
    let (zero, n) = (b.int(0), b.n_rows());
    b.for_loop((zero, n, 1), &[], |b, i, _| {
        let k = b.load_index(Scalar::I8, at(order, i, 1));
        let value = b.load(F32, at(values, k, 4));
        let x = b.load(F32, at(input, i, 4));
        let sum = b.add(value, x);
        b.store(at(output, i, 4), sum);
        Vec::new()
    });
    let all = b.load(Ty::vector(Scalar::F32, 4), at(values, zero, 16));
    let one = b.int(1);
    b.store(at(output, one, 16), all);
    let out: Vec<f32> = run(b.finish(), &[&floats, &bytes], &[10.0_f32, 20.0, 30.0, 40.0], 8);
    assert_eq!(out, [18.0, 20.25, 28.0, 41.5, 1.5, -2.0, 0.25, 8.0]);
}

/// Reverses the rows three times, through temporary memory of `bytes(rows)` bytes.
fn reverse(bytes: impl FnOnce(&mut Builder) -> Value) -> Function {
    let mut b = Builder::new("reverse");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::F32), b.buffer("out", Space::Output, Scalar::F32));
    let (zero, three, n) = (b.int(0), b.int(3), b.n_rows());
    let bytes = bytes(&mut b);
    b.for_loop((zero, three, 1), &[], |b, _, _| {
        b.alloc("copy", Scalar::F32, bytes, |b, copy| {
            b.for_loop((zero, n, 1), &[], |b, i, _| {
                let x = b.load(F32, at(input, i, 4));
                b.store(at(copy, i, 4), x);
                Vec::new()
            });
            b.for_loop((zero, n, 1), &[], |b, i, _| {
                let last = b.add_int(n, -1);
                let from = b.sub(last, i);
                let x = b.load(F32, at(copy, from, 4));
                b.store(at(output, i, 4), x);
                Vec::new()
            });
        });
        Vec::new()
    });
    b.finish()
}

#[test]
fn temporary_memory_is_on_the_stack_or_from_the_runtime() {
    let rows: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let expected: Vec<f32> = rows.iter().rev().copied().collect();
    let small = reverse(|b| b.int(400));
    let large = reverse(|b| b.int(1 << 20));
    let by_rows = reverse(|b| {
        let n = b.n_rows();
        b.mul_int(n, 4)
    });
    for (function, on_stack) in [(small, true), (large, false), (by_rows, false)] {
        let text = llvm_text(&module(OutputKind::Raw, function.clone(), &[]), Cpu::Native, true).unwrap();
        assert_eq!(text.contains(" = alloca "), on_stack, "{text}");
        assert_eq!(text.contains("schedc_rt_alloc"), !on_stack, "{text}");
        assert_eq!(run::<f32, f32>(function, &[], &rows, 100), expected);
    }
}

#[test]
fn without_memory_the_body_is_skipped_and_the_run_fails() {
    let mut b = Builder::new("too_much");
    let output = b.buffer("out", Space::Output, Scalar::F32);
    let n = b.n_rows();
    let bytes = b.mul_int(n, 1 << 60);
    b.alloc("memory", Scalar::F32, bytes, |b, memory| {
        let x = b.float(F32, 1.0);
        let first = at_number(b, memory, 0, 4);
        b.store(first, x);
        let first = at_number(b, output, 0, 4);
        b.store(first, x);
    });
    let (out, status) = run_as::<f32, f32>(OutputKind::Raw, b.finish(), &[], &[0.0; 4], 4, 1);
    assert_eq!((out[0], status), (0.0, i64::from(sched_llvm::runtime::CallStatus::MEMORY)));
}

/// Sums of products over a nest of parallel loops, with vectors, masks and memory captured, and atomic
/// additions.
fn parallel_sums(ty: Ty) -> Function {
    let mut b = Builder::new("parallel_sums");
    let size = ty.bytes();
    let (input, output) =
        (b.buffer("in", Space::Input, ty.scalar), b.buffer("out", Space::Output, ty.scalar));
    let (zero, four, n) = (b.int(0), b.int(4), b.n_rows());
    let vector = Ty::vector(ty.scalar, 4);
    let head = b.load(vector, at(input, zero, size));
    let next = b.load(vector, at(input, four, size));
    let mask = b.cmp(Cmp::OLt, head, next);
    let bytes = b.mul_int(n, i64::from(size));
    b.alloc("copies", ty.scalar, bytes, |b, copies| {
        b.parallel(n, |b, i| {
            let x = b.load(ty, at(input, i, size));
            b.store(at(copies, i, size), x);
        });
        let nothing = b.float(vector, 0.0);
        b.store(at(output, zero, size), nothing);
        b.parallel(n, |b, i| {
            let x = b.load(ty, at(copies, i, size));
            let forty = b.int(40);
            b.alloc("chosen", ty.scalar, forty, |b, chosen| {
                let either = b.select(mask, next, head);
                b.store(at(chosen, zero, size), either);
                b.parallel(four, |b, k| {
                    let y = b.load(ty, at(chosen, k, size));
                    let product = b.mul(x, y);
                    b.atomic_add(at(output, k, size), product);
                });
            });
        });
    });
    b.finish()
}

#[test]
fn parallel_loops_nest_and_capture() {
    // Small integers, whose sums are exact in any order. The selected vector has the larger number in each
    // lane: 5 6 7 8.
    let rows = [1., 2., 3., 4., 5., 6., 7., 8.];
    let expected = [36. * 5., 36. * 6., 36. * 7., 36. * 8.];
    assert_eq!(run::<f64, f64>(parallel_sums(F64), &[], &rows, 4), expected);
    let (rows, expected) = (rows.map(|x| x as f32), expected.map(|x| x as f32));
    assert_eq!(run::<f32, f32>(parallel_sums(F32), &[], &rows, 4), expected);
}

#[test]
fn compiled_models_are_shared_between_threads() {
    let mut b = Builder::new("double");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::F32), b.buffer("out", Space::Output, Scalar::F32));
    let (zero, n) = (b.int(0), b.n_rows());
    b.for_loop((zero, n, 1), &[], |b, i, _| {
        let x = b.load(F32, at(input, i, 4));
        let sum = b.add(x, x);
        b.store(at(output, i, 4), sum);
        Vec::new()
    });
    let module = module(OutputKind::Raw, b.finish(), &[]);
    let jit = Jit::compile(&module, Cpu::Native, &entry(), &[OutputKind::Raw]).unwrap();
    std::thread::scope(|threads| {
        for x in 0..4 {
            let (jit, x) = (&jit, x as f32);
            threads.spawn(move || {
                let (kind, mut out) = (sched_llvm::runtime::OutputKind::Value, [0.0]);
                jit.predict(kind, PackedRows::F32(&[x]), 1, PackedResults::F32(&mut out), 1).unwrap();
                assert_eq!(out, [2.0 * x]);
            });
        }
    });
    std::thread::spawn(move || drop(jit)).join().unwrap();
}

#[test]
fn parallel_loops_run_on_threads() {
    use sched_llvm::runtime::OutputKind;
    let entry = EntryInfo { ns_per_row: 1e9, ..entry() };
    let mut b = Builder::new("squares");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::F32), b.buffer("out", Space::Output, Scalar::F32));
    let n = b.n_rows();
    b.parallel(n, |b, i| {
        let x = b.load(F32, at(input, i, 4));
        let square = b.mul(x, x);
        b.store(at(output, i, 4), square);
    });
    let module = module(OutputKind::Raw, b.finish(), &[]);
    let jit = Jit::compile(&module, Cpu::Native, &entry, &[OutputKind::Raw]).unwrap();
    let rows: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let expected: Vec<f32> = rows.iter().map(|x| x * x).collect();
    for kind in [OutputKind::Raw, OutputKind::Value] {
        let mut out = vec![0.0; 1000];
        jit.predict(kind, PackedRows::F32(&rows), 1000, PackedResults::F32(&mut out), 4).unwrap();
        assert_eq!(out, expected);
    }
    let mut out = vec![0.0; 999];
    let status = jit
        .predict(OutputKind::Raw, PackedRows::F32(&rows), 1000, PackedResults::F32(&mut out), 4)
        .unwrap_err();
    assert_eq!(status.code(), sched_llvm::runtime::CallStatus::ARGUMENT);
    let status = jit
        .predict(OutputKind::Leaf, PackedRows::F32(&rows), 1, PackedResults::I32(&mut [0]), 1)
        .unwrap_err();
    assert_eq!(status.code(), sched_llvm::runtime::CallStatus::UNSUPPORTED);
}

#[test]
fn finishing_kernels_run_in_place() {
    // Swaps the values of each row by loads that must not move past the stores.
    let mut b = Builder::new("swap");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::F32), b.buffer("out", Space::Output, Scalar::F32));
    let (zero, n) = (b.int(0), b.n_rows());
    let second = |buffer, index| Address { buffer, index, stride: 8, offset: 4 };
    b.for_loop((zero, n, 1), &[], |b, i, _| {
        let (x, y) = (b.load(F32, at(input, i, 8)), b.load(F32, second(input, i)));
        b.store(at(output, i, 8), y);
        b.store(second(output, i), x);
        let again = b.load(F32, at(input, i, 8));
        let sum = b.add(again, again);
        b.store(at(output, i, 8), sum);
        Vec::new()
    });
    let module = module(OutputKind::Value, b.finish(), &[]);
    let jit = Jit::compile(&module, Cpu::Native, &entry(), &[]).unwrap();
    let mut data = [1.0_f32, 2.0, 3.0, 4.0];
    let start = data.as_mut_ptr();
    let mut ctx = sched_llvm::runtime::Ctx {
        rows: start.cast(),
        n_rows: 2,
        out: start.cast(),
        tables: jit.model().tables,
        team: std::ptr::null_mut(),
        status: 0,
        order: &raw const sched_llvm::runtime::ROW_MAJOR,
    };
    // SAFETY: two rows of two floats, read and written in place.
    unsafe { jit.model().kernel(OutputKind::Value).expect("always compiled")(&mut ctx) };
    assert_eq!(data, [4.0, 1.0, 8.0, 3.0]);
}

#[test]
fn prefetches_never_fault() {
    let mut b = Builder::new("ahead");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::F32), b.buffer("out", Space::Output, Scalar::F32));
    let (zero, n) = (b.int(0), b.n_rows());
    b.for_loop((zero, n, 1), &[], |b, i, _| {
        let far = b.mul_int(i, 1 << 40);
        b.prefetch(at(input, far, 64));
        let x = b.load(F32, at(input, i, 4));
        b.store(at(output, i, 4), x);
        Vec::new()
    });
    let function = b.finish();
    let text = asm_text(&module(OutputKind::Raw, function.clone(), &[]), Cpu::X86_64V2).unwrap();
    assert!(text.contains("prefetch"), "{text}");
    assert_eq!(run::<f32, f32>(function, &[], &[1.0_f32, 2.0], 2), [1.0, 2.0]);
}

#[test]
fn a_reload_reads_memory_again() {
    let written_and_read = |reload: bool| {
        let ty = Ty::vector(Scalar::I32, 16);
        let mut b = Builder::new("again");
        let (input, output) =
            (b.buffer("in", Space::Input, Scalar::I32), b.buffer("out", Space::Output, Scalar::I32));
        let (from, to) = (at_number(&mut b, input, 0, 4), at_number(&mut b, output, 0, 4));
        let x = b.load(ty, from);
        b.store(to, x);
        let keep = if reload { b.reload() } else { Keep::Invariant };
        let y = b.load_with_reuse(keep, ty, to);
        let sum = b.add(x, y);
        b.store(to, sum);
        b.finish()
    };
    for (reload, loads) in [(false, 1), (true, 2)] {
        let function = written_and_read(reload);
        let module = module(OutputKind::Raw, function.clone(), &[]);
        let text = llvm_text(&module, Cpu::X86_64V4, true).unwrap();
        assert_eq!(text.matches("load <16 x i32>").count(), loads, "{text}");
        let text = asm_text(&module, Cpu::X86_64V4).unwrap();
        let reads = text.lines().filter(|line| line.contains("(%r") && line.ends_with("%zmm0")).count();
        assert_eq!(reads, loads, "no later pass merges them: {text}");
        assert_eq!(run::<i32, i32>(function, &[], &[7; 16], 16), [14; 16]);
    }
}

/// Reads a number of a table twice, with a load in between that may require a reload.
#[test]
fn values_of_tables_are_reloaded_if_loads_require_it() {
    let read_twice = |keep: Keep, reload: bool| {
        let mut b = Builder::new("again");
        let (table, input) =
            (b.buffer("table", Space::ModelTable(0), Scalar::I16), b.buffer("in", Space::Input, Scalar::I64));
        let output = b.buffer("out", Space::Output, Scalar::I64);
        let (from, to) = (at_number(&mut b, table, 0, 2), at_number(&mut b, output, 0, 8));
        let x = b.load_with_reuse(keep, Ty::of(Scalar::I16), from);
        let between = at_number(&mut b, input, 0, 8);
        let group = if reload { b.reload() } else { Keep::Invariant };
        let between = b.load_with_reuse(group, Ty::I64, between);
        let y = b.load_with_reuse(keep, Ty::of(Scalar::I16), from);
        let sum = b.add(x, y);
        let sum = b.cast(Cast::ZExt, sum, Ty::I64);
        let sum = b.add(sum, between);
        b.store(to, sum);
        llvm_text(&module(OutputKind::Raw, b.finish(), &[&[0; 64]]), Cpu::X86_64V4, true).unwrap()
    };
    for (keep, reload, loads) in
        [(Keep::Invariant, true, 1), (Keep::UntilReload, false, 1), (Keep::UntilReload, true, 2)]
    {
        let text = read_twice(keep, reload);
        assert_eq!(text.matches("load i16,").count(), loads, "{keep:?} {reload} {text}");
    }
}

/// The loads of one group are reloaded together, and LLVM may merge them with each other.
#[test]
fn a_group_is_reloaded_once() {
    let mut b = Builder::new("groups");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::I32), b.buffer("out", Space::Output, Scalar::I32));
    let (one, two) = (b.reload(), b.reload());
    let from = at_number(&mut b, input, 0, 4);
    for (number, keep) in [one, one, two, two].into_iter().enumerate() {
        let x = b.load_with_reuse(keep, Ty::of(Scalar::I32), from);
        let to = at_number(&mut b, output, number as i64, 4);
        b.store(to, x);
    }
    let function = b.finish();
    let text = llvm_text(&module(OutputKind::Raw, function.clone(), &[]), Cpu::X86_64V2, false).unwrap();
    assert_eq!(text.matches("fence syncscope").count(), 2, "{text}");
    let text = llvm_text(&module(OutputKind::Raw, function.clone(), &[]), Cpu::X86_64V2, true).unwrap();
    assert_eq!(text.matches("load i32,").count(), 2, "{text}");
    assert_eq!(run::<i32, i32>(function, &[], &[7], 4), [7; 4]);
}

#[test]
fn indices_may_have_32_bits() {
    let mut b = Builder::with_index("narrow", Scalar::I32);
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::I32), b.buffer("out", Space::Output, Scalar::I32));
    let (zero, n) = (b.int(0), b.n_rows());
    let bytes = b.mul_int(n, 4);
    b.alloc("copy", Scalar::I32, bytes, |b, copy| {
        b.for_loop((zero, n, 1), &[], |b, i, _| {
            let last = b.add_int(n, -1);
            let from = b.sub(last, i);
            let x = b.load(Ty::of(Scalar::I32), at(input, from, 4));
            b.store(at(copy, i, 4), x);
            Vec::new()
        });
        b.parallel(n, |b, i| {
            let x = b.load(Ty::of(Scalar::I32), at(copy, i, 4));
            let sum = b.add(x, i);
            b.store(at(output, i, 4), sum);
        });
    });
    let function = b.finish();
    assert_eq!(run::<i32, i32>(function, &[], &[10, 20, 30, 40], 4), [40, 31, 22, 13]);
}

#[test]
fn a_doubled_number_and_a_bit_are_one_addition_with_carry() {
    let function = on_pairs(Ty::I64, |b, word, node| {
        let (one, twice, shifted) = (b.int(1), b.add(node, node), b.bin(Bin::Shr, word, node));
        let bit = b.bin(Bin::And, shifted, one);
        vec![b.add(twice, bit)]
    });
    let text = asm_text(&module(OutputKind::Raw, function.clone(), &[]), Cpu::X86_64V2).unwrap();
    assert!(text.contains("\tadcq"), "{text}");
    // Nodes beyond the word's last bit have bits of the next word.
    let pairs =
        [(0b10, 1, 3), (0b01, 1, 2), (1 << 37, 37, 75), (1 << 5, 64 + 5, 139), (1 << 5, 128 + 6, 268)];
    let (given, expected): (Vec<[i64; 2]>, Vec<i64>) =
        pairs.map(|(word, node, child)| ([word, node], child)).into_iter().unzip();
    let given = given.concat();
    let (out, _) =
        run_as::<i64, i64>(OutputKind::Raw, function, &[], &given, pairs.len() as i64, pairs.len());
    assert_eq!(out, expected);
}

#[test]
fn code_for_a_cpu_uses_its_registers_and_never_fuses() {
    let ty = Ty::vector(Scalar::F32, 16);
    let function = on_pairs(ty, |b, x, y| {
        let product = b.mul(x, y);
        vec![b.add(product, y)]
    });
    let module = module(OutputKind::Raw, function, &[]);
    for (cpu, uses, lacks) in
        [(Cpu::X86_64V2, "%xmm", "%ymm"), (Cpu::X86_64V3, "%ymm", "%zmm"), (Cpu::X86_64V4, "%zmm", "vfmadd")]
    {
        let text = asm_text(&module, cpu).unwrap();
        assert!(text.contains(uses) && !text.contains(lacks) && !text.contains("vfmadd"), "{cpu}: {text}");
    }
}

#[test]
fn bytes_are_looked_up_with_shuffles_of_bytes() {
    let function = on_pairs(Ty::vector(Scalar::I8, 64), |b, table, index| vec![b.lookup(table, index)]);
    let module = module(OutputKind::Raw, function, &[]);
    for (cpu, shuffle, register) in [
        (Cpu::X86_64V2, "pshufb", "%xmm"),
        (Cpu::X86_64V3, "vpshufb", "%ymm"),
        (Cpu::X86_64V4, "vpshufb", "%zmm"),
    ] {
        let text = asm_text(&module, cpu).unwrap();
        let shuffles = text.lines().filter(|line| line.contains(shuffle) && line.contains(register)).count();
        assert!(shuffles >= 4, "four parts of the table, {cpu}: {text}");
    }
}

#[test]
fn only_requested_kernels_are_compiled() {
    let write = |name: &str, x: i64| {
        let mut b = Builder::new(name);
        let output = b.buffer("out", Space::Output, Scalar::I32);
        let x = b.int_of(Ty::of(Scalar::I32), x);
        let first = at_number(&mut b, output, 0, 4);
        b.store(first, x);
        b.finish()
    };
    let mut module = module(OutputKind::Raw, write("raw", 1), &[]);
    module.kernels.push((OutputKind::Value.into(), write("value", 2)));
    module.types.results = Scalar::I32;
    module.kernels.push((OutputKind::Leaf.into(), write("leaf", 3)));
    let jit = Jit::compile(&module, Cpu::Native, &entry(), &[OutputKind::Raw]).unwrap();
    let is_compiled = |kind: &OutputKind| jit.model().kernel(*kind).is_some();
    assert_eq!(
        OutputKind::ALL.into_iter().filter(is_compiled).collect::<Vec<_>>(),
        [OutputKind::Value, OutputKind::Raw]
    );
}

#[test]
fn unknown_cpus_are_errors() {
    for cpu in Cpu::all() {
        assert_eq!(cpu.name().parse(), Ok(cpu));
    }
    for text in ["", "x86-64-v5", "NATIVE", "cortex-a76"] {
        let error = text.parse::<Cpu>().unwrap_err();
        assert_eq!(error.code, codes::UNKNOWN_CPU);
        assert!(error.help.as_ref().is_some_and(|help| help.contains("x86-64-v3")));
    }
}

#[test]
fn ill_formed_lir_is_an_error() {
    let op = |op: Op, ty: Ty| {
        let types = vec![Ty::I64, F32, ty];
        let constants = [Stmt::Let(Value(0), Op::Int(1)), Stmt::Let(Value(1), Op::Float(1.0))];
        let body = constants.into_iter().chain([Stmt::Let(Value(2), op)]).collect();
        Function { types, body, ..Function::empty("f".into(), Scalar::I64) }
    };
    let (int, float) = (Value(0), Value(1));
    let nowhere = Address { buffer: BufferId(0), index: int, stride: 4, offset: 0 };
    let mut deep = Vec::new();
    for _ in 0..600 {
        let parallel = Parallel { iv: Value(0), trip: Value(0), body: deep };
        deep = vec![Stmt::Parallel(Box::new(parallel))];
    }
    let deep = Function { body: deep, ..op(Op::Int(1), Ty::I64) };
    let misnamed = Function { name: "a b".into(), ..op(Op::Int(1), Ty::I64) };
    let functions = [
        op(Op::Bin(Bin::Add, int, float), Ty::I64),
        op(Op::Bin(Bin::And, float, float), F32),
        op(Op::Bin(Bin::Add, int, Value(9)), Ty::I64),
        op(Op::Bin(Bin::Add, int, Value(2)), Ty::I64),
        op(Op::Cmp(Cmp::OLt, int, int), Ty::I1),
        op(Op::Cmp(Cmp::Lt, int, int), Ty::I64),
        op(Op::Select(int, float, float), F32),
        op(Op::Cast(Cast::Bits, int), F32),
        op(Op::Cast(Cast::ZExt, int), Ty::vector(Scalar::I64, 2)),
        op(Op::Math(Math::Exp, int), Ty::I64),
        op(Op::Float(1.0), Ty::I64),
        op(Op::Int(1), F32),
        op(Op::Int(1), Ty::vector(Scalar::I32, 0)),
        op(Op::Load(nowhere, Keep::Invariant), F32),
        deep,
        misnamed,
    ];
    for function in functions {
        let name = format!("{:?}", function.body.last());
        let error = llvm_text(&module(OutputKind::Raw, function, &[]), Cpu::Native, false).unwrap_err();
        assert_eq!(error.code, internal::ILL_FORMED, "{name:.80}");
    }
}

#[test]
fn deep_nests_compile() {
    let mut b = Builder::new("deep");
    let output = b.buffer("out", Space::Output, Scalar::I64);
    fn nest(b: &mut Builder, output: BufferId, depth: u32) {
        let (zero, one) = (b.int(0), b.int(1));
        if depth == 0 {
            let rows = b.n_rows();
            return b.store(at(output, zero, 8), rows);
        }
        b.for_loop((zero, one, 1), &[], |b, _, _| {
            nest(b, output, depth - 1);
            Vec::new()
        });
    }
    nest(&mut b, output, 500);
    assert_eq!(run::<i64, i64>(b.finish(), &[], &[0_i64; 5], 1), [5]);
}

#[test]
fn values_used_where_they_are_not_visible_are_rejected() {
    let mut b = Builder::new("hidden");
    let output = b.buffer("out", Space::Output, Scalar::I64);
    let (zero, n) = (b.int(0), b.n_rows());
    let mut leaked = zero;
    b.for_loop((zero, n, 1), &[], |b, i, _| {
        leaked = b.add_int(i, 1);
        Vec::new()
    });
    b.store(at(output, zero, 8), leaked);
    let error = llvm_text(&module(OutputKind::Raw, b.finish(), &[]), Cpu::Native, false).unwrap_err();
    assert_eq!(error.code, internal::ILL_FORMED);
}

#[test]
fn walks_choose_children_without_branches() {
    // Nodes of 12 bytes: threshold, feature, and the right child; the left child is the next node. A leaf has
    // no feature.
    let mut b = Builder::new("walk");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::F32), b.buffer("out", Space::Output, Scalar::F32));
    let nodes = b.buffer("nodes", Space::ModelTable(0), Scalar::F32);
    let (zero, n) = (b.int(0), b.n_rows());
    let field = |index, offset| Address { buffer: nodes, index, stride: 12, offset };
    b.for_loop((zero, n, 1), &[], |b, row, _| {
        let int = Ty::of(Scalar::I32);
        let last = b.while_loop(
            WalkSteps::default(),
            &[zero],
            |b, node| {
                let feature = b.load(int, field(node[0], 4));
                let none = b.int_of(int, -1);
                b.cmp(Cmp::Lt, none, feature)
            },
            |b, node| {
                let feature = b.load_index(Scalar::I32, field(node[0], 4));
                let column = b.mul_int(row, 2);
                let column = b.add(column, feature);
                let (x, threshold) = (b.load(F32, at(input, column, 4)), b.load(F32, field(node[0], 0)));
                let left = b.cmp(Cmp::OLt, x, threshold);
                let (yes, no) = (b.add_int(node[0], 1), b.load_index(Scalar::I32, field(node[0], 8)));
                vec![b.select(left, yes, no)]
            },
        );
        let leaf = b.load(F32, field(last[0], 0));
        b.store(at(output, row, 4), leaf);
        Vec::new()
    });
    let function = b.finish();
    let text = asm_text(&module(OutputKind::Raw, function.clone(), &[&[0; 12]]), Cpu::X86_64V3).unwrap();
    let branches = text.lines().filter(|line| line.starts_with("\tj") && !line.starts_with("\tjmp")).count();
    // Branches: if there are no rows, for the next row, for a leaf at the root, and for a leaf below it.
    assert!(branches <= 4, "{text}");

    let node = |value: f32, feature: i32, right: i32| {
        [value.to_le_bytes(), feature.to_le_bytes(), right.to_le_bytes()].concat()
    };
    let tree =
        [node(0.5, 0, 2), node(1.5, -1, 0), node(2.0, 1, 4), node(2.5, -1, 0), node(3.5, -1, 0)].concat();
    let rows = [0.0, 9.0, 1.0, 1.0, 1.0, 2.0, f32::NAN, f32::NAN];
    let (out, _) = run_as::<f32, f32>(OutputKind::Raw, function, &[&tree], &rows, 4, 4);
    assert_eq!(out, [1.5, 2.5, 3.5, 3.5]);
}
