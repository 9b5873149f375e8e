//! Scrambled orders, which depend only on a seed.

use crate::lir::greatest_common_divisor;

/// A scrambled order of `0..trip`: number `n` is `(first + n * stride) mod trip`, with a stride coprime
/// to `trip`.
pub(super) struct Order {
    trip: u64,
    first: u64,
    stride: u64,
}

impl Order {
    pub fn new(seed: u64, trip: u64) -> Order {
        let first = mix(seed) % trip.max(1);
        let mut stride = mix(seed ^ first) % trip.max(1);
        while trip > 0 && greatest_common_divisor(stride, trip) != 1 {
            stride += 1;
        }
        Order { trip, first, stride }
    }

    /// Number of elements.
    pub fn trip(&self) -> u64 {
        self.trip
    }

    /// Element `n` of the order.
    pub fn nth(&self, n: u64) -> i64 {
        let position = u128::from(self.first) + u128::from(n) * u128::from(self.stride);
        (position % u128::from(self.trip.max(1))) as i64
    }
}

/// Spreads a number over 64 bits (the finaliser of the SplitMix64 generator).
pub(super) fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_permutations_and_depend_on_the_seed() {
        for trip in (1..40).chain([97, 256]) {
            for seed in 0..8 {
                let order = Order::new(seed, trip);
                let mut seen: Vec<i64> = (0..trip).map(|n| order.nth(n)).collect();
                seen.sort_unstable();
                assert!(seen.iter().copied().eq(0..trip as i64), "trip {trip} seed {seed}");
            }
        }
        let orders: std::collections::BTreeSet<Vec<i64>> =
            (0..32).map(|seed| Order::new(seed, 16)).map(|o| (0..16).map(|n| o.nth(n)).collect()).collect();
        assert!(orders.len() > 16);
    }
}
