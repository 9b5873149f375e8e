//! The categories of all features of a model, and the user's choices.

use crate::choices::{CellOrigin, Choices, Unseen};
use crate::lookup::Lookup;
use crate::name_index::NameIndex;
use crate::names::{Names, Naming};

/// The names of the categories of a model's features, indexed for look-ups.
#[derive(Clone, Debug, Default)]
pub struct Categories {
    features: Vec<NameIndex>,
    choices: Choices,
    /// The trainer's treatment of unknown categories, which applies if the user chose none.
    of_trainer: Unseen,
}

impl Categories {
    /// Indexes the names of each feature's categories.
    pub fn new(names: impl IntoIterator<Item = Names>, choices: Choices, of_trainer: Unseen) -> Categories {
        Categories { features: names.into_iter().map(NameIndex::new).collect(), choices, of_trainer }
    }

    /// Whether no step of the model reads a feature.
    pub fn is_unread(&self, feature: usize) -> bool {
        self.features.get(feature).is_some_and(|index| index.names.naming == Naming::Unread)
    }

    /// The look-up of a feature's categories; `None` if its cells are plain numbers, codes or unread.
    pub fn lookup(&self, feature: usize, origin: CellOrigin) -> Option<Lookup<'_>> {
        let index = self.features.get(feature).filter(|index| index.names.are_names())?;
        Some(Lookup::new(index, self.choices, self.choices.unseen.unwrap_or(self.of_trainer), origin))
    }
}
