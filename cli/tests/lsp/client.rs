//! A small client of the Language Server Protocol, for tests and measurements. It starts a server, sends
//! messages and waits for answers.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest time to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server and the conversation with it.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<(Instant, Value)>,
    /// Arrival of the last message that the client waited for, before the client parsed it.
    pub arrived: Instant,
    /// Messages of the server that the client has not waited for.
    pub unread: Vec<Value>,
    /// The answer to `workspace/configuration`.
    pub settings: Value,
    next: i64,
}

impl Client {
    /// Starts a server.
    pub fn start(command: &mut Command) -> std::io::Result<Client> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take();
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let Some(output) = output else { return };
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let arrived = Instant::now();
        Ok(Client { child, input, messages, arrived, unread: Vec::new(), settings: Value::Null, next: 1 })
    }

    /// The id of the server's process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            // A missing server is noticed while waiting for the answer.
            let _ = input.write_all(bytes).and_then(|()| input.flush());
        }
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request without waiting. Returns its number.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(&message);
        id
    }

    /// The answer to a request: the message with its result or error. `None` if the server has ended.
    pub fn answer(&mut self, id: i64) -> Option<Value> {
        self.wait(|message| message.get("method").is_none() && message["id"] == json!(id))
    }

    /// Sends a request and waits for its result, or its error.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(id).unwrap_or_else(|| json!({ "error": "the server has gone" }));
        answer.get("result").cloned().unwrap_or_else(|| json!({ "error": answer["error"] }))
    }

    /// The first message that `wanted` accepts, among the unread and the following messages.
    pub fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(at) = self.unread.iter().position(&wanted) {
            return Some(self.unread.remove(at));
        }
        let end = Instant::now() + PATIENCE;
        loop {
            let message = self.next(end)?;
            if wanted(&message) {
                return Some(message);
            }
            self.unread.push(message);
        }
    }

    /// The next message. Answers requests of the server.
    fn next(&mut self, end: Instant) -> Option<Value> {
        let message = match self.messages.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((arrived, message)) => {
                self.arrived = arrived;
                message
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        if let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) {
            let result = match method {
                "workspace/configuration" => {
                    let items = message["params"]["items"].as_array().map_or(0, Vec::len);
                    Value::Array(vec![self.settings.clone(); items])
                }
                _ => Value::Null,
            };
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
        }
        Some(message)
    }

    /// Initializes the server.
    pub fn initialize(&mut self, mut params: Value) -> Value {
        if params.get("capabilities").is_none() {
            params["capabilities"] = json!({});
        }
        let result = self.request("initialize", params);
        self.notify("initialized", json!({}));
        result
    }

    /// Opens a document.
    pub fn open(&mut self, uri: &str, version: i32, text: &str) {
        let document = json!({ "uri": uri, "languageId": "sched", "version": version, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Changes a document; each change is a range, or null, and its new text.
    pub fn change(&mut self, uri: &str, version: i32, changes: &[(Value, &str)]) {
        let changes: Vec<Value> = changes
            .iter()
            .map(|(range, text)| match range {
                Value::Null => json!({ "text": text }),
                range => json!({ "range": range, "text": text }),
            })
            .collect();
        let document = json!({ "uri": uri, "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// The published diagnostics of a version of a document.
    pub fn diagnostics(&mut self, uri: &str, version: i32) -> Option<Vec<Value>> {
        let message = self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
                && message["params"]["version"] == version
        })?;
        message["params"]["diagnostics"].as_array().cloned()
    }

    /// Shuts the server down. Returns its exit status.
    pub fn end(mut self) -> Option<i32> {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.leave()
    }

    /// Closes the server's input. Returns its exit status.
    pub fn leave(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().ok()?.code()
    }
}

impl Drop for Client {
    /// Kills the server, if it has not ended.
    fn drop(&mut self) {
        // The server may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The URI of a file.
pub fn uri(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri += &format!("%{byte:02X}");
        }
    }
    uri
}

/// A message and its arrival; `None` at the end of the server's output.
fn read(output: &mut impl BufRead) -> Option<(Instant, Value)> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    let arrived = Instant::now();
    Some((arrived, serde_json::from_slice(&body).ok()?))
}
