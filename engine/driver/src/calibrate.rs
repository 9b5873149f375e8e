//! Measures the costs of instructions and memory of this machine.

use crate::failure::Failure;
use crate::machines::{self, level_of};
use sched_cost::{
    Charge, InstructionKind, LEAST_PROBE_ROWS, Machine, Probe, STREAM_LINES, WINDOW_STEPS, chase_probe,
    probes, scatter_probe, stream_probe, window_probe,
};
use sched_ir::lir::Module;
use sched_llvm::runtime::{OutputCounts, OutputKind as Wanted};
use sched_llvm::{CompiledCode, Cpu, EntryInfo, Jit, PackedResults, PackedRows};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Rows of a call of a probe, at least [`LEAST_PROBE_ROWS`].
const ROWS: usize = 8 * LEAST_PROBE_ROWS;
/// Duration of the calls of a probe, of which the fastest counts. Longer durations find faster calls on busy
/// machines.
const PROBE_DURATION: Duration = Duration::from_millis(3);
/// Operations of a step of the scalar probe. Each waits for the one before, and takes one cycle.
const SCALAR_STEP_OPERATIONS: f64 = 2.0;
/// Largest buffer, in bytes, that probes of memory read. Larger buffers take longer.
const MOST_BYTES: usize = 96 << 20;
/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// Least value for the number of instructions that wait for operands at once; replaces a smaller measurement.
const LEAST_WINDOW: f64 = 16.0;
/// Least value for the cycles to compile an operation; replaces a smaller measurement.
const LEAST_COMPILE: f64 = 1_000.0;
/// Bits of the shortest vectors to measure: those of the shortest registers.
const SHORTEST_VECTOR_BITS: u32 = 128;
/// Approximate number of levels of memory, by which progress is shown.
const MEMORY_LEVELS: usize = 8;
/// Fewest cycles of an instruction. Lower measured values are noise.
const LEAST_CYCLES: f64 = 0.02;

/// Measures this machine for code of a level of instruction sets. `done` receives the share of the work that
/// is done.
///
/// # Errors
/// When this machine does not run such code.
pub fn calibrate(cpu: Cpu, done: &dyn Fn(f64)) -> Result<Machine, Failure> {
    let register_bits = level_of(cpu).register_bits();
    let mut machine = machines::described(cpu);
    let all = probes(register_bits, register_bits);
    let lengths = (1..).map(|n| register_bits >> n).take_while(|bits| *bits >= SHORTEST_VECTOR_BITS);
    let shorter: Vec<(u32, Vec<Probe>)> =
        lengths.map(|bits| (bits, short_vector_probes(bits, register_bits))).collect();
    let count = all.len() + shorter.iter().map(|(_, probes)| probes.len()).sum::<usize>();
    let begun = Cell::new(0);
    let share = |more: f64| (begun.get() as f64 + more) / (count + MEMORY_LEVELS) as f64;
    let next = || {
        done(share(0.0));
        begun.set(begun.get() + 1);
    };
    let times = time_probes(&all, cpu, &next)?;
    let ghz = all
        .iter()
        .zip(&times)
        .find(|(probe, _)| probe.kind == InstructionKind::Scalar && probe.measures_latency);
    machine.ghz = ghz.map_or(1.0, |(probe, time)| probe.operations * SCALAR_STEP_OPERATIONS / time.row);
    let mut measured: BTreeMap<_, _> = [(register_bits, charges(&all, &times, &machine))].into();
    // The costs of loads, stores and others come from the processor's description, since no probe isolates
    // them.
    let whole = measured.entry(register_bits).or_default();
    for kind in [
        InstructionKind::Shuffle,
        InstructionKind::Load,
        InstructionKind::Store,
        InstructionKind::Convert,
        InstructionKind::Mask,
        InstructionKind::Math,
    ] {
        whole.entry(kind).or_insert(machine.charge(kind));
    }
    machine.charges = measured;
    for (bits, probes) in shorter {
        let mut found = charges(&probes, &time_probes(&probes, cpu, &next)?, &machine);
        let each = found.get(&InstructionKind::Vector).map_or(f64::INFINITY, |charge| charge.each);
        let part = (each / machine.charge(InstructionKind::Vector).each).clamp(0.25, 1.0);
        for kind in [InstructionKind::Load, InstructionKind::Store] {
            let whole = machine.charge(kind);
            found.insert(kind, Charge { each: whole.each * part, ..whole });
        }
        machine.charges.insert(bits, found);
    }
    machine.window = measure_window(cpu, &machine)?;
    machine.compile = (compile_time(&all, &times) * machine.ghz).max(LEAST_COMPILE);
    measure_caches(&mut machine, cpu, &|level| done(share(level)))?;
    Ok(machine)
}

/// The probes of vectors of `bits` bits, shorter than registers. Gathers are left out, since they cost by
/// the lane, and so are scalars.
fn short_vector_probes(bits: u32, register_bits: u32) -> Vec<Probe> {
    let is_vector =
        |probe: &Probe| !matches!(probe.kind, InstructionKind::Scalar | InstructionKind::Gather { .. });
    probes(bits, register_bits).into_iter().filter(is_vector).collect()
}

/// Times of a probe, in nanoseconds.
struct ProbeTimes {
    /// Run time of a row.
    row: f64,
    /// Compile time.
    compiling: f64,
}

/// The times of probes, in order. `next` is called before each.
fn time_probes(probes: &[Probe], cpu: Cpu, next: &dyn Fn()) -> Result<Vec<ProbeTimes>, Failure> {
    let rows: Vec<f32> = (0..ROWS).map(|n| f32::from_bits((n * 7 % LEAST_PROBE_ROWS) as u32)).collect();
    let of = |probe: &Probe| {
        next();
        let begun = Instant::now();
        let jit = compiled(&probe.module, cpu, 1)?;
        let compiling = begun.elapsed().as_nanos() as f64;
        Ok(ProbeTimes { row: fastest(&jit, &rows, ROWS) / ROWS as f64, compiling })
    };
    probes.iter().map(of).collect()
}

/// Number of instructions that may wait for operands at once. The chains of consecutive rows overlap only as
/// far as their instructions fit into this number.
fn measure_window(cpu: Cpu, machine: &Machine) -> Result<f64, Failure> {
    let rows: Vec<f32> = (0..2 * ROWS).map(|n| f32::from_bits((n % LEAST_PROBE_ROWS) as u32)).collect();
    let ns = fastest(&compiled(&window_probe(machine.register_bits), cpu, 1)?, &rows, ROWS) / ROWS as f64;
    let steps = f64::from(WINDOW_STEPS);
    let alone = steps * machine.charge(InstructionKind::Lookup { element: 1, entries: 16, index: 1 }).latency;
    let window = steps * (alone / (ns * machine.ghz) - 1.0);
    Ok(window.max(LEAST_WINDOW))
}

/// Returns the nanoseconds to compile one operation. Each kind has a probe of one chain and a probe of
/// several: their difference in compile time is divided by their difference in operations.
fn compile_time(all: &[Probe], times: &[ProbeTimes]) -> f64 {
    let operations = |probe: &Probe| -> f64 {
        probe.module.kernels.iter().map(|(_, kernel)| kernel.types.len() as f64).sum()
    };
    let (mut more, mut longer) = (0.0, 0.0);
    for (probes, times) in all.windows(2).zip(times.windows(2)) {
        if let ([one, several], [fast, slow]) = (probes, times)
            && one.kind == several.kind
        {
            more += operations(several) - operations(one);
            longer += slow.compiling - fast.compiling;
        }
    }
    longer / more
}

/// The cost of each kind of instruction, from the times of its probes for a row.
fn charges(all: &[Probe], times: &[ProbeTimes], machine: &Machine) -> BTreeMap<InstructionKind, Charge> {
    let mut charges: BTreeMap<InstructionKind, Charge> = BTreeMap::new();
    for (probe, time) in all.iter().zip(times) {
        let cycles = time.row * machine.ghz / probe.operations;
        let mut own = 1.0;
        let mut rest = cycles;
        for (kind, count) in &probe.other_instructions {
            match charges.get(kind).filter(|_| *kind != probe.kind) {
                Some(charge) if probe.measures_latency => rest -= charge.latency * count,
                Some(charge) => rest -= charge.each * count,
                None => own += count,
            }
        }
        let cycles = (rest / own).max(LEAST_CYCLES);
        let charge = charges.entry(probe.kind).or_insert(Charge { each: cycles, latency: cycles });
        if probe.measures_latency {
            charge.latency = cycles;
        } else {
            charge.each = cycles;
        }
    }
    charges
}

/// Measures the costs of the levels of memory.
fn measure_caches(machine: &mut Machine, cpu: Cpu, done: &dyn Fn(f64)) -> Result<(), Failure> {
    let [chased, streamed, scattered] =
        [chase_probe(), stream_probe(), scatter_probe()].map(|module| compiled(&module, cpu, 16));
    let (chased, streamed, scattered) = (chased?, streamed?, scattered?);
    let empty = fastest(&streamed, &[0.0; STREAM_LINES as usize * LINE_BYTES / 4], STREAM_LINES as usize);
    let before: Vec<f64> =
        std::iter::once(0.0).chain(machine.caches.iter().map(|cache| cache.bytes)).collect();
    for (number, (cache, before)) in machine.caches.iter_mut().zip(before).enumerate() {
        let middle = if cache.bytes < f64::MAX { cache.bytes / 2.0 } else { 3.0 * before };
        let bytes = (middle.max(1.5 * before) as usize).clamp(1 << 12, MOST_BYTES);
        let lines = bytes / LINE_BYTES / STREAM_LINES as usize * STREAM_LINES as usize;
        let rows = round_trip(lines);
        cache.latency = fastest(&chased, &rows, lines) / lines as f64 * machine.ghz;
        cache.line = (fastest(&streamed, &rows, lines) - empty) / lines as f64 * machine.ghz;
        let named = (fastest(&scattered, &rows, lines) - empty) / lines as f64 * machine.ghz;
        cache.scattered = (named - cache.line).max(cache.line);
        done(number as f64);
    }
    machine.call = empty * machine.ghz;
    Ok(())
}

/// A cycle of indices through all lines, in an order that no prefetcher predicts.
fn round_trip(lines: usize) -> Vec<f32> {
    let words = LINE_BYTES / 4;
    let mut rows = vec![0.0f32; lines * words];
    // Sattolo's shuffle makes one cycle.
    let mut order: Vec<u32> = (0..lines as u32).collect();
    let mut state = 1u64;
    for n in (1..lines).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(n, (state >> 33) as usize % n);
    }
    for (line, next) in order.iter().enumerate() {
        if let Some(word) = rows.get_mut(line * words) {
            *word = f32::from_bits(next * words as u32);
        }
    }
    rows
}

/// Compiles a module, whose rows have `features` values, to code in this process.
fn compiled(module: &Module, cpu: Cpu, features: i32) -> Result<Jit, Failure> {
    let about = EntryInfo {
        num_features: features,
        counts: OutputCounts { values: 1, margins: 1, ..OutputCounts::default() },
        info: "{}".to_string(),
        ..EntryInfo::default()
    };
    Ok(Jit::compile(module, cpu, &about, &[Wanted::Raw])?)
}

/// Nanoseconds of the fastest call within `PROBE_DURATION`.
fn fastest(jit: &Jit, rows: &[f32], n_rows: usize) -> f64 {
    let mut result = vec![0.0f32; n_rows.max(2 * LEAST_PROBE_ROWS)];
    let begun = Instant::now();
    let mut least = f64::INFINITY;
    let mut calls = 0;
    while calls < 3 || begun.elapsed() < PROBE_DURATION {
        let one = Instant::now();
        let output = PackedResults::F32(result.get_mut(..n_rows).unwrap_or_default());
        if jit.predict(Wanted::Raw, PackedRows::F32(rows), n_rows, output, 1).is_err() {
            return f64::NAN;
        }
        least = least.min(one.elapsed().as_nanos() as f64);
        calls += 1;
    }
    least
}
