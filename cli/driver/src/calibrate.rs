//! Measures what instructions and memory of this machine cost.

use crate::failure::Failure;
use crate::machines::{self, level_of};
use sched_cost::{
    Charge, Kind, Machine, PLACES, Probe, SIDE_BY_SIDE, WINDOW_STEPS, chase, probes, scatter, stream,
    window as chains,
};
use sched_ir::lir::{KernelKind, Module};
use sched_llvm::runtime::{Dtype, Kind as Wanted};
use sched_llvm::{Cpu, EntryInfo, Jit, Output, Rows};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Rows of a call of a probe, at least [`PLACES`].
const ROWS: usize = 8 * PLACES;
/// A probe is called for so long, and the fastest call counts.
const BRIEFLY: Duration = Duration::from_millis(3);
/// Operations that a step of the probe of scalars has: each waits for the one before, and takes one cycle.
const SCALARS: f64 = 2.0;
/// Bytes of the largest memory that is read.
const MOST_BYTES: usize = 96 << 20;
/// Bytes of a line.
const LINE: usize = 64;
/// Instructions that any processor looks at, a few of which may be in flight.
const LEAST_WINDOW: f64 = 16.0;
/// Cycles that any compiler needs for an operation.
const LEAST_COMPILE: f64 = 1_000.0;
/// What two figures differ by, at least, if they are to be more than noise.
const LEAST: f64 = 0.02;

/// Measures this machine for code of a level of instruction sets. `begun` is told the share that is done.
///
/// # Errors
/// When this machine does not run such code.
pub fn calibrate(cpu: Cpu, done: &dyn Fn(f64)) -> Result<Machine, Failure> {
    let register_bits = level_of(cpu).register_bits();
    let mut machine = machines::described(cpu);
    let all = probes(register_bits);
    let rows: Vec<f32> = (0..ROWS).map(|n| f32::from_bits((n * 7 % PLACES) as u32)).collect();
    let count = all.len() as f64 + 8.0;
    let (mut compiling, mut nanoseconds) = (Vec::new(), Vec::new());
    for (number, probe) in all.iter().enumerate() {
        let begun = Instant::now();
        let jit = compiled(&probe.module, cpu, 1)?;
        compiling.push(begun.elapsed().as_nanos() as f64);
        nanoseconds.push(fastest(&jit, &rows, ROWS) / ROWS as f64);
        done(number as f64 / count);
    }
    let ghz = all.iter().zip(&nanoseconds).find(|(probe, _)| probe.kind == Kind::Scalar && probe.latency);
    machine.ghz = ghz.map_or(1.0, |(probe, ns)| probe.operations * SCALARS / ns);
    machine.charges = charges(&all, &nanoseconds, &machine);
    machine.half = half(cpu, register_bits, &machine)?;
    machine.window = window(cpu, &machine)?;
    machine.compile = (compile(&all, &compiling) * machine.ghz).max(LEAST_COMPILE);
    caches(&mut machine, cpu, &|number| done((all.len() as f64 + number) / count))?;
    Ok(machine)
}

/// What arithmetic on half a register costs, as a share of that on a whole one.
fn half(cpu: Cpu, register_bits: u32, machine: &Machine) -> Result<f64, Failure> {
    let narrower = probes(register_bits / 2);
    let probe = narrower.iter().find(|probe| probe.kind == Kind::Vector && !probe.latency);
    let Some(probe) = probe.filter(|_| register_bits >= 256) else { return Ok(1.0) };
    let rows: Vec<f32> = (0..ROWS).map(|n| f32::from_bits((n % PLACES) as u32)).collect();
    let ns = fastest(&compiled(&probe.module, cpu, 1)?, &rows, ROWS) / ROWS as f64;
    let each = ns * machine.ghz / probe.operations / 2.0;
    Ok((each / machine.charge(Kind::Vector).each).clamp(0.25, 1.0))
}

/// How many instructions are looked at for some that need not wait: chains of rows overlap as far as there is room for the
/// instructions of several.
fn window(cpu: Cpu, machine: &Machine) -> Result<f64, Failure> {
    let rows: Vec<f32> = (0..2 * ROWS).map(|n| f32::from_bits((n % PLACES) as u32)).collect();
    let ns = fastest(&compiled(&chains(machine.register_bits), cpu, 1)?, &rows, ROWS) / ROWS as f64;
    let steps = f64::from(WINDOW_STEPS);
    let alone = steps * machine.charge(Kind::Lookup { element: 1, entries: 16, index: 1 }).latency;
    let window = steps * (alone / (ns * machine.ghz) - 1.0);
    Ok(window.max(LEAST_WINDOW))
}

/// Nanoseconds to compile one operation, from kernels of a few chains and those of one chain of the same operations.
fn compile(all: &[Probe], nanoseconds: &[f64]) -> f64 {
    let operations = |probe: &Probe| -> f64 {
        probe.module.kernels.iter().map(|(_, kernel)| kernel.types.len() as f64).sum()
    };
    let (mut more, mut longer) = (0.0, 0.0);
    for (probes, times) in all.windows(2).zip(nanoseconds.windows(2)) {
        if let ([one, several], [fast, slow]) = (probes, times)
            && one.kind == several.kind
        {
            more += operations(several) - operations(one);
            longer += slow - fast;
        }
    }
    longer / more
}

/// What each kind costs, from the times of its probes for a row.
fn charges(all: &[Probe], nanoseconds: &[f64], machine: &Machine) -> BTreeMap<Kind, Charge> {
    let mut charges: BTreeMap<Kind, Charge> = BTreeMap::new();
    for (probe, ns) in all.iter().zip(nanoseconds) {
        let cycles = ns * machine.ghz / probe.operations;
        let mut own = 1.0;
        let mut rest = cycles;
        for (kind, count) in &probe.besides {
            match charges.get(kind).filter(|_| *kind != probe.kind) {
                Some(charge) if probe.latency => rest -= charge.latency * count,
                Some(charge) => rest -= charge.each * count,
                None => own += count,
            }
        }
        let cycles = (rest / own).max(LEAST);
        let charge = charges.entry(probe.kind).or_insert(Charge { each: cycles, latency: cycles });
        if probe.latency {
            charge.latency = cycles;
        } else {
            charge.each = cycles;
        }
    }
    // Loads and stores are read off the processor's description: they are never what probes wait for alone.
    for kind in [Kind::Shuffle, Kind::Load, Kind::Store, Kind::Convert, Kind::Mask, Kind::Math] {
        charges.entry(kind).or_insert(machine.charge(kind));
    }
    charges
}

/// What the levels of memory cost.
fn caches(machine: &mut Machine, cpu: Cpu, done: &dyn Fn(f64)) -> Result<(), Failure> {
    let [chased, streamed, scattered] =
        [chase(), stream(), scatter()].map(|module| compiled(&module, cpu, 16));
    let (chased, streamed, scattered) = (chased?, streamed?, scattered?);
    let empty = fastest(&streamed, &[0.0; SIDE_BY_SIDE as usize * LINE / 4], SIDE_BY_SIDE as usize);
    let before: Vec<f64> =
        std::iter::once(0.0).chain(machine.caches.iter().map(|cache| cache.bytes)).collect();
    for (number, (cache, before)) in machine.caches.iter_mut().zip(before).enumerate() {
        let middle = if cache.bytes < f64::MAX { cache.bytes / 2.0 } else { 3.0 * before };
        let bytes = (middle.max(1.5 * before) as usize).clamp(1 << 12, MOST_BYTES);
        let lines = bytes / LINE / SIDE_BY_SIDE as usize * SIDE_BY_SIDE as usize;
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

/// Numbers that lead from line to line in an order that nobody guesses, and through all of them.
fn round_trip(lines: usize) -> Vec<f32> {
    let words = LINE / 4;
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

/// A kernel that runs in this process.
fn compiled(module: &Module, cpu: Cpu, features: i32) -> Result<Jit, Failure> {
    let about = EntryInfo {
        num_features: features,
        num_margins: 1,
        num_values: 1,
        num_trees: 1,
        own_rows: Dtype::F32,
        ns_per_row: 0.0,
        info: "{}".to_string(),
        feature_names: Vec::new(),
        categories: Vec::new(),
        missing: None,
        base: None,
    };
    Ok(Jit::compile(module, cpu, &about, &[KernelKind::Raw])?)
}

/// Nanoseconds of the fastest of some calls.
fn fastest(jit: &Jit, rows: &[f32], n_rows: usize) -> f64 {
    let mut result = vec![0.0f32; n_rows.max(2 * PLACES)];
    let begun = Instant::now();
    let mut least = f64::INFINITY;
    let mut calls = 0;
    while calls < 3 || begun.elapsed() < BRIEFLY {
        let one = Instant::now();
        let output = Output::F32(result.get_mut(..n_rows).unwrap_or_default());
        if jit.predict(Wanted::Raw, Rows::F32(rows), n_rows, output, 1).is_err() {
            return f64::NAN;
        }
        least = least.min(one.elapsed().as_nanos() as f64);
        calls += 1;
    }
    least
}
