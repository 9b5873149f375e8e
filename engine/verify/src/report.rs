//! The report of a verification, for people and for programs.

use crate::calls::{CallSummary, kinds};
use crate::comparison::OutputComparison;
use crate::origin::ExplainedDifference;
use crate::search::RowSummary;
use crate::versions::VersionReport;
use sched_forest::Coverage;
use sched_llvm::runtime::OutputKind;
use serde_json::{Map, Value, json};

/// Most unreachable leaves that the JSON lists; the others are counted.
const MAX_LISTED_LEAVES: usize = 1000;

/// The report.
pub struct VerifyReport {
    /// The model's file and its fingerprint.
    pub model: (String, String),
    /// The schedule's name, its fingerprint, and the order of accumulation.
    pub schedule: (String, String, String),
    /// The library and its fingerprint; `None` for code in memory.
    pub artefact: Option<(String, String)>,
    /// The processor that the code is for.
    pub processor: String,
    /// Versions of a library for other processors.
    pub versions: Vec<VersionReport>,
    /// Rows of each type.
    pub rows: Vec<RowSummary>,
    /// Counts and first differences of the calls.
    pub outcome: CallSummary,
    /// The outputs that were compared.
    pub outputs: Vec<&'static str>,
    /// Unreachable leaves: tree and leaf, by the model's numbers.
    pub unreachable: Vec<(u32, u32)>,
    /// The first difference.
    pub first_difference: Option<ExplainedDifference>,
    /// Comparisons with predictions of other programs.
    pub others: Vec<OutputComparison>,
    /// Further notes.
    pub notes: Vec<String>,
}

impl VerifyReport {
    /// Whether everything is equal.
    pub fn is_equal(&self) -> bool {
        let versions = self.versions.iter().filter_map(|version| version.report.as_ref());
        self.first_difference.is_none()
            && versions.into_iter().all(|report| report["equal"] == true)
            && self.others.iter().all(OutputComparison::is_equal)
    }

    /// Whether values and classes were not compared, since sums are added in another order.
    pub fn compares_margins_alone(&self) -> bool {
        self.schedule.2 != "exact"
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let compared =
            |kind: OutputKind| (kind.word().to_owned(), self.outcome.compared[kind as usize].into());
        let compared: Map<String, Value> = kinds().into_iter().map(compared).collect();
        let rows: Vec<Value> = self.rows.iter().map(RowSummary::to_json).collect();
        let unreachable: Vec<Value> = self
            .unreachable
            .iter()
            .take(MAX_LISTED_LEAVES)
            .map(|(tree, leaf)| json!({ "tree": tree, "leaf": leaf }))
            .collect();
        json!({
            "schedc": env!("CARGO_PKG_VERSION"),
            "equal": self.is_equal(),
            "model": { "file": self.model.0, "fingerprint": self.model.1 },
            "schedule": { "name": self.schedule.0, "fingerprint": self.schedule.1, "order": self.schedule.2 },
            "artefact": self.artefact.as_ref().map(|(file, fingerprint)| {
                json!({ "file": file, "fingerprint": fingerprint })
            }),
            "processor": self.processor,
            "versions": self.versions.iter().map(|version| {
                let runs_here = version.report.is_some();
                json!({ "target": version.target, "runs_here": runs_here, "report": version.report })
            }).collect::<Vec<_>>(),
            "rows": rows,
            "calls": self.outcome.calls,
            "stopped": self.outcome.stopped,
            "compared": compared,
            "unreachable_leaves": { "count": self.unreachable.len(), "leaves": unreachable },
            "difference": self.first_difference.as_ref().map(ExplainedDifference::to_json),
            "others": self.others.iter().map(OutputComparison::to_json).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

impl RowSummary {
    fn to_json(&self) -> Value {
        let Coverage {
            nodes,
            reachable_nodes,
            values,
            met_values,
            leaves,
            reachable_leaves,
            reached_leaves,
            ..
        } = self.coverage;
        json!({
            "type": self.float,
            "solved": self.solved,
            "given": self.given,
            "coverage": {
                "nodes": nodes,
                "reachable_nodes": reachable_nodes,
                "values": values,
                "met_values": met_values,
                "leaves": leaves,
                "reachable_leaves": reachable_leaves,
                "reached_leaves": reached_leaves,
                "thinned_features": self.coverage.thinned_features,
                "unsolved_nodes": self.coverage.unsolved_nodes,
                "unsolved_leaves": self.coverage.unsolved_leaves,
            },
        })
    }
}
