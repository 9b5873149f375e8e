//! Capabilities of the client on which the server's answers depend.

use tower_lsp_server::ls_types::ClientCapabilities;

/// The abilities of a client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Abilities {
    /// Requests diagnostics, so that the server need not push them.
    pub pulls_diagnostics: bool,
    /// Requests diagnostics again on a refresh message.
    pub refreshes_diagnostics: bool,
    /// Requests inlay hints again on a refresh message.
    pub refreshes_hints: bool,
    /// Requests code lenses again on a refresh message.
    pub refreshes_lenses: bool,
    /// Shows places related to a diagnostic.
    pub related_information: bool,
    /// Opens the page of a code.
    pub code_descriptions: bool,
    /// Sends settings on request.
    pub configuration: bool,
    /// Can register for messages about changed settings.
    pub registers_configuration: bool,
    /// Can register for messages about changed files.
    pub registers_watchers: bool,
    /// Shows progress that the server begins.
    pub progress: bool,
    /// Accepts completions that are snippets, with placeholders to fill in.
    pub snippets: bool,
    /// Accepts edits that name the version of the document that they apply to.
    pub versioned_edits: bool,
    /// Accepts code actions with a kind and edits, instead of commands alone.
    pub code_actions: bool,
    /// Accepts symbols that contain symbols.
    pub nested_symbols: bool,
}

impl Abilities {
    /// Reads the abilities from the client's capabilities.
    pub fn of(client: &ClientCapabilities) -> Abilities {
        let document = client.text_document.as_ref();
        let workspace = client.workspace.as_ref();
        let is = |flag: Option<bool>| flag.unwrap_or(false);
        let published = document.and_then(|d| d.publish_diagnostics.as_ref());
        let item = document.and_then(|d| d.completion.as_ref()?.completion_item.as_ref());
        Abilities {
            pulls_diagnostics: document.is_some_and(|d| d.diagnostic.is_some()),
            refreshes_diagnostics: is(workspace.and_then(|w| w.diagnostics.as_ref()?.refresh_support)),
            refreshes_hints: is(workspace.and_then(|w| w.inlay_hint.as_ref()?.refresh_support)),
            refreshes_lenses: is(workspace.and_then(|w| w.code_lens.as_ref()?.refresh_support)),
            related_information: is(published.and_then(|p| p.related_information)),
            code_descriptions: is(published.and_then(|p| p.code_description_support)),
            configuration: is(workspace.and_then(|w| w.configuration)),
            registers_configuration: is(
                workspace.and_then(|w| w.did_change_configuration.as_ref()?.dynamic_registration)
            ),
            registers_watchers: is(
                workspace.and_then(|w| w.did_change_watched_files.as_ref()?.dynamic_registration)
            ),
            progress: is(client.window.as_ref().and_then(|w| w.work_done_progress)),
            snippets: is(item.and_then(|i| i.snippet_support)),
            versioned_edits: is(workspace.and_then(|w| w.workspace_edit.as_ref()?.document_changes)),
            code_actions: document
                .and_then(|d| d.code_action.as_ref())
                .is_some_and(|a| a.code_action_literal_support.is_some()),
            nested_symbols: is(
                document.and_then(|d| d.document_symbol.as_ref()?.hierarchical_document_symbol_support)
            ),
        }
    }
}
