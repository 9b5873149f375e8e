//! Search for keys in JSON documents that are not parsed yet, for sniffers.

/// Whether the document is an object whose first key has one of these names.
pub(crate) fn begins_with(text: &[u8], names: &[&str]) -> bool {
    let key = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let name = key.and_then(|key| key.strip_prefix(b"\""));
    name.is_some_and(|rest| names.iter().any(|name| is_quoted(rest, name)))
}

/// Whether one of these names occurs in quotes anywhere in the document, as a key or as a text.
pub(crate) fn has(text: &[u8], names: &[&str]) -> bool {
    let is_name = |at: usize| names.iter().any(|name| is_quoted(&text[at + 1..], name));
    text.iter().enumerate().any(|(at, &byte)| byte == b'"' && is_name(at))
}

/// Whether the text continues with a name and a closing quote.
fn is_quoted(rest: &[u8], name: &str) -> bool {
    rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_keys_are_found() {
        assert!(begins_with(b"{\n \"trees\": []}", &["a", "trees"]));
        assert!(!begins_with(b"{ \"trees2\": [], \"trees\": []}", &["trees"]));
        assert!(!begins_with(b"[\"trees\"]", &["trees"]) && !begins_with(b"{\"trees", &["trees"]));
    }

    #[test]
    fn names_are_found_anywhere() {
        assert!(has(b"{\"a\":{\"trees\":1}}", &["trees"]) && has(b"[\"trees\"", &["b", "trees"]));
        assert!(!has(b"{\"a trees\":1}", &["trees"]) && !has(b"\"", &["trees"]) && !has(b"", &["trees"]));
    }
}
