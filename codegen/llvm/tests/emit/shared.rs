//! Statements that occur twice are one function.

use super::harness::{at, module, run};
use sched_ir::lir::*;
use sched_llvm::{Cpu, llvm_text};

/// Number of additions in a loop, more than the fewest statements of common code.
const ADDITIONS: i64 = 120;

/// A function that adds numbers to the first half of the rows in one loop, and to the others in another one.
/// `last` is the last number of each loop.
fn two_loops(last: [i64; 2]) -> Function {
    let mut b = Builder::new("halves");
    let (input, output) =
        (b.buffer("in", Space::Input, Scalar::I64), b.buffer("out", Space::Output, Scalar::I64));
    let n = b.n_rows();
    let two = b.int(2);
    let first = b.sub(n, n);
    let middle = b.bin(Bin::IDiv, n, two);
    let end = b.add(n, first);
    for ((from, to), last) in [(first, middle), (middle, end)].into_iter().zip(last) {
        b.for_loop((from, to, 1), &[], |b, i, _| {
            let mut sum = b.load(Ty::I64, at(input, i, 8));
            for number in (1..ADDITIONS).chain([last]) {
                let number = b.int(number);
                let mixed = b.bin(Bin::Xor, sum, i);
                sum = b.add(mixed, number);
            }
            b.store(at(output, i, 8), sum);
            Vec::new()
        });
    }
    b.finish()
}

fn expected(row: i64, value: i64, last: i64) -> i64 {
    (1..ADDITIONS).chain([last]).fold(value, |sum, number| (sum ^ row).wrapping_add(number))
}

#[test]
fn equal_loops_are_one_function() {
    for (last, functions) in [([7, 7], 1), ([7, 8], 0)] {
        let function = two_loops(last);
        let text = llvm_text(&module(OutputKind::Raw, function.clone(), &[]), Cpu::X86_64V3, false).unwrap();
        let is_shared = |line: &&str| line.contains(".shared");
        let defined = text.lines().filter(|line| line.starts_with("define")).filter(is_shared).count();
        let called = text.lines().filter(|line| line.contains("call ")).filter(is_shared).count();
        assert_eq!((defined, called), (functions, 2 * functions), "{text}");
        for rows in [0, 1, 2, 7] {
            let values: Vec<i64> = (0..rows).map(|row| row * 1000).collect();
            let half = rows / 2;
            let right: Vec<i64> =
                (0..rows).map(|row| expected(row, row * 1000, last[usize::from(row >= half)])).collect();
            let out = run::<i64, i64>(function.clone(), &[], &values, right.len());
            assert_eq!(out, right);
        }
    }
}
