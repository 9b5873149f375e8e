//! Features of editors as pure functions: an [`Analysis`] and a byte offset in, plain data in terms of the
//! text out. No function knows a protocol or does IO; `sched-lsp` converts and serves.
//!
//! One feature, one file. Every function accepts any text and any offset: half-written schedules are the
//! normal case.

mod actions;
mod analysis;
mod completion;
mod cursor;
mod definition;
mod drops;
mod edits;
mod folding;
mod formatting;
mod gains;
mod highlight;
mod hover;
mod inlay;
mod lens;
mod links;
mod names;
mod nest_view;
mod pages;
mod references;
mod rename;
mod selection;
mod signature;
mod stage;
mod symbols;
mod tokens;

pub use actions::{Action, ActionKind, code_actions};
pub use analysis::{Analysis, ScheduleAnalysis};
pub use completion::{Completion, CompletionKind, completion};
pub use definition::{Definition, definition};
pub use drops::{Drops, Move, TileableLoop, WrittenDirective, drops};
pub use folding::{FoldingKind, FoldingRange, folding_ranges};
pub use formatting::{format_edits, format_range_edits};
pub use gains::{Gain, order_by_gain, with_following_directives};
pub use highlight::{Highlight, HighlightKind, highlights};
pub use hover::{Hover, hover};
pub use inlay::{InlayHint, InlayKind, InlayKinds, inlay_hints};
pub use lens::{Lens, LensKind, code_lenses};
pub use links::{FileLink, LinkTarget, document_links};
pub use nest_view::{
    AccumulationView, Badge, IdleLanes, LoopContents, LoopView, NestView, nest_after,
    nest_of_legal_directives, nest_until, nest_view, nest_view_json, nest_view_json_with, refused_directive,
    skipped_statements,
};
pub use references::references;
pub use rename::{Rename, prepare_rename, rename};
pub use sched_lang::diagnostics::Edit;
pub use selection::selection_ranges;
pub use signature::{ParameterHelp, SignatureHelp, signature_help};
pub use stage::{StageLines, stage_lines};
pub use symbols::{Symbol, SymbolKind, document_symbols};
pub use tokens::{SemanticToken, TokenKind, TokenModifiers, semantic_tokens};
