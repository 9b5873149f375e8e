//! Operations on vectors, for every processor whose code this machine can run.

use super::harness::{at, at_number, module, run_on, runnable};
use sched_ir::lir::*;
use sched_llvm::{Cpu, asm_text, llvm_text};

const LANES: [u16; 8] = [2, 3, 4, 8, 12, 16, 32, 64];

/// Pseudo-random bytes, the same on each run.
fn noise(n: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..n).map(|_| next()).collect()
}

/// Runs a function on bytes with the code of each processor; the harness compares it with the interpreter.
fn check(function: &Function, tables: &[&[u8]], input: &[u8], out: usize) -> Vec<u8> {
    let input: Vec<i8> = input.iter().map(|b| *b as i8).collect();
    let mut all: Vec<Vec<i8>> = Vec::new();
    for cpu in runnable() {
        let (bytes, status) =
            run_on::<i8, i8>(cpu, OutputKind::Raw, function.clone(), tables, &input, 1, out);
        assert_eq!(status, 0);
        all.push(bytes);
    }
    all.swap_remove(0).into_iter().map(|b| b as u8).collect()
}

/// A function with an input, an output and a table, and the number of bytes that it writes.
struct Vectors {
    b: Builder,
    input: BufferId,
    output: BufferId,
    table: BufferId,
    written: u32,
}

impl Vectors {
    fn new() -> Vectors {
        let mut b = Builder::new("vectors");
        let input = b.buffer("in", Space::Input, Scalar::I8);
        let output = b.buffer("out", Space::Output, Scalar::I8);
        let table = b.buffer("table", Space::ModelTable(0), Scalar::I8);
        Vectors { b, input, output, table, written: 0 }
    }

    fn load(&mut self, buffer: BufferId, ty: Ty, offset: u32) -> Value {
        let from = Address { offset, ..at_number(&mut self.b, buffer, 0, 1) };
        self.b.load(ty, from)
    }

    /// Writes a value to the output, after the values that were written before.
    fn write(&mut self, value: Value) {
        let to = Address { offset: self.written, ..at_number(&mut self.b, self.output, 0, 1) };
        self.written += self.b.ty(value).bytes();
        self.b.store(to, value);
    }

    /// Masks of no, all and some lanes.
    fn masks(&mut self, lanes: u16) -> Vec<Value> {
        let bytes = Ty::vector(Scalar::I8, lanes);
        let numbers = self.load(self.input, bytes, 0);
        let least = self.b.int_of(bytes, -128);
        let some = self.b.int_of(bytes, 3);
        [(numbers, least), (least, numbers), (numbers, some), (some, numbers)]
            .map(|(x, y)| {
                let op = if x == least { Cmp::Le } else { Cmp::Lt };
                self.b.cmp(op, x, y)
            })
            .to_vec()
    }
}

#[test]
fn lookups_in_tables_of_every_length() {
    let data = noise(256 * 8);
    let kinds = [
        (Scalar::F32, Scalar::I32),
        (Scalar::I32, Scalar::I32),
        (Scalar::I8, Scalar::I32),
        (Scalar::I16, Scalar::I32),
        (Scalar::I8, Scalar::I8),
        (Scalar::I16, Scalar::I16),
        (Scalar::I8, Scalar::I64),
        (Scalar::I64, Scalar::I64),
        (Scalar::F64, Scalar::I32),
        (Scalar::F32, Scalar::I8),
    ];
    for (element, index) in kinds {
        for lanes in LANES {
            let mut v = Vectors::new();
            let ty = Ty::vector(index, lanes);
            let numbers = v.load(v.input, ty, 0);
            for length in (0..=8).map(|n| 1_u16 << n) {
                let table = v.load(v.table, Ty::vector(element, length), 0);
                let found = v.b.lookup(table, numbers);
                v.write(found);
            }
            let (out, size) = (v.written as usize, ty.bytes() as usize);
            let function = v.b.finish();
            let bytes = check(&function, &[&data], &data[1000..1000 + size], out);
            // Compares the longest table with a direct computation.
            let width = element.bytes() as usize;
            let wide = if element.is_float() { width } else { index.bytes() as usize };
            let last = &bytes[out - wide * usize::from(lanes)..];
            for (lane, found) in last.chunks(wide).enumerate() {
                let number = usize::from(data[1000 + lane * index.bytes() as usize]);
                let mut expected = data[number * width..][..width].to_vec();
                expected.resize(wide, 0);
                assert_eq!(found, expected, "{lanes} lanes of {element} by {index}");
            }
        }
    }
}

#[test]
fn lookups_in_tables_that_are_computed() {
    for cpu in runnable() {
        let mut v = Vectors::new();
        let (ty, long) = (Ty::vector(Scalar::I32, 16), Ty::vector(Scalar::I32, 64));
        let numbers = v.load(v.input, ty, 0);
        let first = v.load(v.table, long, 0);
        let (zero, four) = (v.b.int(0), v.b.int(4));
        let last = v.b.for_loop((zero, four, 1), &[first, numbers], |b, _, c| {
            let found = b.lookup(c[0], c[1]);
            let sum = b.add(c[0], c[0]);
            vec![sum, found]
        });
        v.write(last[1]);
        let data: Vec<i8> = noise(256).into_iter().map(|b| b as i8).collect();
        let table = noise(256);
        run_on::<i8, i8>(cpu, OutputKind::Raw, v.b.finish(), &[&table], &data, 1, 64);
    }
}

#[test]
fn lookups_in_constants_and_in_more_tables_than_the_stack_holds() {
    let mut v = Vectors::new();
    let (ty, long) = (Ty::vector(Scalar::I64, 4), Ty::vector(Scalar::I64, 256));
    let numbers = v.load(v.input, ty, 0);
    let constant = v.b.iota(long);
    let found = v.b.lookup(constant, numbers);
    v.write(found);
    let (zero, three) = (v.b.int(0), v.b.int(3));
    let sums = v.b.for_loop((zero, three, 1), &[numbers], |b, _, c| {
        let mut sum = c[0];
        let mut table = constant;
        for _ in 0..12 {
            table = b.add(table, constant);
            let found = b.lookup(table, sum);
            sum = b.add(sum, found);
        }
        vec![sum]
    });
    v.write(sums[0]);
    let out = v.written as usize;
    check(&v.b.finish(), &[&[]], &noise(32), out);
}

#[test]
fn gathers_of_every_type_stride_and_mask() {
    let data = noise(4096);
    let places = [(1, 0), (2, 2), (4, 0), (8, 4), (12, 4), (3, 1), (16, 8), (20, 0), (32, 12)];
    let mut next = places.into_iter().cycle();
    for element in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::F32, Scalar::F64] {
        for lanes in LANES {
            let mut v = Vectors::new();
            let input = v.input;
            let ty = Ty::vector(Scalar::I32, lanes);
            // Numbers of both signs, between -32 and 31.
            let numbers = v.load(input, ty, 0);
            let (low, less) = (v.b.int_of(ty, 63), v.b.int_of(ty, 32));
            let numbers = v.b.bin(Bin::And, numbers, low);
            let signed = v.b.sub(numbers, less);
            let masks = v.masks(lanes);
            // There are nine addresses and eight numbers of lanes, so each number is combined with another
            // address for the next element type.
            for (stride, offset) in next.by_ref().take(1) {
                for buffer in [input, v.table] {
                    let (zero, far) = (v.b.int(0), v.b.int(40));
                    for (base, index) in [(zero, numbers), (far, signed)] {
                        let all = Gather { buffer, base, index, stride, offset, mask: None };
                        let found = v.b.gather(element, all);
                        v.write(found);
                        for mask in &masks[if buffer == input { 0..2 } else { 2..4 }] {
                            let found = v.b.gather(element, Gather { mask: Some(*mask), ..all });
                            v.write(found);
                        }
                    }
                }
            }
            let out = v.written as usize;
            check(&v.b.finish(), &[&data], &data, out);
        }
    }
}

#[test]
fn inactive_lanes_touch_no_memory() {
    // Only lane 0 is active, and only its element is in memory.
    for lanes in LANES {
        let mut v = Vectors::new();
        let (ty, output, table) = (Ty::vector(Scalar::I32, lanes), v.output, v.table);
        let numbers = v.b.iota(ty);
        let (one, huge) = (v.b.int_of(ty, 1), v.b.int_of(ty, i64::from(i32::MAX)));
        let mask = v.b.cmp(Cmp::Lt, numbers, one);
        let index = v.b.select(mask, one, huge);
        let zero = v.b.int(0);
        let gather = Gather { buffer: table, base: zero, index, stride: 4, offset: 0, mask: Some(mask) };
        let found = v.b.gather(Scalar::I32, gather);
        v.write(found);
        // The table ends after the first lane, or begins with the last lane.
        let last = v.b.int_of(ty, i64::from(lanes) - 2);
        let end = v.b.cmp(Cmp::Lt, last, numbers);
        let (from, before) = (v.b.int(1), v.b.int(1 - i64::from(lanes)));
        let head = v.b.load_masked(ty, at(table, from, 4), mask);
        let tail = v.b.load_masked(ty, at(table, before, 4), end);
        v.write(head);
        v.write(tail);
        let word = i64::from(v.written / 4);
        let to = v.b.int(word);
        v.b.store_masked(at(output, to, 4), head, mask);
        let bytes = check(&v.b.finish(), &[&[1, 2, 3, 4, 5, 6, 7, 8]], &[0], v.written as usize + 4);
        let zeros = vec![0; 4 * usize::from(lanes) - 4];
        let parts = [&[5, 6, 7, 8], &*zeros, &[5, 6, 7, 8], &zeros, &zeros, &[1, 2, 3, 4], &[5, 6, 7, 8]];
        assert_eq!(bytes, parts.concat(), "{lanes}");
    }
}

#[test]
fn masked_loads_and_stores_of_every_type() {
    let data = noise(2048);
    for element in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::F32, Scalar::F64] {
        for lanes in LANES {
            let mut v = Vectors::new();
            let (ty, table, output) = (Ty::vector(element, lanes), v.table, v.output);
            for mask in v.masks(lanes) {
                let from = Address { offset: 4, ..at_number(&mut v.b, table, 1, ty.bytes()) };
                let some = v.b.load_masked(ty, from, mask);
                v.write(some);
                let twice = at_number(&mut v.b, output, i64::from(v.written), 1);
                let zero = v.b.iota(Ty::vector(Scalar::I64, lanes));
                let zero = v.b.sub(zero, zero);
                let zero = match element {
                    Scalar::I64 => zero,
                    _ if element.is_float() => v.b.float(ty, 0.0),
                    _ => v.b.cast(Cast::Trunc, zero, ty),
                };
                v.b.store(twice, zero);
                v.b.store_masked(twice, some, mask);
                v.written += ty.bytes();
            }
            let out = v.written as usize;
            check(&v.b.finish(), &[&data], &data[..64], out);
        }
    }
}

#[test]
fn lanes_and_masks() {
    for lanes in LANES {
        let mut v = Vectors::new();
        let element = Ty::of(Scalar::I32);
        let masks = v.masks(lanes);
        for scalar in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64] {
            let ty = Ty::vector(scalar, lanes);
            let numbers = v.b.iota(ty);
            v.write(numbers);
            let first = v.b.extract(numbers, lanes - 1);
            let all = v.b.splat(first, lanes);
            v.write(all);
            for mask in &masks {
                // A decision: twice the number, plus one where the mask holds.
                let decision = v.b.cast(Cast::ZExt, *mask, ty);
                let twice = v.b.add(numbers, numbers);
                let next = v.b.add(twice, decision);
                let sign = v.b.cast(Cast::SExt, *mask, ty);
                let chosen = v.b.select(*mask, numbers, all);
                let product = v.b.mul(decision, numbers);
                for value in [decision, next, sign, chosen, product] {
                    v.write(value);
                }
            }
        }
        for mask in masks {
            let any = v.b.any(mask);
            let bits = v.b.mask_bits(mask);
            let bits = v.b.cast(Cast::Trunc, bits, element);
            v.write(bits);
            let yes = v.b.int_of(Ty::vector(Scalar::I1, lanes), -1);
            let not = v.b.bin(Bin::Xor, mask, yes);
            let any_not = v.b.any(not);
            let last = v.b.extract(mask, lanes - 1);
            for truth in [any, any_not, last] {
                let truth = v.b.cast(Cast::ZExt, truth, element);
                v.write(truth);
            }
        }
        let out = v.written as usize;
        let bytes = check(&v.b.finish(), &[&[0]], &noise(64), out);
        // The bits of an empty mask, whether any of its lanes holds, whether any of its inverse does, and its
        // last lane.
        let tail = &bytes[out - 4 * 16..][..16];
        assert_eq!(tail, [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0], "{lanes}");
    }
}

/// The sum of `2 * node` and the bit of a word at position `node`.
fn child(b: &mut Builder, word: Value, node: Value) -> Value {
    let (one, twice, shifted) = (b.int(1), b.add(node, node), b.bin(Bin::Shr, word, node));
    let bit = b.bin(Bin::And, shifted, one);
    b.add(twice, bit)
}

/// Nodes are pseudo-random numbers, and some are constants. The interpreter provides the expected values.
#[test]
fn children_are_those_of_the_interpreter() {
    let mut v = Vectors::new();
    for at in 0..16 {
        let (word, number) = (v.load(v.input, Ty::I64, 8 * at), v.load(v.input, Ty::I64, 8 * at + 8));
        let numbers = [
            v.b.extract_bits(number, 0, 6),
            v.b.extract_bits(number, 0, 9),
            v.b.int(i64::from(at)),
            v.b.int(1),
        ];
        for node in numbers {
            let child = child(&mut v.b, word, node);
            let grandchild = self::child(&mut v.b, word, child);
            v.write(child);
            v.write(grandchild);
        }
    }
    let out = v.written as usize;
    check(&v.b.finish(), &[&[]], &noise(8 * 17), out);
}

#[test]
fn lanes_shift_across_registers() {
    for scalar in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64] {
        for lanes in [2, 3, 8, 16, 64] {
            let mut v = Vectors::new();
            let ty = Ty { scalar, lanes };
            let own = v.load(v.input, ty, 0);
            for places in [0, 1, 2, 5, 8, 16, 31, 63].into_iter().filter(|places| *places < lanes) {
                let slid = v.b.lane_shift(own, places);
                v.write(slid);
            }
            let out = v.written as usize;
            check(&v.b.finish(), &[&[0]], &noise(64 * 8), out);
        }
    }
}

#[test]
fn squares_are_transposed() {
    for scalar in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::F32, Scalar::F64] {
        for lanes in [1, 2, 4, 8, 16, 32] {
            let mut v = Vectors::new();
            let ty = Ty { scalar, lanes };
            let (a, b) = (v.load(v.input, ty, 0), v.load(v.input, ty, ty.bytes()));
            let both = v.b.concat(a, b);
            v.write(both);
            for size in [1, 2, 4, 8, 16].into_iter().filter(|size| lanes % (2 * size) == 0) {
                for number in [0, 1] {
                    let blocks = v.b.transpose_step(a, b, size, number);
                    v.write(blocks);
                }
            }
            let out = v.written as usize;
            // Small numbers are not NaN, whose bits need not be kept.
            let data: Vec<u8> = (0..2 * 32 * 8).map(|n| (n % 101) as u8).collect();
            let bytes = check(&v.b.finish(), &[&[0]], &data, out);
            assert_eq!(bytes[..2 * ty.bytes() as usize], data[..2 * ty.bytes() as usize], "{ty}");
        }
    }
}

#[test]
fn vectors_reach_the_bodies_of_parallel_loops() {
    let mut v = Vectors::new();
    let (ty, table, output) = (Ty::vector(Scalar::I32, 16), v.table, v.output);
    let numbers = v.load(v.input, ty, 0);
    let entries = v.load(table, Ty::vector(Scalar::I8, 64), 0);
    let mask = v.masks(16).swap_remove(2);
    let (four, base) = (v.b.int(4), v.b.n_rows());
    v.b.parallel(four, |b, i| {
        let number = b.cast(Cast::Trunc, i, Ty::of(Scalar::I32));
        let number = b.splat(number, 16);
        let index = b.add(numbers, number);
        let found = b.lookup(entries, index);
        let gather = Gather { buffer: table, base, index: found, stride: 1, offset: 0, mask: Some(mask) };
        let gathered = b.gather(Scalar::I32, gather);
        let decision = b.cast(Cast::ZExt, mask, ty);
        let sum = b.add(gathered, decision);
        b.store(at(output, i, 64), found);
        let masked = b.load_masked(ty, at(table, i, 4), mask);
        let sum = b.add(sum, masked);
        b.store_masked(at(output, i, 64), sum, mask);
        let any = b.any(mask);
        b.when(any, |b| {
            let last = b.extract(sum, 15);
            b.store(Address { offset: 60, ..at(output, i, 64) }, last);
        });
    });
    check(&v.b.finish(), &[&noise(300)], &noise(64), 256);
}

/// Assembly of one look-up, with lanes of 32 bits.
fn lookup_text(cpu: Cpu, element: Scalar, length: u16, lanes: u16) -> String {
    let mut v = Vectors::new();
    let numbers = v.load(v.input, Ty::vector(Scalar::I32, lanes), 0);
    let table = v.load(v.table, Ty::vector(element, length), 0);
    let found = v.b.lookup(table, numbers);
    v.write(found);
    asm_text(&module(OutputKind::Raw, v.b.finish(), &[&[0; 2048]]), cpu).expect("the lookup compiles")
}

/// Number of occurrences of an instruction in assembly.
fn count(text: &str, instruction: &str) -> usize {
    text.lines().filter(|line| line.split_whitespace().next() == Some(instruction)).count()
}

#[test]
fn lookups_are_shuffles_of_registers() {
    const X86_64V3: Cpu = Cpu::X86_64V3;
    const X86_64V4: Cpu = Cpu::X86_64V4;
    let cases = [
        (X86_64V4, Scalar::F32, 8, 16, "vpermps", 1, 0),
        (X86_64V4, Scalar::F32, 16, 16, "vpermps", 1, 0),
        (X86_64V4, Scalar::F32, 32, 16, "vpermt2ps", 1, 0),
        (X86_64V4, Scalar::F32, 64, 16, "vpermt2ps", 2, 1),
        (X86_64V4, Scalar::F32, 128, 16, "vpermt2ps", 4, 2),
        (X86_64V4, Scalar::I32, 32, 16, "vpermt2d", 1, 0),
        (X86_64V4, Scalar::I8, 64, 16, "vpermt2d", 2, 1),
        (X86_64V4, Scalar::F32, 64, 32, "vpermt2ps", 4, 2),
        (X86_64V3, Scalar::F32, 8, 8, "vpermps", 1, 0),
        (X86_64V3, Scalar::F32, 16, 8, "vpermps", 2, 0),
        (X86_64V3, Scalar::F32, 32, 8, "vpermps", 4, 0),
    ];
    for (cpu, element, length, lanes, shuffle, times, tests) in cases {
        let text = lookup_text(cpu, element, length, lanes);
        let shuffles: usize = [shuffle, &shuffle.replace("t2", "i2"), &shuffle.replace("ps", "d")]
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .map(|name| count(&text, name))
            .sum();
        assert_eq!(shuffles, times, "{cpu} {length} {element}: {text}");
        assert_eq!(count(&text, "vptestmd") + count(&text, "vptestnmd"), tests, "{text}");
        for scalar in ["vpextrd", "vextractps", "vpinsrd", "vinsertps", "vmovd"] {
            assert_eq!(count(&text, scalar), 0, "{cpu} {length} {element}: {text}");
        }
    }
}

#[test]
fn long_tables_of_bytes_are_looked_up_as_words() {
    let text = |cpu, length| {
        let mut v = Vectors::new();
        let numbers = v.load(v.input, Ty::vector(Scalar::I8, 64), 0);
        let table = v.load(v.table, Ty::vector(Scalar::I8, length), 0);
        let found = v.b.lookup(table, numbers);
        v.write(found);
        asm_text(&module(OutputKind::Raw, v.b.finish(), &[&[0; 2048]]), cpu).expect("the lookup compiles")
    };
    let shuffles = |cpu, length| {
        let text = text(cpu, length);
        ["vpshufb", "vpermt2w", "vpermi2w"].map(|name| count(&text, name))
    };
    let of_words = |[bytes, first, second]: [usize; 3]| (bytes, first + second);
    assert_eq!(of_words(shuffles(Cpu::X86_64V4, 64)), (4, 0));
    assert_eq!(of_words(shuffles(Cpu::X86_64V4, 128)), (0, 2));
    assert_eq!(of_words(shuffles(Cpu::X86_64V4, 256)), (0, 4));
    assert_eq!(of_words(shuffles(Cpu::X86_64V3, 128)), (16, 0));
}

/// Numbers with a bound that follows from their operations: doublings and additions of masks, as on the path
/// of a walk.
fn numbers_below(v: &mut Vectors, ty: Ty, doublings: u32) -> Value {
    let masks = v.masks(ty.lanes);
    let mut numbers = v.b.int_of(ty, 1);
    for mask in masks.iter().cycle().take(doublings as usize) {
        let (twice, decision) = (v.b.add(numbers, numbers), v.b.cast(Cast::ZExt, *mask, ty));
        numbers = v.b.add(twice, decision);
    }
    numbers
}

#[test]
fn bounded_numbers_are_looked_up_like_any() {
    for lanes in LANES {
        let mut v = Vectors::new();
        let ty = Ty::vector(Scalar::I8, lanes);
        let tables: Vec<Value> =
            [2, 16, 32, 64, 256].iter().map(|n| v.load(v.table, Ty::vector(Scalar::I8, *n), 0)).collect();
        // From seven levels on, numbers have the highest bit; from eight levels on, bits are lost.
        for doublings in 0..=9 {
            let path = numbers_below(&mut v, ty, doublings);
            let own = v.load(v.input, ty, 0);
            let (most, small) = (v.b.int_of(ty, 127), v.b.int_of(ty, 100));
            let some = v.b.bin(Bin::And, own, most);
            let larger = v.b.add(some, small);
            let either = v.masks(lanes)[2];
            let chosen = v.b.select(either, larger, path);
            for (table, index) in tables.iter().flat_map(|t| [path, some, larger, chosen].map(|i| (*t, i))) {
                let found = v.b.lookup(table, index);
                v.write(found);
            }
        }
        let out = v.written as usize;
        check(&v.b.finish(), &[&noise(256)], &noise(64), out);
    }
}

/// LLVM IR for 512-bit registers, before optimisation.
fn emitted(v: Vectors) -> String {
    let module = module(OutputKind::Raw, v.b.finish(), &[&[0; 64]]);
    llvm_text(&module, Cpu::X86_64V4, false).expect("LLVM takes it")
}

#[test]
fn indices_that_are_small_need_no_masks() {
    let ands = |most: [i64; 2]| {
        let mut v = Vectors::new();
        let ty = Ty::vector(Scalar::I8, 64);
        let [a, b] = [(most[0], 0), (most[1], 64)].map(|(most, at)| {
            let (numbers, most) = (v.load(v.input, ty, at), v.b.int_of(ty, most));
            v.b.bin(Bin::And, numbers, most)
        });
        let sum = v.b.add(a, b);
        let table = v.load(v.table, Ty::vector(Scalar::I8, 16), 0);
        let found = v.b.lookup(table, sum);
        v.write(found);
        emitted(v).matches(" and <64 x i8>").count()
    };
    assert_eq!((ands([63, 63]), ands([127, 63])), (2, 3));
}

#[test]
fn decisions_select_the_part_of_a_table() {
    let comparisons = |doublings| {
        let mut v = Vectors::new();
        let path = numbers_below(&mut v, Ty::vector(Scalar::I8, 64), doublings);
        let table = v.load(v.table, Ty::vector(Scalar::I8, 64), 0);
        let found = v.b.lookup(table, path);
        v.write(found);
        emitted(v).matches(" icmp ").count()
    };
    // Four registers, selected by two bits: decisions need no test, and their masks take four comparisons.
    assert_eq!([4, 5, 6].map(comparisons), [6, 5, 4]);
}

#[test]
fn gathers_and_decisions_are_single_instructions() {
    let mut v = Vectors::new();
    let (input, table, output) = (v.input, v.table, v.output);
    let (ty, floats) = (Ty::vector(Scalar::I32, 16), Ty::vector(Scalar::F32, 16));
    let (zero, rows) = (v.b.int(0), v.b.n_rows());
    let first = v.b.iota(ty);
    let last = v.b.for_loop((zero, rows, 1), &[first], |b, i, node| {
        let gather = |buffer| Gather { buffer, base: i, index: node[0], stride: 4, offset: 0, mask: None };
        let (x, t) = (b.gather(Scalar::F32, gather(input)), b.gather(Scalar::F32, gather(table)));
        let left = b.cmp(Cmp::OLt, x, t);
        let yes = b.int_of(Ty::vector(Scalar::I1, 16), -1);
        let right = b.bin(Bin::Xor, left, yes);
        let decision = b.cast(Cast::ZExt, right, ty);
        let twice = b.add(node[0], node[0]);
        vec![b.add(twice, decision)]
    });
    let bits = v.b.cast(Cast::Bits, last[0], floats);
    v.b.store(at(output, zero, 4), bits);
    let text = asm_text(&module(OutputKind::Raw, v.b.finish(), &[&[0; 2048]]), Cpu::X86_64V4).unwrap();
    assert_eq!(count(&text, "vgatherdps"), 2, "{text}");
    assert_eq!(count(&text, "vpaddd"), 2, "{text}");
    assert!(text.lines().any(|line| line.contains("vpaddd") && line.contains("{%k")), "{text}");
    assert!(text.lines().any(|line| line.contains("vgatherdps\t(%r") && line.contains(",%zmm")), "{text}");
    // If the mask were made again, it would wait for the comparison before it.
    for undone in ["kxnor", "knotw", "vpmovm2d", "vpmovsxdq", "vpsubd", "vextractf64x4"] {
        assert_eq!(count(&text, undone), 0, "{text}");
    }
}
