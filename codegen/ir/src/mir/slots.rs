//! Finds the slots of a buffer that walks write.
//!
//! Slots are in iteration order, with those of the innermost loop consecutive. If only the last tile of
//! a loop is shorter than the others, walks write all slots up to some number and none behind it. Then slots
//! need not be set to zero before, and the empty slots are not folded.

use super::{Iter, Minuend, Var};

/// Number of slots that walks write, if these are the first ones of the buffer. `None` if they are not, or if
/// a bound is unknown. `all` are the loops for which slots are allocated, `loops` the iterations that run,
/// both outermost first.
pub(super) fn filled_slots(all: &[Iter], loops: &[&Iter]) -> Option<i64> {
    let mut prefix = FilledPrefix { filled: 0, ended: false };
    prefix.extend(all, loops, &mut Vec::new())?;
    Some(prefix.filled)
}

/// Number of slots of a buffer with these loops. `None` if a bound is unknown.
pub(super) fn slot_count(all: &[Iter]) -> Option<i64> {
    filled_slots(all, &all.iter().collect::<Vec<_>>())
}

/// Slots before the first empty one.
struct FilledPrefix {
    filled: i64,
    ended: bool,
}

impl FilledPrefix {
    /// Adds the slots of some loops' iterations, where `around` are the values of the enclosing loops.
    /// `None` if a slot behind an empty one is filled, or if a bound is unknown.
    fn extend(&mut self, all: &[Iter], loops: &[&Iter], around: &mut Vec<(Var, i64)>) -> Option<()> {
        let (Some((slots, all)), Some((this, loops))) = (all.split_first(), loops.split_first()) else {
            return (!self.ended).then(|| self.filled += 1);
        };
        let (most, has) = (trips(slots, &[])?, trips(this, around)?);
        if loops.is_empty() {
            if self.ended && has > 0 {
                return None;
            }
            self.filled += has;
        } else {
            for number in 0..has {
                around.push((this.var, this.start + number * this.step));
                self.extend(all, loops, around)?;
                around.pop();
            }
        }
        self.ended |= has < most;
        Some(())
    }
}

/// Number of iterations of a loop for given values of the enclosing loops.
fn trips(iter: &Iter, around: &[(Var, i64)]) -> Option<i64> {
    let mut end = None;
    for stop in &iter.stops {
        let Minuend::Const(limit) = stop.limit else { return None };
        let mut stop_at = limit - stop.less.plus;
        for var in &stop.less.vars {
            stop_at -= around.iter().find(|(of, _)| of == var)?.1;
        }
        end = Some(end.map_or(stop_at, |end: i64| end.min(stop_at)));
    }
    Some(((end? - iter.start + iter.step - 1) / iter.step).max(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::{Affine, Bound};

    fn iter(var: u32, step: i64, stops: &[(i64, &[u32])]) -> Iter {
        let bound = |(limit, less): &(i64, &[u32])| Bound {
            limit: Minuend::Const(*limit),
            less: Affine { vars: less.iter().map(|var| Var(*var)).collect(), plus: 0 },
        };
        Iter { var: Var(var), start: 0, step, stops: stops.iter().map(bound).collect() }
    }

    #[test]
    fn a_shorter_last_tile_leaves_the_slots_behind_it_empty() {
        let all = [iter(0, 4, &[(11, &[])]), iter(1, 1, &[(4, &[])])];
        let inner = iter(1, 1, &[(4, &[]), (11, &[0])]);
        assert_eq!(filled_slots(&all, &[&all[0], &inner]), Some(11));
        assert_eq!(filled_slots(&all, &[&all[0], &all[1]]), Some(12));
        assert_eq!(filled_slots(&all[1..], &[&all[1]]), Some(4));
    }

    #[test]
    fn slots_behind_empty_ones_are_not_counted() {
        // Loops of a tile in reverse order. First only the last slot of the last iteration is empty,
        // then slots of several iterations are.
        let all = [iter(1, 1, &[(4, &[])]), iter(0, 4, &[(11, &[])])];
        let inner = iter(0, 4, &[(11, &[1])]);
        assert_eq!(filled_slots(&all, &[&all[0], &inner]), Some(11));
        let all = [iter(1, 1, &[(4, &[])]), iter(0, 4, &[(9, &[])])];
        let inner = iter(0, 4, &[(9, &[1])]);
        assert_eq!(filled_slots(&all, &[&all[0], &inner]), None);
        // An enclosing loop without slots.
        let inner = iter(0, 4, &[(9, &[7])]);
        assert_eq!(filled_slots(&all[1..], &[&inner]), None);
    }
}
