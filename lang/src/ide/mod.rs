//! What editors ask of a schedule, as pure functions: an [`Analysis`] and a byte offset in, plain data in the terms of
//! the text out. Nothing here knows a protocol or does IO; `sched-lsp` converts and serves.
//!
//! One feature, one file. Every function accepts any text and any offset: half-written schedules are the normal case.

mod analysis;
mod completion;
mod cursor;
mod hover;
mod inlay;
mod lens;
mod nest_view;
mod pages;
mod signature;

pub use analysis::Analysis;
pub use completion::{Completion, CompletionKind, completion};
pub use hover::{Hover, hover};
pub use inlay::{InlayHint, InlayKind, InlayKinds, inlay_hints};
pub use lens::{Lens, LensKind, code_lenses};
pub use nest_view::{
    AccumulationView, Badge, Inside, LoopView, NestView, nest_until, nest_view, nest_view_json,
    nest_view_json_with,
};
pub use signature::{ParameterHelp, SignatureHelp, signature_help};
