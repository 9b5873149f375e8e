//! Removal of tables that no kernel loads.
//!
//! Layouts and quantizers make tables for every kind of walk, and the kernels of a plan load only some of
//! them. Artefacts leave the others out.

use super::{Block, BufferId, Function, Module, Space, Stmt};
use std::collections::BTreeSet;

impl Module {
    /// The module without tables that no kernel loads. Prefetches do not count as loads.
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
            keep_tables(function, &read);
        }
        self
    }
}

/// Numbers of the tables that a function loads.
fn tables_read(function: &Function) -> BTreeSet<u32> {
    let mut read = BTreeSet::new();
    Stmt::visit_all(&function.body, |stmt| {
        let buffers: Vec<BufferId> = match stmt {
            Stmt::Let(_, op) => op.buffer().into_iter().collect(),
            Stmt::Product(product) => product.elements().map(|of| of.buffer).collect(),
            _ => return,
        };
        read.extend(buffers.into_iter().filter_map(|id| match function.buffer(id).space {
            Space::ModelTable(table) => Some(table),
            _ => None,
        }));
    });
    read
}

/// Renumbers the tables that are read, and removes the buffers of others.
fn keep_tables(function: &mut Function, read: &BTreeSet<u32>) {
    let mut numbers: Vec<Option<BufferId>> = Vec::with_capacity(function.buffers.len());
    let mut kept = Vec::with_capacity(function.buffers.len());
    for mut buffer in std::mem::take(&mut function.buffers) {
        if let Space::ModelTable(table) = &mut buffer.space {
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

/// Renumbers buffers. Removes prefetches of removed buffers, and loops that contain nothing else.
fn renumber(block: &mut Block, numbers: &[Option<BufferId>]) {
    block.retain_mut(|stmt| {
        stmt.blocks_mut().into_iter().for_each(|block| renumber(block, numbers));
        let buffer = match stmt {
            Stmt::Let(_, op) => op.buffer_mut(),
            Stmt::Store(at, _) | Stmt::StoreMasked(at, ..) | Stmt::AtomicAdd(at, _) => Some(&mut at.buffer),
            Stmt::Prefetch(at) => Some(&mut at.buffer),
            Stmt::Alloc(stmt) => Some(&mut stmt.buffer),
            Stmt::Product(product) => {
                for of in product.elements_mut() {
                    let new = numbers.get(of.buffer.0 as usize).copied().flatten();
                    of.buffer = new.unwrap_or(of.buffer);
                }
                return true;
            }
            Stmt::For(stmt) => return !(stmt.body.is_empty() && stmt.carried.is_empty()),
            Stmt::Ticket(ticket) => {
                let new = |buffer: BufferId| numbers.get(buffer.0 as usize).copied().flatten();
                ticket.shared = new(ticket.shared).unwrap_or(ticket.shared);
                Some(&mut ticket.counter.buffer)
            }
            Stmt::While(_)
            | Stmt::If(_)
            | Stmt::Parallel(_)
            | Stmt::Launch(_)
            | Stmt::Barrier
            | Stmt::Fence => None,
        };
        let Some(buffer) = buffer else { return true };
        let new = numbers.get(buffer.0 as usize).copied().flatten();
        *buffer = new.unwrap_or(*buffer);
        new.is_some()
    });
}
