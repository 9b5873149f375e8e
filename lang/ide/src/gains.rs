//! The order of proposals by their predicted gains: the schedules to predict, and the order from the answers.
//! The server obtains the predictions.

use sched_lang::options::CheckOptions;

use super::{Analysis, Completion, completion};

/// Most directives that are added after a proposal for the prediction.
const MAX_FOLLOWING_DIRECTIVES: usize = 7;
/// Largest difference of the logarithms of two gains that count as equal.
const EQUAL_GAIN_DIFFERENCE: f64 = 0.03;

/// The gain of a proposal: its speed-up over the schedule without it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Speed-up by the proposal without further directives.
    pub alone: f64,
    /// Speed-up together with the directives that fast schedules have next.
    pub with_following: f64,
}

impl Gain {
    /// The larger speed-up, by which proposals are sorted: a directive without a gain may allow a later one
    /// with a gain.
    fn larger(self) -> f64 {
        self.alone.max(self.with_following)
    }

    /// The gain as a text that fits beside a proposal: `1.30×` or `1.30×, later 2.40×`.
    fn short(self) -> String {
        match self.has_later_gain() {
            true => format!("{}, later {}", times(self.alone), times(self.with_following)),
            false => times(self.alone),
        }
    }

    /// The gain in a sentence.
    fn sentence(self) -> String {
        let later = match self.has_later_gain() {
            true => format!(", and {} with the directives that usually follow", times(self.with_following)),
            false => String::new(),
        };
        format!("Predicted speed: {} that without it{later}.", times(self.alone))
    }

    fn has_later_gain(self) -> bool {
        self.with_following > self.alone * (1.0 + EQUAL_GAIN_DIFFERENCE)
    }
}

/// Formats a factor as text, such as `1.5x`.
fn times(gain: f64) -> String {
    format!("{gain:.*}\u{d7}", if gain < 10.0 { 2 } else { 1 })
}

/// The text with the directives that fast schedules have next, inserted at the end of a directive.
pub fn with_following_directives(source: &str, at: usize, options: &CheckOptions) -> String {
    let (mut text, mut at) = (source.to_owned(), at);
    for _ in 0..MAX_FOLLOWING_DIRECTIVES {
        let (Some(before), Some(rest)) = (text.get(..at), text.get(at..)) else { return text };
        let open = format!("{before}\n{rest}");
        let analysis = Analysis::new(open.as_str(), options.clone());
        let proposed = completion(&analysis, at + 1);
        let Some(next) = proposed.iter().find(|item| item.is_next && item.is_whole_directive()) else {
            return text;
        };
        text = format!("{before}\n{}{rest}", next.label);
        at += 1 + next.label.len();
    }
    text
}

/// Sorts proposals by their gains. Each gain replaces the words beside its proposal. Proposals with unknown
/// gains come after gainful ones, and equal gains keep their order. A proposal that reassociates the sums
/// does not move up, whatever it gains.
pub fn order_by_gain(items: &mut [Completion], gain: impl Fn(&Completion) -> Option<Gain>) {
    let place = |item: &Completion| {
        let steps = gain(item)
            .map_or(0.0, |gain| (gain.larger().max(f64::MIN_POSITIVE).ln() / EQUAL_GAIN_DIFFERENCE).round());
        let most = if item.reassociates { 0.0 } else { 1e6 };
        -(steps.clamp(-1e6, most) as i64)
    };
    for item in items.iter_mut() {
        if let Some(gain) = gain(item) {
            item.detail = match item.reassociates {
                true => format!("{}, {}", gain.short(), item.detail),
                false => gain.short(),
            };
            item.documentation = format!("{}\n\n{}", item.documentation, gain.sentence());
        }
    }
    items.sort_by_cached_key(place);
    for (at, item) in items.iter_mut().enumerate() {
        item.sort = format!("{at:04}");
    }
}
