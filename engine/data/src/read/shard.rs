//! Parts of the rows, for several runs that share the work.

use std::ops::Range;
use std::str::FromStr;

/// One of several parts of the rows, of about equal size, such as `3/16`. All parts, in order, are all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// The range of this shard among `pieces` pieces of the input: row groups, record batches or rows.
    pub(super) fn range(self, pieces: u64) -> Range<u64> {
        // The product of two numbers of 64 bits fits, and the quotient is at most `pieces`.
        let until = |number: u64| (u128::from(pieces) * u128::from(number) / u128::from(self.of)) as u64;
        until(self.number)..until(self.number + 1)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// `3/16`: the fourth of sixteen.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u32>().ok().map(u64::from);
        let parsed = text.split_once('/').and_then(|(first, of)| Some((number(first)?, number(of)?)));
        match parsed {
            Some((number, of)) if number < of => Ok(Shard { number, of }),
            Some((_, of)) if of > 0 => Err(format!("the shards of {of} are 0/{of} to {}/{of}", of - 1)),
            _ => {
                Err("write a shard as its number and the number of shards, such as 0/16 to 15/16".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_the_whole() {
        for pieces in [0, 1, 5, 16, 17, u64::MAX] {
            for of in [1, 2, 7, 16, u64::from(u32::MAX)] {
                let shard = |number| Shard { number, of }.range(pieces);
                assert_eq!((shard(0).start, shard(of - 1).end), (0, pieces));
                for number in 1..of.min(40) {
                    assert_eq!(shard(number - 1).end, shard(number).start);
                }
            }
        }
    }

    #[test]
    fn shards_are_parsed() {
        assert_eq!("3/16".parse(), Ok(Shard { number: 3, of: 16 }));
        for wrong in ["", "3", "16/16", "-1/2", "1/0", "1/2/3", "a/b"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
