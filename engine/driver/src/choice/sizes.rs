//! The call sizes at which candidates are compared.

/// Rows of the calls whose costs are compared, in ascending order. Small sizes, at which the shape of vectors
/// decides, lie closer together.
pub const SIZES: [usize; 14] = [1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 1024, 16_384];
