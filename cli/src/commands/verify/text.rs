//! The report of a verification as text.

use sched_forest::Coverage;
use sched_llvm::runtime::Element;
use schedc_verify::{
    Difference, Divergence, DivergingTest, ExplainedDifference, OutputComparison, RowSummary, VerifyReport,
    bits_text,
};
use std::fmt::Write;

/// Most unreachable leaves that are listed.
const MOST_SHOWN: usize = 5;

/// A report as text.
pub fn report_text(report: &VerifyReport) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(report, &mut text);
    text
}

fn write_report(report: &VerifyReport, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{}  {}", report.model.0, report.model.1)?;
    let (name, fingerprint, order) = &report.schedule;
    writeln!(
        out,
        "  schedule    {name}, {fingerprint}, adds in {} order",
        match order.as_str() {
            "exact" => "the model's",
            _ => "another",
        }
    )?;
    match &report.artefact {
        Some((file, fingerprint)) => {
            writeln!(out, "  library     {file}, {fingerprint}, for {}", report.processor)?
        }
        None => writeln!(out, "  code        in memory, for {}", report.processor)?,
    }
    for rows in &report.rows {
        write_rows(rows, out)?;
    }
    write_unreachable(&report.unreachable, out)?;
    writeln!(out, "  calls       {}, compared: {}", report.outcome.calls, report.outputs.join(", "))?;
    for version in &report.versions {
        let verdict = match &version.report {
            None => "cannot run on this processor: not verified",
            Some(verified) if verified["equal"] == true => "equal",
            Some(_) => "differs",
        };
        writeln!(out, "  for {:<9} {verdict}", version.target)?;
    }
    for other in &report.others {
        write_comparison(other, out)?;
    }
    for note in &report.notes {
        writeln!(out, "  note        {note}")?;
    }
    match &report.first_difference {
        Some(found) => {
            writeln!(out, "different: row {} of {}", found.difference.row, rows_type(found))?;
            out.push_str(&difference_text(found));
            Ok(())
        }
        None if report.is_equal() && report.compares_margins_alone() => writeln!(out, "equal margins"),
        None if report.is_equal() => writeln!(out, "equal"),
        None => writeln!(out, "different"),
    }
}

fn write_unreachable(leaves: &[(u32, u32)], out: &mut String) -> std::fmt::Result {
    let count = leaves.len();
    if count == 0 {
        return Ok(());
    }
    let shown: Vec<String> =
        leaves.iter().take(MOST_SHOWN).map(|(tree, leaf)| format!("leaf {leaf} of tree {tree}")).collect();
    let more = if count > MOST_SHOWN {
        format!(" and {} more: --json lists them", count - MOST_SHOWN)
    } else {
        String::new()
    };
    let noun = if count == 1 { "leaf" } else { "leaves" };
    writeln!(out, "  unreachable {count} {noun}, whatever the row: {}{more}", shown.join(", "))
}

fn rows_type(found: &ExplainedDifference) -> &'static str {
    if found.difference.shape.doubles { "the f64 rows" } else { "the f32 rows" }
}

fn write_rows(rows: &RowSummary, out: &mut String) -> std::fmt::Result {
    let Coverage {
        reachable_nodes,
        values,
        met_values,
        reachable_leaves,
        reached_leaves,
        thinned_features,
        unsolved_nodes,
        unsolved_leaves,
        ..
    } = rows.coverage;
    let given = if rows.given > 0 { format!(" and {} given", rows.given) } else { String::new() };
    writeln!(out, "  {} rows    {} made for the trees{given}", rows.float, rows.solved)?;
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
    if unsolved_nodes > 0 {
        writeln!(
            out,
            "    random    {unsolved_nodes} nodes and {unsolved_leaves} leaves of trees that test computed \
             columns: only rows of values at thresholds and edges, and random rows"
        )?;
    }
    Ok(())
}

/// Writes the comparison with another program.
fn write_comparison(comparison: &OutputComparison, out: &mut String) -> std::fmt::Result {
    let OutputComparison { source, kind, numbers, equal, too_far_off, largest_difference, tolerance, first } =
        comparison;
    write!(out, "  {source}: {} of {numbers} {} are equal", equal, kind.plural())?;
    let is_number = !kind.element().is_whole();
    if equal < numbers && is_number {
        write!(out, ", the others off by {largest_difference:e} at most")?;
    }
    writeln!(out)?;
    let Some(first) = first else { return Ok(()) };
    match is_number {
        true => writeln!(out, "    {too_far_off} differ by more than the tolerance {:e}", tolerance)?,
        false => writeln!(out, "    {too_far_off} differ")?,
    }
    writeln!(
        out,
        "    row {}, column {}: {:?} ({}), not {:?} ({})",
        first.row,
        first.column,
        first.theirs,
        bits_text(first.theirs),
        first.ours,
        bits_text(first.ours)
    )?;
    if let Some(Divergence { tree, node: Some(test), .. }) = &first.divergence {
        let DivergingTest { depth, feature, value, test, goes_left, .. } = test;
        let side = if *goes_left { "left" } else { "right" };
        writeln!(
            out,
            "    tree {tree}, depth {depth}: feature {feature} is {value:?} ({}), and goes {side} here \
             at `{test}`",
            bits_text(*value)
        )?;
    }
    Ok(())
}

/// A difference and its origin as text.
fn difference_text(explained: &ExplainedDifference) -> String {
    let Difference { kind, column, found, expected, shape, .. } = explained.difference;
    let (noun, verb) = (kind.heading(), kind.verb());
    let mut text = match kind.element() {
        // The walk, which follows, names both leaves.
        Element::Leaf => String::new(),
        Element::Class => format!("  {noun} {column} {verb} {found}, not {expected}\n"),
        Element::Result | Element::Sum => {
            let (found_bits, expected_bits) = (bits_text(found), bits_text(expected));
            format!("  {noun} {column} {verb} {found:?} ({found_bits}), not {expected:?} ({expected_bits})\n")
        }
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "  call        {shape}; {}",
        match explained.differs_alone {
            true => "the row alone differs, too",
            false => "the row alone does not differ",
        }
    );
    if let Some(divergence) = &explained.divergence {
        let perhaps = if divergence.from_margin { ", inferred from the margin" } else { "" };
        let _ = writeln!(
            text,
            "  tree {}      ends in leaf {}, not in leaf {}{perhaps}",
            divergence.tree, divergence.found, divergence.expected
        );
        match &divergence.node {
            Some(test) => {
                let name = test.name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
                let side = if test.goes_left { "left" } else { "right" };
                let _ = writeln!(
                    text,
                    "  node        at depth {}: feature {}{name} is {:?} ({}), and goes {side} at `{}`",
                    test.depth,
                    test.feature,
                    test.value,
                    bits_text(test.value),
                    test.test
                );
            }
            None => text += "  node        there is no such leaf in the tree\n",
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{bits_text, difference_text};
    use sched_llvm::runtime::OutputKind;
    use schedc_verify::{CallShape, Difference, Divergence, DivergingTest, ExplainedDifference};

    #[test]
    fn a_difference_names_the_call_the_leaves_and_the_node() {
        let shape = CallShape { doubles: false, rows: 33, gap: 3, threads: 1 };
        let difference =
            Difference { kind: OutputKind::Leaf, row: 2, column: 4, found: 7.0, expected: 6.0, shape };
        let node = DivergingTest {
            depth: 1,
            feature: 9,
            name: Some("width".to_owned()),
            value: 0.5,
            test: format!("x < 0.5 ({}), missing left", bits_text(0.5)),
            goes_left: false,
        };
        let divergence = Divergence { tree: 4, expected: 6, found: 7, from_margin: false, node: Some(node) };
        let explained = ExplainedDifference {
            difference,
            differs_alone: true,
            row: vec![0.5; 10],
            divergence: Some(divergence),
        };
        let expected = "  call        33 rows of f32, 3 values apart; the row alone differs, too
  tree 4      ends in leaf 7, not in leaf 6
  node        at depth 1: feature 9 (width) is 0.5 (0x3f000000), and goes right at `x < 0.5 (0x3f000000), \
                        missing left`
";
        assert_eq!(difference_text(&explained), expected);
    }
}
