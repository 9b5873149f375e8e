//! The votes of leaves: for each leaf, weights for classes or targets.

use super::outcome::{VoteRule, VoteSummary, unsupported};
use crate::codes;
use crate::error::ModelError;
use crate::forest::{LeafValues, TreeTarget};
use smallvec::SmallVec;

/// Votes sorted by leaf.
#[derive(Debug)]
pub(super) struct VoteList {
    /// For each node, the position of its first vote in `order`, and at the end the number of votes.
    starts: Vec<u32>,
    /// Indices of votes in the file, sorted by node.
    order: Vec<u32>,
    /// The class or target of each vote of the file, below their number.
    classes: Vec<i32>,
    weights: Vec<f64>,
}

/// The votes of a file before they are sorted.
#[derive(Debug)]
pub(super) struct RawVotes {
    /// The leaf of each vote; `None` for the vote of an inner node, which does not count.
    pub nodes: Vec<Option<u32>>,
    pub classes: Vec<i32>,
    pub weights: Vec<f64>,
}

impl VoteList {
    /// Sorts votes by node.
    ///
    /// # Errors
    /// `M0016` for a vote for a class that does not exist.
    pub fn new(
        raw: RawVotes,
        num_nodes: usize,
        num_classes: usize,
        name: &str,
    ) -> Result<VoteList, ModelError> {
        let RawVotes { nodes, classes, weights } = raw;
        for (at, &class) in classes.iter().enumerate() {
            if !usize::try_from(class).is_ok_and(|class| class < num_classes) {
                let message = format!("a leaf adds to class or target {class}, and there are {num_classes}");
                return Err(ModelError::new(codes::TARGET_OUT_OF_RANGE, message).at(format!("{name}[{at}]")));
            }
        }
        let mut starts = vec![0u32; num_nodes + 1];
        for &node in nodes.iter().flatten() {
            starts[node as usize + 1] += 1;
        }
        for node in 0..num_nodes {
            starts[node + 1] += starts[node];
        }
        let mut order = vec![0; starts.last().map_or(0, |&count| count as usize)];
        // Fills the votes of each node from the end, so that votes keep their order in the file.
        let mut next: Vec<u32> = starts[1..].to_vec();
        for (vote, node) in nodes.iter().enumerate().rev() {
            if let Some(node) = node {
                let place = &mut next[*node as usize];
                *place -= 1;
                order[*place as usize] = vote as u32;
            }
        }
        Ok(VoteList { starts, order, classes, weights })
    }

    /// The votes of a node: classes and weights.
    pub fn of(&self, node: usize) -> impl ExactSizeIterator<Item = (u32, f64)> {
        let votes = &self.order[self.starts[node] as usize..self.starts[node + 1] as usize];
        votes.iter().map(|&vote| (self.classes[vote as usize] as u32, self.weights[vote as usize]))
    }

    /// Summarizes the votes: which classes have votes, and which get a vote for every row. `trees` are ranges
    /// of nodes.
    pub fn summary(
        &self,
        num_classes: usize,
        trees: &[std::ops::Range<usize>],
        is_leaf: impl Fn(usize) -> bool,
    ) -> VoteSummary {
        let mut summary = VoteSummary {
            voted: vec![false; num_classes],
            always: vec![false; num_classes],
            any_negative: self.weights.iter().any(|&weight| weight < 0.0),
            all_positive: self.weights.iter().all(|&weight| weight > 0.0),
        };
        for &class in &self.classes {
            summary.voted[class as usize] = true;
        }
        let mut leaves_with = vec![0; num_classes];
        for tree in trees {
            let mut leaves = 0;
            for node in tree.clone().filter(|&node| is_leaf(node)) {
                leaves += 1;
                self.of(node).for_each(|(class, _)| leaves_with[class as usize] += 1);
            }
            for (class, _) in tree.clone().flat_map(|node| self.of(node)) {
                let count = std::mem::take(&mut leaves_with[class as usize]);
                summary.always[class as usize] |= count > 0 && count >= leaves;
            }
        }
        summary
    }

    /// The margins to which a tree adds: a single one if all its votes are for the same class or target.
    pub fn target(&self, tree: std::ops::Range<usize>, votes: VoteRule) -> TreeTarget {
        match votes {
            VoteRule::Single => TreeTarget::One(0),
            VoteRule::Mirrored => TreeTarget::All,
            VoteRule::Each => {
                let mut classes = tree.flat_map(|node| self.of(node)).map(|(class, _)| class);
                let Some(first) = classes.next() else { return TreeTarget::One(0) };
                if classes.all(|class| class == first) { TreeTarget::One(first) } else { TreeTarget::All }
            }
        }
    }

    /// The values of a leaf.
    ///
    /// # Errors
    /// `M0041` for two votes for the same class or target.
    pub fn values(
        &self,
        node: usize,
        target: TreeTarget,
        votes: VoteRule,
        num_margins: usize,
    ) -> Result<LeafValues, ModelError> {
        let twice = || {
            unsupported(
                "a leaf has two votes for one class or target; ONNX Runtime may count one or both",
                "add the weights of such votes",
            )
        };
        if votes != VoteRule::Each || matches!(target, TreeTarget::One(_)) {
            let mut weights = self.of(node).map(|(_, weight)| weight);
            let weight = weights.next().unwrap_or(0.0);
            if weights.next().is_some() {
                return Err(twice());
            }
            return Ok(match votes {
                VoteRule::Mirrored => SmallVec::from_slice(&[-weight, weight]),
                VoteRule::Each | VoteRule::Single => SmallVec::from_slice(&[weight]),
            });
        }
        let mut values = SmallVec::from_elem(0.0, num_margins);
        let mut met: SmallVec<[u32; 8]> = SmallVec::new();
        for (class, weight) in self.of(node) {
            values[class as usize] = weight;
            met.push(class);
        }
        met.sort_unstable();
        match met.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(twice()),
            false => Ok(values),
        }
    }
}
