//! The report of a verification, for people and for programs.

use super::calls::{Outcome, kinds};
use super::found::ExplainedDifference;
use super::others::Comparison;
use sched_forest::Coverage;
use sched_llvm::runtime::Kind;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Most unreachable leaves that the JSON lists; the others are counted.
const LISTED: usize = 1000;
/// Most unreachable leaves that the text lists.
const SHOWN: usize = 5;

/// The report.
pub struct Report {
    /// The model's file and its fingerprint.
    pub model: (String, String),
    /// The schedule's name, its fingerprint, and the order of accumulation.
    pub schedule: (String, String, String),
    /// The library and its fingerprint; `None` for code in memory.
    pub artefact: Option<(String, String)>,
    /// The processor that the code is for.
    pub processor: String,
    /// Versions of a library for other processors.
    pub versions: Vec<Version>,
    /// Rows of each type.
    pub rows: Vec<RowSummary>,
    /// The results of the calls.
    pub outcome: Outcome,
    /// The outputs that were compared.
    pub outputs: Vec<&'static str>,
    /// Unreachable leaves: tree and leaf, by the model's numbers.
    pub unreachable: Vec<(u32, u32)>,
    /// The first difference.
    pub found: Option<ExplainedDifference>,
    /// Comparisons with predictions of other programs.
    pub others: Vec<Comparison>,
    /// Further notes.
    pub notes: Vec<String>,
}

/// Counts and coverage of the rows of one float type.
pub struct RowSummary {
    /// `f32` or `f64`.
    pub float: &'static str,
    /// Number of solved rows.
    pub solved: usize,
    /// Number of given rows.
    pub given: usize,
    /// The nodes, values and leaves that the solved rows cover.
    pub coverage: Coverage,
}

/// A version of a library.
pub struct Version {
    /// The processors of the version.
    pub target: String,
    /// The report on the version; `None` if the version cannot run here.
    pub report: Option<Value>,
}

impl Report {
    /// Whether everything is equal.
    pub fn is_equal(&self) -> bool {
        let versions = self.versions.iter().filter_map(|version| version.report.as_ref());
        self.found.is_none()
            && versions.into_iter().all(|report| report["equal"] == true)
            && self.others.iter().all(Comparison::is_equal)
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let compared = |kind: Kind| (kind.word().to_owned(), self.outcome.compared[kind as usize].into());
        let compared: Map<String, Value> = kinds().into_iter().map(compared).collect();
        let rows: Vec<Value> = self.rows.iter().map(RowSummary::to_json).collect();
        let unreachable: Vec<Value> = self
            .unreachable
            .iter()
            .take(LISTED)
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
            "difference": self.found.as_ref().map(ExplainedDifference::to_json),
            "others": self.others.iter().map(Comparison::to_json).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }

    /// The report as text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}  {}", self.model.0, self.model.1)?;
        let (name, fingerprint, order) = &self.schedule;
        writeln!(
            out,
            "  schedule    {name}, {fingerprint}, adds in {} order",
            match order.as_str() {
                "exact" => "the model's",
                _ => "another",
            }
        )?;
        match &self.artefact {
            Some((file, fingerprint)) => {
                writeln!(out, "  library     {file}, {fingerprint}, for {}", self.processor)?
            }
            None => writeln!(out, "  code        in memory, for {}", self.processor)?,
        }
        for rows in &self.rows {
            rows.write(out)?;
        }
        self.write_unreachable(out)?;
        writeln!(out, "  calls       {}, compared: {}", self.outcome.calls, self.outputs.join(", "))?;
        for version in &self.versions {
            let verdict = match &version.report {
                None => "cannot run on this processor: not verified",
                Some(report) if report["equal"] == true => "equal",
                Some(_) => "differs",
            };
            writeln!(out, "  for {:<9} {verdict}", version.target)?;
        }
        for other in &self.others {
            other.write(out)?;
        }
        for note in &self.notes {
            writeln!(out, "  note        {note}")?;
        }
        match &self.found {
            Some(found) => {
                writeln!(out, "different: row {} of {}", found.difference.row, rows_type(found))?;
                out.push_str(&found.describe());
                Ok(())
            }
            None if self.is_equal() => writeln!(out, "equal"),
            None => writeln!(out, "different"),
        }
    }

    fn write_unreachable(&self, out: &mut String) -> std::fmt::Result {
        let count = self.unreachable.len();
        if count == 0 {
            return Ok(());
        }
        let shown: Vec<String> = self
            .unreachable
            .iter()
            .take(SHOWN)
            .map(|(tree, leaf)| format!("leaf {leaf} of tree {tree}"))
            .collect();
        let more = if count > SHOWN {
            format!(" and {} more: --json lists them", count - SHOWN)
        } else {
            String::new()
        };
        let noun = if count == 1 { "leaf" } else { "leaves" };
        writeln!(out, "  unreachable {count} {noun}, whatever the row: {}{more}", shown.join(", "))
    }
}

fn rows_type(found: &ExplainedDifference) -> &'static str {
    if found.difference.shape.doubles { "the f64 rows" } else { "the f32 rows" }
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
            },
        })
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let Coverage {
            reachable_nodes,
            values,
            met_values,
            reachable_leaves,
            reached_leaves,
            thinned_features,
            ..
        } = self.coverage;
        let given = if self.given > 0 { format!(" and {} given", self.given) } else { String::new() };
        writeln!(out, "  {} rows    {} solved{given}", self.float, self.solved)?;
        writeln!(
            out,
            "    covered   {met_values} of {values} values at {reachable_nodes} nodes, {reached_leaves} of \
             {reachable_leaves} leaves"
        )?;
        if thinned_features > 0 {
            writeln!(
                out,
                "    thinned   {thinned_features} features have too many tests to try all their values"
            )?;
        }
        Ok(())
    }
}
