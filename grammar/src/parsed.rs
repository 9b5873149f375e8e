//! The result of parsing.

use crate::ast::{Comment, ScheduleFile};
use crate::error::SyntaxError;

/// A parsed text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The tree; parts that did not parse are `Error` nodes.
    pub file: ScheduleFile,
    /// All comments in order.
    pub comments: Vec<Comment>,
    /// All mistakes, in the order of the text. If there are none, the tree has no `Error` and no `Reserved`
    /// node, and the parser inserted nothing.
    pub errors: Vec<SyntaxError>,
}
