//! Messages from the client, before the framework sees them. A malformed message gets an error as answer, and
//! the server reads the next one: one broken message must not end the session.

use std::io::{BufRead, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc::{Receiver, channel};
use tower_lsp_server::jsonrpc::{Request, Response};

/// The method that replaces a malformed message; its params are the error.
pub const UNREADABLE: &str = "$/unreadable";
/// Longest accepted message, in bytes; longer ones are skipped.
const MAX_MESSAGE_BYTES: u64 = 64 << 20;
/// Longest line of a header.
const MAX_HEADER_LINE_BYTES: u64 = 4096;
/// Most messages that wait for the server.
const MAX_WAITING_MESSAGES: usize = 256;

/// The readable messages of the client, one after the other.
pub struct Frames {
    messages: Receiver<Vec<u8>>,
    current: Vec<u8>,
    read: usize,
}

impl Frames {
    /// Starts a thread that reads messages, since a read would block a task.
    pub fn new(mut input: impl BufRead + Send + 'static) -> Frames {
        let (sender, messages) = channel(MAX_WAITING_MESSAGES);
        std::thread::spawn(move || {
            while let Some(body) = next(&mut input) {
                let message = [format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes(), body].concat();
                if sender.blocking_send(message).is_err() {
                    break;
                }
            }
        });
        Frames { messages, current: Vec::new(), read: 0 }
    }
}

impl AsyncRead for Frames {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.read >= self.current.len() {
            match self.messages.poll_recv(context) {
                Poll::Ready(Some(message)) => {
                    self.current = message;
                    self.read = 0;
                }
                Poll::Ready(None) => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
        }
        let rest = self.current.get(self.read..).unwrap_or_default();
        let part = rest.get(..rest.len().min(buffer.remaining())).unwrap_or_default();
        buffer.put_slice(part);
        self.read += part.len();
        Poll::Ready(Ok(()))
    }
}

/// The next message, or [`UNREADABLE`] in place of a malformed one; `None` at the end of the input.
fn next(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let length = match header(input)? {
        Some(length) if length <= MAX_MESSAGE_BYTES => length,
        Some(length) => {
            std::io::copy(&mut input.take(length), &mut std::io::sink()).ok()?;
            return Some(unreadable(-32600, "the message is too long"));
        }
        None => return Some(unreadable(-32700, "the header has no Content-Length")),
    };
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body).ok()?;
    if (body.len() as u64) < length {
        return None;
    }
    Some(check_message(&body).map_or(body, |(code, why)| unreadable(code, &why)))
}

/// The content length of a header, `Some(None)` if the header has none; `None` at the end of the input.
fn header(input: &mut impl BufRead) -> Option<Option<u64>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        input.take(MAX_HEADER_LINE_BYTES).read_until(b'\n', &mut line).ok()?;
        if line.is_empty() {
            return None;
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() {
            return Some(length);
        }
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
}

/// Checks a message. Returns the JSON-RPC error code and the reason if it is malformed, else `None`.
fn check_message(body: &[u8]) -> Option<(i64, String)> {
    #[derive(serde::Deserialize)]
    struct MessageKind {
        method: Option<serde::de::IgnoredAny>,
    }
    let invalid = |error: serde_json::Error| {
        let code = if error.is_data() { -32600 } else { -32700 };
        (code, error.to_string())
    };
    match serde_json::from_slice::<MessageKind>(body) {
        Err(error) => Some(invalid(error)),
        Ok(MessageKind { method: Some(_) }) => serde_json::from_slice::<Request>(body).err().map(invalid),
        Ok(MessageKind { method: None }) => serde_json::from_slice::<Response>(body).err().map(invalid),
    }
}

fn unreadable(code: i64, why: &str) -> Vec<u8> {
    let params = serde_json::json!({ "code": code, "message": why });
    serde_json::json!({ "jsonrpc": "2.0", "method": UNREADABLE, "params": params }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(input: &str) -> Vec<String> {
        let mut input = input.as_bytes();
        let body = || next(&mut input).map(|body| String::from_utf8_lossy(&body).into_owned());
        std::iter::from_fn(body).collect()
    }

    fn frame(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    #[test]
    fn what_cannot_be_read_does_not_hide_what_follows() {
        let good = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let broken = ["{", "[]", "3", r#"{"jsonrpc":"1.0","method":"x"}"#, r#"{"jsonrpc":"2.0","id":1}"#, ""];
        for broken in broken {
            let found = bodies(&(frame(broken) + &frame(good)));
            assert_eq!(found.len(), 2, "{broken}: {found:?}");
            assert!(found[0].contains(UNREADABLE), "{found:?}");
            assert_eq!(found[1], good);
        }
        let found = bodies(&format!("Content-Size: 3\r\n\r\n{}", frame(good)));
        assert!(found[0].contains("no Content-Length") && found[1] == good, "{found:?}");
    }

    #[test]
    fn headers_may_have_other_lines_and_any_case() {
        let good = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        let input = format!("Content-Type: x\r\ncontent-length: {}\r\n\r\n{good}", good.len());
        assert_eq!(bodies(&input), [good]);
    }

    #[test]
    fn the_input_may_end_anywhere() {
        let whole = frame(r#"{"jsonrpc":"2.0","method":"exit"}"#);
        for end in 0..whole.len() {
            assert_eq!(bodies(&whole[..end]), Vec::<String>::new());
        }
    }
}
