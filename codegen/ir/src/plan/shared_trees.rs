//! The check of copies of trees into the memory of blocks.

use super::Stored;
use crate::codes;
use crate::error::CompileError;
use crate::mir::{Stmt, WalkId};
use crate::repr::Storage;
use std::collections::BTreeMap;

/// Refuses copies of trees that are not contiguous in their storage.
///
/// # Errors
///
/// When a nest copies such trees.
pub fn check(
    stmts: &[Stmt],
    storages: &BTreeMap<Storage, Stored>,
    of_walks: &BTreeMap<WalkId, Storage>,
) -> Result<(), CompileError> {
    let inside = |body: &[Stmt]| check(body, storages, of_walks);
    stmts.iter().try_for_each(|stmt| match stmt {
        Stmt::ShareTrees(copy) => {
            let walked = copy.trees.walks.ids().filter_map(|walk| of_walks.get(&walk));
            let scattered = |storage: &&Storage| {
                storages.get(storage).is_some_and(|stored| stored.layout.spans().is_none())
            };
            if let Some(storage) = walked.into_iter().find(scattered) {
                return Err(CompileError::new(
                    codes::GPU,
                    format!(
                        "trees as {storage} do not lie in one piece each, so that a block cannot copy some \
                         of \
                         them"
                    ),
                    "do not cache trees, or use representation(array) or representation(sparse)",
                ));
            }
            inside(&copy.body)
        }
        Stmt::Loop(this) => inside(&this.body),
        Stmt::Case(_, arms) => arms.iter().try_for_each(|(_, body)| inside(body)),
        Stmt::CacheRows(copy) => inside(&copy.body),
        Stmt::Private(private) => inside(&private.body),
        Stmt::Launch(launch) => inside(&launch.body),
        Stmt::When(_, body) => inside(body),
        Stmt::ThreadSums(sums) => inside(&sums.body),
        Stmt::Walks(_)
        | Stmt::Base(_)
        | Stmt::CacheTrees(_)
        | Stmt::Zero(..)
        | Stmt::ZeroAll(_)
        | Stmt::Fold(_) => Ok(()),
    })
}
