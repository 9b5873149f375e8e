//! Shapes: schedules for GPUs as values. The chooser compares them, and a search changes their fields.

use sched_nest::Layout;
use std::fmt::Write as _;

/// Most threads of a block.
pub const MOST_THREADS: u32 = 1024;

/// The distribution of rows and trees over blocks and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadMapping {
    /// Each thread walks all trees with its own rows.
    Rows {
        /// Number of rows of a block.
        block: u32,
        /// Number of rows of a thread: 1, or 4 whose bins share a word.
        rows: u32,
    },
    /// Each thread walks all trees with one row. The block copies a piece of the trees to shared memory,
    /// walks it, and goes on to the next piece.
    Pieces {
        /// Number of rows of a block.
        block: u32,
        /// Number of trees of a piece.
        trees: u32,
    },
    /// The threads of a block are a grid of rows by trees. Each tree has a slot for its value, and the block
    /// adds up the slots in order before it goes on to the next trees.
    Slots {
        /// Number of rows of a block.
        block: u32,
        /// Number of rows of a thread: 1, or 4 whose bins share a word.
        rows: u32,
        /// Number of threads that share the trees of a row.
        trees: u32,
    },
    /// SilvanForge's template: the threads of a block are a grid of rows by groups of trees.
    Template {
        /// Number of rows of a block.
        block: u32,
        /// Number of rows of a thread.
        rows: u32,
        /// Number of threads that share the trees of a row.
        trees: u32,
    },
    /// Each block has some rows and a group of trees. Each of its threads walks one tree with one row.
    Groups {
        /// Number of rows of a block.
        block: u32,
        /// Number of trees of a group.
        trees: u32,
    },
    /// Each block has one row, and its threads share the trees.
    Trees {
        /// Number of threads that share the trees; `None` for one thread per tree.
        threads: Option<u32>,
    },
    /// Each block has a few rows. Several threads share a row, and each walks one tree with it. The block
    /// adds up the trees in order before it goes on to the next ones.
    FewRows {
        /// Number of rows of a block.
        block: u32,
        /// Number of threads that share the trees of a row.
        threads: u32,
    },
}

/// A schedule for GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuCandidate {
    /// The distribution of rows and trees over blocks and threads.
    pub form: ThreadMapping,
    /// The representation of trees.
    pub layout: Layout,
    /// Whether a block copies its rows.
    pub cached: bool,
    /// Walks of a thread that advance together.
    pub together: u32,
    /// Steps of a walk as straight-line code; 0 for none.
    pub unrolled: u32,
    /// Whether the threads of a block add up its sums, if they share trees.
    pub shared: bool,
}

impl GpuCandidate {
    /// The shape as the text of a schedule.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |line: String| {
            let _ = writeln!(text, "{line}");
        };
        let (walks, sums) = match self.form {
            ThreadMapping::Rows { block, rows: 1 } => {
                line(format!("tile(batch, b0, b1, {block})"));
                line("gpuDimension(b0, grid.x)".to_string());
                line("gpuDimension(b1, block.x)".to_string());
                ("tree", None)
            }
            ThreadMapping::Rows { block, rows } => {
                line(format!("tile(batch, b0, r, {block})"));
                line(format!("tile(r, b1, b2, {rows})"));
                line("reorder(b0, b1, tree, b2)".to_string());
                line("gpuDimension(b0, grid.x)".to_string());
                line("gpuDimension(b1, block.x)".to_string());
                ("tree", None)
            }
            ThreadMapping::Pieces { block, trees } => {
                line(format!("tile(batch, b0, b1, {block})"));
                line(format!("tile(tree, t0, t1, {trees})"));
                line("reorder(b0, t0, b1, t1)".to_string());
                line("gpuDimension(b0, grid.x)".to_string());
                line("gpuDimension(b1, block.x)".to_string());
                line("cache(t0)".to_string());
                ("t1", None)
            }
            ThreadMapping::Slots { block, rows, trees } => {
                match rows {
                    1 => line(format!("tile(batch, b0, b1, {block})")),
                    _ => {
                        line(format!("tile(batch, b0, r, {block})"));
                        line(format!("tile(r, b1, b2, {rows})"));
                    }
                }
                line(format!("tile(tree, t0, t1, {trees})"));
                line(format!("reorder(b0, t0, b1, t1{})", if rows == 1 { "" } else { ", b2" }));
                line("gpuDimension(b0, grid.x)".to_string());
                line("gpuDimension(b1, block.x)".to_string());
                line("gpuDimension(t1, block.y)".to_string());
                ("t1", Some("t1"))
            }
            ThreadMapping::Template { block, rows, trees } => {
                match rows {
                    1 => line(format!("tile(batch, b0, b1, {block})")),
                    _ => {
                        line(format!("tile(batch, b0, rest, {block})"));
                        line(format!("tile(rest, b1, b2, {rows})"));
                    }
                }
                line(format!("tile(tree, t0, t1, ceildiv(num_trees, {trees}))"));
                let rest = if rows == 1 { "" } else { "b2, " };
                line(format!("reorder(b0, b1, t0, {rest}t1)"));
                line("gpuDimension(b0, grid.x)".to_string());
                line("gpuDimension(b1, block.x)".to_string());
                line("gpuDimension(t0, block.y)".to_string());
                ("t1", Some("t0"))
            }
            ThreadMapping::Groups { block, trees } => {
                line(format!("tile(batch, b0, b1, {block})"));
                line(format!("tile(tree, t0, t1, {trees})"));
                line("reorder(b0, t0, b1, t1)".to_string());
                line("gpuDimension(b0, grid.x)".to_string());
                line("gpuDimension(t0, grid.y)".to_string());
                line("gpuDimension(b1, block.x)".to_string());
                line("gpuDimension(t1, block.y)".to_string());
                ("t1", Some("t1"))
            }
            ThreadMapping::Trees { threads } => {
                line("gpuDimension(batch, grid.x)".to_string());
                let over = if threads.is_some() { "t1" } else { "tree" };
                if let Some(threads) = threads {
                    line(format!("tile(tree, t0, t1, {threads})"));
                }
                line(format!("gpuDimension({over}, block.x)"));
                (over, Some(over))
            }
            ThreadMapping::FewRows { block, threads } => {
                line(format!("tile(batch, b0, b1, {block})"));
                line(format!("tile(tree, t0, t1, {threads})"));
                line("reorder(b0, t0, b1, t1)".to_string());
                line("gpuDimension(b0, grid.x)".to_string());
                line("gpuDimension(b1, block.y)".to_string());
                line("gpuDimension(t1, block.x)".to_string());
                ("t1", Some("t1"))
            }
        };
        if let Some(sums) = sums.filter(|_| self.shared) {
            line(format!("sharedReduce({sums})"));
        }
        if self.cached {
            line(format!(
                "cache({})",
                if matches!(self.form, ThreadMapping::Trees { .. }) { "batch" } else { "b0" }
            ));
        }
        if self.layout != Layout::Array {
            line(format!("representation({})", self.layout.word()));
        }
        if let ThreadMapping::Rows { rows: rows @ 2.., .. } | ThreadMapping::Slots { rows: rows @ 2.., .. } =
            self.form
        {
            line(format!("vectorize(b2, {rows})"));
        } else if self.together > 1 {
            line(format!("interleave({walks}, {})", self.together));
        }
        if self.unrolled > 0 {
            line(format!("unrollWalk({walks}, {})", self.unrolled));
        }
        text
    }

    /// Shapes that differ from this one in one number, in the layout, or in one directive. The model has
    /// `all_trees` trees of depth `depth`, which add to `classes` classes in turn. Some shapes may be
    /// illegal.
    pub fn neighbours(
        &self,
        layouts: &[Layout],
        (all_trees, classes, depth): (u32, u32, u32),
    ) -> Vec<GpuCandidate> {
        let mut all = Vec::new();
        let around = |n: u32, least: u32, most: u32| {
            [n / 2, n * 2].into_iter().filter(move |other| (least..=most).contains(other))
        };
        // Threads that share trees stay a multiple of the classes, so that slots have one margin.
        let sharing = |threads: u32, least: u32, most: u32| {
            let unit = if threads.is_multiple_of(classes) && threads / 2 >= classes { classes } else { 1 };
            [threads / 2 / unit * unit, threads * 2].into_iter().filter(move |n| (least..=most).contains(n))
        };
        let mut with = |form| all.push(GpuCandidate { form, ..*self });
        match self.form {
            ThreadMapping::Rows { block, rows } => {
                around(block, 32, 4096).for_each(|block| with(ThreadMapping::Rows { block, rows }));
            }
            ThreadMapping::Pieces { block, trees } => {
                around(block, 32, 1024).for_each(|block| with(ThreadMapping::Pieces { block, trees }));
                around(trees, 2, 256).for_each(|trees| with(ThreadMapping::Pieces { block, trees }));
            }
            ThreadMapping::Slots { block, rows, trees } => {
                around(block, 16, 1024).for_each(|block| with(ThreadMapping::Slots { block, rows, trees }));
                sharing(trees, 2, 64).for_each(|trees| with(ThreadMapping::Slots { block, rows, trees }));
            }
            ThreadMapping::FewRows { block, threads } => {
                around(block, 1, 32).for_each(|block| with(ThreadMapping::FewRows { block, threads }));
                sharing(threads, 32, MOST_THREADS)
                    .for_each(|threads| with(ThreadMapping::FewRows { block, threads }));
            }
            ThreadMapping::Template { block, rows, trees } => {
                around(block, 4, 256).for_each(|block| with(ThreadMapping::Template { block, rows, trees }));
                around(rows, 1, 4).for_each(|rows| with(ThreadMapping::Template { block, rows, trees }));
                around(trees, 2, 256).for_each(|trees| with(ThreadMapping::Template { block, rows, trees }));
                if block >= 16 {
                    with(ThreadMapping::Template { block: block / 2, rows, trees: trees * 2 });
                }
                with(ThreadMapping::Template { block: block * 2, rows, trees: (trees / 2).max(1) });
            }
            ThreadMapping::Groups { block, trees } => {
                around(block, 8, 256).for_each(|block| with(ThreadMapping::Groups { block, trees }));
                sharing(trees, 2, 128).for_each(|trees| with(ThreadMapping::Groups { block, trees }));
            }
            ThreadMapping::Trees { threads } => {
                let now = threads.unwrap_or(all_trees.next_power_of_two().next_multiple_of(classes));
                let fewer = |threads: u32| (threads < all_trees || threads > MOST_THREADS).then_some(threads);
                sharing(now, 32, MOST_THREADS)
                    .for_each(|threads| with(ThreadMapping::Trees { threads: fewer(threads) }));
            }
        }
        all.extend(layouts.iter().map(|layout| GpuCandidate { layout: *layout, ..*self }));
        let together = if self.unrolled > 0 { 2 } else { 1 };
        all.extend(around(self.together, together, 8).map(|together| GpuCandidate { together, ..*self }));
        all.push(GpuCandidate { unrolled: if self.unrolled > 0 { 0 } else { depth }, ..*self });
        all.push(GpuCandidate { cached: !self.cached, ..*self });
        if !matches!(self.form, ThreadMapping::Rows { .. }) {
            all.push(GpuCandidate { shared: !self.shared, ..*self });
        }
        all.retain(|one| one != self);
        all
    }
}
