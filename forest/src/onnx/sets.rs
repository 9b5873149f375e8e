//! The sets of numbers that nodes test.

use std::collections::HashMap;

use super::outcome::unsupported;
use super::tree::Split;
use crate::category::{CategoryRule, CategorySet};
use crate::error::ModelError;

/// Sets of categories, each kept once.
#[derive(Debug, Default)]
pub(super) struct Sets {
    pub list: Vec<CategorySet>,
    numbers: HashMap<CategorySet, u32>,
}

impl Sets {
    /// The test whether a value is one of these.
    pub fn test(&mut self, members: &[f64]) -> Result<Split, ModelError> {
        if let [member] = members {
            return Ok(Split::Equal(*member));
        }
        let category = |&member: &f64| CategoryRule::Whole.category(member);
        let Some(set) = members.iter().map(category).collect::<Option<CategorySet>>() else {
            return Err(unsupported(
                "a set has members that are negative, have a fraction, or are 2^32 and more",
                "replace the node by several that ask for one value each (BRANCH_EQ)",
            ));
        };
        if let Some(&number) = self.numbers.get(&set) {
            return Ok(Split::Member(number));
        }
        let number = self.list.len() as u32;
        self.list.push(set.clone());
        self.numbers.insert(set, number);
        Ok(Split::Member(number))
    }
}
