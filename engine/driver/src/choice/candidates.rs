//! The schedules that are compared.

use super::CodeDestination;
use sched_cost::Machine;
use sched_ir::quantize::QuantizedRows;
use sched_nest::ModelInfo;

/// Most rows of a block: more share a tree's tables, and fewer are left over.
const BLOCK: u32 = 256;
/// Deepest walk that is unrolled: deeper trees would need too much padding and code.
const UNROLL_LIMIT: u32 = 10;
/// Most nodes that trees are padded to.
const MOST_NODES: u64 = 1 << 24;
/// Complete trees with so many times the leaves that there are have larger tables than caches like, and are not tried.
const PADDING: u64 = 32;
/// Nodes of a level that are looked up in registers.
const LEVELS_LIMIT: u32 = 12;
/// Levels whose tests are all made at once.
const SPECULATED: u32 = 3;
/// How much dearer than the best a candidate may be that is tried in more shapes, where there is time.
const NEAR: f64 = 1.4;
/// Most walks of a group whose sums are added one by one by code that is written out for several shapes of it.
const MOST_ONE_BY_ONE: u32 = 128;
/// Nodes of a tile.
const TILE: u32 = 8;

/// How trees are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// Records of nodes.
    Array,
    /// Packed records of nodes.
    Sparse,
    /// Levels of complete trees, compared with values.
    Levels,
    /// The same, compared with bins.
    Quantized,
    /// All nodes in preorder, compared with bins.
    Preorder,
    /// Trees of which each level makes one test.
    Oblivious,
}

impl Layout {
    /// Its name in schedules.
    pub fn word(self) -> &'static str {
        match self {
            Layout::Array => "array",
            Layout::Sparse => "sparse",
            Layout::Levels => "levels",
            Layout::Quantized => "quantized",
            Layout::Preorder => "preorder",
            Layout::Oblivious => "oblivious",
        }
    }

    /// Whether rows are compared as bins.
    fn is_coded(self) -> bool {
        matches!(self, Layout::Quantized | Layout::Preorder | Layout::Oblivious)
    }
}

/// What walks side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Rows of a block, in the lanes of vectors.
    Rows {
        /// Rows of a block.
        block: u32,
        /// Lanes of a vector; 1 for none.
        lanes: u32,
        /// Walks, or vectors of them, that advance together.
        together: u32,
        /// Whether the block is copied, feature by feature.
        copied: bool,
        /// Whether nodes are tested in tiles.
        tiled: bool,
    },
    /// Trees of one row, in the lanes of vectors.
    Trees {
        /// Lanes of a vector; 1 for none.
        lanes: u32,
        /// Walks, or vectors of them, that advance together.
        together: u32,
    },
}

/// A schedule that may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// How trees are stored.
    pub layout: Layout,
    /// What walks side by side.
    pub form: Form,
    /// Levels of walks that are unrolled; 0 for none.
    pub unrolled: u32,
    /// Whether the vectors of several trees advance together where a block has few rows.
    pub unroll_and_jam: bool,
}

impl Candidate {
    /// It as text.
    pub fn text(&self) -> String {
        let mut lines: Vec<String> = Vec::new();
        let representation = format!("representation({})", self.layout.word());
        match self.form {
            Form::Rows { block, lanes, together, copied, tiled } => {
                lines.push(format!("tile(batch, b0, b1, {block})"));
                lines.push("reorder(b0, tree, b1)".to_string());
                lines.push("parallel(b0)".to_string());
                lines.extend(copied.then(|| "cache(b0)".to_string()));
                lines.extend((self.layout != Layout::Array).then_some(representation));
                lines.extend(tiled.then(|| format!("tileTrees({TILE})")));
                lines.extend((lanes > 1).then(|| format!("vectorize(b1, {lanes})")));
                lines.extend((together > 1).then(|| format!("interleave(b1, {together})")));
                lines.extend((self.unrolled > 0).then(|| format!("unrollWalk(b1, {})", self.unrolled)));
                lines.extend(self.unroll_and_jam.then(|| "unrollAndJam(tree)".to_string()));
                let speculates = self.layout == Layout::Sparse && lanes > 1;
                lines.extend(speculates.then(|| format!("speculateWalk(b1, {SPECULATED})")));
            }
            Form::Trees { lanes, together } => {
                lines.push("parallel(batch)".to_string());
                lines.extend(self.layout.is_coded().then(|| "cache(batch)".to_string()));
                lines.push(representation);
                lines.extend((lanes > 1).then(|| format!("vectorize(tree, {lanes})")));
                lines.extend((together > 1).then(|| format!("interleave(tree, {together})")));
            }
        }
        lines.join("\n") + "\n"
    }
}

impl Candidate {
    /// Whether so many vectors advance together that their code may not fit the cache of instructions.
    pub fn is_long(&self) -> bool {
        matches!(self.form, Form::Rows { lanes, together, .. } if lanes > 1 && together > FEW_TREES)
    }

    /// The least number of rows of a call that it is for. Eight vectors of one tree share its tables, which stay in registers; where
    /// rows fill one vector, it would be vectors of eight trees. Sweeps hold no tables in registers.
    pub fn least_rows(&self) -> usize {
        match self.form {
            Form::Rows { lanes, together, .. }
                if self.layout == Layout::Quantized && together > FEW_TREES =>
            {
                lanes as usize + 1
            }
            _ => 0,
        }
    }

    /// Candidates that differ from it in one number, or in the layout. Not all of them are legal for every model.
    pub fn neighbours(&self) -> Vec<Candidate> {
        let mut all = Vec::new();
        let around = |n: u32, least: u32, most: u32| {
            [n / 2, n * 2].into_iter().filter(move |other| (least..=most).contains(other))
        };
        match self.form {
            Form::Rows { block, lanes, together, copied, tiled } => {
                let form = |block: u32, lanes: u32, together: u32, copied: bool| {
                    let block = block.max(lanes * together);
                    Candidate { form: Form::Rows { block, lanes, together, copied, tiled }, ..*self }
                };
                let group = lanes * together;
                all.extend(
                    around(block, group, MOST_BLOCK).map(|block| form(block, lanes, together, copied)),
                );
                let widths = around(lanes, NARROWEST, WIDEST).filter(|_| lanes > 1);
                all.extend(widths.map(|lanes| form(block, lanes, together, copied)));
                all.extend(
                    around(together, 1, MOST_TOGETHER).map(|together| form(block, lanes, together, copied)),
                );
                all.extend((!self.layout.is_coded()).then(|| form(block, lanes, together, !copied)));
                all.push(Candidate {
                    unroll_and_jam: !self.unroll_and_jam && lanes > 1 && together > 1,
                    ..*self
                });
            }
            Form::Trees { lanes, together } => {
                let form = |lanes, together| Candidate { form: Form::Trees { lanes, together }, ..*self };
                all.extend(
                    around(lanes, NARROWEST, WIDEST).filter(|_| lanes > 1).map(|lanes| form(lanes, together)),
                );
                all.extend(around(together, 1, 2 * MOST_TOGETHER).map(|together| form(lanes, together)));
            }
        }
        let other = match self.layout {
            Layout::Quantized => Some(Layout::Preorder),
            Layout::Preorder => Some(Layout::Quantized),
            Layout::Levels => Some(Layout::Sparse),
            Layout::Sparse => Some(Layout::Levels),
            Layout::Array | Layout::Oblivious => None,
        };
        all.extend(other.map(|layout| Candidate { layout, ..*self }));
        all.retain(|one| one != self);
        all
    }
}

/// Most trees whose tables fit in registers at a time.
const FEW_TREES: u32 = 4;
/// Most rows of a block that is tried.
const MOST_BLOCK: u32 = 1024;
/// Lanes of the narrowest vectors that are tried.
const NARROWEST: u32 = 4;
/// Lanes of the widest vectors that are tried.
const WIDEST: u32 = 64;
/// Most walks, or vectors of them, that are tried together.
const MOST_TOGETHER: u32 = 8;

/// What is taken where nothing else can be: walks one by one.
pub fn plain() -> Candidate {
    let form = Form::Rows { block: 64, lanes: 1, together: 8, copied: false, tiled: false };
    Candidate { layout: Layout::Array, form, unrolled: 0, unroll_and_jam: false }
}

/// What candidates are drawn up from.
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The model.
    pub model: &'a ModelInfo,
    /// What its rows are as bins, if they can be.
    pub bins: Option<&'a QuantizedRows>,
    /// The processor.
    pub machine: &'a Machine,
    /// Where the code goes.
    pub destination: CodeDestination,
}

/// The candidates for a model.
pub struct Candidates<'a> {
    known: &'a Known<'a>,
    bytes: u32,
    words: u32,
    layouts: Vec<Layout>,
}

impl<'a> Candidates<'a> {
    /// Those that the model's form allows.
    pub fn of(known: &'a Known<'a>) -> Candidates<'a> {
        let model = known.model;
        let bits = known.machine.register_bits;
        let depth = model.max_depth();
        let nodes = u64::from(model.num_trees) << depth.min(32);
        let leaves: u64 = model.leaves.iter().flatten().map(|leaves| u64::from(*leaves)).sum();
        let complete = depth > 0 && depth <= LEVELS_LIMIT && nodes <= MOST_NODES && nodes <= PADDING * leaves;
        let in_bins = known.bins.is_some() && depth > 0;
        let in_bytes = known.bins.is_some_and(|bins| bins.in_bytes);
        let oblivious = !model.oblivious.is_empty() && model.oblivious.iter().all(|tree| *tree);
        let mut layouts = Vec::new();
        layouts.extend((in_bins && in_bytes && oblivious).then_some(Layout::Oblivious));
        layouts.extend((in_bins && complete).then_some(Layout::Quantized));
        layouts.extend(in_bins.then_some(Layout::Preorder));
        // Words are looked up in registers of 256 bits and more.
        layouts.extend((complete && bits >= 256).then_some(Layout::Levels));
        layouts.extend((depth > 0 && bits >= 256).then_some(Layout::Sparse));
        Candidates { known, bytes: bits / 8, words: bits / 32, layouts }
    }

    /// Each layout in its widest shapes, and walks one by one.
    pub fn first(&self) -> Vec<Candidate> {
        let depth = self.known.model.max_depth();
        let mut all = Vec::new();
        for layout in self.layouts.iter().copied() {
            for block in self.blocks(layout) {
                let shape = if layout.is_coded() { (self.bytes, 2) } else { (self.words, 4) };
                all.push(self.rows(layout, block, shape, true));
                // Copying values pays if many of them are read again.
                all.extend((!layout.is_coded()).then(|| self.rows(layout, block, shape, false)));
            }
            match layout {
                Layout::Levels | Layout::Sparse => all.push(self.trees(layout, self.words, 4)),
                _ => all.push(self.trees(layout, 1, 4)),
            }
        }
        let scalar = plain();
        let unrolled = if (1..=UNROLL_LIMIT).contains(&depth) { depth } else { 0 };
        all.push(Candidate { unrolled, ..scalar });
        if depth > 0 && self.known.machine.register_bits >= 256 {
            let form = Form::Rows { block: BLOCK, lanes: 1, together: 4, copied: false, tiled: true };
            all.push(Candidate { layout: Layout::Sparse, form, ..scalar });
        }
        all
    }

    /// More shapes of what is best so far, for some number of rows.
    pub fn more(&self, priced: &[(&Candidate, &[f64])]) -> Vec<Candidate> {
        let mut best: Vec<Candidate> = Vec::new();
        let sizes = priced.first().map_or(0, |(_, costs)| costs.len());
        for size in 0..sizes {
            let cost = |costs: &[f64]| costs.get(size).copied().unwrap_or(f64::INFINITY);
            let least = priced.iter().map(|(_, costs)| cost(costs)).fold(f64::INFINITY, f64::min);
            let near = priced.iter().filter(|(_, costs)| cost(costs) <= self.near() * least);
            for (candidate, _) in near {
                if !best.contains(candidate) {
                    best.push(**candidate);
                }
            }
        }
        let mut all = Vec::new();
        for candidate in best {
            let Candidate { layout, form, .. } = candidate;
            match form {
                Form::Rows { block, lanes, copied, .. } if lanes > 1 => {
                    let shapes: &[(u32, u32)] = match (layout.is_coded(), self.is_brief()) {
                        (true, false) => &[(1, 1), (1, 4), (2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (4, 4)],
                        (true, true) => &[(1, 1), (2, 1), (4, 2)],
                        (false, false) => &[(1, 2), (1, 8), (2, 4), (2, 8)],
                        (false, true) => &[(1, 2)],
                    };
                    // There is room for eight vectors where there are 32 registers.
                    let eight = layout.is_coded() && !self.is_brief() && self.bytes >= 64;
                    let shapes = shapes.iter().chain(if eight { &[(1, 8)][..] } else { &[] });
                    let widest = if layout.is_coded() { self.bytes } else { self.words };
                    all.extend(shapes.map(|(part, together)| {
                        self.rows(layout, block, (widest / part, *together), copied)
                    }));
                }
                Form::Trees { lanes, .. } => {
                    all.extend([2, 8].map(|together| self.trees(layout, lanes, together)));
                    if layout == Layout::Preorder {
                        all.extend([2, 4].map(|together| self.trees(layout, self.words, together)));
                    }
                }
                Form::Rows { .. } => {}
            }
        }
        all.retain(|candidate| !priced.iter().any(|(known, _)| *known == candidate));
        all
    }

    /// Whether code runs once, so that it has to be compiled fast.
    fn is_brief(&self) -> bool {
        self.known.destination != CodeDestination::Artefact
    }

    /// How much dearer than the best a candidate may be that is tried in more shapes.
    fn near(&self) -> f64 {
        if self.is_brief() { 1.0 } else { NEAR }
    }

    /// How many rows blocks have: as many as leave room for a tree in the first cache, and where that is few, as many as share a
    /// tree's tables.
    fn blocks(&self, layout: Layout) -> Vec<u32> {
        let model = self.known.model;
        let sums = if model.num_classes > 1 { 4 * model.num_classes } else { 0 };
        let row = match self.known.bins.filter(|_| layout.is_coded()) {
            Some(bins) => bins.columns,
            None => 4 * model.num_features,
        };
        let first = self.known.machine.caches.first().map_or(0.0, |cache| cache.bytes) as u32;
        let fitting = (first / row.saturating_add(sums).max(1)).clamp(1, BLOCK);
        let fitting = 1 << fitting.ilog2();
        let long = (fitting < BLOCK && !self.is_brief()).then_some(BLOCK);
        std::iter::once(fitting).chain(long).collect()
    }

    /// Rows in lanes, in blocks of so many rows, or of one group.
    fn rows(&self, layout: Layout, block: u32, (lanes, together): (u32, u32), copied: bool) -> Candidate {
        let model = self.known.model;
        let block = block.max(lanes * together);
        let form = Form::Rows { block, lanes, together, copied, tiled: false };
        // Sums that are several, and not copied, are added to one by one, and so are leaf vectors: that is code for each lane.
        let one_by_one = model.leaf_vectors || (!copied && model.num_classes > 1);
        let unroll_and_jam =
            !self.is_brief() && together > 1 && (!one_by_one || lanes * together <= MOST_ONE_BY_ONE);
        Candidate { layout, form, unrolled: 0, unroll_and_jam }
    }

    fn trees(&self, layout: Layout, lanes: u32, together: u32) -> Candidate {
        Candidate { layout, form: Form::Trees { lanes, together }, unrolled: 0, unroll_and_jam: false }
    }
}
