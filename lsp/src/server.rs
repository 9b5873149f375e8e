//! The methods of the protocol, each handed to the file that answers it.
//!
//! Requests run concurrently in one thread: each runs without interruption up to its first wait. Handlers
//! begin in order of arrival, and edits take effect before their handler waits. So every request sees exactly
//! the edits that the client sent before it.

use std::sync::Arc;

use tower_lsp_server::LanguageServer;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::*;

use crate::document::Document;
use crate::pages::Pages;
use crate::requests::drops::{LoopChangesAnswer, LoopChangesParams};
use crate::requests::ir::{IrAnswer, IrParams};
use crate::requests::ledger::{LedgerAnswer, LedgerParams};
use crate::requests::lineage::{LineageAnswer, LineageParams};
use crate::requests::nest::{NestAnswer, NestParams};
use crate::requests::{
    actions, commands, completion, definition, diagnostics, drops, folding, formatting, highlight, hints,
    hover, initialize, ir, ledger, lenses, lineage, links, nest, references, rename, selection, signature,
    symbols, tokens, workspace_symbols,
};
use crate::state::ServerData;
use crate::workspace;

/// The language server.
pub struct Server {
    /// The state of the session.
    pub shared: Arc<ServerData>,
    /// The pages of the codes.
    pub pages: Arc<Pages>,
}

impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let (result, wrong) = initialize::initialize(&self.shared, params);
        workspace::report_setting_errors(&self.shared, wrong).await;
        Ok(result)
    }

    async fn initialized(&self, _: InitializedParams) {
        let shared = Arc::clone(&self.shared);
        // In a task: the client answers requests of the server only after this message has its answer.
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
            state
                .documents
                .insert(uri.as_str().to_owned(), Document::new(uri.clone(), version, &text, encoding));
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
        // The model may have changed on disk without a notification from the client.
        let uri = params.text_document.uri;
        if let Some(document) = self.shared.lock().documents.get_mut(uri.as_str()) {
            document.forget();
        }
        self.shared.publish(&uri);
        ledger::measure_saved(&self.shared, &self.pages, &uri);
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        let uri = params.text_document.uri;
        self.shared.lock().documents.remove(uri.as_str());
        self.shared.publish(&uri);
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        workspace::store_sent_settings(&self.shared, &params.settings).await;
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        workspace::change_folders(&self.shared, params.event).await;
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        workspace::recheck_for_files(&self.shared, params).await;
    }

    async fn diagnostic(&self, params: DocumentDiagnosticParams) -> Result<DocumentDiagnosticReportResult> {
        diagnostics::pull(&self.shared, &self.pages, &params).await
    }

    async fn formatting(&self, params: DocumentFormattingParams) -> Result<Option<Vec<TextEdit>>> {
        formatting::whole(&self.shared, &params)
    }

    async fn range_formatting(&self, params: DocumentRangeFormattingParams) -> Result<Option<Vec<TextEdit>>> {
        formatting::range(&self.shared, &params)
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        hover::hover(&self.shared, &params)
    }

    async fn completion(&self, params: CompletionParams) -> Result<Option<CompletionResponse>> {
        completion::completion(&self.shared, &params).await
    }

    async fn completion_resolve(&self, item: CompletionItem) -> Result<CompletionItem> {
        completion::resolve(&self.shared, item)
    }

    async fn signature_help(&self, params: SignatureHelpParams) -> Result<Option<SignatureHelp>> {
        signature::help(&self.shared, &params)
    }

    async fn inlay_hint(&self, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
        hints::hints(&self.shared, &params)
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        lenses::lenses(&self.shared, &params)
    }

    async fn goto_definition(&self, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
        definition::definition(&self.shared, &params)
    }

    async fn references(&self, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
        references::references(&self.shared, &params)
    }

    async fn document_highlight(
        &self,
        params: DocumentHighlightParams,
    ) -> Result<Option<Vec<DocumentHighlight>>> {
        highlight::highlights(&self.shared, &params)
    }

    async fn prepare_rename(
        &self,
        params: TextDocumentPositionParams,
    ) -> Result<Option<PrepareRenameResponse>> {
        rename::prepare(&self.shared, &params)
    }

    async fn rename(&self, params: RenameParams) -> Result<Option<WorkspaceEdit>> {
        rename::rename(&self.shared, &params)
    }

    async fn document_symbol(&self, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
        symbols::symbols(&self.shared, &params)
    }

    async fn symbol(&self, params: WorkspaceSymbolParams) -> Result<Option<WorkspaceSymbolResponse>> {
        workspace_symbols::symbols(&self.shared, params).await
    }

    async fn semantic_tokens_full(
        &self,
        params: SemanticTokensParams,
    ) -> Result<Option<SemanticTokensResult>> {
        tokens::full(&self.shared, &params)
    }

    async fn semantic_tokens_range(
        &self,
        params: SemanticTokensRangeParams,
    ) -> Result<Option<SemanticTokensRangeResult>> {
        tokens::range(&self.shared, &params)
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        actions::actions(&self.shared, &params).await
    }

    async fn folding_range(&self, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
        folding::ranges(&self.shared, &params)
    }

    async fn selection_range(&self, params: SelectionRangeParams) -> Result<Option<Vec<SelectionRange>>> {
        selection::ranges(&self.shared, &params)
    }

    async fn document_link(&self, params: DocumentLinkParams) -> Result<Option<Vec<DocumentLink>>> {
        links::links(&self.shared, &params)
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<LSPAny>> {
        commands::execute(&self.shared, &self.pages, params).await
    }
}

/// Methods outside of the protocol, and one of the protocol that the framework does not support.
impl Server {
    /// `sched/nest`
    pub async fn nest(&self, params: NestParams) -> Result<NestAnswer> {
        nest::nest(&self.shared, &params)
    }

    /// `sched/drops`
    pub async fn drops(&self, params: LoopChangesParams) -> Result<LoopChangesAnswer> {
        drops::drops(&self.shared, &params)
    }

    /// `sched/lineage`
    pub async fn lineage(&self, params: LineageParams) -> Result<LineageAnswer> {
        lineage::lineage(&self.shared, &params)
    }

    /// `sched/ir`
    pub async fn ir(&self, params: IrParams) -> Result<IrAnswer> {
        ir::ir(&self.shared, &self.pages, params).await
    }

    /// `sched/ledger`
    pub async fn ledger(&self, params: LedgerParams) -> Result<LedgerAnswer> {
        ledger::ledger(&self.shared, &self.pages, params).await
    }

    /// `window/workDoneProgress/cancel`
    pub async fn cancel(&self, params: WorkDoneProgressCancelParams) {
        self.shared.cancel(&params.token);
    }
}
