//! `initialize`: what the client can do, and what the server offers.

use tower_lsp_server::ls_types::{
    DiagnosticOptions, DiagnosticServerCapabilities, InitializeParams, InitializeResult, OneOf, SaveOptions,
    ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions,
    TextDocumentSyncSaveOptions, WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use crate::abilities::Abilities;
use crate::settings::Settings;
use crate::state::{Folder, Shared};
use crate::text::Encoding;

/// Remembers the client's abilities, folders and settings; the second part says what is wrong with the settings.
pub fn initialize(shared: &Shared, params: InitializeParams) -> (InitializeResult, Vec<String>) {
    let abilities = Abilities::of(&params.capabilities);
    let general = params.capabilities.general.as_ref();
    let encoding = Encoding::choose(general.and_then(|general| general.position_encodings.as_deref()));
    let (settings, wrong) = params.initialization_options.as_ref().map(Settings::read).unwrap_or_default();

    let mut folders: Vec<Folder> =
        params.workspace_folders.iter().flatten().filter_map(|folder| Folder::new(folder.uri.clone())).collect();
    #[expect(deprecated, reason = "older clients have one root and no folders")]
    if let (true, Some(root)) = (folders.is_empty(), params.root_uri) {
        folders.extend(Folder::new(root));
    }
    let mut state = shared.lock();
    state.abilities = abilities;
    state.encoding = encoding;
    state.settings = settings.into();
    state.folders = folders;
    drop(state);

    let info = ServerInfo { name: "schedc".to_owned(), version: Some(env!("CARGO_PKG_VERSION").to_owned()) };
    let result = InitializeResult {
        capabilities: offered(abilities, encoding),
        server_info: Some(info),
        ..InitializeResult::default()
    };
    (result, wrong)
}

fn offered(abilities: Abilities, encoding: Encoding) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::INCREMENTAL),
        save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
        ..TextDocumentSyncOptions::default()
    };
    let diagnostics = DiagnosticOptions {
        identifier: Some("schedc".to_owned()),
        inter_file_dependencies: false,
        workspace_diagnostics: false,
        ..DiagnosticOptions::default()
    };
    let folders = WorkspaceFoldersServerCapabilities {
        supported: Some(true),
        change_notifications: Some(OneOf::Left(true)),
    };
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        diagnostic_provider: abilities
            .pulls_diagnostics
            .then_some(DiagnosticServerCapabilities::Options(diagnostics)),
        document_formatting_provider: Some(OneOf::Left(true)),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(folders),
            ..WorkspaceServerCapabilities::default()
        }),
        ..ServerCapabilities::default()
    }
}
