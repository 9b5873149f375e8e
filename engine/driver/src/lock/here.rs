//! Properties of this machine and the date, as entries record them.

use crate::machines::cache_sizes;
use sched_llvm::{Cpu, host_cpu_name, llvm_info};
use std::time::{SystemTime, UNIX_EPOCH};

/// The properties of this machine that decide whether an entry fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThisMachine {
    /// The triple of the system for which code is generated.
    pub triple: String,
    /// The processor, by LLVM's name.
    pub processor: String,
    /// The instruction sets that code may use.
    pub features: Vec<String>,
    /// Sizes of the data caches in bytes, the nearest first.
    pub caches: Vec<u64>,
}

impl ThisMachine {
    /// The properties of this machine, for code for `cpu`.
    pub fn of(cpu: Cpu) -> ThisMachine {
        ThisMachine {
            triple: llvm_info().targets.first().map_or_else(|| "unknown".to_string(), ToString::to_string),
            processor: host_cpu_name(),
            features: cpu.features().into_iter().map(String::from).collect(),
            caches: cache_sizes().into_iter().map(|bytes| bytes as u64).collect(),
        }
    }
}

/// The day in UTC, as in `2026-01-31`.
pub(super) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(since.as_secs() / 86_400)
}

/// The date of a day, counted from 1 January 1970.
fn date(mut days: u64) -> String {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_follow_the_calendar() {
        let known = [(0, "1970-01-01"), (58, "1970-02-28"), (59, "1970-03-01"), (789, "1972-02-29")];
        let later = [
            (11_016, "2000-02-29"),
            (20_453, "2025-12-31"),
            (20_454, "2026-01-01"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
        ];
        for (days, expected) in known.into_iter().chain(later) {
            assert_eq!(date(days), expected);
        }
    }
}
