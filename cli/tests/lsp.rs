//! Tests of the language server's program over its standard input and output.

mod client;
mod measuring;
mod models;
mod transcripts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use client::{Client, uri};
use serde_json::{Value, json};

/// A server without inherited variables, whose cache is a temporary folder.
fn server(cache: &Path) -> Client {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedc-lsp"));
    command
        .env_clear()
        .env("XDG_CACHE_HOME", cache)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stderr(Stdio::inherit());
    Client::start(&mut command).expect("the server starts")
}

/// An initialized server for a client without capabilities, and its temporary folder.
fn plain() -> (Client, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = server(folder.path());
    client.initialize(json!({}));
    (client, folder)
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::canonicalize(root).expect("the repository")
}

/// All schedules below a folder.
fn schedules(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            schedules(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "sched") {
            into.push(path);
        }
    }
}

fn examples() -> Vec<String> {
    let mut paths = Vec::new();
    schedules(&root().join("examples"), &mut paths);
    assert!(paths.len() > 10, "{paths:?}");
    paths.iter().map(|path| fs::read_to_string(path).expect("a schedule")).collect()
}

/// A position in a text, counted in UTF-16 as most editors do.
fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    json!({ "line": before.matches('\n').count(), "character": before[line..].encode_utf16().count() })
}

/// All requests at a position of the document `uri`.
fn questions(uri: &str, at: &Value) -> Vec<(&'static str, Value)> {
    let document = json!({ "uri": uri });
    let range = json!({ "start": at, "end": at });
    let place = json!({ "textDocument": document, "position": at });
    let whole = json!({ "textDocument": document });
    let with = |key: &str, value: Value| {
        let mut params = place.clone();
        params[key] = value;
        params
    };
    vec![
        ("textDocument/hover", place.clone()),
        ("textDocument/completion", place.clone()),
        ("textDocument/signatureHelp", place.clone()),
        ("textDocument/definition", place.clone()),
        ("textDocument/documentHighlight", place.clone()),
        ("textDocument/references", with("context", json!({ "includeDeclaration": true }))),
        ("textDocument/documentSymbol", whole.clone()),
        ("textDocument/semanticTokens/full", whole.clone()),
        ("textDocument/foldingRange", whole.clone()),
        ("textDocument/documentLink", whole.clone()),
        ("textDocument/codeLens", whole.clone()),
        ("textDocument/inlayHint", json!({ "textDocument": document, "range": range })),
        ("textDocument/selectionRange", json!({ "textDocument": document, "positions": [at] })),
        (
            "textDocument/codeAction",
            json!({ "textDocument": document, "range": range, "context": { "diagnostics": [] } }),
        ),
        (
            "textDocument/formatting",
            json!({ "textDocument": document, "options": { "tabSize": 4, "insertSpaces": true } }),
        ),
        ("textDocument/diagnostic", whole.clone()),
    ]
}

/// Requests that the server may refuse with a sentence where they do not apply.
fn refusable(uri: &str, at: &Value) -> Vec<(&'static str, Value)> {
    let place = json!({ "textDocument": { "uri": uri }, "position": at });
    let mut rename = place.clone();
    rename["newName"] = json!("other");
    vec![
        ("textDocument/prepareRename", place.clone()),
        ("textDocument/rename", rename),
        ("sched/nest", place.clone()),
        ("sched/lineage", place),
    ]
}

#[test]
fn the_program_and_the_command_line_agree_on_every_schedule() {
    let mut paths = Vec::new();
    for folder in ["examples", "lang/tests"] {
        schedules(&root().join(folder), &mut paths);
    }
    assert!(paths.len() > 90, "{}", paths.len());
    let (mut client, _folder) = plain();
    for path in paths {
        let bytes = fs::read(&path).expect("a schedule");
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let name = uri(&path);
        client.open(&name, 1, &text);
        let published = client.diagnostics(&name, 1).expect("diagnostics");
        // Diagnostics about models are published as well.
        let is_of_schedule = |one: &Value| one["code"].as_str().is_some_and(|code| code.starts_with('S'));
        let published: Vec<Value> = published.into_iter().filter(is_of_schedule).collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_schedc"));
        let output = command
            .args(["check", "--no-model", "--format", "json"])
            .arg(&path)
            .output()
            .expect("schedc runs");
        let printed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let printed = printed.as_array().cloned().unwrap_or_default();
        assert_eq!(published.len(), printed.len(), "{}", path.display());
        for (published, printed) in published.iter().zip(&printed) {
            let place = |key: &str| printed["place"][key].as_u64().and_then(|at| usize::try_from(at).ok());
            let (start, end) = (place("start").expect("an offset"), place("end").expect("an offset"));
            assert_eq!(published["code"], printed["code"], "{}", path.display());
            assert_eq!(
                published["range"]["start"],
                protocol_position(&text, start),
                "{}: {published}",
                path.display()
            );
            assert_eq!(
                published["range"]["end"],
                protocol_position(&text, end),
                "{}: {published}",
                path.display()
            );
            let severity = match printed["severity"].as_str() {
                Some("error") => 1,
                Some("warning") => 2,
                _ => 3,
            };
            assert_eq!(published["severity"], severity);
            let nothing = json!([]);
            let notes = published["data"].get("notes").unwrap_or(&nothing);
            assert_eq!(*notes, printed["notes"], "{}", path.display());
            let message = printed["message"].as_str().expect("a message");
            let help = printed["help"].as_str().map(|help| format!("\n{help}")).unwrap_or_default();
            let (shown, whole) =
                (published["message"].as_str().unwrap_or_default(), format!("{message}{help}"));
            // Some helps end with the fixes that a check of the text accepts. Editors offer these as actions.
            let names_fixes =
                matches!(printed["code"].as_str(), Some("S0063" | "S0126" | "S0127" | "S0129" | "S0135"));
            let agrees = if names_fixes { whole.starts_with(shown) } else { whole == shown };
            assert!(agrees, "{}: {shown}\n\n{whole}", path.display());
        }
    }
    assert_eq!(client.end(), Some(0));
}

/// Like [`position`], but a lone `\r` ends a line, too, as in the protocol.
fn protocol_position(text: &str, offset: usize) -> Value {
    let before = text[..offset].replace("\r\n", " \n").replace('\r', "\n");
    position(&before, before.len())
}

#[test]
fn every_prefix_of_every_example_is_a_document() {
    let (mut client, _folder) = plain();
    let mut version = 0;
    for text in examples() {
        version += 1;
        client.open("untitled:prefix.sched", version, "");
        let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        for (number, end) in ends.enumerate() {
            version += 1;
            let part = &text[..end];
            client.change("untitled:prefix.sched", version, &[(Value::Null, part)]);
            let at = position(part, end);
            let requests = questions("untitled:prefix.sched", &at);
            // All requests at every position would take long. Neighbouring positions get different ones.
            let (method, params) = &requests[number % requests.len()];
            let id = client.ask(method, params.clone());
            let answer = client.answer(id).expect("an answer");
            assert!(answer.get("error").is_none(), "{method} in\n{part}\n{answer}");
        }
        client.notify("textDocument/didClose", json!({ "textDocument": { "uri": "untitled:prefix.sched" } }));
    }
    assert_eq!(client.end(), Some(0));
}

#[test]
fn edits_are_applied_in_order_however_fast_they_come() {
    let (mut client, _folder) = plain();
    let text = examples().concat();
    client.open("untitled:typed.sched", 0, "");
    let mut requests = Vec::new();
    for (number, (at, c)) in text.char_indices().take(2000).enumerate() {
        let version = i32::try_from(number + 1).expect("few edits");
        let place = position(&text[..at], at);
        let range = json!({ "start": place, "end": place });
        client.change("untitled:typed.sched", version, &[(range, c.encode_utf8(&mut [0; 4]))]);
        if number % 50 == 0 {
            let params = json!({ "textDocument": { "uri": "untitled:typed.sched" } });
            requests.push((version, client.ask("sched/lineage", params)));
        }
    }
    for (version, id) in requests {
        let answer = client.answer(id).expect("an answer");
        assert_eq!(
            answer["result"]["version"], version,
            "the request sees the edits before it and no others"
        );
    }
    let end: String = text.chars().take(2000).collect();
    let typed = client.diagnostics("untitled:typed.sched", 2000).expect("the last version is published");
    client.open("untitled:whole.sched", 1, &end);
    assert_eq!(Some(typed), client.diagnostics("untitled:whole.sched", 1));
    let versions: Vec<i64> =
        client.unread.iter().filter_map(|message| message["params"]["version"].as_i64()).collect();
    assert!(versions.is_sorted(), "{versions:?}");
    assert_eq!(client.end(), Some(0));
}

/// Pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }
}

#[test]
fn edits_mean_the_same_in_every_encoding_with_any_line_end_and_any_character() {
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut client = server(folder.path());
        let offered = if encoding == "utf-8" { json!(["utf-8", "utf-16"]) } else { json!([encoding]) };
        let result =
            client.initialize(json!({ "capabilities": { "general": { "positionEncodings": offered } } }));
        assert_eq!(result["capabilities"]["positionEncoding"], encoding);
        let mut numbers = Numbers(7);
        for (number, example) in examples().into_iter().enumerate() {
            let mut text = format!("// 🌲 forêt 𝛼 e\u{301}\n{example}// 🌲🌲\n")
                .replace('\n', ["\r\n", "\n"][number % 2]);
            let name = format!("untitled:{encoding}-{number}.sched");
            client.open(&name, 0, &text);
            for version in 1..40 {
                let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
                // Editors cannot name positions between `\r` and `\n`.
                let is_place = |at: &usize| !(text[..*at].ends_with('\r') && text[*at..].starts_with('\n'));
                let bounds: Vec<usize> = bounds.into_iter().filter(is_place).collect();
                let from = numbers.below(bounds.len());
                let to = (from + numbers.below(4)).min(bounds.len() - 1);
                let (from, to) = (bounds[from], bounds[to]);
                let new =
                    ["", "x", "🌲", ")\r\n", "\n", "tile(batch, a, b, 8)\n", "é", "\r\n"][numbers.below(8)];
                let range =
                    json!({ "start": place(&text, from, encoding), "end": place(&text, to, encoding) });
                client.change(&name, version, &[(range, new)]);
                text.replace_range(from..to, new);
            }
            let edited = client.diagnostics(&name, 39).expect("diagnostics");
            let fresh = format!("untitled:fresh-{encoding}-{number}.sched");
            client.open(&fresh, 1, &text);
            assert_eq!(Some(edited), client.diagnostics(&fresh, 1), "{text}");
        }
        assert_eq!(client.end(), Some(0));
    }
}

fn place(text: &str, offset: usize, encoding: &str) -> Value {
    let before = text[..offset].replace("\r\n", "\n").replace('\r', "\n");
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let own = &before[line..];
    let column = match encoding {
        "utf-8" => own.len(),
        "utf-16" => own.encode_utf16().count(),
        _ => own.chars().count(),
    };
    json!({ "line": before.matches('\n').count(), "character": column })
}

#[test]
fn documents_that_are_not_open_have_no_answers() {
    let (mut client, _folder) = plain();
    let at = json!({ "line": 3, "character": 9 });
    for uri in ["file:///nowhere/x.sched", "untitled:x"] {
        client.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
        client.change(uri, 3, &[(Value::Null, "tile(")]);
        for (method, params) in questions(uri, &at) {
            let id = client.ask(method, params);
            let answer = client.answer(id).expect("an answer");
            assert!(answer.get("error").is_none(), "{method}: {answer}");
        }
        for (method, params) in refusable(uri, &at) {
            let id = client.ask(method, params);
            assert!(client.answer(id).is_some(), "{method}");
        }
    }
    client.open("untitled:x", 1, "tile(batch, a, b, 8)\n");
    assert_eq!(client.diagnostics("untitled:x", 1), Some(Vec::new()));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn messages_that_are_none_are_refused_and_the_next_is_answered() {
    let (mut client, _folder) = plain();
    let frame = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
    let broken = [
        frame("{"),
        frame("[]"),
        frame("\"text\""),
        frame("{\"jsonrpc\":\"2.0\"}"),
        frame("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"shutdown\"}"),
        b"Content-Length: 3\r\n\r\n\xff\xfe\xfd".to_vec(),
        b"Content-Size: 2\r\n\r\n".to_vec(),
        b"Content-Length: many\r\n\r\n".to_vec(),
    ];
    for bytes in broken {
        client.send_raw(&bytes);
        let refused = client.wait(|message| message.get("error").is_some() && message["id"].is_null());
        let code = refused.as_ref().and_then(|message| message["error"]["code"].as_i64());
        assert!(matches!(code, Some(-32700 | -32600)), "{refused:?}");
    }
    let wrong = [
        ("textDocument/hover", json!({})),
        ("textDocument/hover", json!([1])),
        ("textDocument/hover", json!({ "textDocument": { "uri": 3 }, "position": null })),
        ("sched/ir", json!({ "textDocument": { "uri": "untitled:x" }, "stage": "lower" })),
        ("workspace/executeCommand", json!({ "command": "format.disk" })),
        ("workspace/executeCommand", json!({ "command": "schedc.build", "arguments": [1] })),
        ("no/suchMethod", json!({})),
    ];
    for (method, params) in wrong {
        let id = client.ask(method, params);
        let answer = client.answer(id).expect("an answer");
        assert!(answer["error"]["message"].is_string(), "{method}: {answer}");
    }
    client.notify("textDocument/didChange", json!({ "textDocument": 3 }));
    client.notify("no/suchNotification", json!({}));
    client.open("untitled:y", 1, "reorder(tree, batch)\n");
    assert_eq!(client.diagnostics("untitled:y", 1), Some(Vec::new()));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn every_request_is_answered_and_no_notification_is() {
    let (mut client, _folder) = plain();
    for method in ["$/noSuchMethod", "$/cancelRequest", "$/setTrace", "no/suchMethod"] {
        client.notify(method, json!({ "id": "nothing", "value": "off" }));
        let id = client.ask(method, json!({ "id": "nothing", "value": "off" }));
        let answer = client.answer(id).expect("an answer");
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    let is_answer = |message: &&Value| message.get("method").is_none();
    assert_eq!(client.unread.iter().filter(is_answer).count(), 0, "{:?}", client.unread);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_end_is_orderly_or_not_and_a_new_server_starts() {
    let (client, _folder) = plain();
    assert_eq!(client.leave(), Some(1), "the input ended without `exit`");
    let (mut client, _folder) = plain();
    client.notify("exit", Value::Null);
    assert_eq!(client.leave(), Some(1), "`exit` without `shutdown`");
    let (mut client, folder) = plain();
    client.open("untitled:z", 1, "tile(");
    drop(client);
    let mut client = server(folder.path());
    client.initialize(json!({}));
    client.open("untitled:z", 1, "tile(");
    assert!(client.diagnostics("untitled:z", 1).is_some_and(|found| !found.is_empty()));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn requests_before_the_greeting_and_after_the_goodbye_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = server(folder.path());
    let id = client.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": "untitled:x" } }));
    assert_eq!(client.answer(id).map(|answer| answer["error"]["code"].clone()), Some(json!(-32002)));
    client.initialize(json!({}));
    client.request("shutdown", Value::Null);
    let id = client.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": "untitled:x" } }));
    assert!(client.answer(id).is_some_and(|answer| answer.get("error").is_some()));
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_command_becomes_the_server() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedc"));
    command.args(["lsp", "--stdio"]);
    let mut client = Client::start(&mut command).expect("the server starts");
    let result = client.initialize(json!({}));
    assert_eq!(result["serverInfo"]["name"], "schedc");
    let program = fs::read_link(format!("/proc/{}/exe", client.id())).expect("a process");
    assert!(program.ends_with("schedc-lsp"), "{}", program.display());
    let maps = fs::read_to_string(format!("/proc/{}/maps", client.id())).expect("a process");
    assert!(!maps.contains("libLLVM"), "the server carries LLVM");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_server_prints_its_version() {
    for (program, args) in [
        (env!("CARGO_BIN_EXE_schedc-lsp"), &["--version"][..]),
        (env!("CARGO_BIN_EXE_schedc"), &["lsp", "--version"]),
    ] {
        let output = Command::new(program).args(args).output().expect("it runs");
        assert_eq!(output.stdout, format!("schedc-lsp {}\n", env!("CARGO_PKG_VERSION")).as_bytes());
        assert!(output.status.success());
    }
}

#[test]
fn a_missing_server_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let alone = folder.path().join("schedc");
    fs::copy(env!("CARGO_BIN_EXE_schedc"), &alone).expect("a copy");
    let mut command = Command::new(&alone);
    command.args(["lsp", "--version"]).env("PATH", folder.path());
    // Another test may start a program while the copy is open for writing; the system refuses to run the copy
    // until that program has closed it.
    let output = loop {
        match command.output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.expect("it runs"),
        }
    };
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("U0001") && message.contains("install schedc-lsp beside schedc"), "{message}");
}

fn copy_model(name: &str, folder: &Path) -> PathBuf {
    let path = folder.join("model.json");
    let bytes = fs::read(root().join(name)).expect("a model");
    fs::write(&path, bytes).expect("the model can be copied");
    path
}

/// The running child processes of a process.
fn children(id: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).expect("its threads");
    let lists = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn proposals_show_the_nest_after_them() {
    let (mut client, _folder) = plain();
    client.open("untitled:a", 1, "tile(batch, b0, b1, 64)\n");
    let place = json!({ "textDocument": { "uri": "untitled:a" }, "position": { "line": 1, "character": 0 } });
    let all = client.request("textDocument/completion", place);
    let first = all[0].clone();
    assert_eq!(first["label"], "reorder(b0, tree, b1)", "{all}");
    let resolved = client.request("completionItem/resolve", first.clone());
    let text = resolved["documentation"]["value"].as_str().unwrap_or_default();
    assert!(text.contains("for b0 in 0..n_rows step 64\n  for tree in 0..N_t\n    for b1"), "{text}");
    client.change("untitled:a", 2, &[(Value::Null, "\n")]);
    let late = client.request("completionItem/resolve", first.clone());
    assert_eq!(late["documentation"], first["documentation"], "proposals of another text are not resolved");
}

#[test]
fn proposals_are_ordered_by_what_they_gain_once_that_is_known() {
    let (mut client, folder) = plain();
    copy_model("examples/model/breast_cancer.json", folder.path());
    let name = uri(&folder.path().join("s.sched"));
    let text = "model \"model.json\"\ntile(batch, b0, b1, 256)\nreorder(b0, tree, b1)\n";
    client.open(&name, 1, text);
    let place = |character: u32| {
        let position = json!({ "line": 3, "character": character });
        json!({ "textDocument": { "uri": name }, "position": position })
    };
    // The server reads the model and predicts gains in the background. The test repeats the request until
    // both are done.
    let is_predicted = |item: &Value| item["detail"].as_str().is_some_and(|text| text.contains("\u{d7}"));
    let mut requests = 0;
    let items = loop {
        let answer = client.request("textDocument/completion", place(0));
        let items = answer.get("items").unwrap_or(&answer).as_array().cloned().unwrap_or_default();
        assert!(!items.is_empty(), "the first answer is not empty: {answer}");
        if items.iter().any(is_predicted) {
            assert!(answer.is_array(), "it is complete: {answer}");
            break items;
        }
        requests += 1;
        assert!(requests < 6000, "{answer}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    assert!(is_predicted(&items[0]), "{}", items[0]);
    let place_of = |start: &str| {
        let named = |item: &Value| item["label"].as_str().is_some_and(|label| label.starts_with(start));
        items.iter().position(named)
    };
    let (quantized, array) = (place_of("representation(quantized)"), place_of("representation(array)"));
    assert!(quantized.is_some() && quantized < array, "{items:?}");
    // One more letter does not change the position.
    client.change(&name, 2, &[(Value::Null, &format!("{text}r"))]);
    let answer = client.request("textDocument/completion", place(1));
    assert!(answer.is_array() && is_predicted(&answer[0]), "{answer}");
}

/// The entry of a stage's answer about the group of lines that contains `line`.
fn lines_with(answer: &Value, line: usize) -> Option<&Value> {
    let has = |group: &&Value| {
        let number = |key: &str| group[key].as_u64().and_then(|number| usize::try_from(number).ok());
        number("line")
            .zip(number("count"))
            .is_some_and(|(first, count)| (first..first + count).contains(&line))
    };
    answer["lines"].as_array()?.iter().find(has)
}

#[test]
fn live_stages_are_made_by_a_program_that_keeps_the_model() {
    let (mut client, folder) = plain();
    copy_model("examples/model/breast_cancer.json", folder.path());
    let name = uri(&folder.path().join("s.sched"));
    let text =
        |more: &str| format!("model \"model.json\"\ntile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\n{more}");
    client.open(&name, 1, &text("parallel(b0)\n"));
    let live = |stage: &str| json!({ "textDocument": { "uri": name }, "stage": stage, "live": true });
    let answer = client.request("sched/ir", live("mir"));
    let line =
        answer["text"].as_str().and_then(|text| text.lines().position(|line| line.contains("parallel b0")));
    let group = line.and_then(|line| lines_with(&answer, line));
    let starts = group.map(|group| {
        group["ranges"]
            .as_array()
            .map(|all| all.iter().map(|range| range["start"]["line"].clone()).collect::<Vec<_>>())
    });
    assert_eq!(starts, Some(Some(vec![json!(1), json!(3)])), "{answer}");
    let program = children(client.id());
    assert_eq!(program.len(), 1, "{program:?}");
    for stage in ["plan", "asm", "hir"] {
        let answer = client.request("sched/ir", live(stage));
        assert!(
            answer["text"].as_str().is_some_and(|text| text.contains("b1") || text.contains("kernel.raw")),
            "{answer}"
        );
    }
    assert_eq!(children(client.id()), program, "the same program makes all of them");
    // Instructions have directives as origins, too.
    let answer = client.request("sched/ir", live("asm"));
    let asm: Vec<&str> = answer["text"].as_str().unwrap_or_default().lines().collect();
    let starts = |wanted: &str| {
        let at = asm.iter().position(|line| line.trim() == wanted)?;
        let group = lines_with(&answer, at + 1)?;
        let starts = group["ranges"].as_array()?.iter().map(|range| range["start"]["line"].as_u64());
        starts.collect::<Option<Vec<u64>>>()
    };
    assert_eq!(starts("# b1"), Some(vec![1]), "{asm:#?}");
    assert!(!asm.iter().any(|line| line.contains(".loc") || line.contains(".debug")), "{asm:#?}");
    client.change(&name, 2, &[(Value::Null, &text("parallel(b1\n"))]);
    let id = client.ask("sched/ir", live("mir"));
    let refused = client.answer(id).unwrap_or_default();
    assert!(refused["error"]["message"].as_str().is_some_and(|why| why.starts_with('S')), "{refused}");
    client.change(&name, 3, &[(Value::Null, &text(""))]);
    let answer = client.request("sched/ir", live("mir"));
    assert_eq!(
        (answer["version"].clone(), answer["text"].as_str().map(|text| text.contains("parallel"))),
        (json!(3), Some(false))
    );
}

#[test]
fn stages_are_made_in_the_background_and_can_be_cancelled() {
    let (mut client, folder) = plain();
    copy_model("examples/model/breast_cancer.json", folder.path());
    let name = uri(&folder.path().join("s.sched"));
    client.open(&name, 1, "model \"model.json\"\ntile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\n");
    let params =
        |stage: &str| json!({ "textDocument": { "uri": name }, "stage": stage, "workDoneToken": stage });
    let answer = client.request("sched/ir", params("mir"));
    assert!(answer["text"].as_str().is_some_and(|text| text.contains("walk")), "{answer}");
    assert!(answer["tree"].as_array().is_some_and(|lines| !lines.is_empty()), "{answer}");
    let begins =
        |message: &Value| message["method"] == "$/progress" && message["params"]["value"]["kind"] == "begin";
    let ends =
        |message: &Value| message["method"] == "$/progress" && message["params"]["value"]["kind"] == "end";
    assert!(client.wait(begins).is_some() && client.wait(ends).is_some());

    let id = client.ask("sched/ir", params("asm"));
    assert!(client.wait(begins).is_some());
    client.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(client.answer(id).map(|answer| answer["error"]["code"].clone()), Some(json!(-32800)));
    assert!(client.wait(ends).is_some(), "cancelled work ends its progress");

    let id = client.ask("sched/ir", params("llvm"));
    assert!(client.wait(begins).is_some());
    client.notify("window/workDoneProgress/cancel", json!({ "token": "llvm" }));
    assert_eq!(client.answer(id).map(|answer| answer["error"]["code"].clone()), Some(json!(-32800)));

    let built = client.request(
        "workspace/executeCommand",
        json!({ "command": "schedc.build", "arguments": [{ "uri": name }] }),
    );
    let output = built["output"].as_str().map(PathBuf::from).unwrap_or_default();
    assert!(output.is_file(), "{built}");
    let bench = json!({ "command": "schedc.bench", "arguments": [{ "uri": name }] });
    let measured = client.request("workspace/executeCommand", bench);
    let points = measured["points"].as_array().cloned().unwrap_or_default();
    assert!(!points.is_empty() && points.iter().all(|point| point["us_per_row"].is_number()), "{measured}");
    client.change(&name, 2, &[(Value::Null, "model \"model.json\"\nunroll(nothing)\n")]);
    let refused = client.request("sched/ir", params("mir"));
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("S0024")), "{refused}");
    assert_eq!(client.end(), Some(0));
}
