//! Look-ups of a feature's thresholds, level by level of the complete tree that a binary search walks down.

use super::bins::BinMap;
use crate::lir::{Address, BufferId, Builder, Gather, Ty, Value};

/// Number of entries of the look-up table with the first levels of thresholds. Each deeper level is a
/// separate look-up table.
const FIRST_LEVELS_ENTRIES: u32 = 16;
/// Number of thresholds of the largest level that stays in registers during a loop over rows. Larger levels
/// are loaded for each block.
const MOST_HOISTED_THRESHOLDS: u32 = 32;
/// Number of thresholds of the largest level that is looked up in registers. Thresholds of larger levels are
/// gathered.
const MOST_LOOKUP_THRESHOLDS: u32 = 128;

/// Thresholds of one feature in a table of all features.
#[derive(Clone, Copy)]
pub(super) struct FeatureThresholds {
    pub(super) table: BufferId,
    /// Index of the feature's first entry.
    pub(super) first: Value,
}

/// A vector of nodes of one level of a feature's tree of thresholds.
#[derive(Clone, Copy)]
pub(super) struct ThresholdNodes {
    pub node: Value,
    pub level: u32,
    /// Number of levels of the tree.
    pub depth: u32,
}

/// Code that looks up thresholds in levels of the trees of thresholds.
#[derive(Clone, Copy)]
pub(super) struct ThresholdLevels<'a> {
    bins: &'a BinMap,
}

impl<'a> ThresholdLevels<'a> {
    /// Look-ups in the thresholds of these bins.
    pub fn of(bins: &'a BinMap) -> ThresholdLevels<'a> {
        ThresholdLevels { bins }
    }

    /// Thresholds of a vector of nodes of a level, one per lane.
    pub fn look_up(&self, b: &mut Builder, run: FeatureThresholds, nodes: ThresholdNodes) -> Value {
        let table = self.load_level(b, run, (nodes.level, nodes.depth), b.ty(nodes.node).lanes);
        self.look_up_in(b, run, table, nodes)
    }

    /// Loads the thresholds of a level: the root's in all lanes, or a look-up table. `None` if they must be
    /// gathered.
    fn load_level(
        &self,
        b: &mut Builder,
        run: FeatureThresholds,
        (level, depth): (u32, u32),
        lanes: u16,
    ) -> Option<Value> {
        let FeatureThresholds { table: buffer, first } = run;
        let (element, size) = (self.bins.compared_element(), 1u32 << level);
        let stride = element.bytes();
        if size > MOST_LOOKUP_THRESHOLDS {
            return None;
        }
        if size == 1 {
            let root = b.load(Ty::of(element), Address { buffer, index: first, stride, offset: stride });
            return Some(b.splat(root, lanes));
        }
        let (start, length) = if size < FIRST_LEVELS_ENTRIES {
            (0, FIRST_LEVELS_ENTRIES.min(1 << depth))
        } else {
            (size, size)
        };
        let at = b.address_after(Address { buffer, index: first, stride, offset: 0 }, start.into());
        Some(b.load(Ty::vector(element, length as u16), at))
    }

    /// Thresholds of nodes of a level, looked up in the result of [`ThresholdLevels::load_level`].
    fn look_up_in(
        &self,
        b: &mut Builder,
        run: FeatureThresholds,
        level: Option<Value>,
        nodes: ThresholdNodes,
    ) -> Value {
        let FeatureThresholds { table: buffer, first } = run;
        let element = self.bins.compared_element();
        let Some(table) = level else {
            let (index, stride) = (nodes.node, element.bytes());
            return b.gather(element, Gather { buffer, base: first, index, stride, offset: 0, mask: None });
        };
        if nodes.level == 0 { table } else { b.lookup(table, nodes.node) }
    }

    /// Loads the first levels of a feature's thresholds before a loop over rows. Deeper levels would not stay
    /// in registers; the loop loads them.
    pub fn hoisted_levels(
        &self,
        b: &mut Builder,
        run: FeatureThresholds,
        (depth, lanes): (u32, u16),
    ) -> Vec<Value> {
        let levels = (0..depth).take_while(|level| 1 << level <= MOST_HOISTED_THRESHOLDS);
        levels.filter_map(|level| self.load_level(b, run, (level, depth), lanes)).collect()
    }

    /// Thresholds of nodes of a level, from the levels that were loaded before the loop if possible.
    pub fn look_up_hoisted(
        &self,
        b: &mut Builder,
        run: FeatureThresholds,
        near: &[Value],
        (node, level, depth): (Value, u32, u32),
    ) -> Value {
        let nodes = ThresholdNodes { node, level, depth };
        match near.get(level as usize) {
            Some(table) => self.look_up_in(b, run, Some(*table), nodes),
            None => self.look_up(b, run, nodes),
        }
    }
}
