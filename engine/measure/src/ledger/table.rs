//! What a ledger says, as plain data. `docs/tools.md` documents the fields of its JSON.

use crate::samples::Quartiles;
use serde::Serialize;

/// The ledger of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ledger {
    /// Always 1; another number if a field is removed or changes its meaning.
    pub format: u32,
    /// The model's file.
    pub model: String,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Its trees.
    pub trees: usize,
    /// Its features.
    pub features: usize,
    /// What LLVM calls the processor.
    pub processor: String,
    /// The schedule's name.
    pub schedule: String,
    /// The text of the schedule that schedc chooses.
    pub chosen: String,
    /// A table for each kind of calls.
    pub tables: Vec<Table>,
}

/// One schedule of a text at calls of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Most rows of the calls that the schedule is for; nothing if it is for all that others leave.
    pub max_rows: Option<u32>,
    /// Rows per call.
    pub batch: usize,
    /// Threads per call; 0 stands for all that there are.
    pub threads: i32,
    /// The schedule.
    pub whole: Figure,
    /// What it is compared with.
    pub baselines: Baselines,
    /// The nest after each directive in turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prefixes: Vec<Line>,
    /// The schedule without each directive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ablations: Vec<Ablation>,
    /// Other numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<Sweep>,
    /// What would make it faster, the best first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
}

/// What is always measured beside a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Baselines {
    /// The nest without directives.
    pub plain: Figure,
    /// The schedule that schedc chooses.
    pub chosen: Figure,
}

/// The time of a row, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    /// The median, in microseconds.
    pub us_per_row: Option<f64>,
    /// The quartiles below and above.
    pub spread: Option<[f64; 2]>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Figure {
    /// One that was measured, unless time was up before.
    pub fn of(time: Option<Quartiles>) -> Figure {
        Figure {
            us_per_row: time.map(|time| time.median),
            spread: time.map(|time| [time.low, time.high]),
            why: time.is_none().then(|| "the time was up".to_string()),
        }
    }

    /// None, and why.
    pub fn none(why: String) -> Figure {
        Figure { why: Some(why), ..Figure::default() }
    }

    /// How many times as fast it is as another.
    pub fn over(&self, other: &Figure) -> Option<f64> {
        Some(other.us_per_row? / self.us_per_row?)
    }
}

/// What the nest after a directive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A nest of its own.
    Own,
    /// The same as before the directive.
    Same,
    /// The same as before, because the directive is about a loop that a later one makes, or is legal with a later one only.
    Waits,
    /// None: what stands there needs a later directive.
    Illegal,
}

/// A directive, and the nest after it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Where it begins, from 1.
    pub line: usize,
    /// The directive.
    pub text: String,
    /// What the nest is.
    pub state: State,
    /// The nest's time.
    #[serde(flatten)]
    pub figure: Figure,
    /// How many times as fast it is as the nest before.
    pub gain: Option<f64>,
    /// How many times as fast it is as the plain nest.
    pub over_plain: Option<f64>,
}

/// A schedule without a directive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ablation {
    /// Where the directive begins, from 1.
    pub line: usize,
    /// The directive.
    pub text: String,
    /// The lines of those that are illegal without it, and left out too.
    pub with: Vec<usize>,
    /// The time of what remains.
    #[serde(flatten)]
    pub figure: Figure,
    /// How many times as long it takes as the whole schedule.
    pub loss: Option<f64>,
}

/// A number with others in its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// The param, or the line and the column of the number.
    pub name: String,
    /// Its value in the schedule.
    pub value: i64,
    /// What was tried, in ascending order.
    pub tried: Vec<Tried>,
}

/// Another schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// What is to be done.
    pub text: String,
    /// Its time.
    #[serde(flatten)]
    pub figure: Figure,
    /// How many times as fast it is as the schedule as it is.
    pub gain: f64,
    /// What the cost model says of that.
    pub predicted: Option<f64>,
}

/// What the cost model says of a schedule, and of what it could say instead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// How many times as fast the schedule is as the plain nest.
    pub over_plain: Option<f64>,
    /// How many times as fast it is as the schedule that schedc chooses.
    pub over_chosen: Option<f64>,
    /// What it could say instead, the fastest first.
    pub advice: Vec<PredictedAdvice>,
    /// Variations that are clearly slower by that, so that they are not compiled to be timed.
    pub surely_slower: usize,
}

/// Another schedule, as the cost model sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictedAdvice {
    /// What is to be done.
    pub text: String,
    /// How many times as fast it is as the schedule as it is.
    pub gain: f64,
}

/// A value of a number.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The value.
    pub value: i64,
    /// The time with it.
    #[serde(flatten)]
    pub figure: Figure,
    /// How many times as fast it is as the schedule as it is.
    pub over_whole: Option<f64>,
}
