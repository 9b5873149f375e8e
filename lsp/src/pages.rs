//! The pages that explain codes, as files that an editor can open. Their texts are part of the program, so
//! they fit its version and need no network.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tower_lsp_server::ls_types::Uri;

/// Returns the page of a code, in Markdown.
pub type PageOfCode = fn(&str) -> Option<&'static str>;

/// Writes pages to the user's cache when they are first needed.
pub struct Pages {
    explain: PageOfCode,
    folder: Option<PathBuf>,
    written: Mutex<BTreeMap<String, Option<Uri>>>,
}

impl Pages {
    /// Selects the folder for pages: a subfolder of the user's cache.
    pub fn new(explain: PageOfCode) -> Pages {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        let folder =
            cache.map(|cache| cache.join("schedc").join(concat!("explain-", env!("CARGO_PKG_VERSION"))));
        Pages { explain, folder, written: Mutex::default() }
    }

    /// The address of a code's page, which is written on first use. `None` if no folder can hold pages.
    pub fn uri(&self, code: &str) -> Option<Uri> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = written.get(code) {
            return known.clone();
        }
        let uri = self.write(code);
        written.insert(code.to_owned(), uri.clone());
        uri
    }

    fn write(&self, code: &str) -> Option<Uri> {
        let folder = self.folder.as_ref()?;
        let page = (self.explain)(code)?;
        let path = folder.join(format!("{code}.md"));
        if !std::fs::read_to_string(&path).is_ok_and(|text| text == page) {
            std::fs::create_dir_all(folder).ok()?;
            std::fs::write(&path, page).ok()?;
        }
        Uri::from_file_path(path)
    }
}
