//! The times of a command's stages, as `--timings` prints them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Measures the stages of a command that runs in this thread. The time of a stage includes the stages inside.
#[derive(Clone, Default)]
pub struct Timings(Arc<Mutex<StageTimes>>);

#[derive(Default)]
struct StageTimes {
    /// Name and time of each stage, in the order in which they began first.
    stages: Vec<(&'static str, Duration)>,
    /// Number of stages that are open.
    open: usize,
    /// Start of the outermost open stage.
    since: Option<Instant>,
}

impl Timings {
    /// Runs a command, and returns its result with a line of the times of its stages.
    pub fn of<T>(command: impl FnOnce() -> T) -> (T, String) {
        let (timings, began) = (Timings::default(), Instant::now());
        let result = tracing::subscriber::with_default(timings.clone(), command);
        let all = began.elapsed();
        (result, timings.with(|times| line(&times.stages, all)))
    }

    fn with<T>(&self, use_times: impl FnOnce(&mut StageTimes) -> T) -> T {
        use_times(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The line that is printed.
fn line(stages: &[(&'static str, Duration)], all: Duration) -> String {
    let milliseconds = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let mut parts: Vec<String> =
        stages.iter().map(|(name, time)| format!("{name} {}", milliseconds(*time))).collect();
    let measured: Duration = stages.iter().map(|(_, time)| *time).sum();
    parts.push(format!("other {}", milliseconds(all.saturating_sub(measured))));
    format!("timings: {}; {} in all", parts.join(", "), milliseconds(all))
}

impl Subscriber for Timings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target().starts_with("sched")
    }

    // The number of a span is that of its stage, from 1.
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let name = span.metadata().name();
        self.with(|times| {
            let known = times.stages.iter().position(|(stage, _)| *stage == name);
            let number = known.unwrap_or_else(|| {
                times.stages.push((name, Duration::ZERO));
                times.stages.len() - 1
            });
            Id::from_u64(number as u64 + 1)
        })
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {
        self.with(|times| {
            times.open += 1;
            times.since.get_or_insert_with(Instant::now);
        });
    }

    fn exit(&self, id: &Id) {
        self.with(|times| {
            times.open = times.open.saturating_sub(1);
            if times.open > 0 {
                return;
            }
            let number = id.into_u64() as usize - 1;
            if let (Some(since), Some((_, time))) = (times.since.take(), times.stages.get_mut(number)) {
                *time += since.elapsed();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_stages_count_as_part_of_the_outer_one() {
        let ((), line) = Timings::of(|| {
            let _outer = tracing::info_span!("choose").entered();
            let _inner = tracing::info_span!("lower").entered();
            std::thread::sleep(Duration::from_millis(2));
        });
        assert!(line.starts_with("timings: choose ") && line.contains("lower 0.0 ms, other 0."), "{line}");
    }

    #[test]
    fn times_are_in_milliseconds() {
        let stages = [("read", Duration::from_micros(1500)), ("LLVM", Duration::from_millis(20))];
        let expected = "timings: read 1.5 ms, LLVM 20.0 ms, other 3.5 ms; 25.0 ms in all";
        assert_eq!(line(&stages, Duration::from_millis(25)), expected);
    }
}
