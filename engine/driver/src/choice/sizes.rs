//! The call sizes at which candidates are compared.

/// Rows of the calls whose costs are compared, in ascending order. Small sizes, at which the shape of vectors
/// decides, lie closer together.
pub const SIZES: [usize; 14] = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 1024, 16_384];

/// Sizes at which all candidates are priced. Vectors of rows fill between 16 and 64 rows, and blocks between
/// 64 and 1024.
const ANCHORS: [usize; 4] = [1, 16, 64, 1024];

/// Whether a candidate is priced at a size in any case: at the anchors, at `own` rows, and at sizes that are
/// not in [`SIZES`].
pub fn is_anchor(size: usize, own: Option<usize>) -> bool {
    own == Some(size) || ANCHORS.contains(&size) || !SIZES.contains(&size)
}
