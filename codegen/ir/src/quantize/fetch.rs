//! Choice of how a vector of rows fetches the bins or values that the nodes of a level compare with.

use crate::budget::FetchCosts;

/// Largest number of nodes of a level that are looked up in registers. The nodes of larger levels are
/// gathered.
pub const MOST_LOOKUP_NODES: u64 = 128;
/// Largest number of columns whose numbers fit a byte.
const MOST_BYTE_COLUMNS: u32 = 1 << 8;
/// Bytes that one lane of a gather fetches.
const GATHER_LANE_BYTES: u16 = 4;

/// Instructions by which a vector of rows fetches the operands of a level's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchStrategy {
    /// Loads the columns of all nodes of the level; the earlier decisions select among them.
    ByNode,
    /// Loads all columns; the column number, looked up by node, selects among them.
    ByColumn,
    /// Gathers lane by lane, at column numbers looked up by node.
    Gather,
    /// Gathers lane by lane, and gathers the nodes too, since the level is too long for a look-up.
    GatherNodes,
}

impl FetchStrategy {
    /// The cheapest strategy to fetch byte-sized bins for a level of `nodes` nodes, in a vector of
    /// `lanes` rows with `columns` bins.
    pub fn cheapest_for_bins(costs: &FetchCosts, nodes: u64, columns: u32, lanes: u16) -> FetchStrategy {
        let registers = costs.registers(lanes);
        let look_up = costs.level_lookup(nodes, lanes);
        let by_node = nodes as f64 * (costs.load + registers * (costs.load + costs.choose));
        let by_column = match columns {
            0..=MOST_BYTE_COLUMNS => {
                let bits = f64::from(u32::BITS - columns.saturating_sub(1).leading_zeros());
                look_up + registers * (f64::from(columns) * (costs.load + costs.choose) + bits * costs.test)
            }
            _ => f64::INFINITY,
        };
        // Bytes are widened to words for the gather, and its result is narrowed again.
        let words = costs.registers(lanes.saturating_mul(GATHER_LANE_BYTES));
        let gather = look_up + f64::from(lanes) * costs.gather + 2.0 * words * costs.convert;
        let all = [
            (FetchStrategy::ByNode, by_node),
            (FetchStrategy::ByColumn, by_column),
            (FetchStrategy::Gather, gather),
        ];
        let least = all.into_iter().min_by(|(_, one), (_, other)| one.total_cmp(other));
        least.map_or(FetchStrategy::Gather, |(strategy, _)| strategy)
    }

    /// The cheapest strategy to fetch values of `bytes` bytes for a level of `nodes` nodes, in a vector
    /// of `lanes` rows.
    pub fn cheapest_for_values(costs: &FetchCosts, nodes: u64, lanes: u16, bytes: u16) -> FetchStrategy {
        let registers = costs.registers(lanes.saturating_mul(bytes));
        let by_node = nodes as f64 * (costs.load + registers * (costs.load + costs.choose));
        let gather = f64::from(lanes) * costs.gather;
        if by_node <= gather { FetchStrategy::ByNode } else { FetchStrategy::Gather }
    }

    /// Number of nodes of the first level whose bins are not fetched by node, in vectors of one register.
    pub fn first_size_not_by_node(costs: &FetchCosts, columns: u32) -> u64 {
        let sizes = (0..MOST_LOOKUP_NODES.ilog2()).map(|level| 1 << level);
        let is_by_node = |size: &u64| {
            FetchStrategy::cheapest_for_bins(costs, *size, columns, costs.register_bytes)
                == FetchStrategy::ByNode
        };
        sizes.take_while(is_by_node).last().map_or(0, |size| 2 * size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_fetched_by_the_cheapest_strategy() {
        let costs = FetchCosts::default();
        let levels = |columns, lanes| {
            (0..8)
                .map(|level| FetchStrategy::cheapest_for_bins(&costs, 1 << level, columns, lanes))
                .collect::<Vec<_>>()
        };
        let first = |strategies: &[FetchStrategy], count| {
            strategies.iter().take(count).all(|strategy| *strategy == FetchStrategy::ByNode)
        };
        // 28 columns: a level of 32 nodes or more has more nodes than columns.
        let some = levels(28, 64);
        assert!(first(&some, 5) && some[5..] == [FetchStrategy::ByColumn; 3], "{some:?}");
        // Eight columns: levels have as many nodes from the fourth on.
        let few = levels(8, 64);
        assert!(first(&few, 3) && few[3..] == [FetchStrategy::ByColumn; 5], "{few:?}");
        // 600 columns: loading them all never pays, and selecting among 64 nodes costs more than four
        // gathers.
        let many = levels(600, 64);
        assert!(first(&many, 6) && many[6..] == [FetchStrategy::Gather; 2], "{many:?}");
        let by_nodes = [28, 8, 600].map(|columns| FetchStrategy::first_size_not_by_node(&costs, columns));
        assert_eq!(by_nodes, [32, 8, 64]);
        // One gather of 16 lanes is cheaper than 16 loads.
        let narrow = levels(28, 16);
        assert!(first(&narrow, 4) && narrow[4..] == [FetchStrategy::Gather; 4], "{narrow:?}");
        let values = (0..5)
            .map(|level| FetchStrategy::cheapest_for_values(&costs, 1 << level, 16, 4))
            .collect::<Vec<_>>();
        assert!(first(&values, 3) && values[3..] == [FetchStrategy::Gather; 2], "{values:?}");
    }

    #[test]
    fn fast_gathers_are_used_for_more_levels() {
        let by_nodes = |gather| {
            let costs = FetchCosts { gather, ..FetchCosts::default() };
            FetchStrategy::first_size_not_by_node(&costs, 600)
        };
        let all = [0.1, 1.0, 10.0].map(by_nodes);
        assert!(all.is_sorted() && all[0] < all[2], "{all:?}");
    }
}
