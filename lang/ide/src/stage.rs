//! Attributes the lines of a compiler's stage, as `schedc ir` prints it, to directives.

use std::collections::HashMap;

use sched_grammar::ast::Span;
use sched_lang::check::StageVariant;
use sched_lang::directives::DirectiveOp;
use sched_lang::lineage::{Annotation, DirectiveIndex, NestBuilder};
use sched_nest::show::show_rows;

use super::{Analysis, ScheduleAnalysis};

/// Adjacent lines of a stage that stem from the same directives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageLines {
    /// The number of the first line, from 0.
    pub first: usize,
    /// The number of lines.
    pub count: usize,
    /// The directives that the lines stem from, in the order of the text.
    pub spans: Vec<Span>,
}

/// The lines of a stage, as `schedc ir` prints it, that stem from directives: loops by their names; walks,
/// copies, sums and storages by the loop around them. In assembly, comments such as `# b1`, `# b0: copies` or
/// `# b0: layer1` name the loop of the lines below. Without comments, only functions that threads share are
/// attributed.
pub fn stage_lines(analysis: &Analysis, text: &str) -> Vec<StageLines> {
    let variants: Vec<ScheduleDirectives> = analysis.schedules().map(ScheduleDirectives::of).collect();
    let mut reader = StageReader { variants: &variants, at: 0, open: Vec::new(), mark: Vec::new() };
    let mut all: Vec<StageLines> = Vec::new();
    for (line, text) in text.lines().enumerate() {
        let spans = reader.read(text);
        match all.last_mut() {
            _ if spans.is_empty() => {}
            Some(last) if last.first + last.count == line && last.spans == spans => last.count += 1,
            _ => all.push(StageLines { first: line, count: 1, spans }),
        }
    }
    all
}

/// The directives of one schedule, by loop and by task.
struct ScheduleDirectives {
    /// The heading of the schedule's part of a stage, such as `when n_rows <= 8:`, if there are several
    /// schedules.
    head: String,
    loops: HashMap<String, LoopDirectives>,
    layouts: Vec<Span>,
    copies: Vec<Span>,
    shared: Vec<Span>,
    /// Directives that arrange stages of columns, by stage.
    stages: HashMap<String, Vec<Span>>,
}

/// The directives that concern a loop.
#[derive(Default)]
struct LoopDirectives {
    /// Directives that made the loop or annotate it.
    own: Vec<Span>,
    /// Directives that annotate the loop's walks.
    walks: Vec<Span>,
    sums: Vec<Span>,
    /// Whether the loop is a leaf loop, whose iterations are walks.
    is_leaf: bool,
}

impl ScheduleDirectives {
    fn of(here: ScheduleAnalysis) -> ScheduleDirectives {
        let builder = here.final_nest();
        let prepared = here.prepared();
        let head = format!("{}:", show_rows(here.variant().max_rows));
        let steps = (0..).map(DirectiveIndex).map_while(|step| Some((step, prepared.span(step)?)));
        let is_layout = |step| prepared.call(step).is_some_and(|call| call.op == DirectiveOp::Representation);
        let layouts = steps.filter(|(step, _)| is_layout(*step)).map(|(_, span)| span).collect();
        let mut facts = ScheduleDirectives {
            head,
            loops: HashMap::new(),
            layouts,
            copies: Vec::new(),
            shared: Vec::new(),
            stages: HashMap::new(),
        };
        for id in builder.tree().loops() {
            let span = |step: &DirectiveIndex| prepared.span(*step);
            let mut spans =
                LoopDirectives { is_leaf: builder.tree().inside(id).is_leaf(), ..LoopDirectives::default() };
            spans.own.extend(builder.node(id).made_by.as_ref().and_then(span));
            for (annotation, step) in &builder.node(id).annotations {
                let Some(span) = span(step) else { continue };
                facts.add_annotation(annotation, span, &mut spans);
            }
            facts.loops.insert(builder.name(id), spans);
        }
        facts.inherit(builder);
        for StageVariant { stage, builder, .. } in &here.variant().stages {
            let nodes = builder.tree().loops().into_iter().map(|id| builder.node(id));
            let steps =
                nodes.flat_map(|node| node.annotations.iter().map(|(_, step)| step).chain(&node.made_by));
            let spans = steps.filter_map(|step| prepared.span(*step)).collect();
            facts.stages.insert(stage.name.clone(), spans);
        }
        facts
    }

    fn add_annotation(&mut self, annotation: &Annotation, span: Span, spans: &mut LoopDirectives) {
        match annotation.kind() {
            "cache" => self.copies.push(span),
            "reduce" => spans.sums.push(span),
            "walk" | "representation" => spans.walks.push(span),
            "vector" | "interleave" => {
                spans.own.push(span);
                spans.walks.push(span);
            }
            "parallel" => {
                spans.own.push(span);
                spans.sums.push(span);
                self.shared.push(span);
            }
            _ => spans.own.push(span),
        }
    }

    /// Passes annotations of walks on to all loops inside.
    fn inherit(&mut self, builder: &NestBuilder) {
        for id in builder.tree().loops() {
            let Some(parent) = builder.tree().parent(id) else { continue };
            let above = self.loops.get(&builder.name(parent)).map(|above| above.walks.clone());
            if let (Some(above), Some(own)) = (above, self.loops.get_mut(&builder.name(id))) {
                own.walks.extend(above);
            }
        }
    }
}

/// Reads the lines of a stage from the first to the last.
struct StageReader<'f> {
    variants: &'f [ScheduleDirectives],
    /// The schedule that the lines are for.
    at: usize,
    /// The open loops: their indents, and the directives that concern them.
    open: Vec<(usize, &'f LoopDirectives)>,
    /// In assembly, the directives of the instructions until the next mark.
    mark: Vec<Span>,
}

impl<'f> StageReader<'f> {
    fn read(&mut self, line: &str) -> Vec<Span> {
        let text = line.trim();
        if let Some(mark) = text.strip_prefix("# ") {
            self.mark = self.marked(mark);
            return self.mark.clone();
        }
        if text.starts_with("kernel.") && text.ends_with(':') {
            self.mark.clear();
        } else if !self.mark.is_empty() {
            // Labels and directives are no instructions.
            let is_code = line.starts_with([' ', '\t']) && !text.starts_with('.') && !text.is_empty();
            return if is_code { self.mark.clone() } else { Vec::new() };
        }
        if let Some(at) = self.variants.iter().position(|facts| facts.head == text) {
            self.at = at;
            self.open.clear();
            return Vec::new();
        }
        let Some(facts) = self.variants.get(self.at) else { return Vec::new() };
        let indent = line.len() - line.trim_start().len();
        if text.is_empty() || text == "}" {
            return Vec::new();
        }
        while self.open.last().is_some_and(|(open, _)| *open >= indent) {
            self.open.pop();
        }
        let mut spans = match named(text).and_then(|name| facts.loops.get(name)) {
            Some(spans) => {
                self.open.push((indent, spans));
                let walks = if text.starts_with("walks of ") { &spans.walks[..] } else { &[] };
                spans.own.iter().chain(walks).copied().collect()
            }
            None => self.inside(facts, text),
        };
        spans.sort_unstable();
        spans.dedup();
        spans
    }

    /// The directives of the instructions below a mark: `b1`, `b0: copies`, `b1: sums, n_rows <= 8`,
    /// `b0: layer1`.
    fn marked(&self, mark: &str) -> Vec<Span> {
        let (mark, bound) = mark.split_once(", ").map_or((mark, None), |(mark, bound)| (mark, Some(bound)));
        let (name, task) = mark.split_once(": ").unwrap_or((mark, ""));
        let head = bound.map_or("otherwise:".to_owned(), |bound| format!("when {bound}:"));
        let is_it = |facts: &&ScheduleDirectives| facts.head == head;
        let Some(facts) = self.variants.iter().find(is_it).or(self.variants.first()) else {
            return Vec::new();
        };
        let Some(this) = facts.loops.get(name) else { return Vec::new() };
        let mut spans: Vec<Span> = this.own.clone();
        match task {
            "copies" | "columns" => spans.extend(&facts.copies),
            "sums" => spans.extend(this.sums.iter().chain(&this.walks)),
            stage if facts.stages.contains_key(stage) => spans.extend(&facts.stages[stage]),
            _ if this.is_leaf => spans.extend(this.walks.iter().chain(&facts.layouts)),
            _ => {}
        }
        spans.sort_unstable();
        spans.dedup();
        spans
    }

    /// The directives of a line that begins no loop.
    fn inside(&self, facts: &ScheduleDirectives, text: &str) -> Vec<Span> {
        let around = self.open.last().map(|(_, spans)| *spans);
        let all_sums = || self.open.iter().flat_map(|(_, spans)| spans.sums.clone()).collect();
        if text.starts_with("kernel.") && text.ends_with(':') && text.contains("parallel") {
            facts.shared.clone()
        } else if text.starts_with("cache") {
            facts.copies.clone()
        } else if text.starts_with("storage ") {
            facts.layouts.clone()
        } else if text.contains("walk ") || text == "walk" {
            let walks = around.map(|spans| spans.walks.clone()).unwrap_or_default();
            walks.into_iter().chain(facts.layouts.iter().copied()).collect()
        } else if text.starts_with("private") {
            all_sums()
        } else {
            Vec::new()
        }
    }
}

/// The name of the loop that a line begins or concerns: `parallel b0 in 0..n_rows`, `walks of b1: ...`.
fn named(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("walks of ") {
        return rest.split(':').next();
    }
    let (before, _) = text.split_once(" in ")?;
    before.rsplit(' ').next()
}
