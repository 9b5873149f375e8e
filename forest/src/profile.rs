//! Profiles: the number of rows that end in each leaf, and the file format for these counts.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::codes;
use crate::error::ModelError;
use crate::forest::{Forest, Tree};
use crate::json::from_json;
use crate::real::Real;
use crate::walk::{WalkError, leaf_index};

/// The version of the file's format.
const FORMAT_VERSION: u32 = 1;
const MAKE_AGAIN_HELP: &str = "make it again with `schedc profile MODEL -i ROWS -o FILE`";

/// The number of rows that reached each leaf of a forest. Trees and leaves have the model's own numbers
/// ([`Tree::source`] and [`Leaf::source`](crate::Leaf::source)), so that a profile does not depend on the
/// order of nodes in a [`Forest`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Rows that were counted.
    pub rows: u64,
    /// For each tree, the number of rows that reached each leaf (the hits).
    pub trees: BTreeMap<u32, BTreeMap<u32, u64>>,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    format: u32,
    fingerprint: String,
    rows: u64,
    trees: Vec<FileTree>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTree {
    tree: u32,
    /// Pairs of a leaf index and its hits.
    leaves: Vec<(u32, u64)>,
}

impl Profile {
    /// Walks every row down every tree and counts.
    ///
    /// # Errors
    /// [`WalkError::Ragged`] if the values do not fill whole rows.
    pub fn count<X: Real>(forest: &Forest, rows: &[X]) -> Result<Profile, WalkError> {
        let features = forest.num_features;
        if !rows.len().is_multiple_of(features) {
            return Err(WalkError::Ragged { values: rows.len(), features });
        }
        let values: Vec<_> = rows.chunks_exact(features).map(|row| forest.row_values(row)).collect();
        let mut trees = BTreeMap::new();
        for tree in &forest.trees {
            let mut hits = vec![0u64; tree.leaves.len()];
            for row in &values {
                hits[leaf_index(forest, tree, row) as usize] += 1;
            }
            let leaves = tree.leaves.iter().map(|leaf| leaf.source);
            trees.insert(tree.source, leaves.zip(hits).collect());
        }
        Ok(Profile { rows: (rows.len() / features) as u64, trees })
    }

    /// The hits of a tree's leaves, in the order of [`Tree::leaves`]; `None` if the profile lacks one of
    /// them.
    pub fn hits(&self, tree: &Tree) -> Option<Vec<u64>> {
        let leaves = self.trees.get(&tree.source)?;
        tree.leaves.iter().map(|leaf| leaves.get(&leaf.source).copied()).collect()
    }

    /// The JSON text of a profile file for the model with this fingerprint, one tree on each line.
    pub fn to_json(&self, fingerprint: &str) -> String {
        let tree = |(tree, leaves): (&u32, &BTreeMap<u32, u64>)| {
            let leaves: Vec<String> = leaves.iter().map(|(leaf, hits)| format!("[{leaf}, {hits}]")).collect();
            format!("    {{\"tree\": {tree}, \"leaves\": [{}]}}", leaves.join(", "))
        };
        let trees: Vec<String> = self.trees.iter().map(tree).collect();
        format!(
            "{{\n  \"format\": {FORMAT_VERSION},\n  \"fingerprint\": {},\n  \"rows\": {},\n  \"trees\": \
             [\n{}\n  ]\n}}\n",
            serde_json::Value::from(fingerprint),
            self.rows,
            trees.join(",\n")
        )
    }

    /// Reads a profile file for a forest whose model has this fingerprint.
    ///
    /// # Errors
    /// [`codes::BAD_PROFILE`] for bytes that are no profile, [`codes::OTHER_PROFILE`] for the profile of
    /// another model or of other trees of it.
    pub fn from_json(bytes: &[u8], forest: &Forest, fingerprint: &str) -> Result<Profile, ModelError> {
        let bad = |message: String| ModelError::new(codes::BAD_PROFILE, message).help(MAKE_AGAIN_HELP);
        let file: ProfileFile =
            from_json(bytes).map_err(|error| bad(error.message.clone()).at(error.place.clone()))?;
        if file.format != FORMAT_VERSION {
            let message = format!(
                "the profile has format version {}, and this release of schedc reads version \
                 {FORMAT_VERSION}",
                file.format
            );
            return Err(bad(message).at("format"));
        }
        if file.fingerprint != fingerprint {
            let message = format!(
                "the profile is of a model with the fingerprint {}, and this one has {fingerprint}",
                shorten(&file.fingerprint)
            );
            return Err(ModelError::new(codes::OTHER_PROFILE, message)
                .at("fingerprint")
                .help(MAKE_AGAIN_HELP));
        }
        let mut profile = Profile { rows: file.rows, trees: BTreeMap::new() };
        for (at, tree) in file.trees.into_iter().enumerate() {
            let count = tree.leaves.len();
            let leaves: BTreeMap<u32, u64> = tree.leaves.into_iter().collect();
            if leaves.len() != count {
                return Err(bad("a leaf is listed twice".to_owned()).at(format!("trees[{at}].leaves")));
            }
            if profile.trees.insert(tree.tree, leaves).is_some() {
                return Err(
                    bad(format!("tree {} is listed twice", tree.tree)).at(format!("trees[{at}].tree"))
                );
            }
        }
        match forest.trees.iter().find(|tree| profile.hits(tree).is_none()) {
            None => Ok(profile),
            Some(tree) => {
                let message = format!("the profile does not have all leaves of tree {}", tree.source);
                let help = "make a profile of all trees, without --iterations";
                Err(ModelError::new(codes::OTHER_PROFILE, message).at("trees").help(help))
            }
        }
    }
}

/// The start of a text from a file, escaped, for a message.
fn shorten(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_default).collect()
}
