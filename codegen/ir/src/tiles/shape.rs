//! Shapes of node tiles: which children of a tile's nodes are in the tile, and the child of the tile that
//! each combination of decisions leads to.

/// Shape of a tile: two bits per node in level order. Bit 2k is set if the left child of node k is in
/// the tile, bit 2k + 1 if its right child is. A tile without nodes has one child for all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    nodes: u8,
    inside: u16,
}

/// Child of a node of a tile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeChild {
    /// A node of the tile.
    Node(u8),
    /// A child of the tile, numbered from left to right.
    Child(u8),
}

impl Shape {
    /// Shape of a tile of at most eight nodes. `inside` says for each node in level order whether its
    /// left and right child are in the tile.
    pub fn of(inside: impl IntoIterator<Item = (bool, bool)>) -> Shape {
        let mut shape = Shape::default();
        for (left, right) in inside {
            let bits = u16::from(left) | u16::from(right) << 1;
            shape.inside |= bits << (2 * shape.nodes);
            shape.nodes += 1;
        }
        shape
    }

    /// Children of the tile, one more than it has nodes.
    pub fn children(self) -> u8 {
        self.nodes + 1
    }

    /// The child that each combination of decisions of `tests` tests leads to. Bit k of the index is the
    /// decision at node k. Bits beyond the tile's nodes are ignored.
    pub fn lut(self, tests: u32) -> Vec<u8> {
        let below = self.below();
        (0..1u32 << tests).map(|decisions| self.child_of(&below, decisions)).collect()
    }

    fn child_of(self, below: &[[NodeChild; 2]], decisions: u32) -> u8 {
        let mut node = 0u8;
        // A path has no more nodes than the tile.
        for _ in 0..self.nodes {
            let right = decisions >> node & 1;
            match below.get(usize::from(node)).map_or(NodeChild::Child(0), |sides| sides[right as usize]) {
                NodeChild::Node(next) => node = next,
                NodeChild::Child(child) => return child,
            }
        }
        0
    }

    /// Left and right child of each node.
    fn below(self) -> Vec<[NodeChild; 2]> {
        let mut next = 1;
        let mut below: Vec<[NodeChild; 2]> = Vec::with_capacity(usize::from(self.nodes));
        for node in 0..self.nodes {
            below.push([0, 1].map(|side| {
                if self.inside >> (2 * node + side) & 1 == 0 {
                    return NodeChild::Child(0);
                }
                next += 1;
                NodeChild::Node(next - 1)
            }));
        }
        self.number_children(&mut below);
        below
    }

    /// Numbers the tile's children from left to right.
    fn number_children(self, below: &mut [[NodeChild; 2]]) {
        let mut children = 0;
        let mut stack = vec![(0, 0)];
        while let Some((node, side)) = stack.pop() {
            let Some(sides) = below.get_mut(node) else { continue };
            if side == 0 {
                stack.push((node, 1));
            }
            match &mut sides[side] {
                NodeChild::Node(next) => stack.push((usize::from(*next), 0)),
                NodeChild::Child(number) => {
                    *number = children;
                    children += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_without_nodes_has_one_child() {
        assert_eq!(Shape::default().children(), 1);
        assert_eq!(Shape::default().lut(2), [0, 0, 0, 0]);
    }

    #[test]
    fn children_are_numbered_from_left_to_right() {
        // One node: left is 0, right is 1; the missing second test does not matter.
        assert_eq!(Shape::of([(false, false)]).lut(2), [0, 1, 0, 1]);
        // A root with both children in the tile: node 1 decides on the left, node 2 on the right.
        let full = Shape::of([(true, true), (false, false), (false, false)]);
        assert_eq!(full.children(), 4);
        assert_eq!(full.lut(3), [0, 2, 1, 2, 0, 3, 1, 3]);
        // A chain to the right: going left anywhere leaves the tile.
        let chain = Shape::of([(false, true), (false, true), (false, false)]);
        assert_eq!(chain.lut(3), [0, 1, 0, 2, 0, 1, 0, 3]);
        // A chain to the left that turns right: the leftmost child comes first.
        let bent = Shape::of([(true, false), (false, true), (false, false)]);
        assert_eq!(bent.lut(3), [0, 3, 1, 3, 0, 3, 2, 3]);
    }

    #[test]
    fn every_child_is_reached() {
        let (both, left, right, none) = ((true, true), (true, false), (false, true), (false, false));
        let all = Shape::of([both, left, right, both, left, none, none, none]);
        let mut reached = all.lut(8);
        reached.sort_unstable();
        reached.dedup();
        assert_eq!(reached, (0..all.children()).collect::<Vec<_>>());
    }
}
