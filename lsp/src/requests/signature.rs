//! `textDocument/signatureHelp`.

use sched_ide as ide;
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{
    Documentation, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp,
    SignatureHelpParams, SignatureInformation,
};

use crate::state::ServerData;

/// Signature of the directive at a position of the document.
pub fn help(shared: &ServerData, params: &SignatureHelpParams) -> Result<Option<SignatureHelp>> {
    let Some((snapshot, offset)) = shared.place(&params.text_document_position_params)? else {
        return Ok(None);
    };
    Ok(ide::signature_help(&snapshot.analysis, offset).map(|found| {
        let active = u32::try_from(found.active).ok();
        let parameter = |parameter: &ide::ParameterHelp| ParameterInformation {
            label: label(&found.label, parameter.label),
            documentation: markdown(parameter.documentation.clone()),
        };
        let information = SignatureInformation {
            parameters: Some(found.parameters.iter().map(parameter).collect()),
            active_parameter: active,
            documentation: markdown(found.documentation.clone()),
            label: found.label,
        };
        SignatureHelp { signatures: vec![information], active_signature: Some(0), active_parameter: active }
    }))
}

/// The label of a parameter, as offsets in `whole`. The protocol always counts them in UTF-16 code units,
/// whatever the unit of positions in documents is.
fn label(whole: &str, (start, end): (usize, usize)) -> ParameterLabel {
    let units = |at: usize| {
        let count = whole.get(..at).unwrap_or(whole).encode_utf16().count();
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    ParameterLabel::LabelOffsets([units(start), units(end)])
}

fn markdown(value: String) -> Option<Documentation> {
    let content = MarkupContent { kind: MarkupKind::Markdown, value };
    (!content.value.is_empty()).then_some(Documentation::MarkupContent(content))
}
