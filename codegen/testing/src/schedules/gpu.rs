//! Random schedules for GPUs: loops over rows and trees, often in a shape that suits launches; their mappings
//! to the dimensions of grids and blocks; and annotations.

use super::{BlockSchedule, Rng, ScheduleGenerator, bare_name, draw_with_blocks};
use sched_lang::options::{CheckOptions, CheckPurpose, ModelInfo, Target};
use sched_nest::{Axis, Body, GpuLevel, Layout, LoopId, Nest};

/// A random schedule that is legal on GPUs for a model with these properties, without the line `target gpu`.
/// `has_code` decides whether the code generator supports a nest, which the checker does not know. The same
/// seed and decisions give the same text.
pub fn gpu_schedule(seed: u64, model: &ModelInfo, has_code: &dyn Fn(&Nest) -> bool) -> String {
    let options = CheckOptions {
        model: Some(model.clone().into()),
        purpose: CheckPurpose::Compile,
        target: Some(Target::gpu()),
        ..CheckOptions::default()
    };
    let mut growth = ScheduleGenerator::new(seed, options, has_code);
    growth.add_launches();
    growth.text
}

/// A schedule for GPUs with up to three blocks for calls of limited numbers of rows. A quarter of its parts
/// map no loop to the GPU, so the processor runs them.
pub fn gpu_schedule_with_blocks(
    seed: u64,
    model: &ModelInfo,
    has_code: &dyn Fn(&Nest) -> bool,
) -> BlockSchedule {
    let mut drawn = draw_with_blocks(seed, |rng| match rng.below(4) {
        0 => processor_part(rng.next_u64(), model, has_code),
        _ => gpu_schedule(rng.next_u64(), model, has_code),
    });
    drawn.text.insert_str(0, "target gpu\n");
    drawn
}

/// A part of a schedule for GPUs that has no launches.
fn processor_part(seed: u64, model: &ModelInfo, has_code: &dyn Fn(&Nest) -> bool) -> String {
    let options = CheckOptions {
        model: Some(model.clone().into()),
        purpose: CheckPurpose::Compile,
        target: Some(Target::gpu()),
        ..CheckOptions::default()
    };
    let mut growth = ScheduleGenerator::new(seed, options, has_code);
    growth.add_any_shape();
    growth.text
}

/// Sizes of tiles of rows. Some are multiples of a warp, others are not.
const ROW_TILE_SIZES: [usize; 16] = [1, 2, 2, 3, 4, 4, 7, 8, 16, 20, 32, 33, 64, 100, 256, 1024];

/// Lines of a schedule that make loops, and lines that map them to the GPU.
type LaunchShape = (String, String);

/// Shapes of launches; repeated ones are more frequent. A schedule has one shape, or random loops.
const SHAPES: [fn(&mut ScheduleGenerator) -> LaunchShape; 13] = [
    rows_in_threads,
    rows_in_threads,
    rows_and_trees_in_threads,
    rows_and_trees_in_threads,
    trees_in_threads,
    trees_in_blocks,
    groups_of_trees,
    groups_of_trees,
    trees_on_the_host,
    rows_in_many_directions,
    rows_in_vectors,
    rows_in_vectors,
    two_launches,
];

/// A function that returns the text of a random directive, if the nest has a loop for it.
type Draw = fn(&mut ScheduleGenerator) -> Option<String>;

/// Annotations of the loops of a launch, each with its relative frequency.
const ANNOTATIONS: [(usize, Draw); 9] = [
    (4, |growth| growth.line_for_loop("cache({v})", |nest, id| is_row(nest, id) && is_mapped(nest, id))),
    (2, |growth| growth.line_for_loop("cache({v})", |nest, id| !is_row(nest, id))),
    (4, |growth| {
        growth.line_for_loop("atomicReduce({v})", |nest, id| !is_row(nest, id) && is_mapped(nest, id))
    }),
    (4, |growth| {
        growth.line_for_loop("sharedReduce({v})", |nest, id| !is_row(nest, id) && is_mapped(nest, id))
    }),
    (2, |growth| growth.line_for_loop("vectorize({v}, 4)", |nest, id| nest.get(id).body == Body::Walk)),
    (4, |growth| growth.layout_of_all()),
    (3, |growth| growth.cached_in_pieces()),
    (2, |growth| growth.line_for_loop("representation({v}, quantized)", |_, _| true)),
    (10, |growth| Some(growth.annotation())),
];

fn is_row(nest: &Nest, id: LoopId) -> bool {
    nest.get(id).axis == Axis::Row
}

fn is_mapped(nest: &Nest, id: LoopId) -> bool {
    nest.get(id).annotations.gpu_dimension.is_some()
}

/// Dimensions of the grid or of blocks, in random order; `x` is first in most cases.
fn dimensions(rng: &mut Rng, level: GpuLevel) -> Vec<String> {
    let mut axes = vec!["x", "y", "z"];
    if rng.one_in(2) {
        for at in (1..axes.len()).rev() {
            axes.swap(at, rng.below(at + 1));
        }
    }
    let word = if level == GpuLevel::Grid { "grid" } else { "block" };
    axes.into_iter().map(|axis| format!("{word}.{axis}")).collect()
}

fn rows_in_threads(growth: &mut ScheduleGenerator) -> LaunchShape {
    let [b0, b1] = [Axis::Row; 2].map(|axis| growth.fresh_name(axis));
    let (size, [[grid, ..], [block, ..]]) = (growth.row_tile_size(), growth.directions());
    (
        format!("tile(batch, {b0}, {b1}, {size})\n"),
        format!("gpuDimension({b0}, {grid})\ngpuDimension({b1}, {block})\n"),
    )
}

/// SilvanForge's template: several rows per thread, and groups of trees in another dimension of the block.
fn rows_and_trees_in_threads(growth: &mut ScheduleGenerator) -> LaunchShape {
    let [b0, rest, b1, b2] = [Axis::Row; 4].map(|axis| growth.fresh_name(axis));
    let [t0, t1] = [Axis::Tree; 2].map(|axis| growth.fresh_name(axis));
    let (rows, each, trees) =
        (growth.row_tile_size(), [1, 2, 3, 4][growth.rng.below(4)], growth.tree_tile_size());
    let [[grid, ..], [block, other, _]] = growth.directions();
    let order = match growth.rng.below(3) {
        0 => format!("{b0}, {t0}, {b1}, {t1}, {b2}"),
        1 => format!("{b0}, {b1}, {t0}, {b2}, {t1}"),
        _ => format!("{b0}, {b1}, {t0}, {t1}, {b2}"),
    };
    (
        format!(
            "tile(batch, {b0}, {rest}, {})\ntile({rest}, {b1}, {b2}, {each})\ntile(tree, {t0}, {t1}, \
             {trees})\n\
             reorder({order})\n",
            rows * each
        ),
        format!("gpuDimension({b0}, {grid})\ngpuDimension({b1}, {block})\ngpuDimension({t0}, {other})\n"),
    )
}

/// One block per row.
fn trees_in_threads(growth: &mut ScheduleGenerator) -> LaunchShape {
    let [t0, t1] = [Axis::Tree; 2].map(|axis| growth.fresh_name(axis));
    let (trees, [[grid, ..], [block, ..]]) = (growth.tree_tile_size(), growth.directions());
    (
        format!("tile(tree, {t0}, {t1}, {trees})\n"),
        format!("gpuDimension(batch, {grid})\ngpuDimension({t0}, {block})\n"),
    )
}

fn trees_in_blocks(growth: &mut ScheduleGenerator) -> LaunchShape {
    let [b0, b1] = [Axis::Row; 2].map(|axis| growth.fresh_name(axis));
    let [t0, t1] = [Axis::Tree; 2].map(|axis| growth.fresh_name(axis));
    let (rows, trees, [[grid, other, _], [block, ..]]) =
        (growth.row_tile_size(), growth.tree_tile_size(), growth.directions());
    (
        format!(
            "tile(batch, {b0}, {b1}, {rows})\ntile(tree, {t0}, {t1}, {trees})\nreorder({b0}, {t0}, \
             {b1}, {t1})\n"
        ),
        format!("gpuDimension({b0}, {grid})\ngpuDimension({t0}, {other})\ngpuDimension({b1}, {block})\n"),
    )
}

/// One tree per thread, in blocks with some rows and a group of trees.
fn groups_of_trees(growth: &mut ScheduleGenerator) -> LaunchShape {
    let [b0, b1] = [Axis::Row; 2].map(|axis| growth.fresh_name(axis));
    let [t0, t1] = [Axis::Tree; 2].map(|axis| growth.fresh_name(axis));
    let (rows, trees) = ([1, 2, 4, 8, 32, 33][growth.rng.below(6)], growth.tree_tile_size());
    let [[grid, other_grid, _], [block, other, _]] = growth.directions();
    let order = match growth.rng.below(4) {
        0 => format!("{b0}, {t0}, {t1}, {b1}"),
        1 => format!("{t0}, {b0}, {b1}, {t1}"),
        _ => format!("{b0}, {t0}, {b1}, {t1}"),
    };
    (
        format!("tile(batch, {b0}, {b1}, {rows})\ntile(tree, {t0}, {t1}, {trees})\nreorder({order})\n"),
        format!(
            "gpuDimension({b0}, {grid})\ngpuDimension({t0}, {other_grid})\ngpuDimension({b1}, {block})\n\
             gpuDimension({t1}, {other})\n"
        ),
    )
}

fn trees_on_the_host(growth: &mut ScheduleGenerator) -> LaunchShape {
    let [b0, b1] = [Axis::Row; 2].map(|axis| growth.fresh_name(axis));
    let [t0, t1] = [Axis::Tree; 2].map(|axis| growth.fresh_name(axis));
    let (rows, trees, [[grid, ..], [block, ..]]) =
        (growth.row_tile_size(), growth.tree_tile_size(), growth.directions());
    (
        format!(
            "tile(batch, {b0}, {b1}, {rows})\ntile(tree, {t0}, {t1}, {trees})\nreorder({t0}, {b0}, \
             {b1}, {t1})\n"
        ),
        format!("gpuDimension({b0}, {grid})\ngpuDimension({b1}, {block})\n"),
    )
}

fn rows_in_many_directions(growth: &mut ScheduleGenerator) -> LaunchShape {
    let [g0, a, g1, b, y, x] = [Axis::Row; 6].map(|axis| growth.fresh_name(axis));
    let [few, some, most] = [0; 3].map(|_| 1 + growth.rng.below(5));
    let [[grid, other_grid, _], [block, other_block, _]] = growth.directions();
    (
        format!(
            "tile(batch, {g0}, {a}, {})\ntile({a}, {g1}, {b}, {})\ntile({b}, {y}, {x}, {few})\n",
            few * some * most + growth.rng.below(2),
            few * some + growth.rng.below(2),
        ),
        format!(
            "gpuDimension({g0}, {other_grid})\ngpuDimension({g1}, {grid})\ngpuDimension({y}, {other_block})\n\
             gpuDimension({x}, {block})\n"
        ),
    )
}

/// Four rows per thread, as a vector whose bins share a word.
fn rows_in_vectors(growth: &mut ScheduleGenerator) -> LaunchShape {
    let [b0, rest, b1, b2] = [Axis::Row; 4].map(|axis| growth.fresh_name(axis));
    let (rows, [[grid, ..], [block, ..]]) = (4 * (1 + growth.rng.below(5)), growth.directions());
    (
        format!(
            "tile(batch, {b0}, {rest}, {rows})\ntile({rest}, {b1}, {b2}, 4)\nreorder({b0}, {b1}, tree, \
             {b2})\n"
        ),
        format!(
            "gpuDimension({b0}, {grid})\ngpuDimension({b1}, {block})\ncache({b0})\n\
             representation(quantized)\n\
             vectorize({b2}, 4)\n"
        ),
    )
}

/// Two loops over rows, each with a launch of its own block size.
fn two_launches(growth: &mut ScheduleGenerator) -> LaunchShape {
    let at = 1 + growth.rng.below(30);
    let [first, second] = [Axis::Row; 2].map(|axis| growth.fresh_name(axis));
    let mut shape = (format!("split(batch, {first}, {second}, {at})\n"), String::new());
    for rows in [first, second] {
        let [b0, b1] = [Axis::Row; 2].map(|axis| growth.fresh_name(axis));
        let (size, [[grid, ..], [block, ..]]) = (growth.row_tile_size(), growth.directions());
        shape.0 += &format!("tile({rows}, {b0}, {b1}, {size})\n");
        shape.1 += &format!("gpuDimension({b0}, {grid})\ngpuDimension({b1}, {block})\n");
    }
    shape
}

impl ScheduleGenerator<'_> {
    /// Adds loops, mostly in a shape that suits launches; then maps them to dimensions; then adds
    /// annotations.
    fn add_launches(&mut self) {
        if self.rng.one_in(8) {
            let line = self.tile_trees();
            self.keep_if_legal(line);
        }
        let mut dimensions = String::new();
        if !self.rng.one_in(5) {
            let shape = SHAPES[self.rng.below(SHAPES.len())];
            let (loops, mapped) = shape(self);
            if self.keep_if_legal(loops) {
                dimensions = mapped;
            }
        }
        let modifiers = if dimensions.is_empty() { 1 + self.rng.below(6) } else { self.rng.below(3) };
        self.keep_several(modifiers, ScheduleGenerator::modifier);
        if self.rng.one_in(4)
            && let Some(line) = self.expand("specialize")
        {
            self.keep_if_legal(line + "\n");
        }
        let mut mapped = !dimensions.is_empty() && self.keep_if_legal(dimensions);
        for _ in 0..6 {
            if !mapped {
                let lines = self.any_dimensions();
                mapped = self.keep_if_legal(lines);
            }
        }
        if !mapped {
            let lines = self.blocks_only();
            self.keep_if_legal(lines);
        }
        let annotations = 2 + self.rng.below(8);
        self.keep_several(annotations, ScheduleGenerator::launch_annotation);
    }

    /// Size of a tile of rows.
    fn row_tile_size(&mut self) -> usize {
        ROW_TILE_SIZES[self.rng.below(ROW_TILE_SIZES.len())]
    }

    /// Size of a tile of trees.
    fn tree_tile_size(&mut self) -> usize {
        1 + self.rng.below(6)
    }

    /// Dimensions of grids and of blocks, each in random order.
    fn directions(&mut self) -> [[String; 3]; 2] {
        [GpuLevel::Grid, GpuLevel::Block].map(|level| {
            let mut words = dimensions(&mut self.rng, level).into_iter();
            std::array::from_fn(|_| words.next().unwrap_or_default())
        })
    }

    /// Maps each outermost loop to the grid.
    fn blocks_only(&mut self) -> String {
        let Some(nest) = &self.nest else { return String::new() };
        let mut names: Vec<&str> = nest.roots.iter().map(|root| bare_name(&nest.get(*root).name)).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| format!("gpuDimension({name}, grid.x)\n")).collect()
    }

    /// Maps some loops on the path from each outermost loop to a leaf loop: outer ones to the grid, inner
    /// ones to blocks.
    fn any_dimensions(&mut self) -> String {
        let Some(nest) = self.nest.clone() else { return String::new() };
        let mut lines: Vec<String> = Vec::new();
        let mut known: Vec<&str> = Vec::new();
        for root in &nest.roots {
            let [grid, block] = self.directions().map(|words| words.into_iter());
            let (mut grid, mut block) = (grid, block.peekable());
            let (mut at, mut in_blocks) = (*root, false);
            loop {
                let this = nest.get(at);
                let name = bare_name(&this.name);
                let skipped = self.rng.one_in(3);
                in_blocks |= !lines.is_empty() && self.rng.one_in(2);
                let word = match (skipped, in_blocks) {
                    (true, _) => None,
                    (false, false) => grid.next(),
                    (false, true) => block.next(),
                };
                if let Some(word) = word.filter(|_| !known.contains(&name)) {
                    lines.push(format!("gpuDimension({name}, {word})\n"));
                    known.push(name);
                }
                let below: Vec<LoopId> = match &this.body {
                    Body::Walk => break,
                    Body::Seq(list) => list.clone(),
                    Body::Cases(cases) => cases.concat(),
                };
                let Some(next) = self.rng.pick(&below) else { break };
                at = *next;
            }
        }
        lines.concat()
    }

    /// One of the annotations of launches.
    fn launch_annotation(&mut self) -> String {
        let all: usize = ANNOTATIONS.iter().map(|(often, _)| often).sum();
        let mut number = self.rng.below(all);
        for (often, draw) in ANNOTATIONS {
            if number < often {
                return draw(self).map(|line| line.trim_end().to_owned() + "\n").unwrap_or_default();
            }
            number -= often;
        }
        String::new()
    }

    /// A layout for all trees. If the layout compares bins, a copy of the rows is added, which such layouts
    /// need.
    fn layout_of_all(&mut self) -> Option<String> {
        let layout = self.layout();
        let rows = |nest: &Nest, id: LoopId| is_row(nest, id) && is_mapped(nest, id);
        let cached = self.nest.as_ref()?.loops.iter().any(|this| this.annotations.cache);
        let of_bins = layout.parse().is_ok_and(Layout::compares_bins);
        match self.random_loop(rows).filter(|_| !cached && of_bins) {
            Some((v, _)) => Some(format!("cache({v})\nrepresentation({layout})")),
            None => Some(format!("representation({layout})")),
        }
    }

    /// A copy of trees in shared memory, in a layout that stores a tree in several separate pieces.
    fn cached_in_pieces(&mut self) -> Option<String> {
        let (trees, _) = self.random_loop(|nest, id| !is_row(nest, id))?;
        if self.layout() != "oblivious" {
            return Some(format!("cache({trees})\nrepresentation(reorg)"));
        }
        let (rows, _) = self.random_loop(|nest, id| is_row(nest, id) && is_mapped(nest, id))?;
        Some(format!("cache({rows})\ncache({trees})\nrepresentation(oblivious)"))
    }

    /// The line `line` for a random loop that satisfies `test`, whose name replaces `{v}`.
    fn line_for_loop(&mut self, line: &str, test: impl Fn(&Nest, LoopId) -> bool) -> Option<String> {
        self.random_loop(test).map(|(v, _)| line.replace("{v}", &v))
    }
}
