//! The methods of the protocol, each handed to the file that answers it.
//!
//! Requests run concurrently and in one thread: each runs without interruption up to its first wait. What changes documents
//! does so before any wait, and messages begin in the order in which they arrive, so every request sees exactly the edits
//! that the client sent before it.

use std::sync::Arc;

use tower_lsp_server::LanguageServer;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::*;

use crate::document::Document;
use crate::pages::Pages;
use crate::requests::{diagnostics, formatting, initialize};
use crate::state::Shared;
use crate::workspace;

/// The language server.
pub struct Server {
    /// What it knows.
    pub shared: Arc<Shared>,
    /// The pages of the codes.
    pub pages: Arc<Pages>,
}

impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let (result, wrong) = initialize::initialize(&self.shared, params);
        workspace::complain(&self.shared, wrong).await;
        Ok(result)
    }

    async fn initialized(&self, _: InitializedParams) {
        let shared = Arc::clone(&self.shared);
        // The client answers only after it has been answered.
        tokio::spawn(async move {
            workspace::register(&shared).await;
            workspace::configure(&shared).await;
        });
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        let TextDocumentItem { uri, version, text, .. } = params.text_document;
        {
            let mut state = self.shared.lock();
            let encoding = state.encoding;
            state.documents.insert(uri.as_str().to_owned(), Document::new(uri.clone(), version, &text, encoding));
        }
        self.shared.publish(&uri);
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        let VersionedTextDocumentIdentifier { uri, version } = params.text_document;
        {
            let mut state = self.shared.lock();
            let Some(document) = state.documents.get_mut(uri.as_str()) else { return };
            document.change(version, &params.content_changes);
        }
        self.shared.publish(&uri);
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        // The model may have changed on disk without a word from the client.
        let uri = params.text_document.uri;
        if let Some(document) = self.shared.lock().documents.get_mut(uri.as_str()) {
            document.forget();
        }
        self.shared.publish(&uri);
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        let uri = params.text_document.uri;
        self.shared.lock().documents.remove(uri.as_str());
        self.shared.publish(&uri);
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        workspace::configured(&self.shared, &params.settings).await;
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        workspace::folders(&self.shared, params.event).await;
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        workspace::files(&self.shared, params).await;
    }

    async fn diagnostic(&self, params: DocumentDiagnosticParams) -> Result<DocumentDiagnosticReportResult> {
        diagnostics::pull(&self.shared, &self.pages, &params)
    }

    async fn formatting(&self, params: DocumentFormattingParams) -> Result<Option<Vec<TextEdit>>> {
        formatting::whole(&self.shared, &params)
    }
}
