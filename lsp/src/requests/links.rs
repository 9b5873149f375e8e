//! `textDocument/documentLink`.

use sched_ide::{self as ide, LinkTarget};
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{DocumentLink, DocumentLinkParams, Uri};

use crate::state::ServerData;

/// Links to the existing models that the text names.
pub fn links(shared: &ServerData, params: &DocumentLinkParams) -> Result<Option<Vec<DocumentLink>>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    let folder = snapshot.folder();
    let link = |found: ide::FileLink| {
        let LinkTarget::Model(name) = found.target;
        let path = folder.as_ref()?.join(name);
        let target = path.is_file().then(|| Uri::from_file_path(path)).flatten()?;
        Some(DocumentLink {
            range: snapshot.text.range(found.span),
            target: Some(target),
            tooltip: None,
            data: None,
        })
    };
    Ok(Some(ide::document_links(&snapshot.analysis).into_iter().filter_map(link).collect()))
}
