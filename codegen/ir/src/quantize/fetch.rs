//! How a vector of rows gets the bins that its nodes compare with: there may be few nodes, or few columns.

/// Levels with more nodes are gathered: a look-up in more registers costs more.
pub const LARGEST: u64 = 128;
/// Instructions to gather for sixteen lanes.
const GATHER: u64 = 30;
/// Lanes of the longest vectors of bytes.
const LONGEST: u16 = 64;

/// How a vector of rows gets the bins that its nodes of a level compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchStrategy {
    /// From the columns of all nodes of the level, of which the decisions before choose.
    ByNode,
    /// From all columns that there are, of which the looked-up number of the node's column chooses.
    ByColumn,
    /// Lane by lane, by the looked-up number of the node's column.
    Gather,
    /// Lane by lane, and the nodes, too: their level is too long to be looked up.
    GatherNodes,
}

impl FetchStrategy {
    /// The strategy that costs least for a level of `nodes` nodes in a vector of `lanes` rows with `columns`
    /// bins.
    pub fn of(nodes: u64, columns: u32, lanes: u16) -> FetchStrategy {
        let all = [FetchStrategy::ByNode, FetchStrategy::ByColumn, FetchStrategy::Gather];
        all.into_iter()
            .min_by_key(|strategy| strategy.cost(nodes, columns, lanes))
            .unwrap_or(FetchStrategy::Gather)
    }

    /// Instructions to get one level's bins for a vector of `lanes` bytes.
    pub fn cost(self, nodes: u64, columns: u32, lanes: u16) -> u64 {
        // Sixteen columns of nodes are looked up at a time.
        let look_up = nodes / 8;
        match self {
            // The column's offset, its bins, and the choice between them and others.
            FetchStrategy::ByNode => 3 * nodes,
            // Then bins and choices, two of three at a time, and a test of each bit of the column's number.
            FetchStrategy::ByColumn if columns <= 1 << 8 => look_up + 3 * u64::from(columns) / 2 + 5,
            FetchStrategy::ByColumn => u64::MAX,
            // Sixteen lanes at a time: widening, the gather itself, and cutting off what it found beside the
            // bins.
            FetchStrategy::Gather => look_up + GATHER * u64::from(lanes).div_ceil(16),
            FetchStrategy::GatherNodes => 2 * GATHER * u64::from(lanes).div_ceil(16),
        }
    }

    /// The nodes of the first level whose bins are got in another way than by node, for vectors of any
    /// length.
    pub fn first_without_nodes(columns: u32) -> u64 {
        let sizes = (0..LARGEST.ilog2()).map(|level| 1 << level);
        sizes
            .take_while(|size| FetchStrategy::of(*size, columns, LONGEST) == FetchStrategy::ByNode)
            .last()
            .map_or(0, |size| 2 * size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_fetched_in_the_cheapest_way() {
        let levels = |columns, lanes| {
            (0..8).map(|level| FetchStrategy::of(1 << level, columns, lanes)).collect::<Vec<_>>()
        };
        let first = |strategies: &[FetchStrategy], count| {
            strategies.iter().take(count).all(|strategy| *strategy == FetchStrategy::ByNode)
        };
        // A model of 28 features: from 32 nodes on, columns are fewer.
        let some = levels(28, 64);
        assert!(first(&some, 5) && some[5..] == [FetchStrategy::ByColumn; 3], "{some:?}");
        // With eight, there are as many columns as nodes before.
        let few = levels(8, 64);
        assert!(first(&few, 3) && few[3..] == [FetchStrategy::ByColumn; 5], "{few:?}");
        // With 600 nobody wants them all, and half of 128 nodes cost more than four gathers.
        let many = levels(600, 64);
        assert!(first(&many, 6) && many[6..] == [FetchStrategy::Gather; 2], "{many:?}");
        let by_nodes = [28, 8, 600].map(FetchStrategy::first_without_nodes);
        assert_eq!(by_nodes, [32, 8, 64]);
        // One gather is cheaper than four.
        let narrow = levels(28, 16);
        assert!(first(&narrow, 4) && narrow[4..] == [FetchStrategy::Gather; 4], "{narrow:?}");
    }
}
