//! Random legal schedules, for tests of all code that reads loop nests.
//!
//! A schedule grows directive by directive. The generator makes a random directive for the current loops, and
//! keeps it if the checker reports no error. So the generator needs no rules of legality, and cannot disagree
//! with the checker.

mod gpu;
mod stages;

pub use gpu::{gpu_schedule, gpu_schedule_with_blocks};

use sched_lang::check::check;
use sched_lang::directives::{SIGNATURES, SupportedTargets};
use sched_lang::legal_next;
use sched_lang::options::{CheckOptions, CheckPurpose, ModelInfo, Target};
use sched_nest::sym::Sym;
use sched_nest::{Axis, Body, Layout, Loop, LoopId, Nest};

/// Most loops of a nest; larger ones take long to compile and test nothing more.
const MOST_LOOPS: usize = 60;
/// Most iterations of a loop that is specialized or unrolled.
const MAX_EXPANDED_ITERATIONS: i64 = 6;

/// Small pseudo-random number generator: splitmix64.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A random number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next_u64() % n as u64) as usize }
    }

    /// True with a probability of 1 in `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Returns a random item; `None` if there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// The text of a random schedule that is legal for a model with these properties. The same seed gives the
/// same text.
pub fn schedule(seed: u64, model: &ModelInfo) -> String {
    let options = CheckOptions {
        model: Some(model.clone().into()),
        purpose: CheckPurpose::Compile,
        ..CheckOptions::default()
    };
    let mut growth = ScheduleGenerator::new(seed, options, &|_| true);
    if growth.rng.one_in(3) {
        growth.add_blocks();
    } else {
        growth.add_any_shape();
    }
    growth.stages();
    growth.text
}

/// A schedule with blocks for calls of limited numbers of rows.
#[derive(Clone, Debug)]
pub struct BlockSchedule {
    /// The whole text.
    pub text: String,
    /// Directives outside of blocks, for calls of more rows.
    pub rest: String,
    /// Most rows of the calls of each block, with its directives.
    pub blocks: Vec<(u32, String)>,
}

/// A schedule with up to three blocks, in random order between the directives outside of them.
pub fn schedule_with_blocks(seed: u64, model: &ModelInfo) -> BlockSchedule {
    draw_with_blocks(seed, |rng| schedule(rng.next_u64(), model))
}

/// A schedule with blocks, whose parts `draw` makes.
fn draw_with_blocks(seed: u64, mut draw: impl FnMut(&mut Rng) -> String) -> BlockSchedule {
    let mut rng = Rng(seed ^ 0x5eed);
    let rest = draw(&mut rng);
    let mut bounds: Vec<u32> = (0..rng.below(4)).map(|_| 1 + rng.below(40) as u32).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let mut blocks = Vec::new();
    while !bounds.is_empty() {
        let max_rows = bounds.swap_remove(rng.below(bounds.len()));
        let directives = if rng.one_in(5) { String::new() } else { draw(&mut rng) };
        blocks.push((max_rows, directives));
    }
    let mut lines: Vec<String> = rest.lines().map(|line| format!("{line}\n")).collect();
    for (max_rows, directives) in &blocks {
        let inside: String = directives.lines().map(|line| format!("    {line}\n")).collect();
        let block = format!("when n_rows <= {max_rows} {{\n{inside}}}\n");
        lines.insert(rng.below(lines.len() + 1), block);
    }
    BlockSchedule { text: lines.concat(), rest, blocks }
}

/// Name of a loop without the suffix that distinguishes its copies.
fn bare_name(full: &str) -> &str {
    let last = full.rsplit('.').next().unwrap_or(full);
    last.split('[').next().unwrap_or(last)
}

struct ScheduleGenerator<'a> {
    rng: Rng,
    options: CheckOptions,
    /// Whether the code generator supports a nest, which the checker does not know.
    has_code: &'a dyn Fn(&Nest) -> bool,
    text: String,
    nest: Option<Nest>,
    /// Number of loop names used so far.
    names: usize,
}

impl<'a> ScheduleGenerator<'a> {
    /// A schedule without directives, or with one that sorts trees.
    fn new(seed: u64, options: CheckOptions, has_code: &'a dyn Fn(&Nest) -> bool) -> ScheduleGenerator<'a> {
        let mut growth = ScheduleGenerator {
            rng: Rng(seed),
            options,
            has_code,
            text: String::new(),
            nest: None,
            names: 0,
        };
        growth.keep_if_legal(String::new());
        if growth.rng.one_in(4) {
            growth.keep_if_legal("sortTrees(depth)\n".to_owned());
        }
        growth
    }

    /// Adds random modifiers, and annotations of the final nest.
    fn add_any_shape(&mut self) {
        if self.rng.one_in(3) {
            let line = self.tile_trees();
            self.keep_if_legal(line);
        }
        let modifiers = 1 + self.rng.below(10);
        self.keep_several(modifiers, ScheduleGenerator::modifier);
        if self.rng.one_in(4) {
            self.vectors_of_rows();
        }
        let annotations = 2 + self.rng.below(11);
        self.keep_several(annotations, ScheduleGenerator::annotation);
    }

    /// Adds a loop over blocks of rows, around a loop over trees with vectors of the block's rows. Adds only
    /// a few other modifiers and annotations, so that most nests keep this shape.
    fn add_blocks(&mut self) {
        let size = [4, 8, 30, 32, 64, 100, 256][self.rng.below(7)];
        let [block, row] = [Axis::Row; 2].map(|axis| self.fresh_name(axis));
        self.keep_if_legal(format!("tile(batch, {block}, {row}, {size})\nreorder({block}, tree, {row})\n"));
        let modifiers = self.rng.below(3);
        self.keep_several(modifiers, ScheduleGenerator::modifier);
        self.vectors_of_rows();
        if self.rng.one_in(2) {
            self.keep_if_legal(format!("cache({block})\n"));
        }
        let annotations = self.rng.below(5);
        self.keep_several(annotations, ScheduleGenerator::annotation);
    }

    fn keep_several(&mut self, count: usize, line: impl Fn(&mut Self) -> String) {
        for _ in 0..count {
            let line = line(self);
            self.keep_if_legal(line);
        }
    }

    /// Keeps a line if the schedule stays legal; returns whether it does.
    fn keep_if_legal(&mut self, line: String) -> bool {
        let text = format!("{}{line}", self.text);
        match check(&text, &self.options).nest() {
            Some(nest) if nest.loops.len() <= MOST_LOOPS && (self.has_code)(nest) => {
                self.text = text;
                self.nest = Some(nest.clone());
                true
            }
            _ => false,
        }
    }

    fn fresh_name(&mut self, axis: Axis) -> String {
        self.names += 1;
        let letter = if axis == Axis::Row { 'b' } else { 't' };
        format!("{letter}{}", self.names)
    }

    /// A random loop of the nest that satisfies `test`: its text in a schedule, and its number.
    fn random_loop(&mut self, test: impl Fn(&Nest, LoopId) -> bool) -> Option<(String, LoopId)> {
        let nest = self.nest.as_ref()?;
        let all: Vec<LoopId> =
            (0..nest.loops.len() as u32).map(LoopId).filter(|id| test(nest, *id)).collect();
        let id = *self.rng.pick(&all)?;
        let full = nest.get(id).name.clone();
        // Without its qualifiers, the name means all copies of the loop.
        let bare = self.rng.one_in(2);
        Some((if bare { bare_name(&full).to_owned() } else { full }, id))
    }

    fn get(&self, id: LoopId) -> Option<&sched_nest::Loop> {
        self.nest.as_ref()?.loops.get(id.0 as usize)
    }

    /// One of the legal next directives that the checker proposes: a modifier if `is_modifier` is true, else
    /// an annotation. Random arguments are rarely legal for some forms.
    fn proposed(&mut self, is_modifier: bool) -> String {
        let on_gpu = self.options.target.as_ref().is_some_and(Target::is_gpu);
        let has_code = |targets| targets != SupportedTargets::OnGpus || on_gpu;
        let signatures = SIGNATURES.iter().filter(|s| has_code(s.targets) && s.is_modifier == is_modifier);
        let signatures: Vec<_> = signatures.collect();
        let Some(signature) = self.rng.pick(&signatures) else { return String::new() };
        let all = legal_next::at(&self.text, self.text.len(), &self.options, Some(signature.op));
        let Some(next) = self.rng.pick(&all) else { return String::new() };
        let forms: Vec<&legal_next::Operation> =
            std::iter::once(&next.operation).chain(&next.with_other_numbers).collect();
        self.rng.pick(&forms).map(|form| format!("{form}\n")).unwrap_or_default()
    }

    fn modifier(&mut self) -> String {
        if self.rng.one_in(16) {
            return self.proposed(true);
        }
        let line = match self.rng.below(19) {
            0..=4 | 17 | 18 => self.tile(),
            5..=8 | 14..=16 => self.reorder(),
            9 | 10 => self.split(),
            11 => self.expand("specialize"),
            12 => self.expand("unroll"),
            _ => self
                .random_loop(|nest, id| nest.get(id).axis == Axis::Tree)
                .map(|(v, _)| format!("splitByDepth({v})")),
        };
        line.map(|line| line + "\n").unwrap_or_default()
    }

    fn tile(&mut self) -> Option<String> {
        const SIZES: &[i64] = &[1, 2, 2, 3, 4, 4, 5, 7, 8, 8, 10, 16, 30, 32, 64, 100, 1000];
        let (v, id) = self.random_loop(|_, _| true)?;
        let (axis, step) = (self.get(id)?.axis, self.get(id)?.step.as_int()?);
        let size = self.rng.pick(SIZES)?.checked_mul(step)?;
        let (outer, inner) = (self.fresh_name(axis), self.fresh_name(axis));
        Some(format!("tile({v}, {outer}, {inner}, {size})"))
    }

    fn split(&mut self) -> Option<String> {
        let (v, id) = self.random_loop(|_, _| true)?;
        let this = self.get(id)?;
        let (axis, start, step) = (this.axis, this.start.as_int()?, this.step.as_int()?);
        let most = this.stop.as_int().unwrap_or(200).min(start + 200);
        let steps = ((most - start) / step).max(1) as usize;
        let at = start + step * self.rng.below(steps) as i64;
        let (first, second) = (self.fresh_name(axis), self.fresh_name(axis));
        Some(format!("split({v}, {first}, {second}, {at})"))
    }

    /// Makes interleaved vectors of an innermost loop over rows that is alone in a loop over trees. Mostly
    /// adds unroll-and-jam for calls of few rows.
    fn vectors_of_rows(&mut self) {
        let around = |nest: &Nest, id: LoopId| {
            let around = |this: &&Loop| this.axis == Axis::Tree && this.body == Body::Seq(vec![id]);
            nest.loops.iter().find(around).map(|this| this.name.clone())
        };
        let rows = self.random_loop(|nest, id| {
            let rows = nest.get(id).axis == Axis::Row && nest.get(id).body == Body::Walk;
            rows && around(nest, id).is_some()
        });
        let Some((v, id)) = rows else { return };
        let trees = self.nest.as_ref().and_then(|nest| around(nest, id));
        let (lanes, vectors) = (1_usize << (1 + self.rng.below(5)), 2 + self.rng.below(8));
        self.keep_if_legal(format!("vectorize({v}, {lanes})\ninterleave({v}, {vectors})\n"));
        if let Some(trees) = trees.filter(|_| !self.rng.one_in(4)) {
            self.keep_if_legal(format!("unrollAndJam({trees})\n"));
        }
    }

    fn expand(&mut self, directive: &str) -> Option<String> {
        let small = |sym: &Sym| sym.as_int().is_some_and(|n| n <= MAX_EXPANDED_ITERATIONS * 8);
        let (v, _) = self.random_loop(|nest, id| {
            let this = nest.get(id);
            let trips = match (this.start.as_int(), this.stop.as_int(), this.step.as_int()) {
                (Some(start), Some(stop), Some(step)) => (stop - start + step - 1) / step.max(1),
                _ => i64::MAX,
            };
            small(&this.stop) && trips <= MAX_EXPANDED_ITERATIONS
        })?;
        Some(format!("{directive}({v})"))
    }

    /// A permutation of part of a chain of loops that have no siblings.
    fn reorder(&mut self) -> Option<String> {
        let (_, id) = self.random_loop(|_, _| true)?;
        let nest = self.nest.as_ref()?;
        let mut chain = vec![id];
        while let Body::Seq(list) = &nest.get(chain[chain.len() - 1]).body
            && let [only] = list.as_slice()
        {
            chain.push(*only);
        }
        let most = chain.len();
        if most < 2 {
            return None;
        }
        let bare = self.rng.one_in(2);
        let count = 2 + self.rng.below(most - 1);
        let nest = self.nest.as_ref()?;
        let mut names: Vec<String> = chain.iter().take(count).map(|id| nest.get(*id).name.clone()).collect();
        if bare {
            for name in &mut names {
                let last = name.rsplit('.').next().unwrap_or(name).to_owned();
                *name = last;
            }
        }
        if self.rng.one_in(4) {
            // This moves inner loops of tiles outside their outer loops.
            names.reverse();
        } else {
            for at in (1..names.len()).rev() {
                let other = self.rng.below(at + 1);
                names.swap(at, other);
            }
        }
        Some(format!("reorder({})", names.join(", ")))
    }

    fn annotation(&mut self) -> String {
        if self.rng.one_in(6) {
            return self.proposed(false);
        }
        let any = |_: &Nest, _: LoopId| true;
        let leaf = |nest: &Nest, id: LoopId| nest.get(id).body == Body::Walk;
        let parallel_trees =
            |nest: &Nest, id: LoopId| nest.get(id).axis == Axis::Tree && nest.get(id).annotations.parallel;
        let number = self.rng.below(9) + 1;
        let line = match self.rng.below(26) {
            0 => self
                .random_loop(|nest, id| nest.get(id).axis == Axis::Row)
                .map(|(v, _)| format!("parallel({v})")),
            1 | 2 => self
                .random_loop(|nest, id| nest.get(id).axis == Axis::Tree)
                .map(|(v, _)| format!("parallel({v})")),
            3 => self.random_loop(any).map(|(v, _)| format!("cache({v})")),
            4 => self.random_loop(leaf).map(|(v, _)| format!("interleave({v})")),
            18 | 19 => {
                let width = [2, 3, 4, 8, 16, 64][self.rng.below(6)];
                self.random_loop(leaf).map(|(v, _)| format!("vectorize({v}, {width})"))
            }
            5 => self.random_loop(leaf).map(|(v, _)| format!("interleave({v}, {number})")),
            7 | 8 => self.random_loop(any).map(|(v, _)| format!("unrollWalk({v}, {number})")),
            9 => self.random_loop(any).map(|(v, _)| format!("unrollWalk({v}, run_depth)")),
            10 => self.random_loop(any).map(|(v, _)| format!("peelWalk({v}, {number})")),
            20 => {
                let levels = self.rng.below(4) + 1;
                self.random_loop(any).map(|(v, _)| format!("speculateWalk({v}, {levels})"))
            }
            11 | 16 | 21 | 23 => self.random_loop(parallel_trees).map(|(v, _)| format!("atomicReduce({v})")),
            12 | 17 | 22 | 24 | 25 => {
                let width = 1_usize << self.rng.below(5);
                self.random_loop(parallel_trees).map(|(v, _)| format!("vectorReduce({v}, {width})"))
            }
            13 => Some(format!("representation({})", self.layout())),
            _ => {
                let layout = self.layout();
                self.random_loop(any).map(|(v, _)| format!("representation({v}, {layout})"))
            }
        };
        line.map(|line| line + "\n").unwrap_or_default()
    }

    /// A directive for node tiles, which affect all walks and exclude vectors and most layouts.
    fn tile_trees(&mut self) -> String {
        let nodes = 1 + self.rng.below(8);
        let how = ["", ", uniform"].get(self.rng.below(8)).unwrap_or(&", probability");
        format!("tileTrees({nodes}{how})\n")
    }

    fn layout(&mut self) -> &'static str {
        // The layout for oblivious trees is legal for few models.
        let trees = self.options.model.as_ref().map_or(&[][..], |model| model.oblivious.as_slice());
        let oblivious = !trees.is_empty() && trees.iter().all(|tree| *tree);
        match self.rng.pick(Layout::ALL) {
            _ if oblivious && self.rng.one_in(4) => Layout::Oblivious.word(),
            Some(Layout::Oblivious) if !oblivious => Layout::Array.word(),
            layout => layout.map_or("", |layout| layout.word()),
        }
    }
}
