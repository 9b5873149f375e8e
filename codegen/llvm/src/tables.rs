//! The model's tables in this process, aligned as generated code expects.

use sched_ir::lir::Table;
use std::ffi::c_void;

/// A cache line of bytes, aligned to its size.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct CacheLine([u8; 64]);

/// Copies of tables, and the list of their addresses, which a run's context names.
pub(crate) struct Tables {
    // Boxed, so that the copies stay in place if this structure moves.
    _lines: Box<[CacheLine]>,
    pointers: Box<[*const c_void]>,
}

// SAFETY: the pointers point into `_lines`, which never changes.
unsafe impl Send for Tables {}
// SAFETY: as above.
unsafe impl Sync for Tables {}

impl Tables {
    /// Copies the tables.
    pub(crate) fn new(tables: &[Table]) -> Tables {
        let lines = |table: &Table| table.bytes.len().div_ceil(64);
        let mut memory = Vec::with_capacity(tables.iter().map(lines).sum());
        let mut starts = Vec::with_capacity(tables.len());
        for table in tables {
            starts.push(memory.len());
            memory.extend(table.bytes.chunks(64).map(|chunk| {
                let mut line = CacheLine([0; 64]);
                line.0[..chunk.len()].copy_from_slice(chunk);
                line
            }));
        }
        let memory = memory.into_boxed_slice();
        // An empty table at the end starts after the last line, where no code reads.
        let pointers = starts.iter().map(|start| memory.as_ptr().wrapping_add(*start).cast()).collect();
        Tables { _lines: memory, pointers }
    }

    /// Returns the addresses, by index of table.
    pub(crate) fn as_ptr(&self) -> *const *const c_void {
        self.pointers.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_copies() {
        let contents: [Vec<u8>; 4] = [vec![1; 65], vec![], (0..64).collect(), vec![7]];
        let tables: Vec<Table> =
            contents.iter().map(|bytes| Table { name: "t".into(), bytes: bytes.clone().into() }).collect();
        let copies = Tables::new(&tables);
        for (i, bytes) in contents.iter().enumerate() {
            let start = copies.pointers[i].cast::<u8>();
            assert_eq!(start as usize % 64, 0);
            // SAFETY: the copy of a table has its length.
            assert_eq!(unsafe { std::slice::from_raw_parts(start, bytes.len()) }, bytes);
        }
    }
}
