//! The schedules that are used where none is given.

use sched_ir::repr::codes::CodedRows;
use sched_lang::ModelFacts;

/// Deepest walk that is unrolled completely: deeper trees would need too much padding and code.
const UNROLL_LIMIT: u32 = 10;
/// Deepest trees whose levels are looked up in registers.
const LEVELS_LIMIT: u32 = 8;
/// Bytes of a block of rows that leave room for trees in the first-level cache.
const BLOCK_BYTES: u32 = 32 << 10;
/// Features of rows that fit a cache line or a few.
const FEW_FEATURES: u32 = 64;
/// Features of a row whose turning costs as much as walking one tree with gathered values costs more.
const FEATURES_PER_TREE: u32 = 20;
/// Columns of codes whose finding costs as much as walking one tree with thresholds costs more than with codes.
const COLUMNS_PER_TREE: u32 = 2;
/// Registers without shuffles of wider elements: bytes are all that they look up.
const SHORT_REGISTER: u32 = 128;
/// Deepest trees that short registers walk faster than single walks do.
const SHORT_LIMIT: u32 = 6;
/// Most nodes that trees are padded to.
const MOST_NODES: u64 = 1 << 24;

/// Good schedules for a model, as the texts that the user could have written.
pub struct Chosen {
    /// For calls of at most so many rows, ascending.
    pub smaller: Vec<(u32, String)>,
    /// For all other calls.
    pub main: String,
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
pub enum Kept {
    /// Into memory, for one call.
    Memory,
    /// Into a file, whose size counts: calls of all sizes share tables where they can.
    File,
}

impl Chosen {
    /// The schedules for a model. `codes` says what its rows are when coded, if they can be.
    pub fn new(facts: &ModelFacts, codes: Option<&CodedRows>, processor: Processor, kept: Kept) -> Chosen {
        let nodes = u64::from(facts.num_trees) << facts.max_depth().min(32);
        let complete = facts.max_depth() <= LEVELS_LIMIT && nodes <= MOST_NODES;
        let codes = codes.filter(|codes| pays_to_code(facts, codes));
        let swept = codes.and_then(|codes| Swept::of(facts, codes, processor));
        if let Some(swept) = swept.as_ref().filter(|swept| swept.pays(facts, complete, processor)) {
            return swept.chosen(facts, complete, (processor, kept));
        }
        let coded = codes.filter(|_| complete).map(|codes| Coded { columns: codes.columns });
        // A file has room for nodes in preorder where all other calls share one layout, or where these are few.
        let shared = coded.as_ref().is_some_and(|coded| coded.walks_single_rows(facts, processor));
        let few = swept.as_ref().is_some_and(|swept| swept.leaves * 3 <= 1 << facts.max_depth().min(32));
        let roomy = kept == Kept::Memory || shared || few;
        let mut chosen = Chosen::hopping(facts, coded, complete, (processor, kept));
        let swept = swept.filter(|_| complete);
        if let Some((from, swept)) = swept.and_then(|swept| Some((swept.pays_from(facts, roomy)?, swept))) {
            let fewer = std::mem::replace(&mut chosen.main, text(swept.rows()));
            chosen.smaller.push((from - 1, fewer));
        }
        chosen
    }

    /// Schedules whose walks hop from node to node.
    fn hopping(
        facts: &ModelFacts,
        coded: Option<Coded>,
        complete: bool,
        (processor, kept): (Processor, Kept),
    ) -> Chosen {
        let (depth, bits) = (facts.max_depth(), processor.lookup_bits);
        let single = || text(scalar(facts));
        match (bits, coded) {
            _ if depth == 0 => Chosen { smaller: Vec::new(), main: single() },
            (SHORT_REGISTER, Some(coded)) if depth <= SHORT_LIMIT => {
                let few = text(coded.over_trees(facts, processor, kept));
                Chosen { smaller: vec![(FEW, few)], main: text(coded.rows(16, 1)) }
            }
            (SHORT_REGISTER, _) if complete => {
                let few = text(Vectors::of_levels(facts, processor, kept).over_trees());
                Chosen { smaller: vec![(SHORT_FEW, few)], main: single() }
            }
            (..=SHORT_REGISTER, _) => Chosen { smaller: Vec::new(), main: single() },
            (_, Some(coded)) => coded.chosen(facts, processor, kept),
            (_, None) if complete => Vectors::of_levels(facts, processor, kept).chosen(facts),
            (512.., None) if processor.gathers_slowly => {
                let few = Vectors::of_nodes(processor, TILED_FEW);
                Chosen { smaller: vec![(few.few, text(few.over_trees()))], main: text(tiled()) }
            }
            (_, None) => Vectors::of_nodes(processor, 16).chosen(facts),
        }
    }

    /// One text that is the schedule for most calls, with the others as comments.
    pub fn explained(&self) -> String {
        let mut all = format!("// chosen by schedc\n{}", self.main);
        for (rows, schedule) in &self.smaller {
            all += &format!("\n// for calls of at most {rows} rows:\n");
            all.extend(schedule.lines().map(|line| format!("//   {line}\n")));
        }
        all
    }
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
fn scalar(facts: &ModelFacts) -> Vec<String> {
    let deepest = facts.max_depth();
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

/// One coded row after the other, and so many trees, or vectors of them, together.
fn single_rows(layout: &str, trees: u32) -> Vec<String> {
    vec![
        "parallel(batch)".to_string(),
        "cache(batch)".to_string(),
        format!("representation({layout})"),
        format!("interleave(tree, {trees})"),
    ]
}

/// Walks in the lanes of vectors.
struct Vectors {
    layout: &'static str,
    lanes: u32,
    /// Vectors of rows that advance together.
    rows: u32,
    /// Vectors of trees that advance together.
    trees: u32,
    /// Rows of the largest call whose rows are better walked one by one, with trees in lanes.
    few: u32,
}

impl Vectors {
    /// Nodes of trees of any form, for trees in lanes in calls of at most `few` rows.
    fn of_nodes(processor: Processor, few: u32) -> Vectors {
        let trees = if processor.gathers_slowly { LANE_BY_LANE } else { 4 };
        Vectors { layout: "sparse", lanes: processor.lookup_bits / 32, rows: 8, trees, few }
    }

    /// Trees in lanes for few rows, else rows.
    fn chosen(&self, facts: &ModelFacts) -> Chosen {
        Chosen { smaller: vec![(self.few, text(self.over_trees()))], main: text(self.over_rows(facts)) }
    }

    /// Levels of complete trees in registers, as many as the processor has room for beside the tables.
    fn of_levels(facts: &ModelFacts, processor: Processor, kept: Kept) -> Vectors {
        let rows = if processor.lookup_bits < 512 || processor.gathers_slowly { 4 } else { 8 };
        let trees = match (processor.gathers_slowly, kept) {
            (true, Kept::Memory) => LANE_BY_LANE,
            (true, Kept::File) => 2 * LANE_BY_LANE,
            (false, _) => 8,
        };
        Vectors { layout: "levels", lanes: 16, rows, trees, few: few_rows(facts) }
    }

    /// Rows in lanes.
    fn over_rows(&self, facts: &ModelFacts) -> Vec<String> {
        let features = facts.num_features.max(1);
        let sums = if facts.num_classes > 1 { facts.num_classes } else { 0 };
        let fitting = (BLOCK_BYTES / 4 / features.saturating_add(sums)).clamp(64, 256);
        let mut lines = blocks(1 << fitting.ilog2());
        if pays_to_turn(facts) {
            lines.push("cache(b0)".to_string());
        }
        lines.push(format!("representation({})", self.layout));
        lines.push(format!("vectorize(b1, {})", self.lanes));
        lines.push(format!("interleave(b1, {})", self.rows));
        if self.layout == "sparse" {
            // Seven tests side by side cost less than three hops that gather their nodes.
            lines.push("speculateWalk(b1, 3)".to_string());
        }
        lines
    }

    /// Trees in lanes.
    fn over_trees(&self) -> Vec<String> {
        vec![
            "parallel(batch)".to_string(),
            format!("representation({})", self.layout),
            format!("vectorize(tree, {})", self.lanes),
            format!("interleave(tree, {})", self.trees),
        ]
    }
}

/// Walks of coded rows in the lanes of vectors.
struct Coded {
    /// Codes of a row, a byte each.
    columns: u32,
}

impl Coded {
    /// Trees in lanes for few rows, short vectors of rows for some more, else long ones.
    fn chosen(&self, facts: &ModelFacts, processor: Processor, kept: Kept) -> Chosen {
        let (lanes, vectors) = if processor.lookup_bits < 512 { (32, 1) } else { (64, 2) };
        // A short vector takes as long for one level as a long one for two more.
        let short = if lanes == 64 && facts.max_depth() > SHORT_LIMIT { 32 } else { 16 };
        let few = text(self.over_trees(facts, processor, kept));
        let smaller = vec![(FEW, few), (short, text(self.rows(16, 2)))];
        Chosen { smaller, main: text(self.rows(lanes, vectors)) }
    }

    /// One row after the other: all tests of a tree at once where that pays, else trees in lanes.
    fn over_trees(&self, facts: &ModelFacts, processor: Processor, kept: Kept) -> Vec<String> {
        if self.walks_single_rows(facts, processor) {
            return single_rows("quantized", 4);
        }
        Vectors::of_levels(facts, processor, kept).over_trees()
    }

    /// Whether all tests of a tree are made at once for single rows: they are few and the row fits a register.
    fn walks_single_rows(&self, facts: &ModelFacts, processor: Processor) -> bool {
        let small = facts.max_depth() <= AT_ONCE_LIMIT && self.columns <= LONGEST_CODES;
        // Trees in lanes gather, which shorter registers do no faster.
        let short = processor.lookup_bits == 256 && self.columns <= LONGEST_CODES / 2;
        small || short
    }

    fn rows(&self, lanes: u32, vectors: u32) -> Vec<String> {
        let fitting = (BLOCK_BYTES / self.columns.max(1)).clamp(128, 256);
        let mut lines = blocks(1 << fitting.ilog2());
        lines.push("cache(b0)".to_string());
        lines.push("representation(quantized)".to_string());
        lines.push(format!("vectorize(b1, {lanes})"));
        if vectors > 1 {
            lines.push(format!("interleave(b1, {vectors})"));
        }
        lines
    }
}

/// Walks of coded rows, of which vectors test all nodes of a tree one after the other.
struct Swept {
    /// Rows of a vector.
    lanes: u32,
    /// Leaves of a tree, on average.
    leaves: u64,
    /// Whether single rows make all tests of a tree at once.
    at_once: bool,
    /// Whether trees in lanes look a row's codes up in registers.
    looked_up: bool,
}

impl Swept {
    /// What suits a model, if places count its trees' leaves.
    fn of(facts: &ModelFacts, codes: &CodedRows, processor: Processor) -> Option<Swept> {
        let of_tree = |tree: &Vec<u32>| tree.iter().map(|leaves| u64::from(*leaves)).sum::<u64>();
        let sizes: Vec<u64> = facts.leaves.iter().map(of_tree).collect();
        let leaves = sizes.iter().sum::<u64>().checked_div(facts.num_trees.into())?;
        let largest = sizes.into_iter().max()?;
        if leaves < 2 || largest > u16::MAX.into() || processor.lookup_bits < SHORT_REGISTER {
            return None;
        }
        let at_once = largest <= LARGEST_AT_ONCE && codes.columns <= LONGEST_CODES;
        let looked_up = codes.columns <= LONGEST_LOOKED_UP;
        Some(Swept { lanes: processor.lookup_bits / u8::BITS, leaves, at_once, looked_up })
    }

    /// Whether testing all nodes pays for all calls: for trees that are small though deep, or that would be far from full
    /// as complete trees.
    fn pays(&self, facts: &ModelFacts, complete: bool, processor: Processor) -> bool {
        let bits = u64::from(processor.lookup_bits);
        let most = if processor.gathers_slowly { 2 * bits } else { bits };
        if complete { self.leaves * SPARSELY <= 1 << facts.max_depth() } else { self.leaves <= most }
    }

    /// Single rows or trees in lanes for few rows, else vectors of rows.
    fn chosen(&self, facts: &ModelFacts, complete: bool, (processor, kept): (Processor, Kept)) -> Chosen {
        let few = match processor.lookup_bits {
            ..=SHORT_REGISTER => text(scalar(facts)),
            _ if self.at_once => text(single_rows("preorder", 2)),
            _ if self.looked_up => text(self.over_trees(processor)),
            _ if complete => text(Vectors::of_levels(facts, processor, kept).over_trees()),
            _ => text(Vectors::of_nodes(processor, FEW).over_trees()),
        };
        Chosen { smaller: vec![(self.few(), few)], main: text(self.rows()) }
    }

    /// From how many rows on it pays where complete trees would be half empty: a node is loaded once for all vectors that
    /// advance together.
    fn pays_from(&self, facts: &ModelFacts, roomy: bool) -> Option<u32> {
        let (deep, shallow) = (facts.max_depth() > SHORT_LIMIT, facts.max_depth() < SHORT_LIMIT);
        let vectors = match self.lanes {
            _ if shallow => return None,
            64.. if roomy => 4,
            32 if deep || roomy => 2,
            ..32 if deep => 2,
            _ => return None,
        };
        let half_empty = self.leaves * 2 <= 1 << facts.max_depth().min(32);
        half_empty.then_some(vectors * self.lanes)
    }

    /// Rows of the largest call whose rows are better walked one by one.
    fn few(&self) -> u32 {
        if self.leaves <= SMALL_TREE { FEW } else { 2 * FEW }
    }

    /// Trees in lanes, each on its own path.
    fn over_trees(&self, processor: Processor) -> Vec<String> {
        let Vectors { lanes, trees, .. } = Vectors::of_nodes(processor, FEW);
        let mut lines = single_rows("preorder", trees);
        lines.push(format!("vectorize(tree, {lanes})"));
        lines
    }

    fn rows(&self) -> Vec<String> {
        let mut lines = blocks(256);
        lines.extend(["cache(b0)", "representation(preorder)"].map(str::to_string));
        lines.push(format!("vectorize(b1, {})", self.lanes));
        lines.push("interleave(b1, 4)".to_string());
        lines
    }
}

/// Whether coding rows pays: codes are bytes, and trees are enough to make up for finding them.
fn pays_to_code(facts: &ModelFacts, codes: &CodedRows) -> bool {
    codes.in_bytes && codes.columns / COLUMNS_PER_TREE <= facts.num_trees
}

/// Whether turning a block of rows on its side pays: if features are few, or trees enough to read most of them.
fn pays_to_turn(facts: &ModelFacts) -> bool {
    facts.num_features <= FEW_FEATURES || facts.num_features / FEATURES_PER_TREE <= facts.num_trees
}

/// Codes of the longest row that walks look up in a register.
const LONGEST_CODES: u32 = 64;

/// Codes of the longest row that trees in lanes look up in registers.
const LONGEST_LOOKED_UP: u32 = 128;

/// Leaves of the largest tree that a word has bits for.
const LARGEST_AT_ONCE: u64 = 64;

/// Deepest trees whose tests fit a word: of more, most are made for nothing.
const AT_ONCE_LIMIT: u32 = 6;

/// Rows of the largest call whose rows are better walked one by one, with trees in lanes, by short registers.
const SHORT_FEW: u32 = 4;

/// Rows of the largest call whose rows are better walked one by one than coded.
const FEW: u32 = 8;

/// A complete tree has so many times the leaves of one whose levels are as dear to look up as all its nodes are to test.
const SPARSELY: u64 = 4;

/// Leaves of the largest tree that a vector tests in about the time in which one row after the other is walked, for as many
/// rows as are few.
const SMALL_TREE: u64 = 128;

/// Vectors of trees that advance together where their nodes are loaded lane by lane. Of complete trees twice as many are a
/// tenth faster, and take twice the time to compile.
const LANE_BY_LANE: u32 = 2;

/// The same for trees in tiles.
const TILED_FEW: u32 = 4;

/// The same for rows that are not coded. A vector of 16 rows takes the same time however few
/// of them there are, and the longer the farther its values lie apart.
fn few_rows(facts: &ModelFacts) -> u32 {
    match pays_to_turn(facts) {
        true if facts.num_features <= FEW_FEATURES => 8,
        true => 12,
        false => 16,
    }
}
