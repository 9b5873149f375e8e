//! Distribution of work to all cores.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `work` on all jobs, and returns the results in the order of the jobs. Each core takes the next job
/// when it has finished one.
///
/// # Panics
/// If a job panics.
pub fn in_parallel<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at) else { return done };
            done.push((at, work(job)));
        }
    };
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(run)).collect();
        let results = handles.into_iter().map(|handle| handle.join());
        results.flat_map(|done| done.unwrap_or_else(|cause| std::panic::resume_unwind(cause))).collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
