//! Encoded tables of a forest, which its compilations share.
//!
//! The choice of a schedule compiles one model under dozens of schedules, which ask for a few storages.
//! Encoding the trees takes most of such a compilation.

use super::{Request, Storage};
use crate::fault::{self, Fault};
use crate::lir::Table;
use crate::rows::features::FeatureSubset;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Most bytes of encoded tables that a forest keeps: those of a large model in all layouts. Tables beyond it
/// are encoded again.
const KEPT_BYTES: usize = 64 << 20;

/// Everything on which the tables of some trees of a forest depend.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EncodingKey {
    storage: Storage,
    used: Vec<bool>,
    depths: Vec<(u32, u32)>,
    leaf_indices: bool,
    leaf_columns: bool,
    subset: Option<FeatureSubset>,
    /// Bits of the costs of fetching operands.
    fetch: Vec<u64>,
    fault: Option<Fault>,
}

impl EncodingKey {
    /// The key of the tables for a request.
    pub fn of(storage: Storage, request: &Request<'_>) -> EncodingKey {
        EncodingKey {
            storage,
            used: request.used.to_vec(),
            depths: request.depths.to_vec(),
            leaf_indices: request.leaf_indices,
            leaf_columns: request.leaf_columns,
            subset: request.subset.cloned(),
            fetch: request.fetch.bits(),
            fault: fault::current(),
        }
    }
}

/// The encoded tables of a forest.
#[derive(Debug, Default)]
pub struct Encodings(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    tables: HashMap<EncodingKey, Arc<[Table]>>,
    bytes: usize,
}

impl Encodings {
    /// The tables of a key. Encodes them if they are not kept.
    pub fn get_or_encode(&self, key: &EncodingKey, encode: impl FnOnce() -> Vec<Table>) -> Arc<[Table]> {
        if let Some(tables) = self.0.lock().ok().and_then(|kept| kept.tables.get(key).cloned()) {
            return tables;
        }
        let tables: Arc<[Table]> = encode().into();
        if let Ok(mut kept) = self.0.lock() {
            let bytes: usize = tables.iter().map(|table| table.bytes.len()).sum();
            if kept.bytes + bytes <= KEPT_BYTES
                && kept.tables.insert(key.clone(), Arc::clone(&tables)).is_none()
            {
                kept.bytes += bytes;
            }
        }
        tables
    }
}
