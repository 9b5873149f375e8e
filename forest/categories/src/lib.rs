//! Categories of features: their names, and the numbers that stand for them in rows.
//!
//! A cell of a table is a *name*, a cell of an array is a *code*. `docs/categories.md` has the rule with a
//! table of trainers, kinds of input and cells; [`Lookup`] is its only implementation, which the command
//! line, libraries and the Python packages share.
//!
//! ```
//! use sched_categories::{Categories, Cell, CellForm, CellOrigin, Choices, Label, Names, Naming, Unseen};
//!
//! let months = (1..=12).map(Label::Integer).collect();
//! let names = vec![Names { labels: months, naming: Naming::Listed }];
//! let categories = Categories::new(names, Choices::default(), Unseen::Missing);
//! let table = categories.lookup(0, CellOrigin::Table).ok_or("no categories")?;
//! assert_eq!(table.code(Cell::Integer(3), CellForm::Plain), Ok(2.0));
//! let array = categories.lookup(0, CellOrigin::Array).ok_or("no categories")?;
//! assert_eq!(array.code(Cell::Integer(3), CellForm::Plain), Ok(3.0));
//! # Ok::<(), &str>(())
//! ```

mod categories;
mod choices;
mod json;
mod label;
mod lookup;
mod name_index;
mod names;
mod refusal;

pub use categories::Categories;
pub use choices::{CellOrigin, Choices, NumbersAs, Unseen};
pub use json::{from_json, json_of_label, label_of_json, to_json};
pub use label::Label;
pub use lookup::{Cell, CellForm, Lookup};
pub use names::{Names, Naming, is_wide};
pub use refusal::{ChoiceSyntax, Refusal};
