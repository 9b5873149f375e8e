//! Record tables: code shared by layouts that store all trees one after the other in one table of
//! records.

use super::leaf_indices::LeafIndices;
use super::leaves::Leaves;
use super::order::NumberedNode;
use super::record::Record;
use super::request::LayoutRequest;
use super::schema::{Schema, TableBytes};
use super::spans::TreeSpans;
use super::starts::{StartField, TreeStarts};
use crate::error::CompileError;
use sched_forest::{Forest, NodeRef, Tree};

/// Records of all used trees in one table.
#[derive(Clone, Debug)]
pub struct Records {
    schema: Schema,
    /// Fields of a record.
    pub record: Record,
    /// Tables of the leaves.
    pub leaves: Leaves,
    start: StartField,
    starts: TreeStarts,
}

/// Names of the tables.
#[derive(Clone, Copy, Debug)]
pub struct TableNames {
    /// Name of the table of records.
    pub nodes: &'static str,
    /// Name of the table of first records of trees.
    pub trees: &'static str,
    /// Name of the table of leaf indices.
    pub leaf_indices: &'static str,
}

impl Records {
    /// Reserves `size(tree, depth)` records for each used tree. `max_child` is the largest child number,
    /// in layouts that store children.
    pub fn new(
        request: &LayoutRequest,
        names: TableNames,
        max_child: Option<u64>,
        size: impl Fn(&Tree, u32) -> u64,
    ) -> Result<Records, CompileError> {
        let trees = request.forest.trees.iter().zip(request.depths_of_used());
        let starts = TreeStarts::new(trees.map(|(tree, depth)| depth.map_or(0, |depth| size(tree, depth))));
        let starts = starts.check_count("node records")?;
        let mut schema = Schema::default();
        let record = Record::declare(request, &mut schema, names.nodes, starts.count(), max_child)?;
        let start = starts.declare(&mut schema, names.trees);
        let leaf_indices = LeafIndices::declare(request, &mut schema, names.leaf_indices, starts.count());
        let leaves = Leaves::new(record.payload(), leaf_indices);
        Ok(Records { schema, record, leaves, start, starts })
    }

    /// Writes the tables; `place` numbers the nodes of a tree.
    pub fn fill(&self, forest: &Forest, bytes: &mut TableBytes, place: impl Fn(&Tree) -> Vec<NumberedNode>) {
        let mut first_leaf = 0u32;
        for (at, tree) in forest.trees.iter().enumerate() {
            let placed = self.starts.first_record(at).map_or_else(Vec::new, |start| {
                let placed = place(tree).into_iter();
                placed.map(|placed| (start + placed.number as usize, placed)).collect()
            });
            for (record, NumberedNode { node, child, .. }) in placed {
                match node {
                    NodeRef::Inner(inner) => {
                        self.record.write_inner(bytes, record, &tree.inner[inner as usize], child);
                    }
                    NodeRef::Leaf(leaf) => {
                        let source = &tree.leaves[leaf as usize];
                        self.record.mark_leaf(bytes, record);
                        self.leaves.write(bytes, record, source, first_leaf + leaf);
                    }
                }
            }
            first_leaf = first_leaf.saturating_add(tree.leaves.len() as u32);
        }
        self.starts.write(self.start, bytes);
    }

    /// Records of each tree.
    pub fn spans(&self) -> TreeSpans<'_> {
        TreeSpans { schema: &self.schema, starts: &self.starts, start_field: self.start }
    }
}
