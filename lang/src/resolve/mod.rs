//! From syntax to meaning, as far as it needs no loops: the header, named numbers, and directives as typed calls.

mod calls;
mod header;
mod scope;

pub(crate) use calls::{Arg, Call, calls, parameters, path_text};
pub(crate) use header::{given_target, header};
pub(crate) use scope::{FACTS, FUNCTIONS, Number, Scope, list, scope};
