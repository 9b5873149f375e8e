//! Tests of measurements for editors: the ledger of a schedule, values of its numbers, and the schedule that
//! schedc chooses.

use std::fs;

use serde_json::{Value, json};

use super::client::{Client, uri};
use super::{plain, root, server};

const MODEL: &str = "cli/tests/cli/fixtures/tiny.json";
const TEXT: &str = "model \"model.json\"\nparam ROWS = 64\ntile(batch, b0, b1, ROWS)\nreorder(b0, tree, \
                    b1)\ninterleave(b1, 2)\n";

/// Opens a schedule beside its model, and waits until the server has read the model.
fn opened(client: &mut Client, folder: &std::path::Path) -> String {
    fs::copy(root().join(MODEL), folder.join("model.json")).expect("the model can be copied");
    let name = uri(&folder.join("s.sched"));
    client.open(&name, 1, TEXT);
    let document = json!({ "textDocument": { "uri": name } });
    while client.request("sched/lineage", document.clone())["lineage"]["indices"][1]["stop"] != 4 {
        assert!(
            client.wait(|message| message["method"] == "sched/changed").is_some(),
            "the model is not read"
        );
    }
    name
}

fn ledger(client: &mut Client, name: &str, measure: bool) -> Value {
    client.request("sched/ledger", json!({ "textDocument": { "uri": name }, "measure": measure }))
}

fn lines(ledger: &Value) -> Vec<(u64, String)> {
    let line = |line: &Value| {
        Some((line["position"]["line"].as_u64()?, line["label"].as_str().unwrap_or_default().to_owned()))
    };
    ledger["lines"].as_array().into_iter().flatten().filter_map(line).collect()
}

fn run(client: &mut Client, command: &Value) -> Value {
    let params = json!({ "command": command["command"], "arguments": command["arguments"] });
    client.request("workspace/executeCommand", params)
}

#[test]
fn the_ledger_is_measured_once_for_each_text() {
    let (mut client, folder) = plain();
    let name = opened(&mut client, folder.path());
    let none = ledger(&mut client, &name, false);
    assert_eq!((&none["ledger"], lines(&none).len()), (&Value::Null, 0));

    let measured = ledger(&mut client, &name, true);
    let shown = lines(&measured);
    assert_eq!(measured["stale"], false, "{measured}");
    assert_eq!(shown.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 4]);
    assert!(shown[0].1.ends_with('×') && shown[2].1.ends_with('×'), "{shown:?}");
    assert!(measured["total"].as_str().is_some_and(|text| text.contains("schedc's own")), "{measured}");
    assert_eq!(measured["lines"][0]["position"]["character"], 25);
    assert!(measured["lines"][0]["tooltip"].as_str().is_some_and(|text| text.contains("1024 rows a call")));

    // After an edit, the lines keep their old figures. The first text gets its own figures again.
    let start = json!({ "line": 0, "character": 0 });
    client.change(&name, 2, &[(json!({ "start": start, "end": start }), "// fast\n")]);
    let stale = ledger(&mut client, &name, false);
    assert_eq!((&stale["stale"], &stale["version"]), (&json!(true), &json!(2)));
    assert_eq!(lines(&stale).iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4, 5]);
    client.change(&name, 3, &[(Value::Null, TEXT)]);
    let again = ledger(&mut client, &name, true);
    assert_eq!((&again["stale"], &again["ledger"]), (&json!(false), &measured["ledger"]));

    // Figures of deleted lines are not shown at the lines that replace them.
    client.change(&name, 4, &[(Value::Null, "model \"model.json\"\n// chosen\ncache(batch)\n")]);
    assert!(lines(&ledger(&mut client, &name, false)).is_empty());

    client.change(&name, 5, &[(Value::Null, "model \"model.json\"\ntile(batch, b0, b1, 0)\n")]);
    let refused = ledger(&mut client, &name, true);
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.starts_with("S0042")), "{refused}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn a_schedule_is_measured_when_it_is_saved_if_that_is_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = server(folder.path());
    client.initialize(json!({ "initializationOptions": { "ledger": "save" } }));
    let name = opened(&mut client, folder.path());
    // The second measurement of the same text replaces the first, or returns its result.
    for _ in 0..2 {
        client.notify("textDocument/didSave", json!({ "textDocument": { "uri": name } }));
    }
    while lines(&ledger(&mut client, &name, false)).is_empty() {
        assert!(client.wait(|message| message["method"] == "sched/changed").is_some(), "nothing is measured");
    }
    assert_eq!(ledger(&mut client, &name, false)["stale"], false);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn measuring_is_cancelled_with_its_request() {
    let (mut client, folder) = plain();
    let name = opened(&mut client, folder.path());
    let id = client.ask("sched/ledger", json!({ "textDocument": { "uri": name }, "measure": true }));
    client.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(client.answer(id).map(|answer| answer["error"]["code"].clone()), Some(json!(-32800)));
    // The cancelled measurement has released its permit.
    assert_eq!(ledger(&mut client, &name, true)["stale"], false);
    assert_eq!(client.end(), Some(0));
}

/// The titles of a document's lenses.
fn lenses_of(client: &mut Client, name: &str) -> Vec<String> {
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": name } }));
    let title = |lens: &Value| lens["command"]["title"].as_str().map(str::to_owned);
    lenses.as_array().into_iter().flatten().filter_map(title).collect()
}

#[test]
fn values_of_numbers_are_tried_from_lenses_and_actions() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = server(folder.path());
    let literals = json!({ "codeActionLiteralSupport": { "codeActionKind": { "valueSet": [] } } });
    client.initialize(json!({ "capabilities": { "textDocument": { "codeAction": literals } } }));
    let name = opened(&mut client, folder.path());
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": name } }));
    assert_eq!(
        lenses_of(&mut client, &name),
        ["show nest", "build", "bench", "ledger", "try values of ROWS"]
    );
    // A half-written line does not remove the lenses of other lines.
    let broken = TEXT.replace("interleave(b1, 2)", "interleave(b");
    client.change(&name, 2, &[(Value::Null, &broken)]);
    assert_eq!(lenses_of(&mut client, &name).last().map(String::as_str), Some("try values of ROWS"));
    client.change(&name, 3, &[(Value::Null, TEXT)]);
    let found = run(&mut client, &lenses[4]["command"]);
    assert_eq!((&found["name"], &found["value"]), (&json!("ROWS"), &json!(64)), "{found}");
    let position = |line: u32, character: u32| json!({ "line": line, "character": character });
    let range =
        |line: u32, from: u32, to: u32| json!({ "start": position(line, from), "end": position(line, to) });
    assert_eq!(found["range"], range(1, 13, 15));
    let tried = found["tried"].as_array().cloned().unwrap_or_default();
    assert!(tried.len() == 5 && tried.iter().all(|one| one["us_per_row"].is_number()), "{found}");

    let at = range(4, 15, 15);
    let params = json!({ "textDocument": { "uri": name }, "range": at, "context": { "diagnostics": [] } });
    let actions = client.request("textDocument/codeAction", params);
    let titled = |title: &str| {
        let mut all = actions.as_array().into_iter().flatten();
        all.find(|action| action["title"] == title).cloned().unwrap_or_default()
    };
    let found = run(&mut client, &titled("Try values of this number (2)")["command"]);
    assert_eq!((&found["name"], &found["range"]), (&json!("5:16"), &range(4, 15, 16)));

    let chosen = run(&mut client, &titled("Insert the schedule that schedc chooses")["command"]);
    assert_eq!(chosen["range"]["start"], json!({ "line": 2, "character": 0 }));
    assert_eq!(chosen["range"]["end"], json!({ "line": 4, "character": 17 }));
    let text = chosen["text"].as_str().unwrap_or_default();
    assert!(text.contains('(') && text.contains("chosen by schedc"), "{chosen}");

    let tuned = titled("Tune for 5s: insert the fastest schedule that is found");
    let found = run(&mut client, &tuned["command"]);
    assert_eq!(found["range"], chosen["range"]);
    assert!(found["text"].as_str().unwrap_or_default().contains("found by schedc tune"), "{found}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn calls_of_measurements_can_be_chosen() {
    let (mut client, folder) = plain();
    let name = opened(&mut client, folder.path());
    let arguments = json!([{ "uri": name, "batch": [1, 8], "threads": [1], "baseline": true }]);
    let measured = run(&mut client, &json!({ "command": "schedc.bench", "arguments": arguments }));
    let points = measured["points"].as_array().cloned().unwrap_or_default();
    let about =
        |point: &Value| (point["schedule"].as_str().unwrap_or_default().to_owned(), point["batch"].as_u64());
    let about: Vec<_> = points.iter().map(about).collect();
    let named = |name: &str, batch| (name.to_owned(), Some(batch));
    let all = ["standard input", "chosen schedule", "plain nest"];
    let expected: Vec<_> = [1, 8].iter().flat_map(|batch| all.map(|name| named(name, *batch))).collect();
    assert_eq!(about, expected);
    assert_eq!(client.end(), Some(0));
}
