//! Groups of walks: how many iterations of a leaf loop are interleaved, and in which vectors.

use crate::lir::Value;
use crate::mir::Walks;

/// Iterations that are interleaved: `vectors` vectors of `width` lanes.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) vectors: i64,
    pub(super) width: u16,
    /// Iterations of the last vector, which may have fewer than `width`.
    last_count: u16,
    /// Exclusive end of the iterations, if the group may reach beyond it.
    pub(super) end: Option<Value>,
}

/// Lanes of a vector, and the number of iterations in its first lanes.
#[derive(Clone, Copy)]
pub(super) struct VectorShape {
    pub(super) width: u16,
    pub(super) count: u16,
}

impl Group {
    /// A group of full vectors.
    pub(super) fn full(vectors: i64, width: u16) -> Group {
        Group { vectors, width, last_count: width, end: None }
    }

    /// `count` iterations in vectors of `width` lanes, the last of which may be partial.
    pub(super) fn of(count: i64, width: u16) -> Group {
        let vectors = (count + i64::from(width) - 1) / i64::from(width);
        let last_count = (count - (vectors - 1) * i64::from(width)) as u16;
        Group { vectors, width, last_count, end: None }
    }

    /// The group with masks for the iterations below `stop`.
    pub(super) fn masked_below(self, stop: Value) -> Group {
        Group { end: Some(stop), ..self }
    }

    /// Shape of a vector. With `narrows`, the last vector is no wider than its iterations need.
    pub(super) fn shape(self, vector: i64, narrows: bool) -> VectorShape {
        let Group { vectors, width, last_count, .. } = self;
        if vector < vectors - 1 {
            return VectorShape { width, count: width };
        }
        let least = last_count.next_power_of_two().max(2).min(width);
        VectorShape { width: if narrows { least } else { width }, count: last_count }
    }
}

/// Number of vectors in groups whose leaves are stored one by one. On the Xeon of the Emerald Rapids
/// generation, groups of 2, 4 and 8 vectors take equal times, and code grows with the number.
const VECTORS_OF_STORES: u32 = 2;

/// A size of groups. The leaf loop runs groups of this size while enough iterations remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupSize {
    pub(super) vectors: i64,
    pub(super) width: u16,
    /// Whether the last vector may have lanes without an iteration, so that the group needs a mask.
    pub(super) is_masked: bool,
}

/// The vectors that may have lanes without an iteration. Masks switch these lanes off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MaskedVectors {
    /// The last vector of each group of the remainder. Used where a vector of sums is added by one operation,
    /// whose mask costs nothing.
    Groups,
    /// Only the last vector of the loop. Its leaf values are added one by one, each under a test, which takes
    /// much code.
    LastVector,
    /// Only the last vector of the loop, with fewer sizes of groups. Used for kernels without sums, where
    /// each leaf is stored by itself: this takes most code, and few programs call these kernels.
    FewSizes,
    /// No vector.
    Never,
}

/// The groups of a leaf loop in order: full groups, then the remainder. [`MaskedVectors::Groups`]: masked
/// groups of full, half, quarter size. [`MaskedVectors::LastVector`]: halves, then one masked vector.
/// [`MaskedVectors::FewSizes`]: [`VECTORS_OF_STORES`], then one masked vector.
/// [`MaskedVectors::Never`]: halves, then single walks.
pub(super) fn group_sizes(walks: &Walks, masked: MaskedVectors) -> Vec<GroupSize> {
    let halves = |first: u32| std::iter::successors(Some(i64::from(first)), |n| (*n > 1).then_some(n / 2));
    let lanes = walks.lanes as u16;
    let size = |vectors, width, is_masked| GroupSize { vectors, width, is_masked };
    if masked != MaskedVectors::Groups {
        let last = if masked == MaskedVectors::Never { size(1, 1, false) } else { size(1, lanes, true) };
        let last = (lanes > 1).then_some(last);
        let whole: Vec<i64> = match masked {
            MaskedVectors::FewSizes if walks.group >= VECTORS_OF_STORES => vec![VECTORS_OF_STORES.into()],
            MaskedVectors::FewSizes => Vec::new(),
            _ => halves(walks.group).collect(),
        };
        return whole.into_iter().map(|vectors| size(vectors, lanes, false)).chain(last).collect();
    }
    // Groups of three quarters follow each size, since two smaller groups take twice as long as one.
    let whole = size(walks.group.into(), lanes, false);
    let smaller = halves(walks.group).flat_map(|vectors| {
        let between = (vectors > 2 && vectors % 4 == 0).then_some(vectors / 4 * 3);
        [Some(vectors), between].into_iter().flatten()
    });
    std::iter::once(whole).chain(smaller.map(|vectors| size(vectors, lanes, true))).collect()
}
