//! Slots of sums: the margins that the trees of a slot add to.

/// Sums that each slot has for a row, in a forest whose tree `i` adds to margin `i` modulo `margins`: one if
/// all trees of a slot add to the same margin, otherwise `margins`. In the first case, slot `s` has the sum
/// of margin `s` modulo `margins`.
///
/// `slots` are the loops over trees whose iterations have slots, outermost first, with their steps and their
/// numbers of iterations. `others` are the steps of the other loops over trees that have several iterations.
/// The starts of all loops are multiples of `margins`.
///
/// With three classes and `tile(tree, t0, t1, 6)`, iterations of `t1` are trees of classes 0, 1, 2, 0, 1, 2
/// in each iteration of `t0`, whose step is 6. So `margins_of_slot(3, &[(1, 6)], &[6])` is 1.
pub fn margins_of_slot(margins: u64, slots: &[(u64, u64)], others: &[u64]) -> u64 {
    if margins <= 1 {
        return margins;
    }
    // The margin of a slot's trees is the sum of `step * iteration`, which must equal the slot's number.
    let mut slots_inside = 1 % margins;
    for (step, trips) in slots.iter().rev().filter(|(_, trips)| *trips != 1) {
        if step % margins != slots_inside {
            return margins;
        }
        slots_inside = slots_inside * (trips % margins) % margins;
    }
    if others.iter().all(|step| step.is_multiple_of(margins)) { 1 } else { margins }
}

#[cfg(test)]
mod tests {
    use super::margins_of_slot;

    #[test]
    fn a_slot_has_one_margin_if_its_trees_are_multiples_of_the_margins_apart() {
        // Groups of 8 trees in blocks, and the trees of a group in threads.
        assert_eq!(margins_of_slot(4, &[(8, 13), (1, 8)], &[]), 1);
        assert_eq!(margins_of_slot(3, &[(8, 13), (1, 8)], &[]), 1, "slots are in the order of trees");
        // Every 8th tree, and then the next ones.
        assert_eq!(margins_of_slot(4, &[(1, 8)], &[8]), 1);
        assert_eq!(margins_of_slot(3, &[(1, 8)], &[8]), 3);
        // Eight adjacent trees for each slot.
        assert_eq!(margins_of_slot(4, &[(8, 13)], &[1]), 4);
        // Every 5th slot is the next tree of another loop: slot 1 has tree 8.
        assert_eq!(margins_of_slot(4, &[(1, 5), (8, 13)], &[]), 4);
        assert_eq!(margins_of_slot(7, &[(1, 7), (8, 7)], &[]), 7);
        assert_eq!(margins_of_slot(1, &[(3, 5)], &[2]), 1);
        assert_eq!(margins_of_slot(4, &[(10, 1), (1, 10)], &[]), 1, "the outer loop has one iteration");
    }

    #[test]
    fn the_number_of_a_slot_is_its_margin() {
        for (margins, outer, inner) in [(3, 4, 6), (2, 3, 5), (5, 2, 7), (4, 3, 12)] {
            let slots = [(inner, outer), (1, inner)];
            assert_eq!(margins_of_slot(margins, &slots, &[]), 1, "{margins}");
            for (slot, tree) in (0..outer * inner).enumerate() {
                assert_eq!(slot as u64 % margins, tree % margins);
            }
        }
    }
}
