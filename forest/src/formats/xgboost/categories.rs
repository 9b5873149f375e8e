//! Categories: the sets that nodes test, and the names of categories in files of release 3.1 and later.

use super::document::{Cats, EncodedNames, NumberArray};
use super::releases::{ChangedRule, Rule, Rules};
use crate::category::CategorySet;
use crate::codes;
use crate::error::ModelError;
use sched_categories::{Label, Names};
use sched_columns::CategoryRule;
use sched_diagnostics::Code;
use std::cmp::Ordering;
use std::collections::HashMap;

/// The smallest number that XGBoost does not accept as a category.
pub(super) const FIRST_INVALID: u32 = 1 << 24;

const DAMAGED_HELP: &str = "the file was changed or damaged; save the model again with XGBoost";

/// Maximum number of members of all complements together, which take 256 MB.
const MOST_COMPLEMENT_MEMBERS: usize = 1 << 26;

/// Number of bits in a word. XGBoost stores sets as words of bits.
const WORD_BITS: u32 = 32;

/// The sets of a forest, each stored once.
pub(super) struct ForestSets {
    numbers: HashMap<CategorySet, u32>,
    rule: Rule,
    remaining_others: usize,
}

/// The test of a categorical node.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetTest {
    /// The index of the set.
    pub set: u32,
    /// Whether members go to the right child of the file, as XGBoost's own sets do. False for a complement,
    /// whose members go to the left child.
    pub is_right: bool,
}

impl ForestSets {
    /// An empty collection, by the rules of a release.
    pub(super) fn new(rules: &Rules) -> ForestSets {
        let rule = rules.find(ChangedRule::Categories);
        ForestSets { numbers: HashMap::new(), rule, remaining_others: MOST_COMPLEMENT_MEMBERS }
    }

    /// The test of a node that sends `members` to the right, and missing values to its default side.
    ///
    /// In release 1.6, categories beyond the stored bits go where missing values go. If that is right, the
    /// test is for the complement: the categories within the stored bits that are not members. These go left.
    ///
    /// # Errors
    /// `M0019` if complements have too many members.
    pub(super) fn test(&mut self, members: CategorySet, default_left: bool) -> Result<SetTest, ModelError> {
        if self.rule != Rule::CategoriesMissing || default_left {
            return Ok(SetTest { set: self.number(members), is_right: true });
        }
        let last = members.members().last().copied().unwrap_or(0);
        let bits = (last / WORD_BITS + 1) * WORD_BITS;
        let others = bits as usize - members.members().len();
        self.remaining_others = self.remaining_others.checked_sub(others).ok_or_else(|| {
            let message = "by the rules of XGBoost 1.6, tests need the categories outside of each set, and \
                these are too many";
            ModelError::new(codes::TOO_LARGE, message)
                .help("add `--as-release 1.7`, whose rule sends every category outside of a set to the left")
        })?;
        let others = (0..bits).filter(|&category| !members.contains(category)).collect();
        Ok(SetTest { set: self.number(others), is_right: false })
    }

    /// The rule that turns values into categories.
    pub(super) fn category_rule(&self, rules: &mut Rules) -> CategoryRule {
        if !self.numbers.is_empty() {
            rules.apply(ChangedRule::Categories);
        }
        match self.rule {
            Rule::CategoriesTruncated => CategoryRule::Truncated,
            _ => CategoryRule::Positive { below: FIRST_INVALID.into() },
        }
    }

    /// The index of a set, which is added if it is new.
    fn number(&mut self, set: CategorySet) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(set).or_insert(next)
    }

    /// The sets in the order of their indices.
    pub(super) fn into_vec(self) -> Vec<CategorySet> {
        let mut sets: Vec<_> = self.numbers.into_iter().collect();
        sets.sort_unstable_by_key(|(_, number)| *number);
        sets.into_iter().map(|(set, _)| set).collect()
    }
}

/// For each feature, the names of its categories. The list is empty if the model has no names. Names with
/// letters outside ASCII are left out, since XGBoost cuts them in wrong places when it trains with pandas.
pub(super) fn names(cats: Cats, num_features: usize) -> Result<Vec<Names>, ModelError> {
    let Cats { enc, feature_segments, sorted_idx } = cats;
    if enc.is_empty() {
        return Ok(Vec::new());
    }
    if enc.len() != num_features {
        let message = format!("`enc` has {} entries for {num_features} features", enc.len());
        return Err(damaged(codes::LENGTH_MISMATCH, message, "enc"));
    }
    let mut all = Vec::with_capacity(num_features);
    for (feature, names) in enc.into_iter().enumerate() {
        let place = format!("enc[{feature}]");
        let found = labels(names).map_err(|error| error.within(&place))?;
        all.push(found);
    }
    check_segments(&all, &feature_segments)?;
    check_order(&all, &feature_segments, &sorted_idx)?;
    let is_cut = |name: &Label| matches!(name, Label::Text(text) if !text.is_ascii());
    let names_of = |labels: Vec<Label>| match labels.iter().any(is_cut) {
        true => Names::unknown(),
        false => Names::listed(labels),
    };
    let all: Vec<Names> = all.into_iter().map(names_of).collect();
    Ok(if all.iter().all(Names::are_codes) { Vec::new() } else { all })
}

fn labels(names: EncodedNames) -> Result<Vec<Label>, ModelError> {
    match (names.offsets, names.kind, names.values) {
        (Some(offsets), _, NumberArray::Small(bytes)) => texts(&offsets, &bytes),
        (None, Some(kind), values) => numbers(kind, values),
        (None, None, _) => Err(damaged(
            codes::STRUCTURE,
            "categories have neither `offsets`, as strings do, nor a `type`".into(),
            "",
        )),
        (Some(_), _, NumberArray::Whole(_) | NumberArray::Real(_)) => {
            Err(damaged(codes::BAD_VALUE, "the characters of names are not bytes".into(), "values"))
        }
    }
}

/// Splits concatenated bytes into names. Files store the bytes as signed or unsigned numbers. Bytes that are
/// not UTF-8 become replacement characters, which the later check for ASCII finds.
fn texts(offsets: &[i32], bytes: &[i16]) -> Result<Vec<Label>, ModelError> {
    let mut text = Vec::with_capacity(bytes.len());
    for (index, &byte) in bytes.iter().enumerate() {
        if !(-128..256).contains(&byte) {
            let message = format!("{byte} is not a byte");
            return Err(damaged(codes::BAD_VALUE, message, &format!("values[{index}]")));
        }
        text.push(byte as u8);
    }
    let mut labels = Vec::with_capacity(offsets.len().saturating_sub(1));
    for (index, pair) in offsets.windows(2).enumerate() {
        let range = usize::try_from(pair[0]).ok().zip(usize::try_from(pair[1]).ok());
        let Some(name) = range.and_then(|(first, last)| text.get(first..last)) else {
            let message = format!(
                "a name reaches from byte {} to {}, and there are {} bytes",
                pair[0],
                pair[1],
                text.len()
            );
            return Err(damaged(codes::LENGTH_MISMATCH, message, &format!("offsets[{index}]")));
        };
        labels.push(Label::Text(String::from_utf8_lossy(name).into_owned()));
    }
    Ok(labels)
}

/// Names that are numbers, of the type `kind`. UBJSON has no unsigned types of more than 8 bits, so XGBoost
/// writes the bits of such numbers as signed numbers.
fn numbers(kind: i64, values: NumberArray) -> Result<Vec<Label>, ModelError> {
    const F32: i64 = 7;
    const F64: i64 = 8;
    let whole: fn(i64) -> Option<Label> = match kind {
        F32 | F64 => {
            let values = match values {
                NumberArray::Small(values) => values.into_iter().map(f64::from).collect(),
                NumberArray::Whole(values) => values.into_iter().map(|value| value as f64).collect(),
                NumberArray::Real(values) => values,
            };
            return Ok(values.into_iter().map(Label::Number).collect());
        }
        9 => |value| i8::try_from(value).ok().map(|value| Label::Integer(value.into())),
        10 => |value| unsigned(value, 8),
        11 => |value| i16::try_from(value).ok().map(|value| Label::Integer(value.into())),
        12 => |value| unsigned(value, 16),
        13 => |value| i32::try_from(value).ok().map(|value| Label::Integer(value.into())),
        14 => |value| unsigned(value, 32),
        15 => |value| Some(Label::Integer(value)),
        16 => |value| {
            let large = || Label::Text(value.cast_unsigned().to_string());
            Some(if value < 0 { large() } else { Label::Integer(value) })
        },
        _ => {
            let message = format!("categories have the type {kind}, which is not known");
            return Err(ModelError::new(codes::BAD_VALUE, message)
                .at("type")
                .help("schedc reads categories that are strings or numbers"));
        }
    };
    let values = match values {
        NumberArray::Small(values) => values.into_iter().map(i64::from).collect(),
        NumberArray::Whole(values) => values,
        NumberArray::Real(_) => {
            let message = "categories of an integer type have fractions".into();
            return Err(damaged(codes::BAD_VALUE, message, "values"));
        }
    };
    let label = |(index, &value): (usize, &i64)| {
        whole(value).ok_or_else(|| {
            let message = format!("the category {value} does not fit its type");
            damaged(codes::BAD_VALUE, message, &format!("values[{index}]"))
        })
    };
    values.iter().enumerate().map(label).collect()
}

/// An unsigned number of `bits` bits, which a file may write as a signed number.
fn unsigned(value: i64, bits: u32) -> Option<Label> {
    let end = 1 << bits;
    match value {
        _ if value < -(end / 2) || value >= end => None,
        _ => Some(Label::Integer(value.rem_euclid(end))),
    }
}

/// Checks the number of names of each feature against the file's own count.
fn check_segments(all: &[Vec<Label>], segments: &[i32]) -> Result<(), ModelError> {
    let none = segments.is_empty() && all.iter().all(Vec::is_empty);
    let fits = || {
        segments.first() == Some(&0)
            && segments.len() == all.len() + 1
            && segments
                .windows(2)
                .zip(all)
                .all(|(pair, names)| pair[1].checked_sub(pair[0]) == i32::try_from(names.len()).ok())
    };
    if none || fits() {
        return Ok(());
    }
    let message = "`feature_segments` does not match the numbers of names in `enc`".into();
    Err(damaged(codes::LENGTH_MISMATCH, message, "feature_segments"))
}

/// A total order of names, in which equal names are neighbours.
fn by_name(left: &Label, right: &Label) -> Ordering {
    match (left, right) {
        (Label::Text(left), Label::Text(right)) => left.cmp(right),
        (Label::Truth(left), Label::Truth(right)) => left.cmp(right),
        (Label::Integer(left), Label::Integer(right)) => left.cmp(right),
        (Label::Number(left), Label::Number(right)) => (left + 0.0).total_cmp(&(right + 0.0)),
        // Unsigned numbers that exceed `i64` are stored as texts.
        (Label::Text(_), _) | (_, Label::Truth(_)) => Ordering::Greater,
        (_, Label::Text(_)) | (Label::Truth(_), _) => Ordering::Less,
        (Label::Integer(_), Label::Number(_)) => Ordering::Less,
        (Label::Number(_), Label::Integer(_)) => Ordering::Greater,
    }
}

/// Checks `sorted_idx`, which lists the codes of each feature in the order of their names. Files may omit it.
/// A repeated name is an error, since it would have two codes.
fn check_order(all: &[Vec<Label>], segments: &[i32], order: &[i32]) -> Result<(), ModelError> {
    for (feature, names) in all.iter().enumerate() {
        let mut sorted: Vec<&Label> = names.iter().collect();
        sorted.sort_unstable_by(|left, right| by_name(left, right));
        let same = |pair: &&[&Label]| by_name(pair[0], pair[1]).is_eq() && pair[0].to_string().is_ascii();
        if let Some(pair) = sorted.windows(2).find(same) {
            let name = pair[0].to_string();
            let message =
                format!("feature {feature} has two categories with the name `{}`", name.escape_debug());
            return Err(damaged(codes::BAD_VALUE, message, &format!("enc[{feature}]")));
        }
    }
    if order.is_empty() {
        return Ok(());
    }
    let total: usize = all.iter().map(Vec::len).sum();
    if order.len() != total {
        let message = format!("`sorted_idx` has {} entries for {total} categories", order.len());
        return Err(damaged(codes::LENGTH_MISMATCH, message, "sorted_idx"));
    }
    for (pair, names) in segments.windows(2).zip(all) {
        let mut seen = vec![false; names.len()];
        let (first, last) = (pair[0] as usize, pair[1] as usize);
        for (index, &code) in order.iter().enumerate().take(last).skip(first) {
            let slot = usize::try_from(code).ok().and_then(|code| seen.get_mut(code));
            if slot.is_none_or(|slot| std::mem::replace(slot, true)) {
                let message = format!(
                    "{code} is not a code of the feature's {} categories, or occurs twice",
                    names.len()
                );
                return Err(damaged(codes::BAD_VALUE, message, &format!("sorted_idx[{index}]")));
            }
        }
    }
    Ok(())
}

fn damaged(code: Code, message: String, place: &str) -> ModelError {
    let error = ModelError::new(code, message).help(DAMAGED_HELP);
    if place.is_empty() { error } else { error.at(place) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kind: i64, values: &[i64]) -> Result<Vec<String>, ModelError> {
        let labels = numbers(kind, NumberArray::Whole(values.to_vec()))?;
        Ok(labels.iter().map(Label::to_string).collect())
    }

    #[test]
    fn numbers_without_a_sign_may_be_written_with_one() {
        assert_eq!(named(12, &[-5536, 60_000, 7]).unwrap(), ["60000", "60000", "7"]);
        assert_eq!(named(14, &[-1, 4_294_967_295]).unwrap(), ["4294967295", "4294967295"]);
        assert_eq!(named(16, &[-1, 5]).unwrap(), ["18446744073709551615", "5"]);
        for (kind, value) in [(9, 128), (9, -129), (12, 65_536), (12, -32_769), (13, 1 << 31), (14, 1 << 32)]
        {
            let error = named(kind, &[0, value]).unwrap_err();
            assert_eq!((error.code, error.place.to_string().as_str()), (codes::BAD_VALUE, "values[1]"));
        }
    }

    #[test]
    fn numbers_may_have_fractions() {
        assert_eq!(named(7, &[2]).unwrap(), ["2"]);
        let labels = numbers(8, NumberArray::Real(vec![0.5, -2.0])).unwrap();
        assert_eq!(labels, [Label::Number(0.5), Label::Number(-2.0)]);
        assert_eq!(numbers(13, NumberArray::Real(vec![0.5])).unwrap_err().code, codes::BAD_VALUE);
    }

    #[test]
    fn texts_are_cut_at_their_offsets() {
        let bytes = [98, 101, -61, -87, 195, 169];
        let labels = texts(&[0, 2, 2, 4, 6], &bytes).unwrap();
        let expected = ["be", "", "\u{e9}", "\u{e9}"].map(|text| Label::Text(text.into()));
        assert_eq!(labels, expected);
        assert_eq!(texts(&[], &[]).unwrap(), []);
        assert_eq!(texts(&[0, 7], &bytes).unwrap_err().code, codes::LENGTH_MISMATCH);
    }
}
