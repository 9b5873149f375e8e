//! Resolves syntax as far as it needs no loops: the header, named numbers, and directives as typed calls.

mod arithmetic;
mod calls;
mod header;
mod scope;
mod when;

pub(crate) use calls::calls;
pub use calls::{Arg, DirectiveCall, parameters, path_text};
pub(crate) use header::{given_target, header};
pub use scope::{DeclaredNumber, FUNCTIONS, PROPERTIES};
pub(crate) use scope::{NameScope, quoted_list, scope};
pub(crate) use when::bounds;
