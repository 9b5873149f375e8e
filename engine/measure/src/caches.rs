//! The caches of a core.

use sched_cost::{Machine, MemoryLevel};
use std::path::Path;

/// Sizes in bytes, the nearest first; a level that is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caches {
    levels: Vec<u64>,
}

impl Caches {
    /// The caches of this machine's first core, as Linux reports them; none if it does not.
    pub fn of_this_machine() -> Caches {
        Caches::of_folder(Path::new("/sys/devices/system/cpu/cpu0/cache"))
    }

    /// Returns the machine with these caches.
    pub fn applied_to(&self, machine: &Machine) -> Machine {
        let (Some((memory, known)), false) = (machine.caches.split_last(), self.levels.is_empty()) else {
            return machine.clone();
        };
        let levels = self.levels.iter().enumerate();
        let caches = levels.filter_map(|(at, bytes)| {
            let like = known.get(at).or(known.last())?;
            Some(MemoryLevel { bytes: *bytes as f64, ..*like })
        });
        Machine { caches: caches.chain([*memory]).collect(), ..machine.clone() }
    }

    fn of_folder(folder: &Path) -> Caches {
        let text = |number: u32, name: &str| {
            std::fs::read_to_string(folder.join(format!("index{number}/{name}"))).unwrap_or_default()
        };
        let mut levels: Vec<(u32, u64)> = (0..8)
            .filter(|number| text(*number, "type").trim() != "Instruction")
            .filter_map(|number| {
                Some((text(number, "level").trim().parse().ok()?, parse_size(text(number, "size").trim())?))
            })
            .collect();
        levels.sort_unstable();
        Caches { levels: levels.into_iter().map(|(_, size)| size).collect() }
    }

    /// The nearest level that holds `bytes` bytes: `L1 (32.0 KiB)`, or `memory`.
    pub fn holding_text(&self, bytes: u64) -> String {
        match self.holding_level(bytes) {
            Some((level, size)) => format!("L{level} ({})", bytes_text(size)),
            None if self.levels.is_empty() => "caches of unknown size".to_string(),
            None => "memory".to_string(),
        }
    }

    /// The number of the first level that holds `bytes` bytes, and its size.
    pub fn holding_level(&self, bytes: u64) -> Option<(usize, u64)> {
        let levels = self.levels.iter().enumerate();
        levels.map(|(at, size)| (at + 1, *size)).find(|(_, size)| bytes <= *size)
    }
}

impl std::str::FromStr for Caches {
    type Err = String;

    /// Sizes of levels, the nearest first: `32K,1M,32M`.
    fn from_str(text: &str) -> Result<Caches, String> {
        let level = |text: &str| {
            parse_size(text.trim()).ok_or_else(|| format!("`{text}` is not a size; write it like 32K or 1M"))
        };
        Ok(Caches { levels: text.split(',').map(level).collect::<Result<_, _>>()? })
    }
}

/// A number of bytes with a unit.
fn parse_size(text: &str) -> Option<u64> {
    let units = [("K", 10), ("M", 20), ("G", 30)];
    let known = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (number, shift) = known.unwrap_or((text, 0));
    number.parse::<u64>().ok().filter(|number| *number > 0)?.checked_mul(1 << shift)
}

/// Bytes for people: `156.6 KiB`.
pub fn bytes_text(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::{Caches, bytes_text};
    use std::path::Path;

    #[test]
    fn data_is_in_the_smallest_cache_that_holds_it() {
        let caches: Caches = "32K,1M".parse().unwrap_or_default();
        let places = [100, 32 << 10, 33 << 10, 2 << 20].map(|bytes| caches.holding_text(bytes));
        assert_eq!(places, ["L1 (32.0 KiB)", "L1 (32.0 KiB)", "L2 (1.0 MiB)", "memory"]);
        assert!(
            ["", "x", "0", "-1K", "1K,,2K", "99999999999G"]
                .iter()
                .all(|text| text.parse::<Caches>().is_err())
        );
        assert_eq!(Caches::of_folder(Path::new("/nowhere")).holding_text(1), "caches of unknown size");
        assert_eq!([10, 1536, 3 << 20].map(bytes_text), ["10 bytes", "1.5 KiB", "3.0 MiB"]);
    }
}
