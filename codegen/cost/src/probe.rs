//! Probes: small kernels that repeat one kind of instruction, from whose times its cost follows.
//!
//! A probe runs one iteration for each row of a call. With one chain of dependent operations, its time is
//! their latency. With several independent chains, it is the time for which they occupy the core.

use crate::operation::InstructionKind;
use sched_ir::lir::{
    Address, Bin, BuildStmts, Builder, Cast, Cmp, Function, Gather, Interface, KernelKind, Module,
    ProcessorKind, Scalar, Space, Ty, Value,
};
use sched_nest::Variants;

/// Independent chains of a throughput probe. They must exceed the latency of an operation times the
/// operations that a core starts in a cycle. On Zen 5, which has four vector units, six chains measured
/// 0.46 cycles an operation instead of 0.25. More chains would spill registers.
const CHAINS: u32 = 12;
/// Operations of a chain in one iteration: enough to make the loop's own instructions negligible.
const CHAIN_STEPS: u32 = 4;
/// Cache lines that [`stream_probe`] loads in one iteration: enough to make the loop's own instructions
/// negligible.
pub const STREAM_LINES: u32 = 4;
/// Entries of the table of [`window_probe`], which one register of any machine holds.
const WINDOW_TABLE: u16 = 16;
/// Fewest rows of a call of a probe, since probes load their tables and constants from the rows. Each row is
/// a 32-bit integer below this number.
pub const LEAST_PROBE_ROWS: usize = 1024;

/// A function that emits one step of a chain. It takes the chain's value and a constant, and returns the next
/// value.
type OneStep<'a> = &'a dyn Fn(&mut Builder, Value, Value) -> Value;

/// A kernel whose time per row is measured.
pub struct Probe {
    /// The kind that it measures.
    pub kind: InstructionKind,
    /// Whether it measures latency instead of throughput.
    pub measures_latency: bool,
    /// Operations of this kind for each row.
    pub operations: f64,
    /// Kinds of other instructions that the kernel needs for each operation, with their numbers.
    pub other_instructions: Vec<(InstructionKind, f64)>,
    /// The kernel, from rows of one 32-bit number to one margin.
    pub module: Module,
}

/// The probes of vectors of `bits` bits on registers of `register_bits` bits, which are at least as long. The
/// order is such that the other instructions of a probe ([`Probe::other_instructions`]) are kinds of earlier
/// probes.
pub fn probes(bits: u32, register_bits: u32) -> Vec<Probe> {
    let bytes = (bits / 8).max(16) as u16;
    let words = bytes / 4;
    let (mut all, mut leaves) = (Vec::new(), Vec::new());
    let (ints, narrow) = (Ty::vector(Scalar::I32, words), Ty::vector(Scalar::I8, bytes));
    // With one chain, the comparison's latency is followed by that of one select; the select's operands are
    // available earlier.
    let compare = [(true, 1.0), (false, 2.0)].map(|(latency, choices)| {
        Probe::of(
            InstructionKind::Compare,
            latency,
            &[(InstructionKind::Vector, choices)],
            narrow,
            &|b, x, k| {
                let less = b.cmp(Cmp::UnsignedLt, x, k);
                let sum = b.add(x, k);
                let other = b.bin(Bin::Xor, sum, k);
                b.select(less, other, k)
            },
        )
    });
    let both = |all: &mut Vec<Probe>,
                kind: InstructionKind,
                other_instructions: &[(InstructionKind, f64)],
                ty: Ty,
                step: OneStep<'_>| {
        all.extend([true, false].map(|latency| Probe::of(kind, latency, other_instructions, ty, step)));
    };
    both(&mut all, InstructionKind::Scalar, &[(InstructionKind::Scalar, 1.0)], Ty::I64, &|b, x, k| {
        let sum = b.add(x, k);
        b.bin(Bin::Xor, sum, k)
    });
    both(&mut all, InstructionKind::Vector, &[(InstructionKind::Vector, 1.0)], narrow, &|b, x, k| {
        let sum = b.add(x, k);
        b.bin(Bin::Xor, sum, k)
    });
    all.extend(compare);
    both(
        &mut all,
        InstructionKind::Expand,
        &[(InstructionKind::Compare, 1.0), (InstructionKind::Vector, 1.0)],
        ints,
        &|b, x, k| {
            let less = b.cmp(Cmp::Lt, x, k);
            let one = b.cast(Cast::ZExt, less, ints);
            b.add(one, k)
        },
    );
    both(&mut all, InstructionKind::Float, &[], Ty::vector(Scalar::F32, words), &|b, x, k| b.add(x, k));
    for element in [1u8, 2, 4] {
        let entries =
            [16u16, 32, 64, 128, 256].into_iter().filter(|entries| *entries <= 512 / u16::from(element));
        for entries in entries {
            let scalar = [Scalar::I8, Scalar::I16, Scalar::I32][usize::from(element / 2)];
            let ty = Ty::vector(scalar, bytes / u16::from(element));
            let kind = InstructionKind::Lookup { element, entries, index: element };
            both(&mut all, kind, &[], ty, &|b, x, _| {
                let table = table(b, Ty::vector(scalar, entries));
                b.lookup(table, x)
            });
        }
    }
    // Look-ups of leaf values by byte indices.
    for (element, scalar) in [(4u8, Scalar::F32), (8, Scalar::F64)] {
        for entries in [16u16, 64, 128, 256] {
            if u32::from(entries) * u32::from(element) > 1024 {
                continue;
            }
            let kind = InstructionKind::Lookup { element, entries, index: 1 };
            let wide = Ty::vector(scalar, bytes);
            let registers = f64::from(element) * f64::from(bits) / f64::from(register_bits.max(bits));
            leaves.push(Probe::wide_lookup(kind, registers, wide, narrow));
        }
    }
    for element in [1u8, 4, 8] {
        let scalar = match element {
            1 => Scalar::I8,
            4 => Scalar::I32,
            _ => Scalar::F64,
        };
        both(&mut all, InstructionKind::Gather { element }, &[], ints, &|b, x, _| {
            let (buffer, base) = (rows(b), b.int(0));
            let mask = b.int_of(ints, LEAST_PROBE_ROWS as i64 / 2 - 1);
            let index = b.bin(Bin::And, x, mask);
            let gather = Gather { buffer, base, index, stride: u32::from(element), offset: 0, mask: None };
            let found = b.gather(scalar, gather);
            match element {
                1 => b.cast(Cast::ZExt, found, ints),
                4 => found,
                _ => {
                    let whole = b.cast(Cast::Bits, found, Ty::vector(Scalar::I64, words));
                    b.cast(Cast::Trunc, whole, ints)
                }
            }
        });
    }
    all.extend(leaves);
    all
}

/// A kernel whose rows each hold the index of the next one to load: a pointer chase, for the latency of
/// memory.
pub fn chase_probe() -> Module {
    let mut b = Builder::new("raw");
    let (zero, n_rows) = (b.int(0), b.n_rows());
    let from = rows(&mut b);
    let last = b.for_loop((zero, n_rows, 1), &[zero], |b, _, at| {
        vec![b.load_index(Scalar::I32, Address { buffer: from, index: at[0], stride: 4, offset: 0 })]
    });
    let to = b.buffer("result", Space::Output, Scalar::F32);
    let narrow = b.cast(Cast::Trunc, last[0], Ty::of(Scalar::I32));
    b.store(Address { buffer: to, index: zero, stride: 4, offset: 0 }, narrow);
    module(b.finish())
}

/// A kernel that reads an index from each row of 64 bytes, and adds up the numbers at these indices. It
/// measures the throughput of scattered lines whose addresses are known early.
pub fn scatter_probe() -> Module {
    let mut b = Builder::new("raw");
    let (zero, n_rows) = (b.int(0), b.n_rows());
    let from = rows(&mut b);
    let number = |b: &mut Builder, index, stride| {
        b.load_index(Scalar::I32, Address { buffer: from, index, stride, offset: 0 })
    };
    let last = b.for_loop((zero, n_rows, 1), &[zero], |b, at, sum| {
        let place = number(b, at, 64);
        let found = number(b, place, 4);
        vec![b.add(sum[0], found)]
    });
    let to = b.buffer("result", Space::Output, Scalar::F32);
    let narrow = b.cast(Cast::Trunc, last[0], Ty::of(Scalar::I32));
    b.store(Address { buffer: to, index: zero, stride: 4, offset: 0 }, narrow);
    module(b.finish())
}

/// Look-ups of one row of [`window_probe`]: a chain longer than the scheduler queues of any core, so that
/// they limit how many chains overlap.
pub const WINDOW_STEPS: u32 = 192;

/// A kernel in which each row has an independent chain of look-ups. Its time shows how many waiting
/// instructions the scheduler holds, since that limits how many chains overlap.
pub fn window_probe(register_bits: u32) -> Module {
    let ty = Ty::vector(Scalar::I8, (register_bits / 8).max(16) as u16);
    let mut b = Builder::new("raw");
    let (zero, n_rows) = (b.int(0), b.n_rows());
    let from = rows(&mut b);
    let at = |index| Address { buffer: from, index, stride: 4, offset: 0 };
    let table = table(&mut b, Ty::vector(Scalar::I8, WINDOW_TABLE));
    let first = b.load(ty, at(zero));
    let last = b.for_loop((zero, n_rows, 1), &[first], |b, n, sum| {
        // Each chain starts from a load of its own, so that the compiler cannot move it out of the loop, and
        // no chain depends on another one.
        let mut x = b.load(ty, at(n));
        for _ in 0..WINDOW_STEPS {
            x = b.lookup(table, x);
        }
        vec![b.add(sum[0], x)]
    });
    let to = b.buffer("result", Space::Output, Scalar::F32);
    b.store(Address { buffer: to, index: zero, stride: 4, offset: 0 }, last[0]);
    module(b.finish())
}

/// A kernel that loads each row of 64 bytes once, in order. It measures the throughput of consecutive lines.
/// Its sums are independent of each other, so memory limits it and not latency. The number of rows must be a
/// multiple of [`STREAM_LINES`].
pub fn stream_probe() -> Module {
    let ty = Ty::vector(Scalar::I32, 16);
    let mut b = Builder::new("raw");
    let (zero, n_rows) = (b.int(0), b.n_rows());
    let from = rows(&mut b);
    let line = |b: &mut Builder, at, number: u32| {
        b.load(ty, Address { buffer: from, index: at, stride: 64, offset: 64 * number })
    };
    let first: Vec<Value> = (0..STREAM_LINES).map(|number| line(&mut b, zero, number)).collect();
    let last = b.for_loop((zero, n_rows, STREAM_LINES.into()), &first, |b, at, sums| {
        let lines: Vec<Value> = (0..STREAM_LINES).map(|number| line(b, at, number)).collect();
        sums.iter().zip(lines).map(|(sum, line)| b.add(*sum, line)).collect()
    });
    let to = b.buffer("result", Space::Output, Scalar::F32);
    for (number, sum) in (0..).zip(last) {
        b.store(Address { buffer: to, index: zero, stride: 4, offset: 64 * number }, sum);
    }
    module(b.finish())
}

/// The buffer of the call's rows.
fn rows(b: &mut Builder) -> sched_ir::lir::BufferId {
    b.buffer("rows", Space::Input, Scalar::F32)
}

/// A table in registers whose content the compiler does not know.
fn table(b: &mut Builder, ty: Ty) -> Value {
    let at = Address { buffer: rows(b), index: b.int(0), stride: 4, offset: 64 };
    b.load(ty, at)
}

impl Probe {
    /// A probe of operations each of whose results is an operand of the next operation.
    fn of(
        kind: InstructionKind,
        measures_latency: bool,
        other_instructions: &[(InstructionKind, f64)],
        ty: Ty,
        step: OneStep<'_>,
    ) -> Probe {
        let chains = if measures_latency { 1 } else { CHAINS };
        let operations = f64::from(CHAIN_STEPS * chains);
        let kernel = kernel(&[ty], chains, &|b, values, k| vec![step(b, values[0], k[0])]);
        Probe {
            kind,
            measures_latency,
            operations,
            other_instructions: other_instructions.to_vec(),
            module: module(kernel),
        }
    }

    /// A probe of look-ups of `wide` elements by `narrow` indices. Results cannot be the next indices, so a
    /// separate sum makes the indices. The result of a look-up fills `registers` registers.
    fn wide_lookup(kind: InstructionKind, registers: f64, wide: Ty, narrow: Ty) -> Probe {
        let chains = 2;
        let kernel = kernel(&[wide, narrow], chains, &|b, values, k| {
            let entries = match kind {
                InstructionKind::Lookup { entries, .. } => entries,
                _ => 1,
            };
            let table = table(b, Ty::vector(wide.scalar, entries));
            let numbers = b.add(values[1], k[1]);
            let found = b.lookup(table, numbers);
            vec![b.add(values[0], found), numbers]
        });
        let other_instructions = vec![(InstructionKind::Float, registers), (InstructionKind::Vector, 1.0)];
        Probe {
            kind,
            measures_latency: false,
            operations: f64::from(CHAIN_STEPS * chains),
            other_instructions,
            module: module(kernel),
        }
    }
}

/// A function that emits one step of a chain of several values. It takes these values and constants, and
/// returns the next values.
type ChainStep<'a> = &'a dyn Fn(&mut Builder, &[Value], &[Value]) -> Vec<Value>;

/// A kernel with `chains` chains that begin with values of the input. Each row continues all of them, and
/// their last values are written.
fn kernel(types: &[Ty], chains: u32, step: ChainStep<'_>) -> Function {
    let mut b = Builder::new("raw");
    let (zero, n_rows) = (b.int(0), b.n_rows());
    let from = rows(&mut b);
    let load = |b: &mut Builder, ty: &Ty, offset: u32| {
        b.load(*ty, Address { buffer: from, index: zero, stride: 4, offset })
    };
    let mut first = Vec::new();
    for chain in 0..chains {
        first.extend(types.iter().map(|ty| load(&mut b, ty, 64 * chain)));
    }
    let constants: Vec<Value> = types.iter().map(|ty| load(&mut b, ty, 512)).collect();
    let last = b.for_loop((zero, n_rows, 1), &first, |b, _, inside| {
        let mut values = inside.to_vec();
        for _ in 0..CHAIN_STEPS {
            for chain in values.chunks_mut(types.len()) {
                let next = step(b, chain, &constants);
                chain.copy_from_slice(&next);
            }
        }
        values
    });
    let to = b.buffer("result", Space::Output, Scalar::F32);
    for (n, value) in (0..).zip(last) {
        b.store(Address { buffer: to, index: zero, stride: 4, offset: 512 * n }, value);
    }
    b.finish()
}

/// A module of one kernel without tables.
fn module(function: Function) -> Module {
    Module {
        kernels: vec![(KernelKind::RAW, function)],
        tables: Vec::new(),
        types: Interface::uniform(Scalar::F32),
        rows_per_run: None,
        processors: Variants::only(ProcessorKind::Host),
        least_column_rows: None,
        transfer: None,
    }
}
