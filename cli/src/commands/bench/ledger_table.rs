//! A ledger for people: tables of the gain of each directive, the loss without each directive, and the effect
//! of other numbers.

use super::table::{micros, times};
use schedc_measure::ledger::{
    Ablation, DirectiveEffect, Ledger, LedgerTable, MeasuredTime, PrefixLine, ValueSweep,
};
use std::fmt::Write;

/// The tables.
pub fn text(ledger: &Ledger) -> String {
    let Ledger { model, trees, features, processor, schedule, .. } = ledger;
    let mut text = format!("{model}: {trees} trees, {features} features\nprocessor: {processor}\n");
    for table in &ledger.tables {
        text += &format!("\n{schedule}{}:\n", calls(table));
        text += &baselines(table);
        if !table.prefixes.is_empty() {
            text += &prefixes(table);
        }
        if !table.ablations.is_empty() {
            text += &ablations(&table.ablations);
        }
        table.sweeps.iter().for_each(|one| text += &sweep(one));
    }
    text
}

/// The calls that a table is about: rows, threads and the schedule's block.
fn calls(table: &LedgerTable) -> String {
    let block = table.max_rows.map(|rows| format!(", when n_rows <= {rows}")).unwrap_or_default();
    let threads = match table.threads {
        0 => "all threads".to_string(),
        1 => "1 thread".to_string(),
        several => format!("{several} threads"),
    };
    let rows = if table.batch == 1 { "1 row".to_string() } else { format!("{} rows", table.batch) };
    format!("{block}, {rows} a call, {threads}")
}

/// Time and quartiles, the first columns of all tables.
fn figure(figure: &MeasuredTime) -> String {
    match (figure.us_per_row, figure.spread) {
        (Some(time), Some([low, high])) => {
            format!("{:>10} {:>19}", micros(time), format!("{}..{}", micros(low), micros(high)))
        }
        _ => format!("{:>10} {:>19}", "-", "-"),
    }
}

fn ratio(value: Option<f64>) -> String {
    value.map_or("-".to_string(), |value| format!("{value:.2}"))
}

/// The ratio of two times as text.
fn part(value: Option<f64>) -> String {
    value.map_or("-".to_string(), times)
}

/// The ratio of two times as text, from the speed-up, which is its inverse.
fn slower(speed_up: Option<f64>) -> String {
    part(speed_up.map(|gain| 1.0 / gain))
}

/// The reason for a missing figure, at the end of a line.
fn why(figure: &MeasuredTime) -> String {
    figure.why.as_ref().map(|why| format!("    ({why})")).unwrap_or_default()
}

fn baselines(table: &LedgerTable) -> String {
    let mut text = format!("{:>10} {:>19} {:>13}\n", "µs/row", "quartiles", "times plain's");
    let lines = [
        ("the schedule", &table.whole),
        ("schedc's own choice", &table.baselines.chosen),
        ("the plain nest", &table.baselines.plain),
    ];
    for (name, one) in lines {
        let of_plain = slower(one.speed_up_over(&table.baselines.plain));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {of_plain:>13}  {name}{}", figure(one), why(one));
    }
    text
}

fn prefixes(table: &LedgerTable) -> String {
    let mut text = format!(
        "after each directive:\n{:>10} {:>19} {:>13} {:>8}\n",
        "µs/row", "quartiles", "times plain's", "gain"
    );
    for line in &table.prefixes {
        let PrefixLine { line: number, text: directive, state, figure: one, gain, over_plain } = line;
        let remark = match state {
            DirectiveEffect::Own => String::new(),
            DirectiveEffect::Same => "    (changes nothing)".to_string(),
            DirectiveEffect::Waits => "    (waits for a later directive)".to_string(),
            DirectiveEffect::Illegal => "    (needs a later directive)".to_string(),
        };
        let remark = if *state == DirectiveEffect::Own { why(one) } else { remark };
        let (gain, of_plain) = (ratio(*gain), slower(*over_plain));
        let _ = writeln!(text, "{} {of_plain:>13} {gain:>8}  {number}: {directive}{remark}", figure(one));
    }
    text
}

fn ablations(all: &[Ablation]) -> String {
    let mut text =
        format!("without each directive:\n{:>10} {:>19} {:>16}\n", "µs/row", "quartiles", "times schedule's");
    for Ablation { line, text: directive, with, figure: one, loss } in all {
        let numbers: Vec<String> = with.iter().map(ToString::to_string).collect();
        let more = match numbers.as_slice() {
            [] => String::new(),
            [one] => format!(", and line {one}, which needs it"),
            several => format!(", and lines {}, which need it", several.join(", ")),
        };
        let _ = writeln!(text, "{} {:>16}  {line}: {directive}{more}{}", figure(one), part(*loss), why(one));
    }
    text
}

fn sweep(sweep: &ValueSweep) -> String {
    let ValueSweep { name, value, tried } = sweep;
    let mut text =
        format!("values of {name}:\n{:>10} {:>19} {:>16}\n", "µs/row", "quartiles", "times schedule's");
    for one in tried {
        let own = if one.value == *value { " (current)" } else { "" };
        let of_whole = slower(one.over_whole);
        let _ =
            writeln!(text, "{} {of_whole:>16}  {}{own}{}", figure(&one.figure), one.value, why(&one.figure));
    }
    text
}

#[cfg(test)]
mod tests {
    use schedc_measure::ledger::*;

    #[test]
    fn the_document_names_every_field_of_the_json() {
        let figure =
            || MeasuredTime { us_per_row: Some(1.0), spread: Some([1.0, 1.0]), why: Some(String::new()) };
        let text = String::new;
        let table = LedgerTable {
            max_rows: Some(8),
            batch: 8,
            threads: 1,
            whole: figure(),
            baselines: Baselines { plain: figure(), chosen: figure() },
            prefixes: vec![PrefixLine {
                line: 1,
                text: text(),
                state: DirectiveEffect::Own,
                figure: figure(),
                gain: None,
                over_plain: None,
            }],
            ablations: vec![Ablation { line: 1, text: text(), with: vec![2], figure: figure(), loss: None }],
            sweeps: vec![ValueSweep {
                name: text(),
                value: 1,
                tried: vec![SweepValue { value: 1, figure: figure(), over_whole: None }],
            }],
            advice: vec![Advice { text: text(), figure: figure(), gain: 1.0, predicted: None }],
        };
        let ledger = Ledger {
            format: 1,
            model: text(),
            fingerprint: text(),
            trees: 1,
            features: 1,
            processor: text(),
            schedule: text(),
            chosen: text(),
            tables: vec![table],
        };
        let json = serde_json::to_string(&ledger).unwrap_or_default();
        let document = include_str!("../../../../docs/tools.md");
        let keys: Vec<&str> = json
            .split('"')
            .collect::<Vec<_>>()
            .windows(2)
            .filter(|pair| pair[1].starts_with(':'))
            .map(|pair| pair[0])
            .collect();
        assert!(keys.len() > 30, "{json}");
        for key in keys {
            assert!(document.contains(&format!("`{key}`")), "docs/tools.md does not explain `{key}`");
        }
        for state in
            [DirectiveEffect::Own, DirectiveEffect::Same, DirectiveEffect::Waits, DirectiveEffect::Illegal]
        {
            let name = serde_json::to_value(state).unwrap_or_default();
            assert!(document.contains(&format!("`{}`", name.as_str().unwrap_or("?"))), "{name}");
        }
    }
}
