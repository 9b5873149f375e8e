//! Encoded tables of a forest, which its compilations share.
//!
//! The choice of a schedule compiles one model under dozens of schedules, many of which have the same
//! storages. Encoding the trees takes most of the time of such a compilation.

use super::Table;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Largest number of bytes of encoded tables that are kept for a forest: enough for a large model in all
/// layouts. Further tables are encoded for each compilation.
const MOST_KEPT_BYTES: usize = 64 << 20;

/// The encoded tables of a forest.
#[derive(Debug, Default)]
pub struct EncodedTables(Mutex<Memo>);

#[derive(Debug, Default)]
struct Memo {
    tables: HashMap<String, Arc<[Table]>>,
    bytes: usize,
}

impl EncodedTables {
    /// The tables with this key. Encodes them if they were not encoded before.
    pub fn get_or_encode(&self, key: &str, encode: impl FnOnce() -> Vec<Table>) -> Arc<[Table]> {
        if let Some(tables) = self.0.lock().ok().and_then(|memo| memo.tables.get(key).cloned()) {
            return tables;
        }
        let tables: Arc<[Table]> = encode().into();
        if let Ok(mut memo) = self.0.lock() {
            let bytes: usize = tables.iter().map(|table| table.bytes.len()).sum();
            if memo.bytes + bytes <= MOST_KEPT_BYTES
                && memo.tables.insert(key.to_string(), Arc::clone(&tables)).is_none()
            {
                memo.bytes += bytes;
            }
        }
        tables
    }
}
