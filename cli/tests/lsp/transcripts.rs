//! Replays the transcripts of conversations with the language server in `tests/lsp/*.txt`, each with a new
//! server. A transcript has these lines:
//!
//! - `client JSON`: starts the server for a client with these capabilities; `options JSON` before it are its
//!   settings;
//! - `copy PATH [NAME]`: copies a file of the repository into the folder;
//! - `file NAME`, then `|` lines: writes a file with these lines into the folder, or into one below it;
//! - `open NAME`: opens the file; `edit NAME`, then `- ` and `+ ` lines: replaces the first occurrence of a
//!   text by another, in which `\n` ends a line. Both wait for the diagnostics;
//! - `? METHOD NAME PLACE`: sends a request. The place is a piece of the text with `^` at the cursor, or
//!   around a range. A line `with JSON` below it adds params.
//!
//! Lines that begin with `<` are the expected answers. Ranges are written `LINE:COLUMN-LINE:COLUMN`, from 1
//! as editors show them. All other lines are remarks. `UPDATE=1` rewrites the transcripts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Client, position, root, server, uri};

#[test]
fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lsp");
    let entries = fs::read_dir(folder).expect("the folder of transcripts");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    assert!(paths.len() > 3, "{paths:?}");
    let mut wrong = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).expect("a transcript");
        let happened = Replay::new().all(&text);
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, happened).expect("the transcript can be written");
        } else if happened != text {
            let differs = happened.lines().zip(text.lines()).enumerate().find(|(_, (a, b))| a != b);
            wrong.push(format!("{}: {differs:?}", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nUPDATE=1 rewrites the transcripts: review the difference",
        wrong.join("\n")
    );
}

/// Whether a line belongs to the step before it.
fn is_below(line: &str) -> bool {
    line == "+" || ["|", "- ", "+ ", "with "].iter().any(|mark| line.starts_with(mark))
}

struct Replay {
    folder: tempfile::TempDir,
    client: Option<Client>,
    options: Value,
    texts: BTreeMap<String, (i32, String)>,
}

impl Replay {
    fn new() -> Replay {
        let folder = tempfile::tempdir().expect("a folder");
        Replay { folder, client: None, options: Value::Null, texts: BTreeMap::new() }
    }

    fn all(mut self, text: &str) -> String {
        let mut out = String::new();
        let mut lines = text.lines().filter(|line| !line.starts_with('<')).peekable();
        while let Some(line) = lines.next() {
            let mut own = vec![line];
            while let Some(more) = lines.next_if(|line| is_below(line)) {
                own.push(more);
            }
            out += &own.iter().map(|line| format!("{line}\n")).collect::<String>();
            for answer in self.step(&own) {
                out += &format!("< {answer}\n");
            }
        }
        if let Some(client) = self.client {
            assert_eq!(client.end(), Some(0));
        }
        out
    }

    fn step(&mut self, lines: &[&str]) -> Vec<String> {
        let (line, below) = lines.split_first().expect("a step has a line");
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "options" => self.options = serde_json::from_str(rest).expect("JSON"),
            "client" => self.start(&serde_json::from_str(rest).expect("JSON")),
            "copy" => {
                let (from, to) = rest.split_once(' ').unwrap_or((rest, rest));
                let name = Path::new(to).file_name().expect("a name");
                fs::copy(root().join(from), self.folder.path().join(name)).expect("a file of the repository");
            }
            "file" => {
                let text: String = below
                    .iter()
                    .map(|line| format!("{}\n", line.trim_start_matches("| ").trim_start_matches('|')))
                    .collect();
                let path = self.folder.path().join(rest);
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
                fs::write(path, &text).expect("a file can be written");
            }
            "open" => return self.open(rest),
            "edit" => return self.edit(rest, below),
            "?" => return self.ask(rest, below),
            _ => {}
        }
        Vec::new()
    }

    fn start(&mut self, capabilities: &Value) {
        let mut client = server(self.folder.path());
        let folder = json!([{ "uri": uri(self.folder.path()), "name": "folder" }]);
        client.initialize(json!({
            "capabilities": capabilities,
            "workspaceFolders": folder,
            "initializationOptions": self.options,
        }));
        self.client = Some(client);
    }

    fn client(&mut self) -> &mut Client {
        if self.client.is_none() {
            self.start(&json!({}));
        }
        self.client.as_mut().expect("it was started")
    }

    fn uri(&self, name: &str) -> String {
        uri(&self.folder.path().join(name))
    }

    fn open(&mut self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join(name)).expect("a file of the transcript");
        let uri = self.uri(name);
        self.client().open(&uri, 1, &text);
        self.texts.insert(name.to_owned(), (1, text));
        self.published(name, 1)
    }

    fn edit(&mut self, name: &str, below: &[&str]) -> Vec<String> {
        let marked = |mark: &str| {
            let line = below.iter().find_map(|line| line.strip_prefix(mark));
            line.unwrap_or_default().replace("\\n", "\n")
        };
        let (old, new) = (marked("- "), marked("+ "));
        let uri = self.uri(name);
        let (version, text) = self.texts.get_mut(name).expect("an open file");
        let at = text.find(&old).expect("the text to be replaced");
        let range = json!({ "start": position(text, at), "end": position(text, at + old.len()) });
        text.replace_range(at..at + old.len(), &new);
        *version += 1;
        let version = *version;
        self.client().change(&uri, version, &[(range, &new)]);
        self.published(name, version)
    }

    /// The diagnostics of a version, after its model has been read.
    fn published(&mut self, name: &str, version: i32) -> Vec<String> {
        let uri = self.uri(name);
        let has_model =
            self.texts.get(name).is_some_and(|(_, text)| text.contains("model ") || !self.options.is_null());
        let first = version == 1 && has_model && self.folder.path().join("model.json").is_file();
        let client = self.client();
        let mut found = client.diagnostics(&uri, version).expect("diagnostics");
        if first && client.wait(|message| message["method"] == "sched/changed").is_some() {
            found = client.diagnostics(&uri, version).expect("diagnostics with the model");
        }
        found.iter().flat_map(|one| self.show(one)).collect()
    }

    fn ask(&mut self, line: &str, below: &[&str]) -> Vec<String> {
        let mut words = line.splitn(3, ' ');
        let method = words.next().unwrap_or_default();
        let name = words.next().unwrap_or_default().to_owned();
        let place = words.next();
        let mut params = json!({});
        if let Some((_, text)) = self.texts.get(&name) {
            params["textDocument"] = json!({ "uri": self.uri(&name) });
            if let Some(place) = place {
                let pieces: Vec<&str> = place.split('^').collect();
                let at = text.find(&pieces.concat()).expect("the place is in the text");
                let start = position(text, at + pieces[0].len());
                match pieces.get(2) {
                    Some(last) => {
                        let end = position(text, at + pieces.concat().len() - last.len());
                        params["range"] = json!({ "start": start, "end": end });
                    }
                    None => params["position"] = start,
                }
            }
        }
        for line in below {
            let more: Value = serde_json::from_str(line.trim_start_matches("with ")).expect("JSON");
            for (key, value) in more.as_object().expect("an object") {
                params[key] = value.clone();
            }
        }
        let answer = self.client().request(method, params);
        self.show(&answer)
    }

    /// An answer as lines, in a short form for some kinds of answers.
    fn show(&self, answer: &Value) -> Vec<String> {
        let text = serde_json::to_string_pretty(&shortened(answer)).expect("JSON");
        let folder = self.folder.path().display().to_string();
        text.replace(&uri(self.folder.path()), "DIR")
            .replace(&folder, "DIR")
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// JSON with ranges and positions as texts.
fn shortened(value: &Value) -> Value {
    let number = |value: &Value| value.as_u64().map(|n| n + 1);
    let point = |value: &Value| Some(format!("{}:{}", number(&value["line"])?, number(&value["character"])?));
    match value {
        Value::Object(map) => {
            let is = |keys: [&str; 2]| map.len() == 2 && keys.iter().all(|key| map.contains_key(*key));
            if is(["line", "character"]) {
                return point(value).into();
            }
            if is(["start", "end"])
                && let (Some(start), Some(end)) = (point(&value["start"]), point(&value["end"]))
            {
                return format!("{start}-{end}").into();
            }
            map.iter().map(|(key, value)| (key.clone(), shortened(value))).collect()
        }
        Value::Array(items) if items.len() > 4 && items.iter().all(Value::is_number) => {
            let numbers: Vec<String> = items.iter().map(ToString::to_string).collect();
            let chunks = numbers.chunks(5).map(|chunk| chunk.join(" "));
            chunks.collect::<Vec<_>>().join(", ").into()
        }
        Value::Array(items) => items.iter().map(shortened).collect(),
        other => other.clone(),
    }
}
