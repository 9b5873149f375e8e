//! Measures functions of columns in vectors of 1, 8 and 16 rows, in nanoseconds a value.
//!
//!     cargo bench -p sched-llvm --bench functions --profile dev
//!
//! Results (AMD EPYC with AVX-512, with other programs running, vectors of 16 rows, ns a value):
//!
//! | function | f32 | f64 | f32 for x86-64-v3 | f64 for x86-64-v3 |
//! |---|---|---|---|---|
//! | `sqrt` | 0.17 | 0.54 | 0.17 | 0.57 |
//! | `exp` | 0.44 | 0.68 | 0.50 | 0.94 |
//! | `log` | 0.62 | 1.0 | 0.77 | 1.2 |
//! | `tanh` | 0.65 | 0.70 | 0.73 | 0.99 |
//! | `logistic` | 0.66 | 1.2 | 0.78 | 1.7 |
//! | `erf` | 2.1 | 2.0 | 2.4 | 2.4 |
//! | `sin` | 0.64 | 1.0 | 0.56 | 1.2 |
//! | `cos` | 0.66 | 1.0 | 0.69 | 1.2 |
//! | `sin` of numbers above `2^23` quarter turns | 4.0 | 5.8 | 5.7 | 8.2 |
//! | `pow` | 1.9 | 3.3 | 2.2 | 3.8 |
//! | `exp` of the C library, one by one | 1.9 | 3.7 | 1.8 | 3.7 |

mod common;

use common::{compiled, context, module};
use sched_columns::Unary;
use sched_ir::columns::functions;
use sched_ir::lir::*;
use sched_llvm::Cpu;
use std::time::Instant;

/// Values of a call: they stay in the first-level cache.
const VALUES: usize = 1024;

/// Calls of a sample.
const CALLS: usize = 200;

/// Samples, of which the fastest counts.
const SAMPLES: usize = 25;

#[derive(Clone, Copy)]
enum Measured {
    Copy,
    SquareRoot,
    Function(Unary),
    Power,
    /// The sine of numbers so large that their digits are selected.
    LargeSine,
    /// The C library, one value after the other.
    Library(Math),
}

const ALL: [(&str, Measured); 14] = [
    ("copy", Measured::Copy),
    ("sqrt", Measured::SquareRoot),
    ("exp", Measured::Function(Unary::Exp)),
    ("expm1", Measured::Function(Unary::ExpMinusOne)),
    ("log", Measured::Function(Unary::Log)),
    ("log1p", Measured::Function(Unary::LogOnePlus)),
    ("tanh", Measured::Function(Unary::Tanh)),
    ("logistic", Measured::Function(Unary::Logistic)),
    ("erf", Measured::Function(Unary::Erf)),
    ("sin", Measured::Function(Unary::Sin)),
    ("cos", Measured::Function(Unary::Cos)),
    ("large sin", Measured::LargeSine),
    ("pow", Measured::Power),
    ("C exp", Measured::Library(Math::Exp)),
];

/// A function that stores the results for all values, a vector at a time.
fn build(measured: Measured, ty: Ty) -> Function {
    let mut b = Builder::new("function");
    let (rows, out) = (b.buffer("rows", Space::Input, ty.scalar), b.buffer("out", Space::Output, ty.scalar));
    let (zero, end) = (b.int(0), b.int(VALUES as i64));
    b.for_loop((zero, end, ty.lanes.into()), &[], |b, first, _| {
        let x = b.load(ty, Address::element(rows, first, ty.scalar));
        let result = match measured {
            Measured::Copy => x,
            Measured::SquareRoot => b.square_root(x),
            Measured::Function(op) => functions::unary(b, op, x),
            Measured::Power => {
                let y = b.float(ty, 1.7);
                functions::power(b, x, y)
            }
            Measured::LargeSine => {
                let factor = b.float(ty, 1e9);
                let large = b.mul(x, factor);
                functions::unary(b, Unary::Sin, large)
            }
            Measured::Library(math) => b.math(math, x),
        };
        b.store(Address::element(out, first, ty.scalar), result);
        Vec::new()
    });
    b.finish()
}

/// Nanoseconds a value.
fn measure<T: Copy + Default>(cpu: Cpu, measured: Measured, ty: Ty, rows: &[T]) -> f64 {
    let module = module(build(measured, ty), Vec::new(), ty.scalar);
    let jit = compiled(&module, cpu, 1);
    let mut out = vec![T::default(); VALUES];
    let mut ctx = context(&jit, rows, VALUES, &mut out);
    let kernel = jit.model().kernel(OutputKind::Raw).expect("the kernel is compiled");
    let sample = |_| {
        let start = Instant::now();
        for _ in 0..CALLS {
            // SAFETY: the buffers have as many values as the kernel reads and writes.
            unsafe { kernel(&mut ctx) };
        }
        start.elapsed().as_nanos() as f64 / (CALLS * VALUES) as f64
    };
    (0..SAMPLES).map(sample).fold(f64::INFINITY, f64::min)
}

fn main() {
    // Numbers between 0 and 4, in random order.
    let doubles: Vec<f64> = (0..VALUES).map(|n| (n * 7919 % VALUES) as f64 / 256.0 + 1e-3).collect();
    let singles: Vec<f32> = doubles.iter().map(|x| *x as f32).collect();
    for cpu in [Cpu::Native, Cpu::X86_64V3] {
        println!("{cpu}: nanoseconds a value, f32 and f64 in vectors of 1, 8 and 16 rows");
        for (name, measured) in ALL {
            let of = |scalar| {
                [1, 8, 16].map(|lanes| {
                    let ty = Ty::vector(scalar, lanes);
                    match scalar {
                        Scalar::F32 => measure(cpu, measured, ty, &singles),
                        _ => measure(cpu, measured, ty, &doubles),
                    }
                })
            };
            let figures = [of(Scalar::F32), of(Scalar::F64)].concat();
            let figures: Vec<String> = figures.iter().map(|ns| format!("{ns:7.3}")).collect();
            println!("{name:9} {}", figures.join(" "));
        }
    }
}
