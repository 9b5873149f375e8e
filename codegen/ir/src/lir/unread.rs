//! Leaves out the tables that no kernel loads from.
//!
//! Layouts and quantizers make all the tables that some way to walk may want, and what a plan asks for reads some of
//! them: an artefact need not carry the others.

use super::{Block, BufferId, Function, Module, Space, Stmt};
use std::collections::BTreeSet;

impl Module {
    /// The module without tables that no kernel loads from. To bring a table near is not to load from it.
    #[must_use]
    pub fn without_unread_tables(mut self) -> Module {
        let read: BTreeSet<u32> =
            self.kernels.iter().flat_map(|(_, function)| tables_read(function)).collect();
        let mut number = 0;
        self.tables.retain(|_| {
            number += 1;
            read.contains(&(number - 1))
        });
        for (_, function) in &mut self.kernels {
            keep(function, &read);
        }
        self
    }
}

/// The numbers of the tables that a function loads from.
fn tables_read(function: &Function) -> BTreeSet<u32> {
    let mut read = BTreeSet::new();
    Stmt::visit_all(&function.body, |stmt| {
        let Stmt::Let(_, op) = stmt else { return };
        if let Some(Space::Model(table)) = op.buffer().map(|id| function.buffer(id).space) {
            read.insert(table);
        }
    });
    read
}

/// Numbers tables by their places among those that are read, and leaves the buffers of others out.
fn keep(function: &mut Function, read: &BTreeSet<u32>) {
    let mut numbers: Vec<Option<BufferId>> = Vec::with_capacity(function.buffers.len());
    let mut kept = Vec::with_capacity(function.buffers.len());
    for mut buffer in std::mem::take(&mut function.buffers) {
        if let Space::Model(table) = &mut buffer.space {
            if !read.contains(table) {
                numbers.push(None);
                continue;
            }
            *table = read.range(..*table).count() as u32;
        }
        numbers.push(Some(BufferId(kept.len() as u32)));
        kept.push(buffer);
    }
    function.buffers = kept;
    if numbers.iter().flatten().count() < numbers.len() {
        renumber(&mut function.body, &numbers);
    }
}

/// Gives buffers their new numbers. What brings one near that is gone goes with it, and so do loops that do nothing else.
fn renumber(block: &mut Block, numbers: &[Option<BufferId>]) {
    block.retain_mut(|stmt| {
        stmt.blocks_mut().into_iter().for_each(|block| renumber(block, numbers));
        let buffer = match stmt {
            Stmt::Let(_, op) => op.buffer_mut(),
            Stmt::Store(at, _) | Stmt::StoreMasked(at, ..) | Stmt::AtomicAdd(at, _) => Some(&mut at.buffer),
            Stmt::Prefetch(at) => Some(&mut at.buffer),
            Stmt::Alloc(stmt) => Some(&mut stmt.buffer),
            Stmt::For(stmt) => return !(stmt.body.is_empty() && stmt.carried.is_empty()),
            Stmt::While(_) | Stmt::If(_) | Stmt::Parallel(_) | Stmt::Launch(_) | Stmt::Barrier => None,
        };
        let Some(buffer) = buffer else { return true };
        let new = numbers.get(buffer.0 as usize).copied().flatten();
        *buffer = new.unwrap_or(*buffer);
        new.is_some()
    });
}
