//! Statistics of samples.

/// Median and quartiles of samples.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Quartiles {
    /// A quarter of the samples is at most this.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// Three quarters of the samples are at most this.
    pub high: f64,
}

impl Quartiles {
    /// The quartiles of samples, if there are any.
    pub fn of(samples: &[f64]) -> Option<Quartiles> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |share: usize| sorted.get((last * share + 2) / 4).copied();
        Some(Quartiles { low: at(1)?, median: at(2)?, high: at(3)? })
    }

    /// The distance of the quartiles, as a share of the median.
    pub fn spread(&self) -> f64 {
        (self.high - self.low) / self.median
    }
}

#[cfg(test)]
mod tests {
    use super::Quartiles;

    #[test]
    fn quartiles_are_samples() {
        let five = Quartiles { low: 2.0, median: 3.0, high: 4.0 };
        assert_eq!(Quartiles::of(&[4.0, 1.0, 3.0, 2.0, 5.0]), Some(five));
        assert_eq!(Quartiles::of(&[7.0]), Some(Quartiles { low: 7.0, median: 7.0, high: 7.0 }));
        assert_eq!(Quartiles::of(&[]), None);
        assert!((five.spread() - 2.0 / 3.0).abs() < 1e-12);
    }
}
