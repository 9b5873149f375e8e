//! Entries: code shared by layouts that give each tree the same range of entries in every table, one
//! per leaf.
//!
//! A leaf's entry is its position among those of its tree. Each layout assigns the entries of nodes.

use super::leaf_indices::LeafIndices;
use super::leaves::Leaves;
use super::payload::Payload;
use super::records::TableNames;
use super::request::LayoutRequest;
use super::schema::{Schema, TableBytes};
use super::spans::TreeSpans;
use super::starts::{StartField, TreeStarts};
use sched_forest::{Forest, Tree};

/// First entries of the trees of a layout, and their leaves.
pub struct TreeEntries {
    /// Tables of the leaves.
    pub leaves: Leaves,
    start: StartField,
    starts: TreeStarts,
}

/// A leaf with its entry in the tables of all trees.
pub struct LeafEntry {
    /// Index of the entry.
    pub entry: usize,
    /// Number of the leaf in its tree.
    pub leaf: u32,
}

impl TreeEntries {
    /// Adds the tables of leaves, of first entries and of leaf indices to a schema, behind the tables
    /// of nodes.
    pub fn declare(
        request: &LayoutRequest,
        schema: &mut Schema,
        names: TableNames,
        starts: TreeStarts,
    ) -> TreeEntries {
        let leaf = schema.add_number_table(names.nodes, Payload::element(request.forest), starts.count());
        schema.prefetch_with_trees(leaf.table());
        let start = starts.declare(schema, names.trees);
        let leaf_indices = LeafIndices::declare(request, schema, names.leaf_indices, starts.count());
        let payload = Payload::new(request.forest, leaf).with_margins(request, schema, starts.count());
        let leaves = Leaves::new(payload, leaf_indices);
        TreeEntries { leaves, start, starts }
    }

    /// Records of each tree in the tables of the layout.
    pub fn spans<'s>(&'s self, schema: &'s Schema) -> TreeSpans<'s> {
        TreeSpans { schema, starts: &self.starts, start_field: self.start }
    }

    /// Whether the tables have a tree.
    pub fn has_tree(&self, tree: usize) -> bool {
        self.starts.first_record(tree).is_some()
    }

    /// Calls `see` with the index of every entry.
    pub fn each_entry(&self, see: impl FnMut(usize)) {
        (0..self.starts.count() as usize).for_each(see);
    }

    /// Writes the tables. `lay` gets each used tree with its number and its first entry, writes its
    /// nodes, and returns its leaves.
    pub fn fill(
        &self,
        forest: &Forest,
        bytes: &mut TableBytes,
        mut lay: impl FnMut(&mut TableBytes, &Tree, usize, usize) -> Vec<LeafEntry>,
    ) {
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let laid =
                self.starts.first_record(at).map_or_else(Vec::new, |start| lay(bytes, tree, at, start));
            for LeafEntry { entry, leaf } in laid {
                let source = &tree.leaves[leaf as usize];
                self.leaves.write(bytes, entry, source, first_leaf + leaf);
                let (first, end) = self.starts.record_range(at);
                let value = |margin| forest.leaf_constant(at, leaf as usize, margin);
                self.leaves.payload.write_margins(bytes, (first, end), entry - first, value);
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
        self.starts.write(self.start, bytes);
    }
}
