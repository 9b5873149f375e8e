//! The results of a search.

use schedc_measure::Quartiles;
use serde::Serialize;

/// The speed of calls of one size on a number of threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Threads.
    pub threads: i32,
    /// Microseconds for a row, with quartiles.
    pub us_per_row: Quartiles,
    /// Samples behind these quartiles.
    pub samples: usize,
    /// Microseconds per row of schedc's own choice.
    pub chosen_us_per_row: Quartiles,
}

/// The best schedule for calls of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Rows of the calls.
    pub rows: usize,
    /// The schedule's directives, a line each, or a whole text where params of a start schedule were varied.
    pub schedule: String,
    /// Its measured speed, by number of threads.
    pub figures: Vec<Figure>,
    /// Its speed by the cost model, for GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// The number of schedules that the search tried for it.
    pub tried: usize,
    /// Whether it is schedc's own choice, because the search found none that is faster.
    pub is_own: bool,
    /// The time of the fastest schedule that the search may write instead, in times of schedc's own choice,
    /// if that schedule is slower and schedc's own was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slower: Option<f64>,
}

impl Best {
    /// The speed of the schedule in times of schedc's own choice: measured with each number of threads, or
    /// predicted, without a number of threads.
    pub fn gains(&self) -> Vec<(Option<i32>, f64)> {
        let gain = |figure: &Figure| figure.chosen_us_per_row.median / figure.us_per_row.median;
        let measured: Vec<_> =
            self.figures.iter().map(|figure| (Some(figure.threads), gain(figure))).collect();
        match &self.predicted {
            Some(one) if measured.is_empty() => vec![(None, one.chosen_us_per_row / one.us_per_row)],
            _ => measured,
        }
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SearchResult {
    /// The best schedules, by rows in ascending order.
    pub best: Vec<Best>,
    /// The largest number of rows that each schedule but the last serves.
    pub bounds: Vec<usize>,
    /// Whether the user ended the search, before the budget was spent or all candidates were tried.
    pub ended_early: bool,
}

/// The speed of calls of one size on a GPU, by the cost model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Microseconds for a row.
    pub us_per_row: f64,
    /// Microseconds for a row of schedc's own choice.
    pub chosen_us_per_row: f64,
    /// Whether margins are the trainer's, bit for bit.
    pub exact: bool,
    /// Seconds that the search for this size took.
    pub seconds: f64,
}
