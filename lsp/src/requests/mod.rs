//! What clients ask, one file per request: from the protocol's terms to those of `sched_ide` and back.

pub mod actions;
pub mod commands;
pub mod completion;
pub mod definition;
pub mod diagnostics;
pub mod folding;
pub mod formatting;
pub mod highlight;
pub mod hints;
pub mod hover;
pub mod initialize;
pub mod ir;
pub mod lenses;
pub mod lineage;
pub mod links;
pub mod model;
pub mod nest;
pub mod references;
pub mod rename;
pub mod selection;
pub mod signature;
pub mod symbols;
pub mod tokens;
pub mod workspace_symbols;
