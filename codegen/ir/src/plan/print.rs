//! The text form of plans.

use super::{Plan, SumAccess, WalkPlan};
use crate::lir::Scalar;
use crate::quantize::fetch::FetchStrategy;
use crate::repr::traverse::{StepCounts, Traversal};
use crate::rows::features::FeatureSubset;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

/// Number of columns of category sets above which the printed plan advises `representation(preorder)`.
/// Computing such a column costs about as much as walking a tree.
const MANY_SET_COLUMNS: u64 = 64;

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if let Some(rows) = self.rows_per_run {
            writeln!(f, "at most {rows} rows per run")?;
        }
        if self.index != Scalar::I64 {
            writeln!(f, "indices of {}", self.index)?;
        }
        if let Some(transfer) = self.transfer {
            writeln!(f, "{transfer}")?;
        }
        if self.takes_columns {
            writeln!(f, "input: rows or columns, from which copies are filled")?;
        }
        if self.set_columns > 0 {
            write!(f, "{} computed columns test whether a category is in a set", self.set_columns)?;
            let many = self.set_columns > MANY_SET_COLUMNS;
            writeln!(f, "{}", if many { "; representation(preorder) needs none" } else { "" })?;
        }
        for (number, (storage, stored)) in self.storages.iter().enumerate() {
            writeln!(f, "storage {number}: {storage}")?;
            if let Some(wanted) = stored.rejected_format {
                writeln!(f, "  instead of: {}, which does not hold these trees", wanted.info().text)?;
            }
            let count = stored.has_tree.iter().filter(|used| **used).count();
            writeln!(f, "  {count} trees in {} bytes", stored.bytes)?;
            stored.layout.schema().to_string().lines().try_for_each(|table| writeln!(f, "  {table}"))?;
        }
        for (id, copy) in &self.copies {
            let columns = self.subset.as_ref().map_or(0, FeatureSubset::count);
            let lies = match copy.block_rows {
                None if copy.holds_tested => {
                    format!("{columns} tested features, one by one, shared by the threads of a block")
                }
                None if copy.is_shared => "feature by feature, shared by the threads of a block".to_string(),
                None => "row by row".to_string(),
                Some(rows) => format!("transposed in blocks of {rows} rows"),
            };
            let sums = if copy.copies_sums { ", with their sums" } else { "" };
            writeln!(f, "cache{}: {lies}{sums}", id.0)?;
        }
        for stage in &self.column_stages {
            let arrangement = stage.arrangement.as_ref().map(ToString::to_string);
            let loops = arrangement.unwrap_or_else(|| "loops of the compiler".to_owned());
            writeln!(f, "stage {}: {loops}", stage.info.name)?;
        }
        self.walks.values().try_for_each(|walk| self.walk(f, walk))
    }
}

impl Plan {
    fn walk(&self, f: &mut Formatter, walk: &WalkPlan) -> fmt::Result {
        let storage = self.storages.keys().position(|storage| *storage == walk.storage).unwrap_or(0);
        writeln!(f, "walks of {}: {} over storage {storage}", walk.name, name(&walk.traversal))?;
        match &walk.traversal {
            Traversal::NodeSweep | Traversal::TestMask => {}
            Traversal::Dense { columns } => writeln!(f, "  terms: {}", terms(columns.as_deref()))?,
            _ => writeln!(f, "  steps: {}", steps(&walk.steps))?,
        }
        if let Traversal::LevelLookup { bytes, fetch } = &walk.traversal {
            let numbers = if *bytes { "bytes" } else { "words" };
            let levels: Vec<&str> = fetch.iter().map(|fetch| strategy(*fetch)).collect();
            writeln!(f, "  node numbers in {numbers}; fetch by level: {}", levels.join(", "))?;
        }
        if let Traversal::LevelTests { bytes } = &walk.traversal {
            writeln!(f, "  node numbers in {}", if *bytes { "bytes" } else { "words" })?;
        }
        if let Some(table) = walk.row_table {
            let masked = if table.needs_mask { ", masked" } else { "" };
            writeln!(f, "  row as a look-up table of {} values{masked}", table.length)?;
        }
        let sums = match walk.sums {
            SumAccess::Register => "in a register",
            SumAccess::RowVector => "a vector of rows at a time",
            SumAccess::LeafVector => "all margins of a row at a time",
            SumAccess::EachValue => "one by one",
        };
        writeln!(f, "  sums: {sums}")?;
        if walk.unroll_and_jam > 1 {
            writeln!(f, "  remainder rows: {} vectors of several trees, interleaved", walk.unroll_and_jam)?;
        }
        Ok(())
    }
}

fn name(traversal: &Traversal) -> &'static str {
    match traversal {
        Traversal::PointerChase => "pointer chase",
        Traversal::LevelLookup { .. } => "level look-up",
        Traversal::LevelTests { .. } => "a test for each level",
        Traversal::PackedRows => "pointer chase, the first levels of four rows at once",
        Traversal::TreeLanes => "trees in lanes",
        Traversal::NodeSweep => "node sweep",
        Traversal::TestMask => "test mask",
        Traversal::NodeTiles => "node tiles",
        Traversal::Dense { .. } => "sums of terms",
    }
}

/// Text of the columns whose values each tree adds.
fn terms(columns: Option<&[Range<u32>]>) -> String {
    let Some(columns) = columns else { return "other columns in each tree".to_string() };
    let range = |range: &Range<u32>| match range.len() {
        1 => range.start.to_string(),
        _ => format!("{} to {}", range.start, range.end - 1),
    };
    let ranges: Vec<String> = columns.iter().map(range).collect();
    if ranges.is_empty() { "none".to_string() } else { format!("columns {}", ranges.join(", ")) }
}

fn strategy(fetch: FetchStrategy) -> &'static str {
    match fetch {
        FetchStrategy::ByNode => "by node",
        FetchStrategy::ByColumn => "by column",
        FetchStrategy::Gather => "gather",
        FetchStrategy::GatherNodes => "gather nodes and bins",
    }
}

fn steps(steps: &StepCounts) -> String {
    let straight = steps.straight - steps.speculated.min(steps.straight);
    let counted =
        [(steps.speculated, "levels at once"), (straight, "straight"), (steps.masked, "with early exit")];
    let mut parts: Vec<String> =
        counted.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if steps.has_loop {
        parts.push("to the leaf".to_string());
    }
    if parts.is_empty() { "none, roots are leaves".to_string() } else { parts.join(", ") }
}
