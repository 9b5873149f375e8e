//! Environment variables that affect predictions. A library ignores invalid values; schedc refuses them.

use sched_llvm::Cpu;
use sched_machines::{BASELINE, Level};
use schedc_driver::Failure;
use std::env;

/// The values of `SCHEDC_CPU`.
fn levels() -> Vec<&'static str> {
    std::iter::once(BASELINE).chain(Level::targets().map(Level::word)).collect()
}

/// Refuses values that would have no effect.
pub fn check() -> Result<(), Failure> {
    let text = |name: &str| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    if let Some(value) = text("SCHEDC_NUM_THREADS")
        && !is_count(&value)
    {
        return Err(Failure::usage(
            format!(
                "the environment variable SCHEDC_NUM_THREADS is `{value}`, which is not a number of threads"
            ),
            "set it to a positive whole number, or unset it to use all cores",
        ));
    }
    if let Some(value) = text("SCHEDC_CPU")
        && !levels().contains(&value.as_str())
    {
        return Err(Failure::usage(
            format!("the environment variable SCHEDC_CPU is `{value}`, which is not a processor level"),
            format!("set it to {}, or unset it to use the processor's own level", levels().join(", ")),
        ));
    }
    Ok(())
}

/// The highest level that `SCHEDC_CPU` allows, for code that runs at once. None if the variable is not set.
pub fn cpu() -> Option<Cpu> {
    let value = env::var("SCHEDC_CPU").ok()?;
    // No code is generated for the baseline.
    Some(value.parse().unwrap_or(Cpu::X86_64V2))
}

/// Whether a text is a positive whole number in digits.
fn is_count(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte != b'0')
}

#[cfg(test)]
mod tests {
    use super::is_count;

    #[test]
    fn counts_are_whole_and_positive() {
        assert!(["1", "08", "1000", "99999999999999999999"].into_iter().all(is_count));
        assert!(
            !["", "0", "00", "-1", "+1", " 1", "1 ", "2x", "0x2", "1.5", "many"].into_iter().any(is_count)
        );
    }
}
