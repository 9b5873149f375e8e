//! Tests of models that change while a schedule is open.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::client::{Client, uri};
use super::{plain, root, server};

const LARGE: &str = "examples/model/breast_cancer.json";
const SMALL: &str = "cli/tests/cli/fixtures/tiny.json";

fn copy(model: &str, to: &Path) {
    let bytes = fs::read(root().join(model)).expect("a model");
    fs::write(to, bytes).expect("the model can be copied");
}

/// A client that watches files in the workspace folder.
fn watching(folder: &Path, workspace: &Path) -> Client {
    let mut client = server(folder);
    let watches = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
    client.initialize(json!({
        "capabilities": watches,
        "workspaceFolders": [{ "uri": uri(workspace), "name": "workspace" }],
    }));
    client
}

/// Repeats a request after each notification of a change, until the number of trees is as wanted.
fn until_trees(client: &mut Client, name: &str, wanted: impl Fn(&Value) -> bool) {
    loop {
        let answer = client.request("sched/lineage", json!({ "textDocument": { "uri": name } }));
        let trees = &answer["lineage"]["indices"][1]["stop"];
        if wanted(trees) {
            return;
        }
        let learned = client.wait(|message| message["method"] == "sched/changed");
        assert!(learned.is_some(), "the server does not see that the model has changed: {trees} trees");
    }
}

#[test]
fn models_are_bound_when_they_have_been_read_and_again_when_they_change() {
    let (mut client, folder) = plain();
    let name = uri(&folder.path().join("s.sched"));
    let text = "model \"model.json\"\nsplit(tree, a, b, 50)\n";
    client.open(&name, 1, text);
    let before = client.diagnostics(&name, 1).expect("diagnostics");
    let says = |found: &[Value], words: &str| {
        found.iter().any(|one| one["message"].as_str().is_some_and(|message| message.contains(words)))
    };
    assert!(says(&before, "does not exist"), "{before:?}");

    let model = folder.path().join("model.json");
    copy(LARGE, &model);
    let changed = json!({ "changes": [{ "uri": uri(&model), "type": 1 }] });
    client.notify("workspace/didChangeWatchedFiles", changed);
    until_trees(&mut client, &name, |trees| *trees == 100);

    copy(SMALL, &model);
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": name } }));
    until_trees(&mut client, &name, |trees| trees.is_number() && *trees != 100);

    fs::write(&model, "{}").expect("a broken model");
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": name } }));
    until_trees(&mut client, &name, Value::is_string);
    client.change(&name, 2, &[(Value::Null, text)]);
    let broken = client.diagnostics(&name, 2).expect("diagnostics");
    assert!(broken.iter().any(|found| found["code"] == "M0001"), "{broken:?}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn models_that_no_client_watches_are_read_again_when_they_change() {
    // A model outside the workspace, and one inside whose name matches no pattern.
    for place in ["out/model.json", "workspace/forest.bin"] {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = folder.path().join("workspace");
        fs::create_dir_all(&workspace).expect("a folder");
        fs::create_dir_all(folder.path().join("out")).expect("a folder");
        let model = folder.path().join(place);
        copy(LARGE, &model);
        let mut client = watching(folder.path(), &workspace);
        let name = uri(&workspace.join("s.sched"));
        client.open(&name, 1, &format!("model \"../{place}\"\nreorder(tree, batch)\n"));
        until_trees(&mut client, &name, |trees| *trees == 100);

        copy(SMALL, &model);
        until_trees(&mut client, &name, |trees| trees.is_number() && *trees != 100);
        fs::remove_file(&model).expect("the model was there");
        until_trees(&mut client, &name, Value::is_string);
        copy(LARGE, &model);
        until_trees(&mut client, &name, |trees| *trees == 100);
        assert_eq!(client.end(), Some(0));
    }
}
