//! Representations: tables of trees in memory, and the code that walks them.
//!
//! A [`Storage`] describes stored trees as data; [`NodeFormat::layout`] makes its layout for a forest. Each
//! layout is one module behind [`Representation`]: it encodes its tables and emits the code for one
//! step of a walk. A traversal ([`traverse`]) emits a whole walk, by steps or otherwise, and knows no
//! bytes. The plan selects the storage and the traversal of each leaf loop.

mod bin_nodes;
mod complete;
mod cursor;
mod entries;
mod format_traits;
mod layout;
mod leaf_indices;
mod leaves;
mod order;
mod payload;
mod record;
mod records;
mod representation;
mod request;
mod schema;
mod spans;
mod starts;
mod test;
pub mod traverse;
mod tree;
mod tree_tables;

pub use format_traits::{RowVectorTraversal, TestMasks, TransposedBins};
pub use layout::{BoxedLayout, FormatInfo, NodeFormat, Storage, Walking};
pub use payload::{LeafValue, MOST_LOOKUP_BYTES, margin_pieces};
pub use representation::{Representation, WalkEnd};
pub use request::LayoutRequest;
pub use spans::{RecordSpan, TreeRecords};
pub use tree::{Buffers, CopiedTrees, TreeLanes, TreeState, WalkShape};
