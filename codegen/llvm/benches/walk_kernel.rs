//! Measures walks over complete trees of depth 8 that are written by hand in LIR, to find the shape of LIR
//! from which LLVM makes the best code. Each shape is also compared with a plain walk, bit for bit. An
//! argument names a folder that gets the assembly of each shape.
//!
//! Results (Sapphire Rapids, 100 trees, 28 features, 1024 rows, ns per walk with the transposition of the
//! input):
//!
//! | shape | ns |
//! |---|---|
//! | 8 registers of 16 rows, level by level, top 3 levels from whole columns, the rest looked up | 1.0 |
//! | as above, for x86-64-v4 (no shuffles of bytes) | 1.15 |
//! | 4 registers, or 16 | 1.2, 1.1 |
//! | each register all its levels before the next register | 2.0 |
//! | 1 register | 2.2 |
//! | no level from whole columns; 2 levels; 4 levels | 1.25, 1.07, 1.09 |
//! | 4 vectors of 32 rows; 2 of 64 | 1.1, 1.2 |
//! | 8 registers of 8 rows | 1.6 |
//! | 8 registers of 8 rows for x86-64-v3; 4; 2 | 2.3, 2.9, 4.6 |
//! | 4 registers of 4 rows for x86-64-v2 | 7.5 |
//!
//! - The order of statements is the order of instructions: write all registers' step at one level, then the
//!   next level.
//! - `decision = zext(xor(cmp(olt, x, t), true))`, `next = (node + node) + decision` becomes an inverted
//!   comparison, `vpaddd` and one masked `vpaddd`.
//! - Node numbers are those of a heap from 1. The table of level n is the 2^n elements from element 2^n,
//!   looked up with the unchanged node number: the lookup is modulo the length. One table of the features of
//!   nodes 0 to 63 serves the levels down to 5; levels 6 and 7 have 64 and 128 bytes of their own. Load all
//!   of them once per tree.
//! - Features as `i8` tables with an `i32` index: `vpermb`, and the truncation to 8 bits, `feature * 16` and
//!   `+ lanes` become one shift and one `vpternlogd`. The gather takes `base = group * features * 16`, stride
//!   4 and that index, and becomes `vgatherdps disp(base, index, 4)`.
//! - Top levels: load each column as a vector and choose among the columns by the decisions taken, the last
//!   decision innermost. Loads and choices merge into masked loads. Their thresholds may be looked up or
//!   chosen: no difference.
//! - Gathers bound the best shape: five for the features and one for the leaf.

mod common;

use common::{compiled, context, module};
use sched_ir::lir::*;
use sched_llvm::{Cpu, asm_text};
use std::time::Instant;

const DEPTH: u32 = 8;
const NODES: i64 = 1 << DEPTH;
const FEATURES: usize = 28;
const TREES: usize = 100;
const ROWS: usize = 1024;
const BLOCK: i64 = 256;

const F32: Ty = Ty::of(Scalar::F32);

#[derive(Clone, Copy)]
struct KernelShape {
    cpu: Cpu,
    /// Rows in a register.
    lanes: u16,
    /// Vector registers of rows whose walks are interleaved.
    registers: usize,
    /// Levels whose features are read by contiguous loads.
    contiguous: u32,
    /// Whether the thresholds of these levels are also looked up, instead of being selected.
    top_lookup: bool,
    /// Whether all registers take a step before any takes the next one; otherwise each takes all its steps.
    by_level: bool,
}

impl KernelShape {
    fn floats(self) -> Ty {
        Ty::vector(Scalar::F32, self.lanes)
    }

    fn ints(self) -> Ty {
        Ty::vector(Scalar::I32, self.lanes)
    }

    fn masks(self) -> Ty {
        Ty::vector(Scalar::I1, self.lanes)
    }

    /// Bytes of a register.
    fn bytes(self) -> u32 {
        self.floats().bytes()
    }

    /// Registers of a block of rows.
    fn groups(self) -> i64 {
        BLOCK / i64::from(self.lanes)
    }
}

struct Kernel8 {
    shape: KernelShape,
    block: BufferId,
    sums: BufferId,
    thresholds: BufferId,
    features: BufferId,
    leaves: BufferId,
}

fn at(buffer: BufferId, index: Value, stride: u32) -> Address {
    Address { buffer, index, stride, offset: 0 }
}

fn build(shape: KernelShape) -> Function {
    let mut b = Builder::new("walk");
    let input = b.buffer("in", Space::Input, Scalar::F32);
    let output = b.buffer("out", Space::Output, Scalar::F32);
    let thresholds = b.buffer("thresholds", Space::ModelTable(0), Scalar::F32);
    let features = b.buffer("features", Space::ModelTable(1), Scalar::I8);
    let leaves = b.buffer("leaves", Space::ModelTable(2), Scalar::F32);
    let (zero, n) = (b.int(0), b.n_rows());
    let block_bytes = b.int(BLOCK * FEATURES as i64 * 4);
    let sum_bytes = b.int(BLOCK * 4);
    b.for_loop((zero, n, BLOCK), &[], |b, row, _| {
        b.alloc("block", Scalar::F32, block_bytes, |b, block| {
            b.alloc("sums", Scalar::F32, sum_bytes, |b, sums| {
                transpose(b, shape, input, block, row);
                let groups = b.int(shape.groups());
                b.for_loop((zero, groups, 1), &[], |b, g, _| {
                    let nothing = b.float(shape.floats(), 0.0);
                    b.store(at(sums, g, shape.bytes()), nothing);
                    vec![]
                });
                let trees = b.int(TREES as i64);
                let k = Kernel8 { shape, block, sums, thresholds, features, leaves };
                b.for_loop((zero, trees, 1), &[], |b, tree, _| {
                    k.tree(b, tree);
                    vec![]
                });
                b.for_loop((zero, groups, 1), &[], |b, g, _| {
                    let sum = b.load(shape.floats(), at(sums, g, shape.bytes()));
                    let lanes = b.mul_int(g, i64::from(shape.lanes));
                    let to = b.add(row, lanes);
                    b.store(at(output, to, 4), sum);
                    vec![]
                });
            });
        });
        vec![]
    });
    b.finish()
}

/// Transposes rows to blocks of 16: block[group][feature][16].
fn transpose(b: &mut Builder, shape: KernelShape, input: BufferId, block: BufferId, row: Value) {
    let zero = b.int(0);
    let groups = b.int(shape.groups());
    let features = b.int(FEATURES as i64);
    let lanes = b.iota(shape.ints());
    let width = b.int_of(shape.ints(), FEATURES as i64);
    let index = b.mul(lanes, width);
    b.for_loop((zero, groups, 1), &[], |b, g, _| {
        let first = b.mul_int(g, i64::from(shape.lanes));
        let first = b.add(row, first);
        let first = b.mul_int(first, FEATURES as i64);
        let to = b.mul_int(g, FEATURES as i64);
        b.for_loop((zero, features, 1), &[], |b, f, _| {
            let base = b.add(first, f);
            let x = b
                .gather(Scalar::F32, Gather { buffer: input, base, index, stride: 4, offset: 0, mask: None });
            let to = b.add(to, f);
            b.store(at(block, to, shape.bytes()), x);
            vec![]
        });
        vec![]
    });
}

/// Tables of a tree in registers.
struct RegisterTree {
    leaf_base: Value,
    /// Thresholds of each level.
    levels: Vec<Value>,
    /// Features of nodes 0..64, 64..128, 128..256.
    features: [Value; 3],
    /// Columns of the top nodes, by node number.
    columns: Vec<Value>,
    /// Thresholds of the top nodes.
    tops: Vec<Value>,
}

impl Kernel8 {
    fn tree(&self, b: &mut Builder, tree: Value) {
        let base = b.mul_int(tree, NODES);
        let mut levels = Vec::new();
        for level in 0..DEPTH {
            let n = 1_u16 << level;
            let i = b.add_int(base, i64::from(n));
            levels.push(b.load(Ty::vector(Scalar::F32, n), at(self.thresholds, i, 4)));
        }
        let features = [(0, 64), (64, 64), (128, 128)].map(|(first, n)| {
            let i = b.add_int(base, first);
            b.load(Ty::vector(Scalar::I8, n), at(self.features, i, 1))
        });
        let mut columns = Vec::new();
        let mut tops = Vec::new();
        for node in 0..1_i64 << self.shape.contiguous {
            let i = b.add_int(base, node);
            columns.push(b.load_index(Scalar::I8, at(self.features, i, 1)));
            let t = b.load(F32, at(self.thresholds, i, 4));
            tops.push(b.splat(t, self.shape.lanes));
        }
        let tree = RegisterTree { leaf_base: base, levels, features, columns, tops };
        let zero = b.int(0);
        let groups = b.int(self.shape.groups());
        b.for_loop((zero, groups, self.shape.registers as i64), &[], |b, group, _| {
            self.walk(b, &tree, group);
            vec![]
        });
    }

    fn walk(&self, b: &mut Builder, tree: &RegisterTree, group: Value) {
        let groups: Vec<Value> = (0..self.shape.registers).map(|r| b.add_int(group, r as i64)).collect();
        let bases: Vec<Value> = groups.iter().map(|g| b.mul_int(*g, FEATURES as i64)).collect();
        let mut nodes: Vec<Value> = groups.iter().map(|_| b.int_of(self.shape.ints(), 1)).collect();
        let mut decisions: Vec<Vec<Value>> = vec![Vec::new(); groups.len()];
        let steps = (0..groups.len()).flat_map(|r| (0..DEPTH).map(move |level| (level, r)));
        let mut steps: Vec<(u32, usize)> = steps.collect();
        if self.shape.by_level {
            steps.sort();
        }
        for (level, r) in steps {
            let top = level < self.shape.contiguous;
            let x = if top {
                self.top(b, tree, bases[r], &decisions[r])
            } else {
                self.gathered(b, tree, bases[r], nodes[r], level)
            };
            let t = if top && !self.shape.top_lookup {
                choose(b, &tree.tops[1 << level..2 << level], &decisions[r])
            } else {
                b.lookup(tree.levels[level as usize], nodes[r])
            };
            // The walk goes right for NaN, and for values that are not less than the threshold.
            let right = b.cmp(Cmp::OLt, x, t);
            let yes = b.int_of(self.shape.masks(), -1);
            let right = b.bin(Bin::Xor, right, yes);
            let decision = b.cast(Cast::ZExt, right, self.shape.ints());
            let two = b.add(nodes[r], nodes[r]);
            nodes[r] = b.add(two, decision);
            decisions[r].push(right);
        }
        for r in 0..groups.len() {
            // Leaves are numbered from NODES on.
            let base = b.add_int(tree.leaf_base, -NODES);
            let leaf = b.gather(
                Scalar::F32,
                Gather { buffer: self.leaves, base, index: nodes[r], stride: 4, offset: 0, mask: None },
            );
            let sum = b.load(self.shape.floats(), at(self.sums, groups[r], self.shape.bytes()));
            let sum = b.add(sum, leaf);
            b.store(at(self.sums, groups[r], self.shape.bytes()), sum);
        }
    }

    /// The value that a top node tests, from whole columns.
    fn top(&self, b: &mut Builder, tree: &RegisterTree, base: Value, decisions: &[Value]) -> Value {
        let level = decisions.len();
        let columns: Vec<Value> = tree.columns[1 << level..2 << level]
            .iter()
            .map(|f| {
                let i = b.add(base, *f);
                b.load(self.shape.floats(), at(self.block, i, self.shape.bytes()))
            })
            .collect();
        choose(b, &columns, decisions)
    }

    /// The value that a lower node tests.
    fn gathered(&self, b: &mut Builder, tree: &RegisterTree, base: Value, node: Value, level: u32) -> Value {
        let table = match level {
            0..=5 => tree.features[0],
            6 => tree.features[1],
            _ => tree.features[2],
        };
        let f = b.lookup(table, node);
        let w = b.int_of(self.shape.ints(), i64::from(self.shape.lanes));
        let f = b.mul(f, w);
        let lanes = b.iota(self.shape.ints());
        let index = b.add(f, lanes);
        let base = b.mul_int(base, i64::from(self.shape.lanes));
        b.gather(Scalar::F32, Gather { buffer: self.block, base, index, stride: 4, offset: 0, mask: None })
    }
}

/// Selects one of some values by decisions, from the root on.
fn choose(b: &mut Builder, values: &[Value], decisions: &[Value]) -> Value {
    let mut values = values.to_vec();
    for decision in decisions.iter().rev() {
        values = values.chunks(2).map(|pair| b.select(*decision, pair[1], pair[0])).collect();
    }
    values[0]
}

struct XorShift(u64);

impl XorShift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn float(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }
}

struct RandomModel {
    thresholds: Vec<f32>,
    features: Vec<u8>,
    leaves: Vec<f32>,
}

impl RandomModel {
    fn random(random: &mut XorShift) -> RandomModel {
        let n = TREES * NODES as usize;
        RandomModel {
            thresholds: (0..n).map(|_| random.float()).collect(),
            features: (0..n).map(|_| (random.next() % FEATURES as u64) as u8).collect(),
            leaves: (0..n).map(|_| random.float()).collect(),
        }
    }

    fn predict(&self, row: &[f32]) -> f32 {
        let mut sum = 0.0;
        for tree in 0..TREES {
            let base = tree * NODES as usize;
            let mut node = 1;
            while node < NODES as usize {
                let x = row[usize::from(self.features[base + node])];
                let left = x < self.thresholds[base + node];
                node = 2 * node + usize::from(!left);
            }
            sum += self.leaves[base + node - NODES as usize];
        }
        sum
    }
}

fn main() {
    let mut random = XorShift(88172645463325252);
    let model = RandomModel::random(&mut random);
    let rows: Vec<f32> = (0..ROWS * FEATURES).map(|_| random.float()).collect();
    let expected: Vec<f32> = rows.chunks(FEATURES).map(|row| model.predict(row)).collect();
    let bytes = |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    let table = |name: &str, bytes: Vec<u8>| Table { name: name.to_string(), bytes: bytes.into() };
    let best = KernelShape {
        cpu: Cpu::Native,
        lanes: 16,
        registers: 8,
        contiguous: 3,
        top_lookup: true,
        by_level: true,
    };
    let narrow = KernelShape { cpu: Cpu::X86_64V3, lanes: 8, registers: 4, ..best };
    let shapes = [
        best,
        KernelShape { by_level: false, ..best },
        KernelShape { top_lookup: false, ..best },
        KernelShape { registers: 4, ..best },
        KernelShape { registers: 16, ..best },
        KernelShape { registers: 1, ..best },
        KernelShape { contiguous: 0, ..best },
        KernelShape { contiguous: 2, ..best },
        KernelShape { contiguous: 4, ..best },
        KernelShape { cpu: Cpu::X86_64V4, ..best },
        KernelShape { lanes: 32, registers: 4, ..best },
        KernelShape { lanes: 64, registers: 2, ..best },
        KernelShape { lanes: 8, registers: 8, ..best },
        narrow,
        KernelShape { registers: 2, ..narrow },
        KernelShape { registers: 8, ..narrow },
        KernelShape { contiguous: 0, ..narrow },
        KernelShape { contiguous: 4, ..narrow },
        KernelShape { cpu: Cpu::X86_64V2, lanes: 4, ..narrow },
    ];
    let mut jits = Vec::new();
    for (i, shape) in shapes.iter().enumerate() {
        let tables = vec![
            table("thresholds", bytes(&model.thresholds)),
            table("features", model.features.clone()),
            table("leaves", bytes(&model.leaves)),
        ];
        let module = module(build(*shape), tables, Scalar::F32);
        if let Some(folder) = std::env::args().skip(1).find(|word| word != "--bench") {
            let asm = asm_text(&module, shape.cpu).expect("the kernel compiles");
            std::fs::write(format!("{folder}/walk{i}.s"), asm).expect("the folder can be written to");
        }
        jits.push(compiled(&module, shape.cpu, FEATURES));
    }
    let mut best_ns = vec![f64::MAX; shapes.len()];
    for _ in 0..20 {
        for (i, jit) in jits.iter().enumerate() {
            let mut out = vec![0.0_f32; ROWS];
            let mut ctx = context(jit, &rows, ROWS, &mut out);
            let kernel = jit.model().kernel(OutputKind::Raw).expect("the kernel is compiled");
            let start = Instant::now();
            for _ in 0..4 {
                // SAFETY: the buffers have the sizes that the kernel was built for.
                unsafe { kernel(&mut ctx) };
            }
            best_ns[i] = best_ns[i].min(start.elapsed().as_nanos() as f64 / 4.0);
            assert_eq!(out, expected);
        }
    }
    for (i, (shape, ns)) in shapes.iter().zip(best_ns).enumerate() {
        let KernelShape { cpu, lanes, registers, contiguous, top_lookup, by_level } = shape;
        println!(
            "{i:2}: {cpu}, {lanes} lanes, {registers} registers, {contiguous} levels contiguous, \
             top lookup {top_lookup}, by level {by_level}: {:.3} ns per walk",
            ns / (ROWS * TREES) as f64
        );
    }
}
