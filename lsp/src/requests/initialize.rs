//! `initialize`: reads the client's capabilities, and returns the server's.

use tower_lsp_server::ls_types::*;

use crate::abilities::Abilities;
use crate::requests::{actions, commands, tokens};
use crate::settings::Settings;
use crate::state::{Folder, ServerData};
use crate::text::Encoding;

/// Stores the client's abilities, folders and settings. The second result lists errors in the settings.
pub fn initialize(shared: &ServerData, params: InitializeParams) -> (InitializeResult, Vec<String>) {
    let abilities = Abilities::of(&params.capabilities);
    let general = params.capabilities.general.as_ref();
    let encoding = Encoding::choose(general.and_then(|general| general.position_encodings.as_deref()));
    let (settings, wrong) = params.initialization_options.as_ref().map(Settings::read).unwrap_or_default();

    let mut folders: Vec<Folder> = params
        .workspace_folders
        .iter()
        .flatten()
        .filter_map(|folder| Folder::new(folder.uri.clone()))
        .collect();
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
        capabilities: server_capabilities(abilities, encoding),
        server_info: Some(info),
        ..InitializeResult::default()
    };
    (result, wrong)
}

fn server_capabilities(abilities: Abilities, encoding: Encoding) -> ServerCapabilities {
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
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(["(", ",", ".", " ", "\"", "/"].map(str::to_owned).to_vec()),
            resolve_provider: Some(true),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(vec!["(".to_owned(), ",".to_owned()]),
            retrigger_characters: Some(vec![")".to_owned()]),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        inlay_hint_provider: Some(OneOf::Left(true)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        semantic_tokens_provider: Some(SemanticTokensServerCapabilities::SemanticTokensOptions(
            SemanticTokensOptions {
                legend: tokens::legend(),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                range: Some(true),
                ..SemanticTokensOptions::default()
            },
        )),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(actions::kinds()),
            ..CodeActionOptions::default()
        })),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        selection_range_provider: Some(SelectionRangeProviderCapability::Simple(true)),
        document_link_provider: Some(DocumentLinkOptions {
            resolve_provider: Some(false),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: commands::ALL.map(str::to_owned).to_vec(),
            work_done_progress_options: WorkDoneProgressOptions { work_done_progress: Some(true) },
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(folders),
            ..WorkspaceServerCapabilities::default()
        }),
        ..ServerCapabilities::default()
    }
}
