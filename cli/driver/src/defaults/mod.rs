//! The schedules that are used where none is given.

pub mod gpu;
mod node_sweep;
mod quantized;
mod vectors;

use node_sweep::NodeSweep;
use quantized::{Quantized, pays_to_quantize};
use sched_ir::quantize::QuantizedRows;
use sched_nest::{ModelInfo, Variants};
use vectors::Vectors;

/// Deepest walk that is unrolled completely: deeper trees would need too much padding and code.
const UNROLL_LIMIT: u32 = 10;
/// Deepest trees whose levels are looked up in registers.
const LEVELS_LIMIT: u32 = 8;
/// Bytes of a block of rows that leave room for trees in the first-level cache.
const BLOCK_BYTES: u32 = 32 << 10;
/// Bits of the shortest registers with table look-ups. They look up bytes only, no wider elements.
const SHORT_REGISTER: u32 = 128;
/// Deepest trees that 128-bit level look-ups walk faster than single walks do.
const SHORT_LIMIT: u32 = 6;
/// Most nodes that trees are padded to.
const MOST_NODES: u64 = 1 << 24;
/// Most bins of a row that fits one register, in which single walks look them up.
const MAX_BINS: u32 = 64;
/// Small-batch limit: calls of at most this many rows are walked row by row where larger ones are quantized.
const FEW: u32 = 8;
/// Small-batch limit for unquantized rows on 128-bit registers.
const SHORT_FEW: u32 = 4;
/// Small-batch limit for unquantized rows where trees are in tiles.
const TILED_FEW: u32 = 4;

/// Good schedules for a model, as the texts that the user could have written.
pub struct Chosen {
    /// For each number of rows.
    pub variants: Variants<String>,
}

/// What the choice asks of a processor.
#[derive(Clone, Copy, Debug)]
pub struct Processor {
    /// Bits of the registers in which it looks tables up; 0 if it does not.
    pub lookup_bits: u32,
    /// Whether gathering costs as much as loading lane by lane.
    pub gathers_slowly: bool,
}

/// Where compiled code and its tables go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeDestination {
    /// Into memory, for one call.
    Memory,
    /// Into a file, whose size counts: calls of all sizes share tables where they can.
    Artefact,
}

impl Chosen {
    /// The schedules for a model. `bins` says what its rows are when quantized, if they can be.
    pub fn new(
        model: &ModelInfo,
        bins: Option<&QuantizedRows>,
        processor: Processor,
        destination: CodeDestination,
    ) -> Chosen {
        let nodes = u64::from(model.num_trees) << model.max_depth().min(32);
        let complete = model.max_depth() <= LEVELS_LIMIT && nodes <= MOST_NODES;
        if model.class_features > 0
            && let Some(chosen) =
                bins.and_then(|bins| node_sweep::with_sets(model, bins, (processor, destination)))
        {
            return chosen;
        }
        let bins = bins.filter(|bins| pays_to_quantize(model, bins));
        let oblivious = !model.oblivious.is_empty() && model.oblivious.iter().all(|tree| *tree);
        if let Some(bins) = bins.filter(|_| oblivious && nodes <= MOST_NODES)
            && processor.lookup_bits >= SHORT_REGISTER
            && model.max_depth() > 0
        {
            return Quantized::oblivious(bins).chosen(model, processor, destination);
        }
        let sweep = bins.and_then(|bins| NodeSweep::of(model, bins, processor));
        if let Some(sweep) = sweep.as_ref().filter(|sweep| sweep.pays(model, complete, processor)) {
            return sweep.chosen(model, complete, (processor, destination));
        }
        let quantized = bins.filter(|_| complete).map(Quantized::of);
        let mut chosen = Chosen::stepping(model, quantized, complete, (processor, destination));
        let sweep = sweep.filter(|_| complete);
        if let Some((from, sweep)) =
            sweep.and_then(|sweep| Some((sweep.pays_from(model, destination)?, sweep)))
        {
            let fewer = std::mem::replace(
                chosen.variants.rest_mut(),
                text(sweep.rows(pays_to_unroll_and_jam(model, destination))),
            );
            return chosen.up_to(from - 1, fewer);
        }
        chosen
    }

    /// One schedule for all calls.
    fn only(rest: String) -> Chosen {
        Chosen { variants: Variants::only(rest) }
    }

    /// With another one for calls of at most so many rows, unless there is one for just these.
    fn up_to(mut self, max_rows: u32, few: String) -> Chosen {
        let _kept = self.variants.insert(max_rows, few);
        self
    }

    /// Schedules whose walks go from node to node.
    fn stepping(
        model: &ModelInfo,
        quantized: Option<Quantized>,
        complete: bool,
        (processor, destination): (Processor, CodeDestination),
    ) -> Chosen {
        let (depth, bits) = (model.max_depth(), processor.lookup_bits);
        let single = || text(scalar(model));
        match (bits, quantized) {
            _ if depth == 0 => Chosen::only(single()),
            (SHORT_REGISTER, Some(quantized)) if depth <= SHORT_LIMIT => {
                let few = text(quantized.over_trees(model, processor, destination));
                Chosen::only(text(quantized.rows(16, 1, false))).up_to(FEW, few)
            }
            (SHORT_REGISTER, _) if complete => {
                let few = text(Vectors::of_levels(model, processor, destination).over_trees());
                Chosen::only(single()).up_to(SHORT_FEW, few)
            }
            (..=SHORT_REGISTER, _) => Chosen::only(single()),
            (_, Some(quantized)) => quantized.chosen(model, processor, destination),
            (_, None) if complete => {
                Vectors::of_levels(model, processor, destination).chosen(model, destination)
            }
            (512.., None) if processor.gathers_slowly => {
                let few = Vectors::of_nodes(processor, TILED_FEW);
                Chosen::only(text(tiled())).up_to(few.few, text(few.over_trees()))
            }
            (_, None) => Vectors::of_nodes(processor, 16).chosen(model, destination),
        }
    }

    /// The schedule as the user could have written it: for most calls, and in blocks for those of few rows.
    pub fn text(&self) -> String {
        self.text_for(None)
    }

    /// The same with a line that says what it is for.
    pub fn text_for(&self, target: Option<&str>) -> String {
        let target = target.map_or_else(String::new, |target| format!("target {target}\n\n"));
        let mut all = format!("// chosen by schedc\n{target}{}", self.variants.rest());
        for few in self.variants.bounded() {
            all += &format!("\nwhen n_rows <= {} {{\n", few.max_rows);
            all.extend(few.value.lines().map(|line| format!("    {line}\n")));
            all += "}\n";
        }
        all
    }
}

/// Vectors of the rows of a block, several of which advance together.
#[derive(Clone, Copy)]
struct RowVectors {
    /// Rows of a vector.
    lanes: u32,
    /// Vectors that advance together.
    vectors: u32,
    /// Whether those of several trees do where a block has few rows.
    unroll_and_jam: bool,
}

impl RowVectors {
    fn lines(self) -> Vec<String> {
        let RowVectors { lanes, vectors, unroll_and_jam } = self;
        let mut lines = vec![format!("vectorize(b1, {lanes})")];
        if vectors > 1 {
            lines.push(format!("interleave(b1, {vectors})"));
        }
        if vectors > 1 && unroll_and_jam {
            lines.push("unrollAndJam(tree)".to_string());
        }
        lines
    }
}

/// Whether several trees are walked together where a block of rows, whose sums are copied or single, has few of them. That
/// runs such blocks a fifth faster and takes twice as long to compile, which does not pay for code that runs once; and not
/// where a leaf is added to all sums of its row.
fn pays_to_unroll_and_jam(model: &ModelInfo, destination: CodeDestination) -> bool {
    destination == CodeDestination::Artefact && !model.leaf_vectors
}

fn text(lines: Vec<String>) -> String {
    lines.join("\n") + "\n"
}

/// Blocks of rows run in parallel and each tree is walked for a whole block, so that its nodes stay in the first-level
/// cache. Trees are added in the model's order.
fn blocks(rows: u32) -> Vec<String> {
    vec![
        format!("tile(batch, b0, b1, {rows})"),
        "reorder(b0, tree, b1)".to_string(),
        "parallel(b0)".to_string(),
    ]
}

/// Walks one by one, eight advancing together to hide latencies.
fn scalar(model: &ModelInfo) -> Vec<String> {
    let deepest = model.max_depth();
    let mut lines = blocks(64);
    lines.push("interleave(b1, 8)".to_string());
    if (1..=UNROLL_LIMIT).contains(&deepest) {
        lines.push(format!("unrollWalk(b1, {deepest})"));
    }
    lines
}

/// Walks one by one over tiles of nodes, whose tests are made side by side.
fn tiled() -> Vec<String> {
    let mut lines = blocks(256);
    lines.extend(["representation(sparse)", "tileTrees(8)", "interleave(b1, 4)"].map(str::to_string));
    lines
}

/// One quantized row after the other, and so many trees, or vectors of them, together.
fn single_rows(layout: &str, trees: u32) -> Vec<String> {
    vec![
        "parallel(batch)".to_string(),
        "cache(batch)".to_string(),
        format!("representation({layout})"),
        format!("interleave(tree, {trees})"),
    ]
}
