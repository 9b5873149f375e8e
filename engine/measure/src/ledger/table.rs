//! The results of a ledger as plain data. `docs/tools.md` documents the fields of its JSON.

use crate::samples::Quartiles;
use serde::Serialize;

/// The ledger of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ledger {
    /// Always 1; another number if a field is removed or changes its meaning.
    pub format: u32,
    /// The model's file.
    pub model: String,
    /// The model's fingerprint.
    pub fingerprint: String,
    /// Number of trees of the model.
    pub trees: usize,
    /// Number of features of the model.
    pub features: usize,
    /// LLVM's name of the processor.
    pub processor: String,
    /// The schedule's name.
    pub schedule: String,
    /// The text of the schedule that schedc chooses.
    pub chosen: String,
    /// The tables: one for each schedule of the text, call size and number of threads.
    pub tables: Vec<LedgerTable>,
}

/// Measurements of one schedule of a text for one call size and number of threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerTable {
    /// The bound of the schedule's block; `None` for the schedule outside of all blocks.
    pub max_rows: Option<u32>,
    /// Rows per call.
    pub batch: usize,
    /// Threads per call; 0 means all.
    pub threads: i32,
    /// The time of the whole schedule.
    pub whole: MeasuredTime,
    /// The baselines of the comparison.
    pub baselines: Baselines,
    /// The nest after the first directive, after the second, and so on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefixes: Vec<PrefixLine>,
    /// The schedule without each directive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ablations: Vec<Ablation>,
    /// Measurements with other values of a number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<ValueSweep>,
    /// Variations that are faster, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
}

/// The times of the schedules that each schedule is compared with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Baselines {
    /// The nest without directives.
    pub plain: MeasuredTime,
    /// The schedule that schedc chooses.
    pub chosen: MeasuredTime,
}

/// The time of a row, or the reason why it was not measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MeasuredTime {
    /// The median, in microseconds.
    pub us_per_row: Option<f64>,
    /// The quartiles below and above.
    pub spread: Option<[f64; 2]>,
    /// The reason why there is no time; `None` if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl MeasuredTime {
    /// The figure of a measured time. `None` means that the budget was spent before the first sample.
    pub fn of(time: Option<Quartiles>) -> MeasuredTime {
        MeasuredTime {
            us_per_row: time.map(|time| time.median),
            spread: time.map(|time| [time.low, time.high]),
            why: time.is_none().then(|| "the budget was spent".to_string()),
        }
    }

    /// A figure without a time, for the reason `why`.
    pub fn unmeasured(why: String) -> MeasuredTime {
        MeasuredTime { why: Some(why), ..MeasuredTime::default() }
    }

    /// Speed-up over another figure.
    pub fn speed_up_over(&self, other: &MeasuredTime) -> Option<f64> {
        Some(other.us_per_row? / self.us_per_row?)
    }
}

/// The effect of a directive on the nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DirectiveEffect {
    /// The directive changes the nest.
    Own,
    /// The directive changes nothing.
    Same,
    /// No change yet: the directive needs a later one, which makes its loop or makes it legal.
    Waits,
    /// The directives up to here are illegal without a later one, so there is no nest.
    Illegal,
}

/// A directive, and the nest after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrefixLine {
    /// The directive's first line, from 1.
    pub line: usize,
    /// The directive.
    pub text: String,
    /// The effect on the nest.
    pub state: DirectiveEffect,
    /// The nest's time.
    #[serde(flatten)]
    pub figure: MeasuredTime,
    /// Speed-up over the nest before.
    pub gain: Option<f64>,
    /// Speed-up over the plain nest.
    pub over_plain: Option<f64>,
}

/// The time of a schedule without one of its directives, and without those that are illegal then.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablation {
    /// The first line of the missing directive, from 1.
    pub line: usize,
    /// The directive.
    pub text: String,
    /// The lines of directives that are illegal without it and therefore left out, too.
    pub with: Vec<usize>,
    /// The time of the schedule without these directives.
    #[serde(flatten)]
    pub figure: MeasuredTime,
    /// Slowdown against the whole schedule.
    pub loss: Option<f64>,
}

/// A number of the schedule, and the times with other values in its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueSweep {
    /// The param, or the line and the column of the number.
    pub name: String,
    /// Its value in the schedule.
    pub value: i64,
    /// The values tried, in ascending order.
    pub tried: Vec<SweepValue>,
}

/// A change that made the schedule faster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The change to make, as a sentence.
    pub text: String,
    /// The time of the changed schedule.
    #[serde(flatten)]
    pub figure: MeasuredTime,
    /// Speed-up over the present schedule.
    pub gain: f64,
    /// The predicted speed-up.
    pub predicted: Option<f64>,
}

/// The cost model's predictions for a schedule and its variations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictedTable {
    /// Predicted speed-up of the schedule over the plain nest.
    pub over_plain: Option<f64>,
    /// Predicted speed-up over schedc's own choice.
    pub over_chosen: Option<f64>,
    /// The variations, the fastest first.
    pub advice: Vec<PredictedAdvice>,
    /// Number of variations that the cost model predicts to be clearly slower. They are not compiled or
    /// timed.
    pub surely_slower: usize,
}

/// A change of the schedule, with the speed-up that the cost model predicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictedAdvice {
    /// The change to make, as a sentence.
    pub text: String,
    /// Speed-up over the present schedule.
    pub gain: f64,
}

/// A value that a sweep tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepValue {
    /// The value.
    pub value: i64,
    /// The time with it.
    #[serde(flatten)]
    pub figure: MeasuredTime,
    /// Speed-up over the present schedule.
    pub over_whole: Option<f64>,
}
