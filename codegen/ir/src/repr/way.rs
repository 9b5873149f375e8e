//! Ways to find the codes of a vector of rows: there may be few nodes, or few columns.

/// Levels with more nodes are gathered: a look-up in more registers costs more.
pub const LARGEST: u64 = 128;
/// Lanes of the longest vectors of bytes.
const LONGEST: u16 = 64;

/// How a vector of rows finds the codes that its nodes of a level compare with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// From the columns of all nodes of the level, of which the turns before choose.
    Nodes,
    /// From all columns that there are, of which the looked-up number of the node's column chooses.
    Columns,
    /// Lane by lane.
    Gather,
}

impl Way {
    /// The way that costs least for a level of so many nodes whose rows have so many columns, in instructions for a vector
    /// of `lanes` bytes.
    pub fn of(nodes: u64, columns: u32, lanes: u16) -> Way {
        // The column's offset, its codes, and the choice between them and others.
        let by_node = 3 * nodes;
        // Sixteen columns of nodes are looked up and chosen at a time; then codes and choices, two of three at a time, and
        // a test of each bit of the column's number.
        let look_up = nodes / 8;
        let by_column = if columns <= 1 << 8 { look_up + 3 * u64::from(columns) / 2 + 5 } else { u64::MAX };
        // Sixteen lanes at a time: widening, the gather itself, and cutting off what it found beside the codes.
        let gather = look_up + 30 * u64::from(lanes).div_ceil(16);
        match by_node.min(by_column).min(gather) {
            least if least == by_node => Way::Nodes,
            least if least == by_column => Way::Columns,
            _ => Way::Gather,
        }
    }

    /// The nodes of the first level whose codes are found in another way than by its nodes, for vectors of any length.
    pub fn first_without_nodes(columns: u32) -> u64 {
        let sizes = (0..LARGEST.ilog2()).map(|level| 1 << level);
        sizes
            .take_while(|size| Way::of(*size, columns, LONGEST) == Way::Nodes)
            .last()
            .map_or(0, |size| 2 * size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_the_cheapest_way() {
        let levels =
            |columns, lanes| (0..8).map(|level| Way::of(1 << level, columns, lanes)).collect::<Vec<_>>();
        let first = |ways: &[Way], count| ways.iter().take(count).all(|way| *way == Way::Nodes);
        // A model of 28 features: from 32 nodes on, columns are fewer.
        let some = levels(28, 64);
        assert!(first(&some, 5) && some[5..] == [Way::Columns; 3], "{some:?}");
        // With eight, there are as many columns as nodes before.
        let few = levels(8, 64);
        assert!(first(&few, 3) && few[3..] == [Way::Columns; 5], "{few:?}");
        // With 600 nobody wants them all, and half of 128 nodes cost more than four gathers.
        let many = levels(600, 64);
        assert!(first(&many, 6) && many[6..] == [Way::Gather; 2], "{many:?}");
        let by_nodes = [28, 8, 600].map(Way::first_without_nodes);
        assert_eq!(by_nodes, [32, 8, 64]);
        // One gather is cheaper than four.
        let narrow = levels(28, 16);
        assert!(first(&narrow, 4) && narrow[4..] == [Way::Gather; 4], "{narrow:?}");
    }
}
