//! `sched/ledger`: the measured speed-up of each directive, which editors show at the ends of lines.

use std::ffi::OsString;
use std::sync::Arc;

use sched_grammar::ast::Span;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{Position, ProgressToken, TextDocumentIdentifier, Uri};

use crate::convert::failed;
use crate::document::Snapshot;
use crate::ledgers::CachedLedger;
use crate::pages::Pages;
use crate::progress;
use crate::state::ServerData;
use crate::subject::ScheduleWithModel;
use crate::text::Moves;
use crate::workspace::AnalysisChanged;

/// The parameters of the request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LedgerParams {
    /// The schedule.
    pub text_document: TextDocumentIdentifier,
    /// Whether to measure if there is no result for this text; if not, the answer has known results alone.
    #[serde(default)]
    pub measure: bool,
    /// The token for progress.
    pub work_done_token: Option<ProgressToken>,
}

/// The answer.
#[derive(Debug, Serialize)]
pub struct LedgerAnswer {
    /// The version of the text to which the positions refer.
    pub version: i32,
    /// Whether the results are those of an earlier text. Its lines are then mapped to the present text.
    pub stale: bool,
    /// The texts at the ends of lines.
    pub lines: Vec<LedgerLine>,
    /// The time of the whole schedule beside that of schedc's own, such as `0.0692 µs per row, schedc's own
    /// 0.0541 µs (1.28×)`; short, since editors show it beside other panels.
    pub total: Option<String>,
    /// The offer to take schedc's own schedule, if it is faster than this text.
    pub offer: Option<LedgerOffer>,
    /// The measurements, as `schedc bench --prefixes --json` prints them; null without measurements.
    pub ledger: Value,
}

/// An offer to take schedc's own schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerOffer {
    /// Label for users: `Take schedc's own schedule: 4.10× faster for calls of 1024 rows`.
    pub title: String,
    /// The command that inserts the schedule.
    pub command: &'static str,
    /// Speed-up of the offered schedule over the text's.
    pub gain: f64,
}

/// The command that returns the schedule that schedc chooses: `{uri}` -> `{range, text}`.
pub const CHOOSE: &str = "schedc.choose";
/// Minimum speed-up for an offer of schedc's own schedule. A smaller speed-up may be noise.
const MIN_OFFERED_GAIN: f64 = 1.05;

/// The text at the end of a line.
#[derive(Debug, Serialize)]
pub struct LedgerLine {
    /// The end of the line.
    pub position: Position,
    /// The text to show, such as `1.53×`.
    pub label: String,
    /// Details in Markdown.
    pub tooltip: String,
}

/// The known gains of the directives.
///
/// # Errors
///
/// The document is not open, or the measurement fails.
pub async fn ledger(
    shared: &Arc<ServerData>,
    pages: &Arc<Pages>,
    params: LedgerParams,
) -> Result<LedgerAnswer> {
    let uri = &params.text_document.uri;
    let now = shared.snapshot(uri)?.ok_or_else(|| failed("this document is not open"))?;
    if !params.measure {
        return Ok(answer(&now, known_ledger(shared, &now)));
    }
    let subject = ScheduleWithModel::of(shared, pages, uri)?;
    let task = Arc::clone(shared);
    let work = async move {
        measure(&subject, &task).await?;
        Ok(String::new())
    };
    progress::run(shared, work, params.work_done_token, "Measuring each directive".to_owned()).await?;
    let now = shared.snapshot(uri)?.ok_or_else(|| failed("this document is not open"))?;
    Ok(answer(&now, known_ledger(shared, &now)))
}

/// Measures the ledger of a document, or returns it if this text has been measured with this model.
///
/// # Errors
///
/// The document has no model or has errors, or the measurement fails.
async fn measure(subject: &ScheduleWithModel, shared: &ServerData) -> Result<CachedLedger> {
    let text = Arc::clone(subject.snapshot.text.source());
    let fingerprint = match shared.model(&subject.model).await.model() {
        Some(model) => model.fingerprint.clone(),
        // The later run of the program reports the error of the model.
        None => String::new(),
    };
    let uri = subject.snapshot.uri.as_str().to_owned();
    let known = || {
        let kept = CachedLedger { uri: uri.clone(), ..shared.ledgers.of(&text, &fingerprint)? };
        shared.ledgers.keep(kept.clone());
        Some(kept)
    };
    if let Some(kept) = known() {
        return Ok(kept);
    }
    let _permit = shared.ledgers.permit().await?;
    // Another request may have measured the same text meanwhile.
    if let Some(kept) = known() {
        return Ok(kept);
    }
    let mut words: Vec<OsString> = ["bench", "-s", "-", "--prefixes", "--json"].map(Into::into).to_vec();
    words.push(subject.model.clone().into_os_string());
    let printed = subject.run_at_low_priority(words).await?;
    let ledger = serde_json::from_str(&printed).map_err(|error| failed(format!("schedc bench: {error}")))?;
    let kept = CachedLedger { uri, text, fingerprint, ledger: Arc::new(ledger) };
    shared.ledgers.keep(kept.clone());
    Ok(kept)
}

/// Measures a saved document in the background, if the setting `schedc.ledger` is `save`, and ends the
/// document's earlier measurement. Ignores errors, since the diagnostics report them.
pub fn measure_saved(shared: &Arc<ServerData>, pages: &Arc<Pages>, uri: &Uri) {
    let Ok(Some(snapshot)) = shared.snapshot(uri) else { return };
    if !snapshot.settings.ledger_on_save || snapshot.analysis.verdict().has_errors() {
        return;
    }
    let Ok(subject) = ScheduleWithModel::of(shared, pages, uri) else { return };
    let (task, name) = (Arc::clone(shared), uri.clone());
    let work = tokio::spawn(async move {
        if measure(&subject, &task).await.is_ok() {
            task.client.send_notification::<AnalysisChanged>(json!({ "uri": name })).await;
        }
    });
    shared.ledgers.register(uri, &work);
}

/// The ledger of this text and its model, or else the last one of the document.
fn known_ledger(shared: &ServerData, now: &Snapshot) -> Option<(CachedLedger, bool)> {
    let model = now.binding.status.model();
    let exact = model.and_then(|model| shared.ledgers.of(now.text.source(), &model.fingerprint));
    let is_fresh = exact.is_some();
    exact.or_else(|| shared.ledgers.last(&now.uri)).map(|kept| (kept, !is_fresh))
}

fn answer(now: &Snapshot, known: Option<(CachedLedger, bool)>) -> LedgerAnswer {
    let version = now.version;
    let Some((kept, stale)) = known else {
        let lines = Vec::new();
        let ledger = Value::Null;
        return LedgerAnswer { version, stale: false, lines, total: None, offer: None, ledger };
    };
    let moves = Moves::new(&kept.text, now.text.source());
    let mut lines = Vec::new();
    for (number, label, tooltip) in labels(&kept.ledger) {
        let Some(old) = line_of(&kept.text, number) else { continue };
        let span = moves.span(old);
        // Skips lines that were deleted, and below, lines that now begin with another directive.
        if span.start >= span.end {
            continue;
        }
        let start = now.text.position(span.start as usize);
        let line = line_of(now.text.source(), start.line as usize + 1).unwrap_or(span);
        if directive(&kept.text, old) == directive(now.text.source(), line) {
            lines.push(LedgerLine { position: now.text.position(line.end as usize), label, tooltip });
        }
    }
    let offer = offer(&kept.ledger).filter(|_| !stale);
    let total = total(&kept.ledger);
    LedgerAnswer { version, stale, lines, total, offer, ledger: (*kept.ledger).clone() }
}

/// The offer of schedc's own schedule, for the measured calls at which its speed-up is largest.
fn offer(ledger: &Value) -> Option<LedgerOffer> {
    let gain = |table: &Value| Some((own_gain(table)?, table["batch"].as_u64()?));
    let tables = ledger["tables"].as_array()?.iter().filter_map(gain);
    let (gain, rows) = tables.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    let title = format!("Take schedc's own schedule: {gain:.2}\u{d7} faster for calls of {rows}");
    (gain >= MIN_OFFERED_GAIN).then_some(LedgerOffer { title, command: CHOOSE, gain })
}

/// Speed-up of schedc's own schedule over the text's, from a table of the ledger.
fn own_gain(table: &Value) -> Option<f64> {
    let time = |figure: &Value| figure["us_per_row"].as_f64();
    Some(time(&table["whole"])? / time(&table["baselines"]["chosen"])?)
}

/// The offer for the present text, if this text was measured.
pub fn known_offer(shared: &ServerData, now: &Snapshot) -> Option<LedgerOffer> {
    known_ledger(shared, now).filter(|(_, stale)| !stale).and_then(|(kept, _)| offer(&kept.ledger))
}

/// The span of a line without its line break. Lines count from 1.
fn line_of(text: &str, number: usize) -> Option<Span> {
    let mut start = 0;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if at + 1 == number {
            return Some(Span::new(start, start + line.trim_end_matches(['\n', '\r']).len()));
        }
        start += line.len();
    }
    None
}

/// The first word of a line.
fn directive(text: &str, line: Span) -> Option<&str> {
    let line = text.get(line.start as usize..line.end as usize)?.trim_start();
    line.split(|c: char| !c.is_ascii_alphanumeric()).next()
}

/// The number, the label and the tooltip of each line with directives.
fn labels(ledger: &Value) -> Vec<(usize, String, String)> {
    let mut labels: Vec<(usize, Vec<String>, Vec<String>)> = Vec::new();
    for table in ledger["tables"].as_array().into_iter().flatten() {
        for line in table["prefixes"].as_array().into_iter().flatten() {
            let number = line["line"].as_u64().and_then(|line| usize::try_from(line).ok()).unwrap_or(0);
            let (label, tooltip) = (label(line), tooltip(line, table));
            match labels.last_mut().filter(|(last, ..)| *last == number) {
                Some((_, words, more)) => {
                    words.push(label);
                    more.push(tooltip);
                }
                None => labels.push((number, vec![label], vec![tooltip])),
            }
        }
    }
    labels.into_iter().map(|(line, words, more)| (line, words.join(" · "), more.join("\n\n"))).collect()
}

fn label(line: &Value) -> String {
    match line["state"].as_str() {
        Some("waits") => "waits".to_owned(),
        Some("illegal") => "needs a later line".to_owned(),
        _ => line["gain"].as_f64().map_or("not measured".to_owned(), |gain| format!("{gain:.2}×")),
    }
}

/// The time of the whole schedule beside that of schedc's own, for each table of the ledger.
fn total(ledger: &Value) -> Option<String> {
    let time = |figure: &Value| figure["us_per_row"].as_f64().map(micros);
    let of_table = |table: &Value| {
        let whole = time(&table["whole"])?;
        let faster = own_gain(table).filter(|gain| *gain >= MIN_OFFERED_GAIN);
        let faster = faster.map_or(String::new(), |gain| format!(" ({gain:.2}\u{d7})"));
        let chosen = time(&table["baselines"]["chosen"]);
        let chosen = chosen.map_or(String::new(), |chosen| format!(", schedc's own {chosen}{faster}"));
        Some(format!("{whole} per row{chosen}"))
    };
    let all: Vec<String> = ledger["tables"].as_array()?.iter().filter_map(of_table).collect();
    (!all.is_empty()).then(|| all.join(" · "))
}

fn tooltip(line: &Value, table: &Value) -> String {
    let text = line["text"].as_str().unwrap_or_default();
    let calls = format!("{} rows a call, {}", table["batch"], threads(&table["threads"]));
    let spread = |at: usize| line["spread"][at].as_f64().map(three_digits);
    let (Some(time), Some(low), Some(high)) = (line["us_per_row"].as_f64(), spread(0), spread(1)) else {
        let why = line["why"].as_str().unwrap_or("it was not measured");
        return format!("`{text}`: {why} ({calls})");
    };
    let times = |key: &str, than: &str| {
        line[key].as_f64().map_or(String::new(), |gain| format!(", {gain:.2} times as fast as {than}"))
    };
    let (gain, over_plain) = (times("gain", "without this directive"), times("over_plain", "the plain nest"));
    let state = match line["state"].as_str() {
        Some("waits") => " It has no effect before a later line makes the loop that it names.",
        Some("same") => " It does not change the compiled code.",
        _ => "",
    };
    format!("After `{text}`: {} per row ({low} to {high}){gain}{over_plain}. {calls}.{state}", micros(time))
}

fn threads(count: &Value) -> String {
    match count.as_i64() {
        Some(0) | None => "all threads".to_owned(),
        Some(1) => "1 thread".to_owned(),
        Some(count) => format!("{count} threads"),
    }
}

/// A time in microseconds with its unit, to three significant digits.
fn micros(value: f64) -> String {
    format!("{} µs", three_digits(value))
}

/// A positive number to three significant digits.
fn three_digits(value: f64) -> String {
    let digits = 2 - value.max(1e-9).log10().floor() as i32;
    format!("{value:.*}", usize::try_from(digits.clamp(0, 6)).unwrap_or(0))
}

/// The span that schedc's own schedule replaces: all directives, or an empty span at the end of the text.
pub fn replaced_span(now: &Snapshot) -> Span {
    use sched_grammar::ast::StmtKind::{Directive, When};
    let stmts = &now.analysis.parsed().file.stmts;
    let mut own = stmts.iter().filter(|stmt| matches!(stmt.kind, Directive(_) | When(_)));
    let end = now.text.source().len();
    let Some(first) = own.next() else { return Span::new(end, end) };
    let last = own.next_back().map_or(first.span.end, |last| last.span.end);
    Span::new(first.span.start as usize, last as usize)
}

/// The replacement: the schedule under a key of the ledger.
pub fn replacement(now: &Snapshot, found: &Value, key: &str) -> Value {
    let text = found[key].as_str().unwrap_or_default();
    let span = replaced_span(now);
    // At the end of a text without a last line break, the schedule needs one before it.
    let begun = now
        .text
        .source()
        .get(..span.start as usize)
        .is_some_and(|text| !text.is_empty() && !text.ends_with('\n'));
    let new = format!("{}{}", if begun && span.start == span.end { "\n" } else { "" }, text.trim_end());
    json!({ "range": now.text.range(span), "text": new })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_gains_and_the_total_the_whole() {
        let line = |line: u32, state: &str, gain: f64| {
            json!({ "line": line, "text": "tile(a)", "state": state, "us_per_row": 1.234,
                "spread": [1.2, 1.3], "gain": gain, "over_plain": 2.0 })
        };
        let ledger = json!({ "tables": [{ "batch": 1024, "threads": 1, "whole": { "us_per_row": 0.0541 },
            "baselines": { "plain": { "us_per_row": 2 }, "chosen": { "us_per_row": 0.0692 } },
            "prefixes": [line(2, "own", 1.0), line(2, "waits", 1.0), line(3, "own", 6.3)] }] });
        let labels = labels(&ledger);
        assert_eq!((labels[0].0, &*labels[0].1), (2, "1.00× · waits"));
        assert_eq!(labels[1].1, "6.30×");
        assert_eq!(total(&ledger).as_deref(), Some("0.0541 µs per row, schedc's own 0.0692 µs"));
        assert!(
            labels[1]
                .2
                .contains("1.23 µs per row (1.20 to 1.30), 6.30 times as fast as without this directive"),
            "{labels:?}"
        );
        assert!(labels[0].2.contains("1024 rows a call, 1 thread"));
        assert!(super::labels(&Value::Null).is_empty());
        assert_eq!(total(&Value::Null), None);
    }

    #[test]
    fn a_faster_own_schedule_is_offered() {
        let ledger = |whole: f64, chosen: f64| {
            json!({ "tables": [
                { "batch": 1, "whole": { "us_per_row": 1.0 },
                  "baselines": { "chosen": { "us_per_row": 1.0 } } },
                { "batch": 1024, "whole": { "us_per_row": whole },
                  "baselines": { "chosen": { "us_per_row": chosen } } },
            ] })
        };
        assert_eq!(
            total(&ledger(0.41, 0.1)).as_deref(),
            Some(
                "1.00 µs per row, schedc's own 1.00 µs · 0.410 µs per row, schedc's own 0.100 µs \
                 (4.10\u{d7})"
            )
        );
        let title = |ledger| offer(&ledger).map(|offer| offer.title);
        assert_eq!(
            title(ledger(0.41, 0.1)).as_deref(),
            Some("Take schedc's own schedule: 4.10\u{d7} faster for calls of 1024 rows")
        );
        assert_eq!(title(ledger(0.1, 0.1)), None);
        assert_eq!(title(ledger(0.1, 0.41)), None);
        assert_eq!(title(Value::Null), None);
    }

    #[test]
    fn times_have_three_digits() {
        assert_eq!([0.05412, 1.0, 12.34, 1234.5].map(micros), ["0.0541 µs", "1.00 µs", "12.3 µs", "1234 µs"]);
    }

    #[test]
    fn lines_are_counted_from_one() {
        let text = "ab\r\n\ncd";
        let spans = [1, 2, 3, 4].map(|line| line_of(text, line).map(|span| (span.start, span.end)));
        assert_eq!(spans, [Some((0, 2)), Some((4, 4)), Some((5, 7)), None]);
    }
}
