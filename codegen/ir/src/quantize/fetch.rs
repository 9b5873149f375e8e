//! How a vector of rows gets what its nodes compare with, bins or values: there may be few nodes, or few columns.

use crate::budget::FetchCosts;

/// Levels with more nodes are gathered: their numbers of columns are not looked up.
pub const LARGEST: u64 = 128;
/// Most columns whose numbers are bytes, which tell which of all columns is meant.
const BYTE_COLUMNS: u32 = 1 << 8;
/// Bytes of what is gathered.
const WORD: u16 = 4;

/// How a vector of rows gets what its nodes of a level compare with.
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
    /// The strategy that costs least to get bins of bytes for a level of `nodes` nodes in a vector of `lanes` rows with
    /// `columns` bins.
    pub fn of_bins(costs: &FetchCosts, nodes: u64, columns: u32, lanes: u16) -> FetchStrategy {
        let registers = costs.registers(lanes);
        let look_up = costs.look_up(nodes, lanes);
        let by_node = nodes as f64 * (costs.load + registers * (costs.load + costs.choose));
        let by_column = match columns {
            0..=BYTE_COLUMNS => {
                let bits = f64::from(u32::BITS - columns.saturating_sub(1).leading_zeros());
                look_up + registers * (f64::from(columns) * (costs.load + costs.choose) + bits * costs.test)
            }
            _ => f64::INFINITY,
        };
        // Bytes become words, and what is found becomes bytes.
        let words = costs.registers(lanes.saturating_mul(WORD));
        let gather = look_up + f64::from(lanes) * costs.gather + 2.0 * words * costs.convert;
        let all = [
            (FetchStrategy::ByNode, by_node),
            (FetchStrategy::ByColumn, by_column),
            (FetchStrategy::Gather, gather),
        ];
        let least = all.into_iter().min_by(|(_, one), (_, other)| one.total_cmp(other));
        least.map_or(FetchStrategy::Gather, |(strategy, _)| strategy)
    }

    /// The strategy that costs least to get values of so many bytes for a level of `nodes` nodes in a vector of `lanes` rows.
    pub fn of_values(costs: &FetchCosts, nodes: u64, lanes: u16, bytes: u16) -> FetchStrategy {
        let registers = costs.registers(lanes.saturating_mul(bytes));
        let by_node = nodes as f64 * (costs.load + registers * (costs.load + costs.choose));
        let gather = f64::from(lanes) * costs.gather;
        if by_node <= gather { FetchStrategy::ByNode } else { FetchStrategy::Gather }
    }

    /// The nodes of the first level whose bins are got in another way than by node, for vectors as long as a register.
    pub fn first_without_nodes(costs: &FetchCosts, columns: u32) -> u64 {
        let sizes = (0..LARGEST.ilog2()).map(|level| 1 << level);
        let is_by_node = |size: &u64| {
            FetchStrategy::of_bins(costs, *size, columns, costs.register) == FetchStrategy::ByNode
        };
        sizes.take_while(is_by_node).last().map_or(0, |size| 2 * size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_fetched_in_the_cheapest_way() {
        let costs = FetchCosts::default();
        let levels = |columns, lanes| {
            (0..8).map(|level| FetchStrategy::of_bins(&costs, 1 << level, columns, lanes)).collect::<Vec<_>>()
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
        let by_nodes = [28, 8, 600].map(|columns| FetchStrategy::first_without_nodes(&costs, columns));
        assert_eq!(by_nodes, [32, 8, 64]);
        // One gather is cheaper than four.
        let narrow = levels(28, 16);
        assert!(first(&narrow, 4) && narrow[4..] == [FetchStrategy::Gather; 4], "{narrow:?}");
        let values =
            (0..5).map(|level| FetchStrategy::of_values(&costs, 1 << level, 16, 4)).collect::<Vec<_>>();
        assert!(first(&values, 3) && values[3..] == [FetchStrategy::Gather; 2], "{values:?}");
    }

    #[test]
    fn where_gathers_are_fast_more_levels_are_gathered() {
        let by_nodes = |gather| {
            let costs = FetchCosts { gather, ..FetchCosts::default() };
            FetchStrategy::first_without_nodes(&costs, 600)
        };
        let all = [0.1, 1.0, 10.0].map(by_nodes);
        assert!(all.is_sorted() && all[0] < all[2], "{all:?}");
    }
}
