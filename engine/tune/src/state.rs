//! The saved state of a search, from which a later one continues.

use serde::{Deserialize, Serialize};

/// The version of the text.
const FORMAT: u32 = 1;

/// A schedule that was timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedSchedule {
    /// Number of rows per call.
    pub rows: usize,
    /// The schedule.
    pub schedule: String,
    /// Microseconds for a row, as the geometric mean over all numbers of threads.
    pub us_per_row: f64,
}

/// All schedules that were timed for a model on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchState {
    format: u32,
    /// The fingerprint of the model's file.
    pub fingerprint: String,
    /// The processor.
    pub processor: String,
    /// Numbers of threads; each schedule is timed with all of them.
    pub threads: Vec<i32>,
    /// The timed schedules.
    pub tried: Vec<TimedSchedule>,
}

impl SearchState {
    /// A state without timings.
    pub fn new(fingerprint: &str, processor: &str, threads: &[i32]) -> SearchState {
        SearchState {
            format: FORMAT,
            fingerprint: fingerprint.to_string(),
            processor: processor.to_string(),
            threads: threads.to_vec(),
            tried: Vec::new(),
        }
    }

    /// Reads what [`SearchState::to_json`] wrote.
    ///
    /// # Errors
    ///
    /// When the text has another form or version.
    pub fn from_json(text: &str) -> Result<SearchState, String> {
        let state: SearchState = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match state.format {
            FORMAT => Ok(state),
            other => Err(format!("its format is {other}, and this schedc knows {FORMAT}")),
        }
    }

    /// The state as JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Whether model, processor and threads equal those of another state.
    pub fn is_about(&self, other: &SearchState) -> bool {
        (&self.fingerprint, &self.processor, &self.threads)
            == (&other.fingerprint, &other.processor, &other.threads)
    }

    /// The time of a schedule in calls of a size, if it was timed.
    pub fn time(&self, rows: usize, schedule: &str) -> Option<f64> {
        let is_it = |tried: &&TimedSchedule| tried.rows == rows && tried.schedule == schedule;
        self.tried.iter().find(is_it).map(|tried| tried.us_per_row)
    }

    /// Stores a time; it replaces an earlier one of the same schedule and size.
    pub fn put(&mut self, rows: usize, schedule: &str, us_per_row: f64) {
        self.tried.retain(|tried| tried.rows != rows || tried.schedule != schedule);
        self.tried.push(TimedSchedule { rows, schedule: schedule.to_string(), us_per_row });
    }

    /// The fastest schedules for a size, the best first.
    pub fn fastest(&self, rows: usize) -> Vec<&TimedSchedule> {
        let mut tried: Vec<&TimedSchedule> = self.tried.iter().filter(|tried| tried.rows == rows).collect();
        tried.sort_by(|a, b| a.us_per_row.total_cmp(&b.us_per_row));
        tried
    }
}
