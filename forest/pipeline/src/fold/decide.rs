//! Turns a test of a column into tests of the feature on which the column depends.

use crate::fault::{PassFault, seeded};
use crate::pieces::chain::FeatureChain;
use crate::pieces::domain::FeatureDomain;
use crate::pieces::runs::{category, in_runs};
use crate::pieces::{Course, NoPieces, Piece, pieces};
use sched_forest::{CategorySet, Forest, Inner, Predicate, is_nearly_zero};

/// A column's pieces, with the chain that evaluates the column.
pub(super) struct FoldedColumn {
    chain: FeatureChain,
    pieces: Vec<Piece>,
}

/// The side to which a node sends each value of a feature. True is left.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sides {
    /// Runs of values that go to the same side: the last index of each run, and its side.
    pub runs: Vec<(i64, bool)>,
    /// The side of a missing value.
    pub missing: bool,
    /// All values that the feature can have, except for a missing one.
    pub domain: FeatureDomain,
}

/// A test of a feature.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TestReplacement {
    /// All values go to this side.
    Always(bool),
    /// Values that pass a test go to the side `passing`, all others to the opposite side.
    Test {
        /// The test.
        test: SingleTest,
        /// The side.
        passing: bool,
    },
    /// No single test decides: several tests find the run of a value.
    Runs,
}

/// A test that one node can make.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SingleTest {
    /// The value is at most this one.
    UpTo(f64),
    /// The value is this one.
    Equal(f64),
    /// The value is a member of this set.
    Member(CategorySet),
}

impl FoldedColumn {
    /// Finds the pieces of a chain's last column.
    pub fn new(mut chain: FeatureChain) -> Result<FoldedColumn, NoPieces> {
        let pieces = pieces(&mut chain)?;
        Ok(FoldedColumn { chain, pieces })
    }

    /// The feature.
    pub fn feature(&self) -> u32 {
        self.chain.feature
    }

    /// The sides to which a node of a forest sends the feature's values. `None` if there are too many runs,
    /// or if -0 and 0 go to different sides.
    pub fn sides(&mut self, forest: &Forest, inner: &Inner) -> Option<Sides> {
        let column = self.chain.len() - 1;
        let mut runs: Vec<(i64, bool)> = Vec::new();
        let mut push = |last: i64, side: bool| match runs.last_mut() {
            Some(before) if before.1 == side => before.0 = last,
            _ => runs.push((last, side)),
        };
        let mut first = self.chain.domain.bounds().0;
        for piece in &self.pieces {
            let interval = (first, piece.last);
            first = piece.last + 1;
            if let Course::Constant(value) = piece.course {
                push(piece.last, forest.goes_left(inner, value.to_f64()));
                continue;
            }
            let found = match &inner.predicate {
                Predicate::Numeric { .. } => in_runs(&mut self.chain, column, interval, |value| {
                    (forest.goes_left(inner, value.to_f64()), 0)
                }),
                Predicate::NumericNotZero { .. } => in_runs(&mut self.chain, column, interval, |value| {
                    let value = value.to_f64();
                    let zone = if is_nearly_zero(value) {
                        0
                    } else if value < 0.0 {
                        -1
                    } else {
                        1
                    };
                    (forest.goes_left(inner, value), zone)
                }),
                Predicate::Equal { value: other } => in_runs(&mut self.chain, column, interval, |value| {
                    (false, value.to_f64().partial_cmp(other).map_or(2, |order| order as i64))
                }),
                Predicate::Member { set } => {
                    let members = forest.sets.get(*set as usize).map(CategorySet::members);
                    let count = members.and_then(|all| all.last()).map_or(0, |last| *last as usize + 1);
                    in_runs(&mut self.chain, column, interval, |value| {
                        category(forest.category_rule, count, value.to_f64())
                    })
                }
            };
            for run in found? {
                let value = self.chain.value_at(column, run.first).to_f64();
                push(run.last, forest.goes_left(inner, value));
            }
        }
        let missing = forest.goes_left(inner, self.chain.value_of(column, f64::NAN).to_f64());
        let domain = self.chain.domain;
        let inner_ends = &runs[..runs.len().saturating_sub(1)];
        let missing = missing && !seeded(PassFault::FoldForgetsMissing);
        let is_expressible = inner_ends.iter().all(|(last, _)| domain.can_split_after(*last));
        let sides = Sides { runs, missing, domain };
        debug_assert!(self.agrees(&sides, forest, inner), "{sides:?} {:?} {:?}", self.pieces, self.chain);
        is_expressible.then_some(sides)
    }

    /// Whether the node sends the values at the ends of runs, and a random value within each run, to the side
    /// of their run.
    fn agrees(&mut self, sides: &Sides, forest: &Forest, inner: &Inner) -> bool {
        let column = self.chain.len() - 1;
        let mut first = sides.domain.bounds().0;
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut agrees = true;
        for &(last, side) in sides.runs.iter().take(64) {
            random = random.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(first as u64);
            let width = last.abs_diff(first).saturating_add(1).max(1);
            let between = first.wrapping_add_unsigned((random >> 1) % width);
            for index in [first, last, between] {
                let value = self.chain.value_at(column, index).to_f64();
                agrees &= forest.goes_left(inner, value) == side;
            }
            first = last + 1;
        }
        agrees
    }
}

impl Sides {
    /// The simplest test of the feature.
    pub fn replacement(&self) -> TestReplacement {
        let Some(&(_, first_side)) = self.runs.first() else { return TestReplacement::Always(self.missing) };
        if let FeatureDomain::Codes { .. } = self.domain {
            return self.of_codes();
        }
        match self.runs.len() {
            1 if first_side == self.missing => TestReplacement::Always(first_side),
            1 => TestReplacement::Test { test: SingleTest::UpTo(f64::INFINITY), passing: first_side },
            2 => {
                let beside = i64::from(seeded(PassFault::FoldThresholdBeside));
                let test = SingleTest::UpTo(self.domain.value(self.runs[0].0 + beside));
                TestReplacement::Test { test, passing: first_side }
            }
            _ => match self.points(first_side) {
                Some(test) => TestReplacement::Test { test, passing: !first_side },
                None => TestReplacement::Runs,
            },
        }
    }

    /// A test of codes: membership in a set that does not contain the code of unknown texts.
    fn of_codes(&self) -> TestReplacement {
        let other = self.runs[0].1;
        let mut first = self.domain.bounds().0;
        let mut members = Vec::new();
        for &(last, side) in &self.runs {
            if side != other {
                members.extend((first..=last).filter_map(|code| u32::try_from(code).ok()));
            }
            first = last + 1;
        }
        if seeded(PassFault::FoldLosesMember) {
            members.pop();
        }
        match members.as_slice() {
            [] if other == self.missing => TestReplacement::Always(other),
            [] => TestReplacement::Test { test: SingleTest::UpTo(f64::INFINITY), passing: other },
            [member] => {
                TestReplacement::Test { test: SingleTest::Equal(f64::from(*member)), passing: !other }
            }
            _ => TestReplacement::Test {
                test: SingleTest::Member(members.into_iter().collect()),
                passing: !other,
            },
        }
    }

    /// The test whether a value goes to the side opposite to `outside`, if only single values do.
    fn points(&self, outside: bool) -> Option<SingleTest> {
        if self.runs.last()?.1 != outside {
            return None;
        }
        let mut values = Vec::new();
        for pair in self.runs.windows(2) {
            let [(before, _), (last, side)] = [pair[0], pair[1]];
            if side == outside {
                continue;
            }
            let ends = [self.domain.value(before + 1), self.domain.value(last)];
            if ends[0] != ends[1] {
                return None;
            }
            values.push(ends[1]);
        }
        match values.as_slice() {
            [value] => Some(SingleTest::Equal(value + 0.0)),
            _ => {
                let member = |value: &f64| sched_forest::CategoryRule::Whole.category(*value);
                Some(SingleTest::Member(values.iter().map(member).collect::<Option<CategorySet>>()?))
            }
        }
    }
}
