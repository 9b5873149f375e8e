//! How trees are stored, as data.

use std::fmt::{self, Display, Formatter};

/// How trees are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Storage {
    /// Which nodes there are, in which order, and with which fields.
    pub format: Format,
    /// Whether nodes name columns of a transposed copy of rows, which has only those features that are in use.
    pub columns: bool,
}

/// Which nodes there are, in which order, and with which fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Complete trees in level order, a record for each node.
    CompleteRecords,
    /// Existing nodes breadth first, a record with a child number for each.
    ChildRecords,
    /// Existing nodes breadth first, each packed into 64 bits.
    PackedNodes,
    /// Tiles of existing nodes, a record for each tile.
    NodeTiles,
    /// Complete trees in level order, a table for each field.
    LevelTables,
    /// Complete trees, all of one size, three levels at a time, and their first levels lane by lane.
    LaneTrees {
        /// Trees of a vector.
        lanes: u32,
    },
    /// Complete trees in level order, rank and column of a node packed into 32 bits.
    RankWords,
    /// Complete trees in level order, a table of ranks and one of columns.
    RankTables,
    /// Existing nodes depth first, with ranks.
    Preorder,
    /// The same, and tables of bytes for all tests of a tree at once.
    PreorderTests,
}

impl Format {
    /// The order of nodes.
    pub fn order(self) -> &'static str {
        match self {
            Format::CompleteRecords | Format::LevelTables | Format::RankWords | Format::RankTables => {
                "complete, level order"
            }
            Format::ChildRecords | Format::PackedNodes => "existing, breadth first",
            Format::NodeTiles => "tiles of existing nodes",
            Format::LaneTrees { .. } => "complete, three levels at a time",
            Format::Preorder | Format::PreorderTests => "existing, depth first",
        }
    }

    /// What is stored of a node, and how.
    pub fn fields(self) -> &'static str {
        match self {
            Format::CompleteRecords => "records of threshold, feature",
            Format::ChildRecords => "records of threshold, feature, child",
            Format::PackedNodes => "64 bits of threshold, feature, child",
            Format::NodeTiles => "records of thresholds, features, first child, outcomes",
            Format::LevelTables => "tables of thresholds, features",
            Format::LaneTrees { .. } => "records of threshold, feature; first levels lane by lane",
            Format::RankWords => "32 bits of rank, column",
            Format::RankTables => "tables of ranks, columns",
            Format::Preorder => "records of leftmost leaves, rank, column",
            Format::PreorderTests => {
                "records of leftmost leaves, rank, column; tables of columns, ranks, reaches"
            }
        }
    }
}

impl Display for Storage {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}; {}", self.format.order(), self.format.fields())?;
        if self.columns { write!(f, "; features by column of the copy") } else { Ok(()) }
    }
}
