//! Classes of categories: categories that are in the same sets of a feature share a class.

use crate::fault::{PassFault, seeded};
use sched_forest::{CategorySet, Forest};
use std::collections::HashMap;

/// The classes of a feature's categories, by number. Class 0 holds missing values alone, and class 1 the
/// values in no set. Each further class is in some set.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CategoryClasses {
    /// The class of each category, from category 0 on. Categories beyond the list are in no set.
    pub(crate) of_categories: Vec<u32>,
}

/// The default direction of a node: the child for missing values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DefaultSide {
    Left,
    Right,
}

/// Maximum size of a set of classes in bytes, so that one table look-up covers it.
pub const MOST_SET_BYTES: u32 = 256;

/// Maximum number of categories of a feature for which classes are computed.
const MOST_CATEGORIES: u32 = 1 << 20;

/// The class of missing values.
pub(crate) const MISSING: u32 = 0;
/// The class of values in no set.
pub(crate) const IN_NO_SET: u32 = 1;

impl CategoryClasses {
    /// The classes of a feature with these sets; `None` if there are too many categories or classes.
    pub(crate) fn of(forest: &Forest, sets: &[u32]) -> Option<CategoryClasses> {
        let mut sets_of: HashMap<u32, Vec<u32>> = HashMap::new();
        for set in sets {
            for category in forest.sets.get(*set as usize)?.members() {
                sets_of.entry(*category).or_default().push(*set);
            }
        }
        let categories = sets_of.keys().max().map_or(0, |most| most.saturating_add(1));
        if categories > MOST_CATEGORIES {
            return None;
        }
        let mut numbers: HashMap<&[u32], u32> = HashMap::from([(&[][..], IN_NO_SET)]);
        let of_categories = (0..categories).map(|category| {
            let sets = sets_of.get(&category).map_or(&[][..], Vec::as_slice);
            let next = numbers.len() as u32 + IN_NO_SET;
            *numbers.entry(sets).or_insert(next)
        });
        let mut of_categories: Vec<u32> = of_categories.collect();
        if seeded(PassFault::ClassLosesCategory)
            && let Some(class) = of_categories.last_mut()
        {
            *class = IN_NO_SET;
        }
        let last = numbers.len() as u32;
        (last / u8::BITS < MOST_SET_BYTES).then_some(CategoryClasses { of_categories })
    }

    /// The largest class.
    pub(crate) fn last(&self) -> u32 {
        self.of_categories.iter().copied().max().unwrap_or(IN_NO_SET).max(IN_NO_SET)
    }

    /// The set of the classes of a set of categories. Includes [`MISSING`] if missing values go left.
    pub(crate) fn in_set(&self, forest: &Forest, set: u32, missing: DefaultSide) -> CategorySet {
        let members = forest.sets.get(set as usize).map_or(&[][..], CategorySet::members);
        let classes = members.iter().filter_map(|category| self.of_categories.get(*category as usize));
        classes.copied().chain((missing == DefaultSide::Left).then_some(MISSING)).collect()
    }
}
