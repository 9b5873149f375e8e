//! All messages of schedc, as plain data: one type for schedules, models, data, compilation, libraries, the
//! command line and bugs of schedc itself. Every crate reports in this type, and the renderers print them
//! all.
//!
//! Each crate has its own table of codes, written with [`codes!`]. A code without a title and a page does not
//! compile.

mod code;
mod diagnostic;
mod error;
mod fix;
pub mod internal;
mod place;
mod severity;
pub mod usage;

pub use code::{Code, CodeFamily, CodeInfo, is_ascending};
pub use diagnostic::{Diagnostic, SpanLabel};
pub use fix::{Applicability, Edit, Fix};
pub use place::{Place, Span, TableColumn};
pub use severity::Severity;
