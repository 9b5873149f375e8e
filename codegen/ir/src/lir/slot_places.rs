//! Places of sums in the slots of a block in shared memory, so that the threads of a warp reach different
//! banks.

use super::banks::{ACCESS_BYTES, BANKS, wavefronts};
use super::divisor::greatest_common_divisor;

/// Share of a wavefront that an instruction takes: a multiprocessor starts four instructions in the time of
/// a wavefront.
const INSTRUCTION: f64 = 0.25;

/// Wavefronts that a padding as large as the sums themselves must save. Shared memory limits the blocks of a
/// multiprocessor.
const PADDING: f64 = 1.0;

/// Most sums of a slot with padding. Larger slots exceed the shared memory of all GPUs.
const MOST_PADDED: u64 = 1 << 24;

/// Distances in the slots of a block. The sums of a margin are adjacent, one for each row of the block: the
/// sum of a slot, margin and row is at `slot * slot + margin * margin + row`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotPlaces {
    /// Sums from a slot to the next one.
    pub slot: u64,
    /// Sums from a margin of a slot to the next one, if slots have several margins.
    pub margin: u64,
}

/// The slots of a block, and the threads that fill and fold them.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockSlots {
    /// Rows of the block.
    pub rows: u64,
    /// Margins of a row.
    pub margins: u64,
    /// Margins of a slot: all, or one, if slot `s` has the sums of margin `s` modulo their number.
    pub margins_of_slot: u64,
    /// Bytes of a sum.
    pub sum_bytes: u64,
    /// The slot and the first row of each thread of a warp.
    pub lanes: Vec<(u64, u64)>,
    /// Adjacent rows of a thread.
    pub thread_rows: u64,
}

impl BlockSlots {
    /// The places that cost the fewest wavefronts.
    ///
    /// Threads store their sums, one margin after the other. Those that walk different trees store to
    /// different slots, and those with adjacent rows to adjacent sums. When threads fold, neighbouring
    /// threads add up the margins of a row. Distances that are multiples of the number of banks would put all
    /// these sums into one bank.
    pub fn places(&self) -> SlotPlaces {
        if self.rows.saturating_mul(self.margins) > MOST_PADDED {
            return self.packed();
        }
        let paddings = || 0..BANKS;
        let least = |cost: &dyn Fn(u64) -> f64, from: u64| {
            let memory = |padding: u64| PADDING * padding as f64 / from.max(1) as f64;
            let costs = paddings().map(|padding| (cost(from + padding) + memory(padding), from + padding));
            costs.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(from, |(_, distance)| distance)
        };
        if self.margins_of_slot < self.margins {
            let cost = |slot| self.walk_cost(slot, slot) + self.fold_cost(slot);
            let slot = least(&cost, self.rows);
            return SlotPlaces { slot, margin: slot };
        }
        let margin = match self.margins {
            1 => self.rows,
            _ => {
                // Slots have a padding of their own.
                let cost = |margin| self.walk_cost(0, margin) + self.fold_cost(margin);
                least(&cost, self.rows)
            }
        };
        SlotPlaces { slot: least(&|slot| self.walk_cost(slot, margin), margin * self.margins), margin }
    }

    /// Places without padding.
    pub fn packed(&self) -> SlotPlaces {
        SlotPlaces { slot: self.rows.saturating_mul(self.margins_of_slot), margin: self.rows }
    }

    /// Wavefronts in which the threads of a warp store a sum each.
    pub fn walk_wavefronts(&self, places: SlotPlaces) -> f64 {
        let together = self.together(places.slot, places.margin);
        let bytes = together * self.sum_bytes;
        let range = |(slot, row): &(u64, u64)| {
            // Banks repeat, so the remainders of large numbers have the same banks.
            let slot = slot % MOST_PADDED * (places.slot % MOST_PADDED);
            let start = (slot + row % MOST_PADDED) * self.sum_bytes;
            (start, start + bytes)
        };
        wavefronts(self.lanes.iter().map(range)) as f64 / together as f64
    }

    /// Wavefronts in which the threads of a warp load a sum each to fold it.
    pub fn fold_wavefronts(&self, places: SlotPlaces) -> f64 {
        let distance = if self.margins_of_slot < self.margins { places.slot } else { places.margin };
        let distance = distance % MOST_PADDED;
        let sums = self.rows.saturating_mul(self.margins).min(BANKS);
        let range = |sum: u64| {
            let start = (sum % self.margins * distance + sum / self.margins) * self.sum_bytes;
            (start, start + self.sum_bytes)
        };
        wavefronts((0..sums).map(range)) as f64
    }

    /// Sums of adjacent rows that a thread stores with one instruction: their address is a multiple of their
    /// size.
    pub fn together(&self, slot: u64, margin: u64) -> u64 {
        let most = (ACCESS_BYTES / self.sum_bytes.max(1)).max(1);
        [self.thread_rows, slot, margin].into_iter().fold(most, greatest_common_divisor)
    }

    fn walk_cost(&self, slot: u64, margin: u64) -> f64 {
        let together = self.together(slot, margin) as f64;
        self.walk_wavefronts(SlotPlaces { slot, margin }) + INSTRUCTION / together
    }

    fn fold_cost(&self, distance: u64) -> f64 {
        self.fold_wavefronts(SlotPlaces { slot: distance, margin: distance })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places, and the wavefronts of a walk's store and of a fold's load.
    fn of(slots: &BlockSlots) -> (SlotPlaces, f64, f64) {
        let places = slots.places();
        (places, slots.walk_wavefronts(places), slots.fold_wavefronts(places))
    }

    /// Slots of 128 rows in single precision. Each thread of a warp has four of the rows.
    fn four_rows(margins: u64, margins_of_slot: u64) -> BlockSlots {
        let lanes = (0..32).map(|lane| (0, 4 * lane)).collect();
        BlockSlots { rows: 128, margins, margins_of_slot, sum_bytes: 4, lanes, thread_rows: 4 }
    }

    /// Slots of some rows in single precision. Each thread of a warp has another slot.
    fn trees(rows: u64, margins: u64, margins_of_slot: u64) -> BlockSlots {
        let lanes = (0..32).map(|lane| (lane, 0)).collect();
        BlockSlots { rows, margins, margins_of_slot, sum_bytes: 4, lanes, thread_rows: 1 }
    }

    #[test]
    fn adjacent_rows_are_stored_together() {
        assert_eq!(of(&four_rows(1, 1)), (SlotPlaces { slot: 128, margin: 128 }, 1.0, 1.0));
        // Eight margins of four rows at a time are in different banks.
        assert_eq!(of(&four_rows(8, 8)), (SlotPlaces { slot: 1056, margin: 132 }, 1.0, 1.0));
        assert_eq!(of(&four_rows(8, 1)), (SlotPlaces { slot: 132, margin: 132 }, 1.0, 1.0));
        // Three margins of ten or eleven rows: two of 32 sums share a bank.
        assert_eq!(of(&four_rows(3, 1)), (SlotPlaces { slot: 136, margin: 136 }, 1.0, 2.0));
    }

    #[test]
    fn slots_of_different_trees_have_separate_banks() {
        assert_eq!(of(&trees(1, 8, 8)), (SlotPlaces { slot: 9, margin: 1 }, 1.0, 1.0));
        assert_eq!(of(&trees(4, 8, 8)), (SlotPlaces { slot: 33, margin: 4 }, 1.0, 1.0));
        assert_eq!(of(&trees(1, 8, 1)), (SlotPlaces { slot: 1, margin: 1 }, 1.0, 1.0));
        assert_eq!(of(&trees(2, 7, 1)), (SlotPlaces { slot: 3, margin: 3 }, 1.0, 1.0));
        // Eight trees beside four rows.
        let both = BlockSlots { lanes: (0..32).map(|lane| (lane / 4, lane % 4)).collect(), ..trees(4, 8, 1) };
        assert_eq!(of(&both), (SlotPlaces { slot: 4, margin: 4 }, 1.0, 1.0));
    }

    #[test]
    fn padding_takes_less_than_it_saves() {
        // Five rows of 25 threads with eight margins each: a slot of 40 sums in place of 97, which would save
        // a wavefront of each access.
        let lanes = (0..25).map(|lane| (lane, 0)).collect();
        let slots = BlockSlots { lanes, thread_rows: 5, ..trees(5, 8, 8) };
        assert!(slots.places().slot < 56, "{:?}", slots.places());
        assert_eq!(slots.packed(), SlotPlaces { slot: 40, margin: 5 });
    }

    #[test]
    fn slots_of_any_size_have_places() {
        let slots = BlockSlots { rows: u64::MAX / 2, lanes: vec![(u64::MAX, u64::MAX)], ..trees(1, 8, 8) };
        assert_eq!(slots.places(), slots.packed());
        assert!(slots.walk_wavefronts(slots.packed()) + slots.fold_wavefronts(slots.packed()) > 0.0);
        let slots = BlockSlots { lanes: vec![(0, 0), (u64::MAX, u64::MAX)], ..trees(1, 8, 8) };
        assert_eq!(slots.places().slot, 8);
    }

    #[test]
    fn doubles_take_two_banks() {
        let slots = BlockSlots { sum_bytes: 8, ..trees(1, 8, 8) };
        assert_eq!(of(&slots), (SlotPlaces { slot: 9, margin: 1 }, 2.0, 1.0));
        // A thread stores two of its four rows at a time, so half of the banks are idle.
        let slots = BlockSlots { sum_bytes: 8, ..four_rows(1, 1) };
        assert_eq!(of(&slots), (SlotPlaces { slot: 128, margin: 128 }, 4.0, 2.0));
    }
}
