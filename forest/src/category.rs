//! Sets of categories that nodes test, and values that LightGBM takes for zero.

/// A set of categories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CategorySet {
    /// The categories, ascending, each once.
    members: Vec<u32>,
}

impl CategorySet {
    /// The categories of the set, ascending.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Whether a category is a member.
    pub fn contains(&self, category: u32) -> bool {
        self.members.binary_search(&category).is_ok()
    }
}

impl FromIterator<u32> for CategorySet {
    fn from_iter<I: IntoIterator<Item = u32>>(members: I) -> CategorySet {
        let mut members: Vec<u32> = members.into_iter().collect();
        members.sort_unstable();
        members.dedup();
        CategorySet { members }
    }
}

/// Whether LightGBM takes a value for zero, which means missing in models with `zero_as_missing`.
pub fn is_nearly_zero(value: f64) -> bool {
    value.abs() <= NEARLY_ZERO
}

/// The largest value that is nearly zero: 1e-35 in single precision, widened.
pub const NEARLY_ZERO: f64 = 1e-35_f32 as f64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_each_category_once() {
        let set: CategorySet = [7, 3, 7, 4_294_967_295].into_iter().collect();
        assert_eq!(set.members(), [3, 7, 4_294_967_295]);
        assert!(set.contains(7) && !set.contains(4));
    }

    #[test]
    fn zeros_have_an_edge() {
        let edge = f64::from(1e-35_f32);
        assert!([0.0, -0.0, edge, -edge].into_iter().all(is_nearly_zero));
        assert!(![edge.next_up(), -edge.next_up(), 1e-30, f64::NAN].into_iter().any(is_nearly_zero));
    }
}
