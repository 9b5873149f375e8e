//! Named numbers and the evaluation of expressions.

use std::cell::{Cell, OnceCell, RefCell};

use foldhash::{HashMap, HashMapExt, HashSet};
use sched_grammar::ast::{
    BinOp, Directive, ExprKind, Ident, ScheduleExpr, ScheduleFile, ScheduleStmt, Span, StmtKind,
};

use super::arithmetic::apply;
use crate::diagnostics::{Applicability, Diagnostic, Edit, Fix, codes, nearest};
use crate::directives;
use crate::options::CheckOptions;
use crate::report::Report;
use crate::schedule::Param;
use sched_nest::ModelInfo;
use sched_nest::sym::{Property, Sym, SymOp};

/// Largest number of pairs of an unknown and a known name that are compared for proposals.
const MOST_COMPARED: usize = 200_000;

/// Properties with a name in the text.
pub const PROPERTIES: &[(&str, Property)] = &[
    ("num_trees", Property::NumTrees),
    ("N_t", Property::NumTrees),
    ("num_features", Property::NumFeatures),
    ("num_classes", Property::NumClasses),
    ("max_depth", Property::MaxDepth),
    ("batch_size", Property::BatchSize),
    ("run_depth", Property::RunDepth),
];
/// Functions of numbers.
pub const FUNCTIONS: &[&str] = &["min", "max", "ceildiv", "trees_to_depth"];

/// A declared number.
struct Declaration {
    /// The value; `None` if it was refused.
    value: Option<Sym>,
    span: Span,
    is_param: bool,
    used: Cell<bool>,
}

/// A param or const.
#[derive(Clone, Debug)]
pub struct DeclaredNumber {
    /// Name of the param or const.
    pub name: String,
    /// The value; `None` if it was refused.
    pub value: Option<Sym>,
    /// Span of the declaration.
    pub span: Span,
    /// Whether the number is a `param`, which options can set.
    pub is_param: bool,
}

/// Names that may occur in expressions.
pub(crate) struct NameScope<'a> {
    named: HashMap<String, Declaration>,
    model: Option<&'a ModelInfo>,
    /// Depths of the model's trees in ascending order.
    depths: OnceCell<Vec<u32>>,
    batch_size: Option<u64>,
    /// Names of indices made anywhere in the file, to tell a loop from a misspelt number.
    pub(crate) indices: HashSet<&'a str>,
    /// Undeclared names that were reported.
    undeclared: RefCell<HashSet<String>>,
    /// The statements, among them declarations below their uses.
    stmts: &'a [ScheduleStmt],
    /// First use of `trees_to_depth`.
    pub(crate) trees_to_depth: Cell<Option<(Span, i64)>>,
}

/// Declares the params and consts of a file, in the order written.
pub(crate) fn scope<'a>(
    file: &'a ScheduleFile,
    options: &'a CheckOptions,
    report: &mut Report,
) -> (NameScope<'a>, Vec<Param>) {
    let mut scope = NameScope {
        named: HashMap::new(),
        model: options.model.as_deref(),
        depths: OnceCell::new(),
        batch_size: options.batch_size,
        indices: HashSet::from_iter(["batch", "tree"]),
        undeclared: RefCell::default(),
        stmts: &file.stmts,
        trees_to_depth: Cell::default(),
    };
    let mut params = Vec::new();
    for stmt in &file.stmts {
        match &stmt.kind {
            StmtKind::Param { name, default, choices } => {
                params.extend(scope.param(name, default, choices, options, report));
            }
            StmtKind::Const { name, value } => {
                let value = scope.eval(value, report);
                scope.declare(name, value, false, report);
            }
            StmtKind::Directive(directive) => {
                scope.indices.extend(new_indices(directive));
            }
            _ => {}
        }
    }
    report_unknown_params(options, &params, report);
    (scope, params)
}

/// Names of the loops that a directive makes.
fn new_indices(directive: &Directive) -> impl Iterator<Item = &str> {
    let parameters = directives::find(&directive.name.text).map_or(&[][..], |signature| signature.parameters);
    let arguments = parameters.iter().zip(&directive.args);
    let new = arguments.filter(|(parameter, _)| parameter.role == directives::Role::NewIndex);
    new.filter_map(|(_, argument)| match &argument.kind {
        ExprKind::Path(path) => path.as_ident().map(|name| name.text.as_str()),
        _ => None,
    })
}

/// Reports options that set params which the schedule does not declare.
fn report_unknown_params(options: &CheckOptions, params: &[Param], report: &mut Report) {
    let known: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
    for (name, _) in options.param_values.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("Did you mean `{near}`?"),
            None if known.is_empty() => "This schedule has no params.".to_owned(),
            None => format!("This schedule has the params {}.", quoted_list(&known)),
        };
        let message = format!("the schedule has no param `{name}`");
        report.push(Diagnostic::new(codes::NO_SUCH_PARAM, Span::default(), message).help(help));
    }
}

/// `` `a`, `b` and `c` ``
pub(crate) fn quoted_list(names: &[impl AsRef<str>]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("`{}`", only.as_ref()),
        [rest @ .., last] => {
            let rest: Vec<String> = rest.iter().map(|name| format!("`{}`", name.as_ref())).collect();
            format!("{} and `{}`", rest.join(", "), last.as_ref())
        }
    }
}

impl NameScope<'_> {
    fn param(
        &mut self,
        name: &Ident,
        default: &ScheduleExpr,
        choices: &[ScheduleExpr],
        options: &CheckOptions,
        report: &mut Report,
    ) -> Option<Param> {
        let value = self.eval(default, report);
        let choices: Vec<Sym> = choices.iter().filter_map(|choice| self.eval(choice, report)).collect();
        let set = options
            .param_values
            .iter()
            .rev()
            .find(|(set, _)| *set == name.text)
            .map(|(_, value)| Sym::Int(*value));
        let overridden = set.is_some();
        let effective = set.or_else(|| value.clone());
        if let Some(effective) = &effective
            && !choices.is_empty()
            && !choices.contains(effective)
        {
            let span = if overridden { name.span } else { default.span };
            let texts: Vec<String> = choices.iter().map(Sym::to_string).collect();
            let message = format!("{effective} is not one of the choices of `{}`", name.text);
            let diagnostic = Diagnostic::new(codes::NOT_A_CHOICE, span, message)
                .label(format!("has the value {effective}"))
                .help(format!("Add it to `in {{{}}}`, or use one of these.", texts.join(", ")));
            report.push(diagnostic);
        }
        if !self.declare(name, effective.clone(), true, report) {
            return None;
        }
        let default = value?;
        let value = effective?;
        Some(Param { name: name.text.clone(), span: name.span, default, value, choices, overridden })
    }

    fn declare(&mut self, name: &Ident, value: Option<Sym>, is_param: bool, report: &mut Report) -> bool {
        if self.taken(name, report) {
            return false;
        }
        if matches!(name.text.as_str(), "batch" | "tree") {
            let message = format!("`{}` is the name of a loop", name.text);
            report.push(Diagnostic::new(codes::NAME_TAKEN, name.span, message).label("choose another name"));
            return false;
        }
        let named = Declaration { value, span: name.span, is_param, used: Cell::new(false) };
        self.named.insert(name.text.clone(), named);
        true
    }

    /// Reports a name that already means a number.
    pub(crate) fn taken(&self, name: &Ident, report: &mut Report) -> bool {
        let text = name.text.as_str();
        let diagnostic = |message: String| {
            Diagnostic::new(codes::NAME_TAKEN, name.span, message).label("choose another name")
        };
        if let Some(named) = self.named.get(text) {
            let kind = if named.is_param { "param" } else { "const" };
            report.push(
                diagnostic(format!("`{text}` is the name of a {kind}")).and(named.span, "declared here"),
            );
            return true;
        }
        if PROPERTIES.iter().any(|(property, _)| *property == text)
            || FUNCTIONS.contains(&text)
            || text == "n_rows"
        {
            report.push(diagnostic(format!("`{text}` is the name of a property or function")));
            return true;
        }
        false
    }

    /// Whether the name means a number.
    pub(crate) fn is_number(&self, name: &str) -> bool {
        self.named.contains_key(name) || PROPERTIES.iter().any(|(property, _)| *property == name)
    }

    /// All names in use: numbers, model properties, functions, and loops that any directive of the file
    /// makes.
    pub(crate) fn names(&self) -> HashSet<String> {
        let numbers =
            self.named.keys().map(String::as_str).chain(PROPERTIES.iter().map(|(property, _)| *property));
        let others = FUNCTIONS.iter().chain(&["n_rows"]).copied().chain(self.indices.iter().copied());
        numbers.chain(others).map(str::to_owned).collect()
    }

    /// The params and consts in order.
    pub(crate) fn numbers(&self) -> Vec<DeclaredNumber> {
        let number = |(name, named): (&String, &Declaration)| DeclaredNumber {
            name: name.clone(),
            value: named.value.clone(),
            span: named.span,
            is_param: named.is_param,
        };
        let mut numbers: Vec<DeclaredNumber> = self.named.iter().map(number).collect();
        numbers.sort_unstable_by_key(|number| number.span);
        numbers
    }

    /// Unused declared names.
    pub(crate) fn unused(&self) -> Vec<(&str, Span, bool)> {
        // A name that was used above its declaration has its own diagnostic.
        let undeclared = self.undeclared.borrow();
        let is_unused = |name: &String, named: &Declaration| {
            !named.used.get() && named.value.is_some() && !undeclared.contains(name)
        };
        let unused = self.named.iter().filter(|(name, named)| is_unused(name, named));
        let mut unused: Vec<_> =
            unused.map(|(name, named)| (name.as_str(), named.span, named.is_param)).collect();
        unused.sort_unstable_by_key(|(_, span, _)| *span);
        unused
    }

    /// The value of an expression; `None` if it has none, which was reported.
    pub(crate) fn eval(&self, expr: &ScheduleExpr, report: &mut Report) -> Option<Sym> {
        // The parser bounds the depth of expressions, so recursion is bounded too.
        match &expr.kind {
            ExprKind::Int(n) => Some(Sym::Int(*n)),
            ExprKind::Error => None,
            ExprKind::Neg(inner) => {
                let inner = self.eval(inner, report)?;
                apply(SymOp::Sub, &Sym::Int(0), &inner, expr.span, report)
            }
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.eval(a, report), self.eval(b, report));
                let op = match op {
                    BinOp::Add => SymOp::Add,
                    BinOp::Sub => SymOp::Sub,
                    BinOp::Mul => SymOp::Mul,
                    BinOp::Div => SymOp::Div,
                    BinOp::Rem => SymOp::Rem,
                };
                apply(op, &left?, &right?, expr.span, report)
            }
            ExprKind::Path(path) => match path.as_ident() {
                Some(name) => self.look_up(name, report),
                None => {
                    let message = "expected a number, found the name of a loop";
                    report.push(
                        Diagnostic::new(codes::ARGUMENT_KIND, expr.span, message).label("not a number"),
                    );
                    None
                }
            },
            ExprKind::Call(function, args) => self.call(function, args, expr.span, report),
        }
    }

    fn look_up(&self, name: &Ident, report: &mut Report) -> Option<Sym> {
        let text = name.text.as_str();
        if let Some(named) = self.named.get(text) {
            named.used.set(true);
            return named.value.clone();
        }
        if let Some((_, property)) = PROPERTIES.iter().find(|(known, _)| *known == text) {
            return Some(self.property_value(*property).map_or(Sym::Property(*property), Sym::Int));
        }
        if self.undeclared.borrow_mut().insert(text.to_owned()) {
            report.push(self.undeclared_name(name, report));
        }
        None
    }

    /// Whether a name is neither a number nor declared further down.
    pub(super) fn is_unknown(&self, name: &Ident, report: &Report) -> bool {
        let text = name.text.as_str();
        let is_property = PROPERTIES.iter().any(|(known, _)| *known == text);
        !is_property && !self.named.contains_key(text) && self.declared_below(name, report).is_none()
    }

    fn undeclared_name(&self, name: &Ident, report: &Report) -> Diagnostic {
        let text = name.text.as_str();
        if self.indices.contains(text) {
            return Diagnostic::new(
                codes::ARGUMENT_KIND,
                name.span,
                format!("`{text}` is a loop, not a number"),
            )
            .label("expected a number");
        }
        if self.is_in_own_declaration(name) {
            let message = format!("the value of `{text}` uses `{text}` itself");
            return Diagnostic::new(codes::UNDECLARED_NAME, name.span, message)
                .label("has no value yet")
                .help("Write a value without this name. No declaration can use its own name.");
        }
        if let Some(below) = self.declared_below(name, report) {
            return below;
        }
        let mut diagnostic =
            Diagnostic::new(codes::UNDECLARED_NAME, name.span, format!("unknown name `{text}`"))
                .label("not declared");
        if text == "n_rows" {
            diagnostic.message = "`n_rows` has no value here".to_owned();
            diagnostic.label = "known only at run time".to_owned();
            return diagnostic
                .help("Use `batch_size`, the largest number of rows that the loops process at once.");
        }
        let known =
            self.named.keys().map(String::as_str).chain(PROPERTIES.iter().map(|(property, _)| *property));
        // Files with many unknown names get no proposals for each of them.
        let searched = self.undeclared.borrow().len().saturating_mul(self.named.len());
        let mut known: Vec<&str> = if searched > MOST_COMPARED { Vec::new() } else { known.collect() };
        known.sort_unstable();
        diagnostic.help = Some(match nearest(text, known) {
            Some(near) => {
                let title = format!("write `{near}`");
                diagnostic = diagnostic.fix(title, name.span, near, Applicability::Unsure);
                format!("Did you mean `{near}`? Otherwise declare it: `param {text} = 64`.")
            }
            None => format!("Declare it before the directives: `param {text} = 64`."),
        });
        let at = report.end_of_header();
        let declaration = format!("param {text} = 64\n");
        diagnostic.fix(format!("declare `param {text} = 64`"), at, &declaration, Applicability::Placeholder)
    }

    /// Whether a name stands in the value of the param or const that it names.
    fn is_in_own_declaration(&self, name: &Ident) -> bool {
        let holds = |span: Span| span.start <= name.span.start && name.span.end <= span.end;
        self.stmts.iter().filter(|stmt| holds(stmt.span)).any(|stmt| match &stmt.kind {
            StmtKind::Param { name: declared, .. } | StmtKind::Const { name: declared, .. } => {
                declared.text == name.text
            }
            _ => false,
        })
    }

    /// The diagnostic of a name whose declaration follows below.
    fn declared_below(&self, name: &Ident, report: &Report) -> Option<Diagnostic> {
        let using = self.stmts.iter().find(|stmt| stmt.span.end >= name.span.end)?;
        let is_declaration = |stmt: &&ScheduleStmt| match &stmt.kind {
            StmtKind::Param { name: declared, .. } | StmtKind::Const { name: declared, .. } => {
                declared.text == name.text && stmt.span.start > using.span.start
            }
            _ => false,
        };
        let declaration = self.stmts.iter().find(is_declaration)?;
        let (text, here) = (&name.text, Span { end: using.span.start, ..using.span });
        let moved = report.line_before(here, report.source_text(declaration.span));
        let edits =
            vec![Edit { span: here, text: moved }, Edit { span: declaration.span, text: String::new() }];
        let title = format!("move the declaration of `{text}` above its use");
        let fix = Fix { title, edits, applicability: Applicability::Safe };
        let mut diagnostic =
            Diagnostic::new(codes::UNDECLARED_NAME, name.span, format!("`{text}` is declared below its use"))
                .label("has no value yet")
                .and(declaration.span, "declared here")
                .help("Move this declaration above the line that uses it.");
        diagnostic.fixes.push(fix);
        Some(diagnostic)
    }

    fn call(&self, function: &Ident, args: &[ScheduleExpr], span: Span, report: &mut Report) -> Option<Sym> {
        let values: Vec<Option<Sym>> = args.iter().map(|arg| self.eval(arg, report)).collect();
        let count = if function.text == "trees_to_depth" { 1 } else { 2 };
        if !FUNCTIONS.contains(&function.text.as_str()) {
            let message = format!("unknown function `{}`", function.text);
            let mut diagnostic = Diagnostic::new(codes::UNKNOWN_FUNCTION, function.span, message)
                .label("not a function")
                .help(format!("The functions are {}.", quoted_list(FUNCTIONS)));
            if let Some(near) = nearest(&function.text, FUNCTIONS.iter().copied()) {
                let title = format!("write `{near}`");
                diagnostic = diagnostic.fix(title, function.span, near, Applicability::Unsure);
            }
            report.push(diagnostic);
            return None;
        }
        if values.len() != count {
            let arguments = if count == 1 { "1 argument" } else { "2 arguments" };
            let message = format!("`{}` takes {arguments}, not {}", function.text, values.len());
            report.push(
                Diagnostic::new(codes::ARGUMENT_COUNT, span, message).label(format!("takes {arguments}")),
            );
            return None;
        }
        let values: Vec<Sym> = values.into_iter().collect::<Option<_>>()?;
        match (function.text.as_str(), values.as_slice()) {
            ("min", [a, b]) => apply(SymOp::Min, a, b, span, report),
            ("max", [a, b]) => apply(SymOp::Max, a, b, span, report),
            ("ceildiv", [a, b]) => apply(SymOp::CeilDiv, a, b, span, report),
            (_, [depth]) => self.count_trees(depth, span, report),
            _ => None,
        }
    }

    fn count_trees(&self, depth: &Sym, span: Span, report: &mut Report) -> Option<Sym> {
        let Some(depth) = depth.as_int() else {
            let message = format!(
                "without a model, it is unknown how many trees have a depth of at most \
                                   {depth}"
            );
            let help =
                "Name a model in a `model` line or on the command line, or give the depth as a number.";
            report.push(Diagnostic::new(codes::UNVERIFIED, span, message).label("not verified").help(help));
            return None;
        };
        if self.trees_to_depth.get().is_none() {
            self.trees_to_depth.set(Some((span, depth)));
        }
        let property = Property::TreesToDepth(depth);
        Some(self.property_value(property).map_or(Sym::Property(property), Sym::Int))
    }

    /// Depths, sorted once, because long files ask often.
    fn depths(&self, model: &ModelInfo) -> &[u32] {
        self.depths.get_or_init(|| {
            let mut depths = model.depths.to_vec();
            depths.sort_unstable();
            depths
        })
    }

    /// The value of a property, if it is known.
    pub(crate) fn property_value(&self, property: Property) -> Option<i64> {
        let model = self.model;
        match property {
            Property::Rows | Property::RunDepth | Property::Units | Property::Terms => None,
            Property::NumTrees => model.map(|model| i64::from(model.num_trees)),
            Property::NumFeatures => model.map(|model| i64::from(model.num_features)),
            Property::NumClasses => model.map(|model| i64::from(model.num_classes)),
            Property::MaxDepth => {
                model.map(|model| i64::from(self.depths(model).last().copied().unwrap_or(0)))
            }
            Property::TreesToDepth(depth) => model
                .map(|model| self.depths(model).partition_point(|known| i64::from(*known) <= depth) as i64),
            Property::BatchSize => self.batch_size.and_then(|size| i64::try_from(size).ok()),
        }
    }
}
