//! `textDocument/semanticTokens`.

use sched_grammar::ast::Span;
use sched_ide::{self as ide, TokenKind};
use tower_lsp_server::jsonrpc::Result;
use tower_lsp_server::ls_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend,
    SemanticTokensParams, SemanticTokensRangeParams, SemanticTokensRangeResult, SemanticTokensResult,
};

use crate::document::Snapshot;
use crate::state::ServerData;

/// All kinds of tokens with their names. The position is the kind's number in answers. Names of the protocol
/// are used where one fits, since every theme has colours for them.
const KINDS: [(TokenKind, &str); 12] = [
    (TokenKind::Directive, "function"),
    (TokenKind::Function, "operator"),
    (TokenKind::RowIndex, "rowIndex"),
    (TokenKind::TreeIndex, "treeIndex"),
    (TokenKind::Param, "parameter"),
    (TokenKind::Const, "variable"),
    (TokenKind::Property, "fact"),
    (TokenKind::Number, "number"),
    (TokenKind::Text, "string"),
    (TokenKind::Keyword, "keyword"),
    (TokenKind::Word, "enumMember"),
    (TokenKind::Comment, "comment"),
];

/// Returns the names of the kinds and modifiers of tokens.
pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: KINDS.iter().map(|(_, name)| SemanticTokenType::new(name)).collect(),
        token_modifiers: vec![
            SemanticTokenModifier::DECLARATION,
            SemanticTokenModifier::DEFAULT_LIBRARY,
            SemanticTokenModifier::READONLY,
        ],
    }
}

/// The tokens of a document.
pub fn full(shared: &ServerData, params: &SemanticTokensParams) -> Result<Option<SemanticTokensResult>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    Ok(Some(SemanticTokensResult::Tokens(tokens(&snapshot, None))))
}

/// The tokens of a range.
pub fn range(
    shared: &ServerData,
    params: &SemanticTokensRangeParams,
) -> Result<Option<SemanticTokensRangeResult>> {
    let Some(snapshot) = shared.snapshot(&params.text_document.uri)? else { return Ok(None) };
    let span = snapshot.text.span(params.range);
    Ok(Some(SemanticTokensRangeResult::Tokens(tokens(&snapshot, Some(span)))))
}

/// Tokens as the protocol has them: each by its distance from the one before, none over several lines.
fn tokens(snapshot: &Snapshot, within: Option<Span>) -> SemanticTokens {
    let mut data = Vec::new();
    let (mut line, mut column) = (0, 0);
    for token in ide::semantic_tokens(&snapshot.analysis) {
        if within.is_some_and(|within| token.span.end <= within.start || within.end <= token.span.start) {
            continue;
        }
        let token_type = KINDS.iter().position(|(kind, _)| *kind == token.kind).unwrap_or(0);
        let constant = token.kind == TokenKind::Const;
        let modifiers = [token.modifiers.declaration, token.modifiers.built_in, constant];
        let bits = modifiers.iter().enumerate().map(|(at, on)| u32::from(*on) << at).sum();
        for span in pieces(snapshot, token.span) {
            let start = snapshot.text.position(span.start as usize);
            let delta_line = start.line - line;
            let delta_start = if delta_line == 0 { start.character - column } else { start.character };
            (line, column) = (start.line, start.character);
            data.push(SemanticToken {
                delta_line,
                delta_start,
                length: snapshot.text.units(span),
                token_type: token_type as u32,
                token_modifiers_bitset: bits,
            });
        }
    }
    SemanticTokens { result_id: None, data }
}

/// Cuts a span into one part for each line, without empty parts.
fn pieces(snapshot: &Snapshot, span: Span) -> Vec<Span> {
    let text = snapshot.text.source().get(span.range()).unwrap_or_default();
    let mut at = span.start as usize;
    let mut pieces = Vec::new();
    for line in text.split_inclusive(['\n', '\r']) {
        let own = line.trim_end_matches(['\n', '\r']).len();
        pieces.extend((own > 0).then(|| Span::new(at, at + own)));
        at += line.len();
    }
    pieces
}
