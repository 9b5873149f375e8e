//! The text form of HIR.

use super::Hir;
use sched_nest::show::show_nest;

use std::fmt::{self, Display, Formatter};

impl Display for Hir {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let forest = &self.forest;
        let nodes: usize = forest.trees.iter().map(|tree| tree.inner.len() + tree.leaves.len()).sum();
        writeln!(f, "forest: {} trees, {nodes} nodes, {} features", forest.trees.len(), forest.num_features)?;
        writeln!(
            f,
            "  objective {}, {} margins from base {:?}",
            forest.objective, forest.num_margins, forest.base
        )?;
        writeln!(
            f,
            "  rows in {:?}, compare {:?} with {:?}, add in {:?}",
            forest.types.input, forest.comparison, forest.types.threshold, forest.types.accumulator
        )?;
        let steps = || forest.output.raw.iter().chain(&forest.output.value);
        let names: Vec<String> = steps().map(|step| format!("{step:?}")).collect();
        let steps = if names.is_empty() { "Identity".to_string() } else { names.join(", ") };
        writeln!(f, "output: {steps}")?;
        if let Some(tiling) = &self.tiles {
            let tiles: usize = tiling.trees.iter().map(|tree| tree.tiles.len()).sum();
            write!(f, "tiles: {tiles} of at most {} nodes", tiling.most_nodes)?;
            let likely = if tiling.biased > 0 {
                format!(", by probability in {} trees", tiling.biased)
            } else {
                String::new()
            };
            writeln!(f, "{likely}")?;
        }
        if let Some(bins) = &self.bins {
            write!(f, "bins: {} of {} bits per row", bins.columns(), 8 * bins.element().bytes())?;
            let sets = bins.sets();
            match sets.count() {
                0 => writeln!(f)?,
                count => writeln!(f, ", {count} sets of categories in {} bytes each", sets.set_bytes())?,
            }
        }
        writeln!(f, "walks:")?;
        for (id, leaf_loop) in &self.leaf_loops {
            let name = &self.nest.get(*id).name;
            let layout = format!("{:?}", leaf_loop.layout).to_lowercase();
            write!(f, "  {name}: trees {}..{}, {layout}", leaf_loop.trees.start, leaf_loop.trees.end)?;
            write!(f, ", depth {}", self.depth_range(leaf_loop))?;
            for (what, n) in [
                ("unroll", leaf_loop.unrolled_steps),
                ("peel", leaf_loop.peeled_steps),
                ("speculate", leaf_loop.speculated_levels),
            ] {
                if n > 0 {
                    write!(f, ", {what} {n}")?;
                }
            }
            if leaf_loop.lanes > 1 {
                write!(f, ", vectorize {}", leaf_loop.lanes)?;
            }
            if leaf_loop.group > 1 {
                write!(f, ", interleave {}", leaf_loop.group)?;
            }
            writeln!(f)?;
        }
        write!(f, "nest:\n{}", show_nest(&self.nest))
    }
}

impl Hir {
    /// Range of leaf depths in the trees of a leaf loop, as `3..8`.
    fn depth_range(&self, leaf_loop: &super::LeafLoop) -> String {
        let depths = &self.depths[leaf_loop.trees.clone()];
        let deepest = depths.iter().map(|d| d.0).max().unwrap_or(0);
        let shallowest = depths.iter().map(|d| d.1).min().unwrap_or(0);
        if shallowest == deepest { deepest.to_string() } else { format!("{shallowest}..{deepest}") }
    }
}
