//! Assigns lists of category names to features. A file has the lists in the order of their features, without
//! saying which features these are.

/// A column of the training data.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrainingColumn {
    /// Whether trees treat it as categorical.
    pub is_categorical: bool,
    /// Smallest length of a list that has a name for each training value, if the values are codes; `None` if
    /// they are not.
    pub names_needed: Option<usize>,
}

impl TrainingColumn {
    /// Whether a list of `names` names can belong to the column.
    fn fits(self, names: usize) -> bool {
        self.names_needed.is_some_and(|needed| needed <= names)
    }
}

/// The list of names that belongs to a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnedList {
    /// No list belongs to the feature.
    None,
    /// The list of this number certainly belongs to the feature.
    Certain(usize),
    /// The list of this number belongs to the feature, unless the user listed categorical features in
    /// training that pandas does not know as such.
    Likely(usize),
    /// Several lists are possible, or a list and none.
    Unclear,
}

/// Maximum product of the numbers of features and lists for which all assignments are examined.
const MOST_PAIRS: usize = 10_000_000;

/// The list of each feature. `lists` has the length of each list.
///
/// By default, LightGBM's package makes exactly the columns of pandas' type `category` categorical features,
/// but users can list other ones. So the lists usually belong to the categorical features, and certainly do
/// if no other assignment fits.
pub(super) fn owned_lists(columns: &[TrainingColumn], lists: &[usize]) -> Vec<OwnedList> {
    let categorical: Vec<usize> = (0..columns.len()).filter(|&at| columns[at].is_categorical).collect();
    let by_rule = categorical.len() == lists.len()
        && categorical.iter().zip(lists).all(|(&at, &names)| columns[at].fits(names));
    let choices = match columns.len().saturating_mul(lists.len()) <= MOST_PAIRS {
        true => choices(columns, lists),
        false => None,
    };
    let owner = |at: usize| {
        let choice = choices.as_ref().map_or(ListChoice::Many, |choices| choices[at]);
        let rule = categorical.binary_search(&at).ok().filter(|_| by_rule);
        match (rule, choice) {
            (Some(list), ListChoice::List(_)) => OwnedList::Certain(list),
            (Some(list), _) => OwnedList::Likely(list),
            (None, _) if by_rule => OwnedList::None,
            (None, ListChoice::List(list)) => OwnedList::Certain(list),
            (None, ListChoice::Nothing) => OwnedList::None,
            (None, ListChoice::Many) if choices.is_none() && !columns[at].is_categorical => OwnedList::None,
            (None, ListChoice::Many) => OwnedList::Unclear,
        }
    };
    (0..columns.len()).map(owner).collect()
}

/// The list of a feature in all possible assignments: none, always the same list, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListChoice {
    Nothing,
    List(usize),
    Many,
}

impl ListChoice {
    /// The choice for the union of two sets of assignments.
    fn or(before: Option<ListChoice>, more: ListChoice) -> Option<ListChoice> {
        match before {
            None => Some(more),
            Some(before) if before == more => Some(before),
            Some(_) => Some(ListChoice::Many),
        }
    }
}

/// The choice of each feature; `None` if no assignment is possible.
fn choices(columns: &[TrainingColumn], lists: &[usize]) -> Option<Vec<ListChoice>> {
    let (features, count) = (columns.len(), lists.len());
    // before[f][l]: the first `l` lists can belong to the first `f` features. after[f][l]: the lists from `l`
    // on can belong to the features from `f` on.
    let mut before = vec![vec![false; count + 1]; features + 1];
    let mut after = vec![vec![false; count + 1]; features + 1];
    before[0][0] = true;
    after[features][count] = true;
    for f in 0..features {
        for l in 0..=count {
            let placed = l > 0 && before[f][l - 1] && columns[f].fits(lists[l - 1]);
            before[f + 1][l] = before[f][l] || placed;
        }
    }
    for f in (0..features).rev() {
        for l in 0..=count {
            let placed = l < count && after[f + 1][l + 1] && columns[f].fits(lists[l]);
            after[f][l] = after[f + 1][l] || placed;
        }
    }
    let choice = |f: usize| {
        let mut choice = None;
        for l in 0..=count {
            if before[f][l] && after[f + 1][l] {
                choice = ListChoice::or(choice, ListChoice::Nothing);
            }
            if l < count && before[f][l] && columns[f].fits(lists[l]) && after[f + 1][l + 1] {
                choice = ListChoice::or(choice, ListChoice::List(l));
            }
        }
        choice
    };
    (0..features).map(choice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn categorical(needed: usize) -> TrainingColumn {
        TrainingColumn { is_categorical: true, names_needed: Some(needed) }
    }

    fn numeric(needed: Option<usize>) -> TrainingColumn {
        TrainingColumn { is_categorical: false, names_needed: needed }
    }

    #[test]
    fn lists_belong_to_categorical_features() {
        let columns = [categorical(3), numeric(None), categorical(5)];
        assert_eq!(
            owned_lists(&columns, &[3, 9]),
            [OwnedList::Certain(0), OwnedList::None, OwnedList::Certain(1)]
        );
    }

    #[test]
    fn another_column_of_codes_makes_doubt() {
        let columns = [categorical(4), numeric(Some(5)), numeric(None)];
        assert_eq!(owned_lists(&columns, &[5]), [OwnedList::Likely(0), OwnedList::None, OwnedList::None]);
        // The column has more values than the list has names, so the list cannot belong to it.
        assert_eq!(owned_lists(&columns, &[4]), [OwnedList::Certain(0), OwnedList::None, OwnedList::None]);
    }

    #[test]
    fn ordered_categories_are_found_where_one_assignment_fits() {
        let columns = [numeric(Some(3)), categorical(4), numeric(None)];
        assert_eq!(
            owned_lists(&columns, &[3, 4]),
            [OwnedList::Certain(0), OwnedList::Certain(1), OwnedList::None]
        );
        let columns = [numeric(Some(3)), numeric(Some(3)), categorical(4)];
        assert_eq!(owned_lists(&columns, &[3, 4]), [OwnedList::Unclear; 3]);
    }

    #[test]
    fn lists_that_fit_nowhere_leave_categorical_features_without_names() {
        let columns = [categorical(4), numeric(None)];
        assert_eq!(owned_lists(&columns, &[2]), [OwnedList::Unclear, OwnedList::None]);
        assert_eq!(owned_lists(&columns, &[4, 4]), [OwnedList::Unclear, OwnedList::None]);
    }

    #[test]
    fn very_many_pairs_are_not_looked_at() {
        let columns = vec![categorical(1); 4_000];
        assert!(
            owned_lists(&columns, &vec![1; 4_000]).iter().all(|owner| matches!(owner, OwnedList::Likely(_)))
        );
        let owners = owned_lists(&columns, &vec![1; 3_000]);
        assert!(owners.iter().all(|owner| *owner == OwnedList::Unclear));
    }
}
