//! Codes, and the tables that declare them.

use std::cmp::Ordering;
use std::fmt::{self, Debug, Display, Formatter};
use std::hash::{Hash, Hasher};

use crate::severity::Severity;

/// Subject of a code: its letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CodeFamily {
    /// `S`: schedules.
    Schedule,
    /// `M`: models.
    Model,
    /// `D`: data.
    Data,
    /// `C`: compilation.
    Compilation,
    /// `L`: LLVM and libraries.
    Library,
    /// `U`: use of the command line.
    Usage,
    /// `X`: bugs of schedc itself.
    Internal,
}

impl CodeFamily {
    /// The first letter of the family's codes.
    pub const fn letter(self) -> char {
        match self {
            CodeFamily::Schedule => 'S',
            CodeFamily::Model => 'M',
            CodeFamily::Data => 'D',
            CodeFamily::Compilation => 'C',
            CodeFamily::Library => 'L',
            CodeFamily::Usage => 'U',
            CodeFamily::Internal => 'X',
        }
    }
}

/// Properties of a code.
#[derive(Debug)]
pub struct CodeInfo {
    family: CodeFamily,
    number: u16,
    severity: Severity,
    title: &'static str,
    page: &'static str,
}

impl CodeInfo {
    /// A row of a table. `name` is the written code, with which the page begins.
    ///
    /// ```
    /// # use sched_diagnostics::{CodeFamily, CodeInfo, Severity};
    /// const PAGE: &str = "# M0007: a title\n\nA page.";
    /// const ROW: CodeInfo = CodeInfo::new(CodeFamily::Model, 7, "M0007", Severity::Error, "a title", PAGE);
    /// ```
    ///
    /// A mismatch does not compile. The page may not have another title,
    ///
    /// ```compile_fail,E0080
    /// # use sched_diagnostics::{CodeFamily, CodeInfo, Severity};
    /// const PAGE: &str = "# M0007: none\n\nA page.";
    /// const ROW: CodeInfo = CodeInfo::new(CodeFamily::Model, 7, "M0007", Severity::Error, "a title", PAGE);
    /// ```
    ///
    /// another number, or the letter of another family.
    ///
    /// ```compile_fail,E0080
    /// # use sched_diagnostics::{CodeFamily, CodeInfo, Severity};
    /// const PAGE: &str = "# M0007: a title\n\nA page.";
    /// const ROW: CodeInfo = CodeInfo::new(CodeFamily::Model, 8, "M0007", Severity::Error, "a title", PAGE);
    /// ```
    ///
    /// ```compile_fail,E0080
    /// # use sched_diagnostics::{CodeFamily, CodeInfo, Severity};
    /// const PAGE: &str = "# M0007: a title\n\nA page.";
    /// const ROW: CodeInfo = CodeInfo::new(CodeFamily::Data, 7, "M0007", Severity::Error, "a title", PAGE);
    /// ```
    pub const fn new(
        family: CodeFamily,
        number: u16,
        name: &str,
        severity: Severity,
        title: &'static str,
        page: &'static str,
    ) -> CodeInfo {
        let name = name.as_bytes();
        assert!(name.len() == 5 && name[0] == family.letter() as u8, "a code is a letter and four digits");
        let (mut digits, mut read) = (1, 0);
        while digits < name.len() {
            assert!(name[digits].is_ascii_digit(), "a code is a letter and four digits");
            read = 10 * read + (name[digits] - b'0') as u16;
            digits += 1;
        }
        assert!(read == number, "the number is not that of the page");
        let (page_bytes, title_bytes) = (page.as_bytes(), title.as_bytes());
        let text = starts_with(page_bytes, b"# ", 0)
            && starts_with(page_bytes, name, 2)
            && starts_with(page_bytes, b": ", 7)
            && starts_with(page_bytes, title_bytes, 9)
            && starts_with(page_bytes, b"\n\n", 9 + title_bytes.len());
        assert!(text, "a page begins with `# CODE: title` and an empty line");
        CodeInfo { family, number, severity, title, page }
    }
}

/// Whether `text` contains `part` at `at`.
const fn starts_with(text: &[u8], part: &[u8], at: usize) -> bool {
    let mut index = 0;
    while index < part.len() {
        if at + index >= text.len() || text[at + index] != part[index] {
            return false;
        }
        index += 1;
    }
    true
}

/// A code, written `S0042`: a row of a table made with [`codes!`](crate::codes). Codes are append-only: none
/// changes its meaning or is reused.
#[derive(Clone, Copy)]
pub struct Code(&'static CodeInfo);

impl Code {
    /// The code of a row.
    pub const fn new(info: &'static CodeInfo) -> Code {
        Code(info)
    }

    /// Subject of the code.
    pub fn family(self) -> CodeFamily {
        self.0.family
    }

    /// The number after the letter.
    pub fn number(self) -> u16 {
        self.0.number
    }

    /// Severity, unless options change it.
    pub fn severity(self) -> Severity {
        self.0.severity
    }

    /// Title, in a few words.
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// Page of documentation, in Markdown.
    pub fn page(self) -> &'static str {
        self.0.page
    }

    /// Whether the code is for a bug of schedc, not for a fault in its input.
    pub fn is_internal(self) -> bool {
        self.family() == CodeFamily::Internal
    }

    fn key(self) -> (CodeFamily, u16) {
        (self.0.family, self.0.number)
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Code) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Code {}

impl PartialOrd for Code {
    fn partial_cmp(&self, other: &Code) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Code {
    fn cmp(&self, other: &Code) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl Hash for Code {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl Display for Code {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:04}", self.0.family.letter(), self.0.number)
    }
}

impl Debug for Code {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Whether the codes of a table ascend, so that no number occurs twice.
pub const fn is_ascending(codes: &[Code]) -> bool {
    let mut at = 1;
    while at < codes.len() {
        if codes[at - 1].0.number >= codes[at].0.number {
            return false;
        }
        at += 1;
    }
    true
}

/// Declares the codes of a family, one row each: constant, number, name of the page, severity and title. The
/// pages are Markdown files of a folder. A mismatch does not compile.
#[macro_export]
macro_rules! codes {
    ($family:ident in $folder:literal;
     $($name:ident $number:literal $file:literal $severity:ident $title:literal)*) => {
        $(
            #[doc = $title]
            pub const $name: $crate::Code = {
                const INFO: &$crate::CodeInfo = &$crate::CodeInfo::new(
                    $crate::CodeFamily::$family,
                    $number,
                    $file,
                    $crate::Severity::$severity,
                    $title,
                    include_str!(concat!($folder, $file, ".md")),
                );
                $crate::Code::new(INFO)
            };
        )*

        /// All codes of the family, in ascending order.
        pub const CODES: &[$crate::Code] = &[$($name,)*];

        const _: () = assert!($crate::is_ascending(CODES), "codes ascend");
    };
}
