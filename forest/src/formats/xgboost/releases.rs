//! Rules that differ between releases of XGBoost. A model is read by the rules of the release that saved it,
//! unless the user chooses another release.
//!
//! The table has each rule with the first release that follows it. The entries come from XGBoost's history,
//! and tests with the releases before and after each change confirm them.

use crate::release::{Release, ReleaseRule};

/// A computation whose rule differs between releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangedRule {
    /// The margin of a probability.
    Logit,
    /// `base_score` of `binary:logitraw`.
    LogitRaw,
    /// The margin of a model without trees and without a `base_score` from the user.
    NoTrees,
    /// Categories without a bit in a node's set, and values that are not categories.
    Categories,
    /// The probability of a margin.
    Sigmoid,
    /// Predictions of several quantiles.
    Quantiles,
    /// The weights of DART's trees if a file has none.
    DartWeights,
    /// The order in which trees and base score are added. It can change the last digit.
    Order,
}

/// A rule of some releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    LogitUnbounded,
    LogitBounded,
    LogitRawProbability,
    LogitRawMargin,
    NoTreesBaseScore,
    NoTreesHalf,
    CategoriesTruncated,
    CategoriesMissing,
    CategoriesLeft,
    SigmoidUnbounded,
    SigmoidBounded,
    QuantilesAsTrees,
    QuantilesSorted,
    DartWeightsNeeded,
    DartWeightsOne,
    OrderBaseLast,
    OrderBaseFirst,
}

/// A row of the table.
struct DatedRule {
    change: ChangedRule,
    /// The first release that follows this rule. The next entry of the same change ends it.
    first: Release,
    rule: Rule,
    meaning: &'static str,
}

const fn entry(change: ChangedRule, major: u64, minor: u64, rule: Rule, meaning: &'static str) -> DatedRule {
    DatedRule { change, first: Release::of(major, minor), rule, meaning }
}

/// Entries of a change are neighbours, and their releases ascend.
const TABLE: &[DatedRule] = &[
    entry(
        ChangedRule::Logit,
        1,
        0,
        Rule::LogitUnbounded,
        "a base_score within 1e-6 of 0 or 1 is taken as it is",
    ),
    entry(
        ChangedRule::Logit,
        3,
        2,
        Rule::LogitBounded,
        "a base_score within 1e-6 of 0 or 1 counts as 1e-6 or 1 - 1e-6",
    ),
    entry(
        ChangedRule::LogitRaw,
        1,
        0,
        Rule::LogitRawProbability,
        "base_score of binary:logitraw is a probability, and its margin is added",
    ),
    entry(
        ChangedRule::LogitRaw,
        1,
        3,
        Rule::LogitRawMargin,
        "base_score of binary:logitraw is a margin, and is added as it is",
    ),
    entry(
        ChangedRule::NoTrees,
        1,
        0,
        Rule::NoTreesBaseScore,
        "a model without trees predicts its base_score",
    ),
    entry(
        ChangedRule::NoTrees,
        3,
        1,
        Rule::NoTreesHalf,
        "a model without trees has margins of 0.5, unless its user gave a base_score",
    ),
    entry(
        ChangedRule::Categories,
        1,
        0,
        Rule::CategoriesTruncated,
        "a value between -1 and 0 is category 0; a category outside of a node's set goes left",
    ),
    entry(
        ChangedRule::Categories,
        1,
        6,
        Rule::CategoriesMissing,
        "a category beyond the last 32-bit word of a node's set goes where missing values go",
    ),
    entry(
        ChangedRule::Categories,
        1,
        7,
        Rule::CategoriesLeft,
        "a category outside of a node's set goes left, as does a negative value",
    ),
    entry(
        ChangedRule::Sigmoid,
        1,
        0,
        Rule::SigmoidUnbounded,
        "the probability of a margin below -88.7 reaches 0",
    ),
    entry(
        ChangedRule::Sigmoid,
        1,
        6,
        Rule::SigmoidBounded,
        "the probability of a margin below -88.7 is that of -88.7",
    ),
    entry(ChangedRule::Quantiles, 1, 0, Rule::QuantilesAsTrees, "quantiles of a row may cross each other"),
    entry(ChangedRule::Quantiles, 3, 4, Rule::QuantilesSorted, "the quantiles of a row are sorted"),
    entry(ChangedRule::DartWeights, 1, 0, Rule::DartWeightsNeeded, "DART's trees need weights"),
    entry(
        ChangedRule::DartWeights,
        3,
        3,
        Rule::DartWeightsOne,
        "trees of DART without weights have weights of 1",
    ),
    entry(ChangedRule::Order, 1, 0, Rule::OrderBaseLast, "the base score is added to the sum of the trees"),
    entry(ChangedRule::Order, 1, 3, Rule::OrderBaseFirst, "sums begin with the base score"),
];

/// The rules of a release, and those among them on which a model depends.
pub(super) struct Rules {
    /// The release.
    pub release: Release,
    applied: Vec<Rule>,
}

impl Rules {
    pub(super) fn of(release: Release) -> Rules {
        Rules { release, applied: Vec::new() }
    }

    /// The release's rule for a change.
    pub(super) fn find(&self, change: ChangedRule) -> Rule {
        let entries = TABLE.iter().filter(|entry| entry.change == change);
        // Files are of release 1.0 or later. A smaller version number counts as 1.0.
        let entry = entries.take_while(|entry| entry.first <= self.release.max(Release::of(1, 0))).last();
        entry.map_or(TABLE[0].rule, |entry| entry.rule)
    }

    /// The release's rule for a change. Also records that the model depends on it.
    pub(super) fn apply(&mut self, change: ChangedRule) -> Rule {
        let rule = self.find(change);
        if !self.applied.contains(&rule) {
            self.applied.push(rule);
        }
        rule
    }

    /// The rules on which the model depends.
    pub(super) fn applied(&self) -> Vec<ReleaseRule> {
        let described = |(at, entry): (usize, &DatedRule)| {
            let next = TABLE.get(at + 1).filter(|next| next.change == entry.change);
            let releases = match next.map(|next| next.first.previous_minor()) {
                None => format!("{} and later", entry.first),
                Some(last) if last == entry.first => last.to_string(),
                Some(last) => format!("{} to {last}", entry.first),
            };
            ReleaseRule { releases, meaning: entry.meaning }
        };
        let is_applied = |entry: &(usize, &DatedRule)| self.applied.contains(&entry.1.rule);
        TABLE.iter().enumerate().filter(is_applied).map(described).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_their_meanings() {
        let cases = [
            (ChangedRule::Logit, (3, 1), Rule::LogitUnbounded),
            (ChangedRule::Logit, (3, 2), Rule::LogitBounded),
            (ChangedRule::LogitRaw, (1, 2), Rule::LogitRawProbability),
            (ChangedRule::LogitRaw, (1, 3), Rule::LogitRawMargin),
            (ChangedRule::NoTrees, (3, 0), Rule::NoTreesBaseScore),
            (ChangedRule::NoTrees, (9, 0), Rule::NoTreesHalf),
            (ChangedRule::Categories, (0, 90), Rule::CategoriesTruncated),
            (ChangedRule::Categories, (1, 6), Rule::CategoriesMissing),
            (ChangedRule::Categories, (2, 0), Rule::CategoriesLeft),
        ];
        for (change, (major, minor), rule) in cases {
            assert_eq!(
                Rules::of(Release::of(major, minor)).find(change),
                rule,
                "{change:?} in {major}.{minor}"
            );
        }
    }

    #[test]
    fn meanings_say_their_releases() {
        let releases = |major, minor, change| {
            let mut rules = Rules::of(Release::of(major, minor));
            rules.apply(change);
            rules.apply(change);
            rules.applied().into_iter().map(|rule| rule.releases).collect::<Vec<_>>()
        };
        assert_eq!(releases(2, 1, ChangedRule::Logit), ["1.0 to 3.1"]);
        assert_eq!(releases(3, 2, ChangedRule::Logit), ["3.2 and later"]);
        assert_eq!(releases(1, 6, ChangedRule::Categories), ["1.6"]);
    }

    #[test]
    fn the_table_is_in_order() {
        for pair in TABLE.windows(2).filter(|pair| pair[0].change == pair[1].change) {
            assert!(pair[0].first < pair[1].first, "{:?}", pair[1].rule);
        }
        let starts = TABLE.chunk_by(|left, right| left.change == right.change);
        let starts: Vec<_> = starts.map(|entries| entries[0].change).collect();
        assert!(starts.iter().enumerate().all(|(at, change)| !starts[..at].contains(change)));
        // The release at which an entry ends has a predecessor with the same major number.
        let ends = TABLE.windows(2).filter(|pair| pair[0].change == pair[1].change).map(|pair| pair[1].first);
        assert!(ends.into_iter().all(|end| end.previous_minor() < end));
    }
}
