//! Small-batch variants: one value for calls of few rows, another for all other calls.

/// A value for each number of rows of a call. The bounded variant with the smallest `max_rows` that covers a
/// call serves it. `rest` serves all other calls.
///
/// A schedule has variants if it has blocks such as `when n_rows <= 8 { ... }`. All stages of a compilation
/// carry them in this type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variants<T> {
    /// Variants with a bound, in ascending order of their bounds, which differ.
    bounded: Vec<Bounded<T>>,
    /// The value for all other calls.
    rest: T,
}

/// A variant for small calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded<T> {
    /// Rows of the largest call that the variant serves.
    pub max_rows: u32,
    /// The variant.
    pub value: T,
}

impl<T> Variants<T> {
    /// Makes a set without variants: `rest` serves calls of any number of rows.
    pub fn only(rest: T) -> Self {
        Variants { bounded: Vec::new(), rest }
    }

    /// Adds a variant for calls of at most `max_rows` rows. If the bound exists already, the old variant
    /// stays.
    ///
    /// # Errors
    ///
    /// `value`, if its bound exists already.
    pub fn insert(&mut self, max_rows: u32, value: T) -> Result<(), T> {
        match self.bounded.binary_search_by_key(&max_rows, |variant| variant.max_rows) {
            Ok(_) => Err(value),
            Err(place) => {
                self.bounded.insert(place, Bounded { max_rows, value });
                Ok(())
            }
        }
    }

    /// The value for calls that no bound covers.
    pub fn rest(&self) -> &T {
        &self.rest
    }

    /// The variants for small calls, in ascending order of their bounds.
    pub fn bounded(&self) -> &[Bounded<T>] {
        &self.bounded
    }

    /// All values in ascending order of their bounds; the last is for all other calls and has none.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Option<u32>, &T)> + Clone {
        let bounded = self.bounded.iter().map(|variant| (Some(variant.max_rows), &variant.value));
        bounded.chain([(None, &self.rest)])
    }

    /// Value for a call of `rows` rows.
    pub fn for_rows(&self, rows: usize) -> &T {
        let covers = |variant: &&Bounded<T>| usize::try_from(variant.max_rows).is_ok_and(|max| rows <= max);
        self.bounded.iter().find(covers).map_or(&self.rest, |variant| &variant.value)
    }

    /// Value for a call of `rows` rows, taken out.
    pub fn into_for_rows(self, rows: usize) -> T {
        let covers = |variant: &Bounded<T>| usize::try_from(variant.max_rows).is_ok_and(|max| rows <= max);
        self.bounded.into_iter().find(covers).map_or(self.rest, |variant| variant.value)
    }

    /// A reference to each value.
    pub fn as_ref(&self) -> Variants<&T> {
        let bounded = self.bounded.iter();
        let bounded = bounded.map(|variant| Bounded { max_rows: variant.max_rows, value: &variant.value });
        Variants { bounded: bounded.collect(), rest: &self.rest }
    }

    /// Converts each value by `each`.
    pub fn map<U>(self, mut each: impl FnMut(Option<u32>, T) -> U) -> Variants<U> {
        let bounded = self.bounded.into_iter();
        let bounded = bounded
            .map(|Bounded { max_rows, value }| Bounded { max_rows, value: each(Some(max_rows), value) });
        let bounded = bounded.collect();
        Variants { bounded, rest: each(None, self.rest) }
    }

    /// Converts each value by a fallible `each`, in ascending order of the bounds, up to the first error.
    ///
    /// # Errors
    ///
    /// The first error of `each`.
    pub fn try_map<U, E>(
        self,
        mut each: impl FnMut(Option<u32>, T) -> Result<U, E>,
    ) -> Result<Variants<U>, E> {
        let mut bounded = Vec::with_capacity(self.bounded.len());
        for Bounded { max_rows, value } in self.bounded {
            bounded.push(Bounded { max_rows, value: each(Some(max_rows), value)? });
        }
        Ok(Variants { bounded, rest: each(None, self.rest)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Variants<&'static str> {
        let mut variants = Variants::only("rest");
        assert_eq!(variants.insert(64, "64"), Ok(()));
        assert_eq!(variants.insert(8, "8"), Ok(()));
        assert_eq!(variants.insert(8, "another"), Err("another"));
        variants
    }

    #[test]
    fn the_smallest_bound_that_covers_a_call_wins() {
        let at = |rows| *three().for_rows(rows);
        assert_eq!([0, 1, 8, 9, 64, 65, usize::MAX].map(at), ["8", "8", "8", "64", "64", "rest", "rest"]);
        assert_eq!(three().into_for_rows(9), "64");
    }

    #[test]
    fn values_come_in_the_order_of_their_bounds() {
        let all: Vec<_> =
            three().as_ref().map(|bound, value| (bound, value.len())).iter().map(|(_, v)| *v).collect();
        assert_eq!(all, [(Some(8), 1), (Some(64), 2), (None, 4)]);
        let failed = three().try_map(|bound, value| if bound == Some(64) { Err(value) } else { Ok(()) });
        assert_eq!(failed, Err("64"));
    }
}
