//! The text form of LIR, for people and golden tests.

use super::ops::OperandNames;
use super::*;
use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};

impl Display for Scalar {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Scalar::I1 => "i1",
            Scalar::I8 => "i8",
            Scalar::I16 => "i16",
            Scalar::I32 => "i32",
            Scalar::I64 => "i64",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        })
    }
}

impl Display for Ty {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self.lanes {
            1 => write!(f, "{}", self.scalar),
            n => write!(f, "<{n} x {}>", self.scalar),
        }
    }
}

impl Display for BinTransfer {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let BinTransfer { row_bytes, value_bytes, least_rows, .. } = self;
        write!(f, "transfer: rows as bins in runs of at least {least_rows} rows, ")?;
        write!(f, "{row_bytes} bytes per row instead of {value_bytes}")
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        for (i, table) in self.tables.iter().enumerate() {
            writeln!(f, "table #{i} {}: {} bytes", table.name, table.bytes.len())?;
        }
        if let Some(rows) = self.rows_per_run {
            writeln!(f, "at most {rows} rows per run")?;
        }
        if let Some(transfer) = self.transfer {
            writeln!(f, "{transfer}")?;
        }
        self.kernels.iter().try_for_each(|(_, function)| write!(f, "\n{function}"))
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        writeln!(f, "kernel {} {{", self.name)?;
        for buffer in &self.buffers {
            match buffer.space {
                Space::InputOrder => writeln!(f, "  buffer {}: order of the input", buffer.name)?,
                Space::Input => writeln!(f, "  buffer {}: input {}", buffer.name, buffer.element)?,
                Space::Output => writeln!(f, "  buffer {}: output {}", buffer.name, buffer.element)?,
                Space::ModelTable(n) => writeln!(f, "  buffer {}: table #{n}", buffer.name)?,
                Space::Private | Space::Shared | Space::Counters => {}
            }
        }
        let names = names_of_values(self);
        let buffers: Vec<String> = self.buffers.iter().map(|buffer| buffer.name.clone()).collect();
        Printer { function: self, names: &names, buffers: &buffers, depth: 1 }.block(f, &self.body)?;
        writeln!(f, "}}")
    }
}

/// The name of each value in the text. Constants appear as their number; other values are numbered in order
/// of definition.
fn names_of_values(function: &Function) -> HashMap<Value, String> {
    let numbers = 0..function.types.len() as u32;
    let mut names: HashMap<Value, String> = numbers.map(|i| (Value(i), format!("%{i}"))).collect();
    for stmt in &function.body {
        match stmt {
            Stmt::Let(value, Op::Int(n)) => drop(names.insert(*value, n.to_string())),
            Stmt::Let(value, Op::Float(x)) => drop(names.insert(*value, format!("{x:?}"))),
            Stmt::Let(value, Op::RowCount) => drop(names.insert(*value, "n_rows".to_string())),
            _ => {}
        }
    }
    names
}

/// Writes statements of a function.
pub(super) struct Printer<'a> {
    pub(super) function: &'a Function,
    /// Names of the values that the statements use or define.
    pub(super) names: &'a HashMap<Value, String>,
    /// Names of the buffers, by number.
    pub(super) buffers: &'a [String],
    pub(super) depth: usize,
}

impl Printer<'_> {
    fn name(&self, value: Value) -> &str {
        self.names.get(&value).map_or("", String::as_str)
    }

    fn buffer(&self, buffer: BufferId) -> &str {
        self.buffers.get(buffer.0 as usize).map_or("", String::as_str)
    }

    fn place(&self, address: &Address) -> String {
        let buffer = self.buffer(address.buffer);
        let index = self.name(address.index);
        match address.offset {
            0 => format!("{buffer}[{index}:{}]", address.stride),
            offset => format!("{buffer}[{index}:{} + {offset}]", address.stride),
        }
    }

    fn line(&self, f: &mut Formatter, text: impl Display) -> fmt::Result {
        writeln!(f, "{:1$}{text}", "", self.depth * 2)
    }

    pub(super) fn block(&mut self, f: &mut Formatter, block: &[Stmt]) -> fmt::Result {
        block.iter().try_for_each(|stmt| self.stmt(f, stmt))
    }

    fn indented(&mut self, f: &mut Formatter, block: &Block) -> fmt::Result {
        self.depth += 1;
        let result = self.block(f, block);
        self.depth -= 1;
        result
    }

    fn stmt(&mut self, f: &mut Formatter, stmt: &Stmt) -> fmt::Result {
        match stmt {
            Stmt::Let(_, Op::Int(_) | Op::Float(_) | Op::RowCount) => Ok(()),
            Stmt::Let(value, op) => {
                let text = format!("{} = {}: {}", self.name(*value), op.text(self), self.function.ty(*value));
                self.line(f, text)
            }
            Stmt::Store(to, value) => {
                self.line(f, format!("store {} = {}", self.place(to), self.name(*value)))
            }
            Stmt::StoreMasked(to, value, mask) => {
                let (value, mask) = (self.name(*value), self.name(*mask));
                self.line(f, format!("store {} = {value} where {mask}", self.place(to)))
            }
            Stmt::AtomicAdd(to, value) => {
                self.line(f, format!("atomic {} += {}", self.place(to), self.name(*value)))
            }
            Stmt::Prefetch(at) => self.line(f, format!("prefetch {}", self.place(at))),
            Stmt::For(stmt) => {
                let range = format!("{}..{} step {}", self.name(stmt.lo), self.name(stmt.hi), stmt.step);
                self.line(
                    f,
                    format!("for {} in {range} {}{{", self.name(stmt.iv), self.carried(&stmt.carried)),
                )?;
                self.indented(f, &stmt.body)?;
                self.close(f, &stmt.carried)
            }
            Stmt::While(stmt) => {
                self.line(f, format!("loop {}{{", self.carried(&stmt.carried)))?;
                self.indented(f, &stmt.test)?;
                self.line(f, format!("while {}", self.name(stmt.cond)))?;
                self.indented(f, &stmt.body)?;
                self.close(f, &stmt.carried)
            }
            Stmt::If(stmt) => self.if_else(f, stmt),
            Stmt::Parallel(stmt) => {
                self.line(f, format!("parallel {} in 0..{} {{", self.name(stmt.iv), self.name(stmt.trip)))?;
                self.indented(f, &stmt.body)?;
                self.line(f, "}")
            }
            Stmt::Alloc(stmt) => {
                let buffer = self.function.buffer(stmt.buffer);
                let (name, bytes) = (self.buffer(stmt.buffer), self.name(stmt.bytes));
                let kind = match buffer.space {
                    Space::Shared => "shared ",
                    Space::Counters => "counters ",
                    _ => "",
                };
                self.line(f, format!("alloc {kind}{name}: {} of {bytes} bytes {{", buffer.element))?;
                self.indented(f, &stmt.body)?;
                self.line(f, "}")
            }
            Stmt::Launch(launch) => {
                let grid = launch.grid.map(|extent| self.name(extent).to_string()).join(" x ");
                let block = launch.block.map(|extent| extent.to_string()).join(" x ");
                self.line(f, format!("launch {} of {grid} blocks of {block} threads {{", launch.name))?;
                self.indented(f, &launch.body)?;
                self.line(f, "}")
            }
            Stmt::Barrier => self.line(f, "barrier"),
            Stmt::Fence => self.line(f, "fence"),
            Stmt::Ticket(Ticket { number, counter, shared }) => {
                let (number, shared) = (self.name(*number), self.buffer(*shared));
                self.line(f, format!("{number} = ticket of {} through {shared}", self.place(counter)))
            }
            Stmt::Product(product) => self.product(f, product),
        }
    }

    fn product(&mut self, f: &mut Formatter, product: &BlockProduct) -> fmt::Result {
        let of = |of: ProductElements| format!("{}[{}]", self.buffer(of.buffer), self.name(of.first));
        let [starts, places] = [product.starts, product.places].map(|from| from.map(of));
        let starts = starts.map_or_else(String::new, |starts| format!("{starts} + "));
        let places = places.map_or_else(String::new, |places| format!(" at {places}"));
        let (sums, constants, operands) = (of(product.sums), of(product.constants), of(product.operands));
        let (distance, rows) = (self.name(product.distance), self.name(product.rows));
        let BlockProduct { terms, panels, .. } = product;
        let text = format!(
            "product {sums} = {starts}{constants} * {operands}{places}: {panels} panels, {rows} rows, \
             {terms} terms, {distance} apart"
        );
        self.line(f, text)
    }

    fn if_else(&mut self, f: &mut Formatter, stmt: &If) -> fmt::Result {
        self.line(f, format!("if {} {{", self.name(stmt.cond)))?;
        self.indented(f, &stmt.then)?;
        if !stmt.otherwise.is_empty() {
            self.line(f, "} else {")?;
            self.indented(f, &stmt.otherwise)?;
        }
        self.line(f, "}")?;
        for j in &stmt.joined {
            let (after, then, other) = (self.name(j.after), self.name(j.then), self.name(j.otherwise));
            self.line(f, format!("{after} = then {then}, else {other}"))?;
        }
        Ok(())
    }

    fn carried(&self, carried: &[Carried]) -> String {
        let each = |c: &Carried| format!("{} = {}", self.name(c.inside), self.name(c.first));
        match carried {
            [] => String::new(),
            some => format!("with {} ", some.iter().map(each).collect::<Vec<_>>().join(", ")),
        }
    }

    fn close(&self, f: &mut Formatter, carried: &[Carried]) -> fmt::Result {
        match carried {
            [] => self.line(f, "}"),
            some => {
                let list = |get: fn(&Carried) -> Value| {
                    some.iter().map(|c| self.name(get(c))).collect::<Vec<_>>().join(", ")
                };
                self.line(f, format!("}} next {} after {}", list(|c| c.next), list(|c| c.after)))
            }
        }
    }
}

impl OperandNames for Printer<'_> {
    fn value(&self, value: Value) -> String {
        self.name(value).to_string()
    }

    fn address(&self, address: &Address) -> String {
        self.place(address)
    }

    fn gather(&self, gather: &Gather) -> String {
        let buffer = self.buffer(gather.buffer);
        let offset = if gather.offset == 0 { String::new() } else { format!(" + {}", gather.offset) };
        let mask = gather.mask.map_or(String::new(), |mask| format!(" where {}", self.name(mask)));
        let (base, index) = (self.name(gather.base), self.name(gather.index));
        format!("{buffer}[{base} + {index}:{}{offset}]{mask}", gather.stride)
    }
}

impl Display for Keep {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Keep::Invariant => Ok(()),
            Keep::UntilReload => f.write_str(", kept until a reload"),
            Keep::Reload(group) => write!(f, ", reload {group}"),
        }
    }
}
