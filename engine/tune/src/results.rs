//! The results of a search.

use sched_nest::Variants;
use schedc_driver::RowMemory;
use schedc_measure::Quartiles;
use serde::Serialize;

/// The speed of calls of one size on a number of threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallSpeed {
    /// Threads.
    pub threads: i32,
    /// The memory of the rows, if a GPU was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_in: Option<RowMemory>,
    /// Microseconds for a row, with quartiles.
    pub us_per_row: Quartiles,
    /// Samples behind these quartiles.
    pub samples: usize,
    /// Microseconds per row of schedc's own choice.
    pub chosen_us_per_row: Quartiles,
}

/// The best schedule for calls of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestSchedule {
    /// Number of rows per call.
    pub rows: usize,
    /// The schedule's directives, one a line; or the whole text, if params of a start schedule were varied.
    pub schedule: String,
    /// The measured speed, one for each number of threads.
    pub figures: Vec<CallSpeed>,
    /// Whether its sums are added in the model's order.
    pub exact: bool,
    /// The predicted speed, if no GPU timed the schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<PredictedSpeed>,
    /// The number of schedules that the search compared for this size.
    pub tried: usize,
    /// Whether the schedule is the one that schedc chooses, because the search found none that is faster.
    pub is_own: bool,
    /// If schedc's own choice was kept because the search's best schedule is slower: that schedule's time
    /// over the time of the choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slower: Option<f64>,
}

impl BestSchedule {
    /// Speed-ups over schedc's own choice: one for each number of threads if measured; a single one, without
    /// a measured speed, if predicted.
    pub fn gains(&self) -> Vec<(Option<&CallSpeed>, f64)> {
        let gain = |figure: &CallSpeed| figure.chosen_us_per_row.median / figure.us_per_row.median;
        let measured: Vec<_> = self.figures.iter().map(|figure| (Some(figure), gain(figure))).collect();
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
    pub best: Vec<BestSchedule>,
    /// The largest number of rows that each schedule but the last serves, unless a bound of [`Self::own`] is
    /// between its size and the next one.
    pub bounds: Vec<usize>,
    /// Schedc's own schedule, which serves the calls that no search was for. `None` if it serves none.
    #[serde(skip)]
    pub own: Option<Variants<String>>,
    /// Whether the user ended the search, before the budget was spent or all candidates were tried.
    pub ended_early: bool,
}

/// The speed of calls of one size on a GPU, by the cost model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictedSpeed {
    /// Microseconds for a row.
    pub us_per_row: f64,
    /// Microseconds for a row of schedc's own choice.
    pub chosen_us_per_row: f64,
    /// Seconds that the search for this size took.
    pub seconds: f64,
}
