//! Entries: what layouts share that give each tree as many entries as it has leaves, at the same place in
//! every table.
//!
//! A leaf's entry is its place among those of its tree; what the entries of nodes are is up to the layout.

use super::leaves::Leaves;
use super::numbers::LeafIndices;
use super::payload::Payload;
use super::records::Names;
use super::request::Request;
use super::schema::{Bytes, Schema};
use super::spans::Spans;
use super::starts::{StartField, TreeStarts};
use sched_forest::{Forest, Tree};

/// Where the trees of a layout begin, and their leaves.
pub struct Entries {
    /// The leaves.
    pub leaves: Leaves,
    start: StartField,
    starts: TreeStarts,
}

/// A leaf, and the entry that it takes among those of all trees.
pub struct PlacedLeaf {
    /// The entry.
    pub entry: usize,
    /// Its place among the tree's leaves.
    pub leaf: u32,
}

impl Entries {
    /// Adds the tables of leaves, of where trees begin, and of leaf indices to a schema; the tables of nodes
    /// stand before them.
    pub fn declare(request: &Request, schema: &mut Schema, names: Names, starts: TreeStarts) -> Entries {
        let leaf = schema.column(names.nodes, Payload::element(request.forest), starts.count());
        schema.near(leaf.table());
        let start = starts.declare(schema, names.trees);
        let leaf_indices = LeafIndices::declare(request, schema, names.leaf_indices, starts.count());
        let payload = Payload::new(request.forest, leaf).with_columns(request, schema, starts.count());
        let leaves = Leaves::new(payload, leaf_indices);
        Entries { leaves, start, starts }
    }

    /// Where trees lie, in the tables of the layout.
    pub fn spans<'s>(&'s self, schema: &'s Schema) -> Spans<'s> {
        Spans { schema, starts: &self.starts, start: self.start }
    }

    /// Calls `see` with every entry.
    pub fn each_entry(&self, see: impl FnMut(usize)) {
        (0..self.starts.count() as usize).for_each(see);
    }

    /// Writes its tables. `lay` gets each tree that has entries, its number and the first of them, lays its
    /// nodes, and returns its leaves.
    pub fn fill(
        &self,
        forest: &Forest,
        bytes: &mut Bytes,
        mut lay: impl FnMut(&mut Bytes, &Tree, usize, usize) -> Vec<PlacedLeaf>,
    ) {
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let laid = self.starts.of(at).map_or_else(Vec::new, |start| lay(bytes, tree, at, start));
            for PlacedLeaf { entry, leaf } in laid {
                let source = &tree.leaves[leaf as usize];
                self.leaves.write(bytes, entry, source, first_leaf + leaf);
                let (first, end) = self.starts.records(at);
                let leaf = (tree.target, source);
                self.leaves.payload.write_columns(bytes, (first, end), entry - first, leaf);
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
        self.starts.write(self.start, bytes);
    }
}
