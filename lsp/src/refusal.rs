//! Error messages of `schedc` as data. Editors show the code and the message, with links to the page of the
//! code and to the position in the text.

/// An error that `schedc` printed, `error: CODE: MESSAGE` with a line of help below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedError<'a> {
    /// The code, such as `M0003`, if the error has one.
    pub code: Option<&'a str>,
    /// The message.
    pub message: &'a str,
    /// Help: how the user can correct the error.
    pub help: Option<&'a str>,
}

impl<'a> PrintedError<'a> {
    /// Finds the error in the text that `schedc` printed; ignores notes before it.
    pub fn read(printed: &'a str) -> PrintedError<'a> {
        let is_start = |at: &usize| {
            let before = printed.get(..*at).map(|before| before.strip_suffix("internal ").unwrap_or(before));
            before.is_some_and(|before| before.is_empty() || before.ends_with('\n'))
        };
        let starts = printed.match_indices("error: ").map(|(at, _)| at).filter(is_start);
        let error = starts.last().and_then(|at| printed.get(at + "error: ".len()..)).unwrap_or(printed);
        let (error, help) = match error.split_once("\n  help: ") {
            Some((error, help)) => (error, Some(help.trim())),
            None => (error, None),
        };
        let code = error.split_once(": ").filter(|(code, _)| is_code(code));
        let (code, message) = code.map_or((None, error), |(code, rest)| (Some(code), rest));
        PrintedError { code, message: message.trim(), help }
    }

    /// The message and the help, each on a line of its own.
    pub fn text(&self) -> String {
        match self.help {
            Some(help) => format!("{}\n{}", self.message, sentence(help)),
            None => self.message.to_owned(),
        }
    }
}

/// Whether a text is a code: a letter and four digits.
fn is_code(text: &str) -> bool {
    let digits = text.strip_prefix(|c: char| c.is_ascii_uppercase());
    digits.is_some_and(|digits| digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Gives a text a capital letter and a full stop.
fn sentence(words: &str) -> String {
    let mut rest = words.chars();
    let first: String = rest.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if words.ends_with(['.', '?', '!', '`']) { "" } else { "." };
    format!("{first}{}{end}", rest.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_with_their_code_and_the_help() {
        let refusal = PrintedError::read(
            "note: old\nerror: M0003: m.json, byte 7: it ends\n  help: save it \
                                     again\n",
        );
        assert_eq!(
            refusal,
            PrintedError {
                code: Some("M0003"),
                message: "m.json, byte 7: it ends",
                help: Some("save it again")
            }
        );
        assert_eq!(refusal.text(), "m.json, byte 7: it ends\nSave it again.");
        let refusal = PrintedError::read("internal error: X0001: it broke\n  help: report it");
        assert_eq!(
            (refusal.code, refusal.message, refusal.help),
            (Some("X0001"), "it broke", Some("report it"))
        );
        let refusal = PrintedError::read("error: the model x cannot be read: no\n  help: name a model");
        assert_eq!((refusal.code, refusal.message), (None, "the model x cannot be read: no"));
        for text in ["", "plain words", "no error: here"] {
            assert_eq!(PrintedError::read(text), PrintedError { message: text, ..PrintedError::default() });
        }
    }
}
