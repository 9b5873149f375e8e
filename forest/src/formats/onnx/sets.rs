//! Sets of values that nodes test.

use std::collections::HashMap;

use super::outcome::unsupported;
use super::tree::InnerTest;
use crate::category::CategorySet;
use crate::error::ModelError;
use sched_columns::CategoryRule;

/// Distinct sets of categories.
#[derive(Debug, Default)]
pub(super) struct DistinctSets {
    /// The sets, by their index in [`InnerTest::Member`].
    pub list: Vec<CategorySet>,
    indices: HashMap<CategorySet, u32>,
}

impl DistinctSets {
    /// The test whether a value is one of `members`. Adds their set if it is new.
    pub fn test(&mut self, members: &[f64]) -> Result<InnerTest, ModelError> {
        if let [member] = members {
            return Ok(InnerTest::Equal(*member));
        }
        let category = |&member: &f64| CategoryRule::Whole.category(member);
        let Some(set) = members.iter().map(category).collect::<Option<CategorySet>>() else {
            return Err(unsupported(
                "a set has a member that is negative, has a fraction, or is 2^32 or more",
                "replace the node by several nodes that compare with one value each (BRANCH_EQ)",
            ));
        };
        if let Some(&number) = self.indices.get(&set) {
            return Ok(InnerTest::Member(number));
        }
        let number = self.list.len() as u32;
        self.list.push(set.clone());
        self.indices.insert(set, number);
        Ok(InnerTest::Member(number))
    }
}
