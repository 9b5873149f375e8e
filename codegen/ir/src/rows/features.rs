//! The features that a copy of rows has: those that some tree tests.

use sched_forest::{Forest, Predicate};

/// Number of features of a piece, which are copied together: squares of 4 by 4 values are transposed in
/// registers.
const PIECE: u32 = 4;

/// Features of a copy of rows, in pieces of adjacent features. The copy's columns are the features of the
/// pieces, in order.
#[derive(Clone, Debug)]
pub struct FeatureSubset {
    /// First feature of each piece, ascending. Only the last piece may share features with its
    /// predecessor.
    pieces: Vec<u32>,
    /// Number of features of a piece: a power of two, and at most the number of features of a row.
    width: u32,
}

impl FeatureSubset {
    /// Features that the used trees of a forest test.
    pub fn new(forest: &Forest, used: &[bool]) -> FeatureSubset {
        let features = u32::try_from(forest.num_features).unwrap_or(u32::MAX);
        FeatureSubset::of(features, FeatureSubset::tested(forest, used))
    }

    /// Features that the used trees of a forest test, once for each test.
    pub fn tested(forest: &Forest, used: &[bool]) -> Vec<u32> {
        let trees = forest.trees.iter().zip(used).filter(|(_, used)| **used);
        let mut tested = Vec::new();
        for node in trees.flat_map(|(tree, _)| &tree.inner) {
            tested.push(node.feature);
            // A class is in two features.
            if let Predicate::Member { .. } = node.predicate {
                tested.push(node.feature + 1);
            }
        }
        tested
    }

    /// All features of rows, in their order.
    pub fn all(features: u32) -> FeatureSubset {
        FeatureSubset { pieces: (0..features).collect(), width: 1 }
    }

    /// The subset that contains the `tested` features, for rows with `features` features.
    pub fn of(features: u32, tested: Vec<u32>) -> FeatureSubset {
        let width = if features == 0 { 1 } else { PIECE.min(1 << features.ilog2()) };
        FeatureSubset::in_pieces(width, features, tested)
    }

    /// The subset of the `tested` features alone, for copies in a GPU's shared memory: their threads copy one
    /// value at a time, so adjacent features are not needed.
    pub fn single(features: u32, tested: Vec<u32>) -> FeatureSubset {
        FeatureSubset::in_pieces(1, features, tested)
    }

    fn in_pieces(width: u32, features: u32, mut tested: Vec<u32>) -> FeatureSubset {
        // Masked steps at a leaf read the first column, even if no feature is tested.
        tested.extend((tested.is_empty() && features > 0).then_some(0));
        tested.sort_unstable();
        let mut pieces: Vec<u32> = Vec::new();
        for feature in tested {
            if pieces.last().is_none_or(|first| feature >= first + width) {
                pieces.push(feature.min(features.saturating_sub(width)));
            }
        }
        FeatureSubset { pieces, width }
    }

    /// Number of columns.
    pub fn count(&self) -> usize {
        self.pieces.len() * self.width as usize
    }

    /// First feature of each piece.
    pub fn pieces(&self) -> &[u32] {
        &self.pieces
    }

    /// Number of features of a piece, which are copied together.
    pub fn piece_width(&self) -> u32 {
        self.width
    }

    /// Column of a feature that some used tree tests.
    pub fn column(&self, feature: u32) -> u32 {
        let piece = self.pieces.partition_point(|first| *first <= feature).saturating_sub(1);
        let inside = self.pieces.get(piece).map_or(0, |first| feature.saturating_sub(*first));
        piece as u32 * self.width + inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_in_use_has_a_column() {
        let cases: [(u32, &[u32], &[u32]); 7] = [
            (10, &[0, 1, 2, 3, 4], &[0, 4]),
            (10, &[9, 3, 3, 6], &[3, 6]),
            (10, &[5, 8], &[5]),
            (10, &[1, 9], &[1, 6]),
            (10, &[3, 9], &[3, 6]),
            (3, &[0, 2], &[0, 1]),
            (1, &[0], &[0]),
        ];
        for (features, tested, pieces) in cases {
            let columns = FeatureSubset::of(features, tested.to_vec());
            assert_eq!(columns.pieces(), pieces, "{features} {tested:?}");
            for feature in tested {
                let column = columns.column(*feature);
                let first = columns.pieces()[(column / columns.piece_width()) as usize];
                assert_eq!(first + column % columns.piece_width(), *feature, "{features} {tested:?}");
            }
            assert!(columns.pieces().iter().all(|first| first + columns.piece_width() <= features));
        }
    }

    #[test]
    fn single_features_have_no_neighbours() {
        let columns = FeatureSubset::single(2000, vec![1999, 7, 7, 500, 8]);
        assert_eq!((columns.pieces(), columns.piece_width()), (&[7, 8, 500, 1999][..], 1));
        assert_eq!([7, 8, 500, 1999].map(|feature| columns.column(feature)), [0, 1, 2, 3]);
    }

    #[test]
    fn there_is_a_column_if_nothing_is_tested() {
        assert_eq!(FeatureSubset::of(5, Vec::new()).count(), 4);
        assert_eq!(FeatureSubset::of(0, Vec::new()).count(), 0);
        assert_eq!(FeatureSubset::single(5, Vec::new()).count(), 1);
    }
}
