//! Checks that a function is well-formed LIR. The builder and the passes guarantee this, and the
//! interpreter and the back ends rely on it.

mod check_result;
mod launch;
mod product;

use crate::lir::{
    Address, Alloc, Block, Buffer, BufferId, Carried, For, Function, Gather, If, Launch, MAX_THREADS, Module,
    Op, OperandChecks, OperandType, Parallel, Scalar, Space, Stmt, Ticket, Ty, Value, While, bit_width,
};
use check_result::{CheckResult, ensure, value_name};
use std::collections::HashSet;

/// Largest depth of nested statements, which limits the stack that recursive passes need.
pub const MAX_NESTING: usize = 512;

pub use crate::lir::MAX_LOOKUP;

/// Checks a function. Each value must be defined once, before its uses and in their scope. Types must fit.
/// Buffers must have memory where they are used. Strides and steps must be positive. Either all threads of a
/// block reach a barrier of a launch, or none. The error is one sentence.
pub fn verify(function: &Function) -> Result<(), String> {
    let mut verifier = Verifier {
        function,
        defined: vec![false; function.types.len()],
        visible: vec![false; function.types.len()],
        constants: vec![None; function.types.len()],
        scope: Vec::new(),
        alive: function.buffers.iter().map(|b| !is_temporary(b.space)).collect(),
        allocated: vec![false; function.buffers.len()],
        depth: 0,
        inside: CodePosition::Host,
        launches: HashSet::new(),
    };
    verifier.declarations()?;
    verifier.block(&function.body)
}

/// Checks that the kernels of a module read and write elements of their declared types, by which
/// callers pack rows.
pub fn verify_interface(module: &Module) -> Result<(), String> {
    for (kernel, function) in &module.kernels {
        let (input, output) = module.types.of_kernel(*kernel);
        for buffer in &function.buffers {
            let agreed = match buffer.space {
                Space::Input => input,
                Space::Output => output,
                Space::InputOrder
                | Space::ModelTable(_)
                | Space::Private
                | Space::Shared
                | Space::Counters => continue,
            };
            let Function { name, .. } = function;
            let Buffer { name: place, element, .. } = buffer;
            ensure(*element == agreed, || {
                format!("kernel `{name}` has `{place}` of {element}, and callers of {agreed}")
            })?;
        }
    }
    Ok(())
}

/// The code around a statement.
#[derive(Clone, Copy, PartialEq)]
enum CodePosition {
    /// Code of the host, in no parallel loop.
    Host,
    /// An iteration of a parallel loop.
    Parallel,
    /// A thread of a launch.
    Launch,
}

fn is_temporary(space: Space) -> bool {
    matches!(space, Space::Private | Space::Shared | Space::Counters)
}

struct Verifier<'f> {
    function: &'f Function,
    /// For each value, whether it has been defined.
    defined: Vec<bool>,
    /// For each value, whether it is in scope.
    visible: Vec<bool>,
    /// For each value that is an integer constant, its number.
    constants: Vec<Option<i64>>,
    /// The visible values, in order of definition.
    scope: Vec<Value>,
    /// For each buffer, whether it has memory in the current scope.
    alive: Vec<bool>,
    /// For each buffer, whether it has been allocated.
    allocated: Vec<bool>,
    depth: usize,
    inside: CodePosition,
    /// Names of the launches so far.
    launches: HashSet<&'f str>,
}

impl<'f> Verifier<'f> {
    fn declarations(&self) -> CheckResult {
        let index = self.function.index;
        ensure(matches!(index, Scalar::I32 | Scalar::I64), || format!("indices cannot be {index}"))?;
        let mut names = HashSet::new();
        let mut outputs = 0;
        for buffer in &self.function.buffers {
            ensure(names.insert(&buffer.name), || format!("two buffers are called `{}`", buffer.name))?;
            outputs += usize::from(buffer.space == Space::Output);
        }
        ensure(outputs <= 1, || format!("{outputs} buffers are outputs, but a kernel has at most one"))?;
        match self.function.types.iter().position(|ty| ty.lanes == 0) {
            Some(i) => Err(format!("%{i} has no lanes")),
            None => Ok(()),
        }
    }

    fn block(&mut self, block: &'f Block) -> CheckResult {
        let outer = self.enter()?;
        self.statements(block)?;
        self.leave(outer);
        Ok(())
    }

    /// Opens a scope.
    fn enter(&mut self) -> Result<usize, String> {
        self.depth += 1;
        ensure(self.depth <= MAX_NESTING, || format!("statements are nested more than {MAX_NESTING} deep"))?;
        Ok(self.scope.len())
    }

    /// Closes a scope: values defined in it are no longer visible.
    fn leave(&mut self, outer: usize) {
        self.depth -= 1;
        for value in self.scope.drain(outer..) {
            self.visible[value.0 as usize] = false;
        }
    }

    fn statements(&mut self, block: &'f Block) -> CheckResult {
        block.iter().try_for_each(|stmt| match stmt {
            Stmt::Let(value, op) => self.define_as(*value, op),
            Stmt::Store(to, value) => {
                self.check_address(to)?;
                let ty = self.visible_type(*value)?;
                self.check_storable(ty, || format!("the store to {}", self.buffer_name(to.buffer)))
            }
            Stmt::StoreMasked(to, value, mask) => {
                self.check_address(to)?;
                let ty = self.visible_type(*value)?;
                let what = || format!("the masked store to {}", self.buffer_name(to.buffer));
                self.check_storable(ty, what)?;
                ensure(ty.lanes > 1, || {
                    format!("{} takes a vector, but {} is {ty}", what(), value_name(*value))
                })?;
                self.mask(*mask, ty.lanes)
            }
            Stmt::AtomicAdd(to, value) => {
                self.check_address(to)?;
                let ty = self.visible_type(*value)?;
                ensure(ty.lanes == 1 && ty.scalar.is_float(), || {
                    format!("an atomic addition takes a scalar float, but {} is {ty}", value_name(*value))
                })
            }
            Stmt::Prefetch(at) => self.check_address(at),
            Stmt::For(stmt) => self.for_loop(stmt),
            Stmt::While(stmt) => self.while_loop(stmt),
            Stmt::If(stmt) => self.if_else(stmt),
            Stmt::Parallel(stmt) => self.parallel(stmt),
            Stmt::Alloc(stmt) => self.alloc(stmt),
            Stmt::Launch(stmt) => self.launch(stmt),
            Stmt::Barrier => self.ensure_in_launch("a barrier"),
            Stmt::Fence => self.ensure_in_launch("a fence"),
            Stmt::Ticket(stmt) => self.ticket(stmt),
            Stmt::Product(stmt) => self.product(stmt),
        })
    }

    fn for_loop(&mut self, stmt: &'f For) -> CheckResult {
        self.expect(stmt.lo, self.index(), "the start of a loop")?;
        self.expect(stmt.hi, self.index(), "the end of a loop")?;
        ensure(stmt.step >= 1, || format!("the loop over {} has step {}", value_name(stmt.iv), stmt.step))?;
        self.firsts(&stmt.carried)?;
        let outer = self.enter()?;
        self.define(stmt.iv)?;
        self.expect(stmt.iv, self.index(), "a loop counter")?;
        self.insides(&stmt.carried)?;
        self.statements(&stmt.body)?;
        self.nexts(&stmt.carried)?;
        self.leave(outer);
        self.afters(&stmt.carried)
    }

    fn while_loop(&mut self, stmt: &'f While) -> CheckResult {
        self.firsts(&stmt.carried)?;
        let outer = self.enter()?;
        self.insides(&stmt.carried)?;
        // The test runs before the body, which may use what it computes.
        self.statements(&stmt.test)?;
        self.expect(stmt.cond, Ty::I1, "the condition of a loop")?;
        self.statements(&stmt.body)?;
        self.nexts(&stmt.carried)?;
        self.leave(outer);
        self.afters(&stmt.carried)
    }

    fn firsts(&self, carried: &[Carried]) -> CheckResult {
        carried
            .iter()
            .try_for_each(|c| self.expect(c.first, self.declared_type(c.inside)?, "a carried value"))
    }

    fn insides(&mut self, carried: &[Carried]) -> CheckResult {
        carried.iter().try_for_each(|c| self.define(c.inside))
    }

    fn nexts(&self, carried: &[Carried]) -> CheckResult {
        carried.iter().try_for_each(|c| self.expect(c.next, self.declared_type(c.inside)?, "a carried value"))
    }

    fn afters(&mut self, carried: &[Carried]) -> CheckResult {
        carried.iter().try_for_each(|c| {
            self.define(c.after)?;
            self.expect(c.after, self.declared_type(c.inside)?, "a carried value")
        })
    }

    fn if_else(&mut self, stmt: &'f If) -> CheckResult {
        self.expect(stmt.cond, Ty::I1, "a condition")?;
        let arms = [&stmt.then, &stmt.otherwise];
        for (arm, block) in arms.into_iter().enumerate() {
            let outer = self.enter()?;
            self.statements(block)?;
            for j in &stmt.joined {
                let value = if arm == 0 { j.then } else { j.otherwise };
                self.expect(value, self.declared_type(j.after)?, "a value of a choice")?;
            }
            self.leave(outer);
        }
        stmt.joined.iter().try_for_each(|j| self.define(j.after))
    }

    fn parallel(&mut self, stmt: &'f Parallel) -> CheckResult {
        ensure(self.inside != CodePosition::Launch, || "a parallel loop is inside a launch".to_string())?;
        self.expect(stmt.trip, self.index(), "the number of iterations")?;
        let outer = self.enter()?;
        let around = std::mem::replace(&mut self.inside, CodePosition::Parallel);
        self.define(stmt.iv)?;
        self.expect(stmt.iv, self.index(), "the number of an iteration")?;
        self.statements(&stmt.body)?;
        self.inside = around;
        self.leave(outer);
        Ok(())
    }

    fn launch(&mut self, stmt: &'f Launch) -> CheckResult {
        let Launch { name, grid, block, body, .. } = stmt;
        ensure(self.inside == CodePosition::Host, || {
            format!("launch `{name}` is inside a parallel loop or a launch")
        })?;
        ensure(self.launches.insert(name), || format!("two launches are called `{name}`"))?;
        for extent in grid {
            self.expect(*extent, self.index(), "the extent of a grid")?;
        }
        ensure(block.iter().all(|extent| *extent > 0) && stmt.threads() <= MAX_THREADS, || {
            let [x, y, z] = block;
            format!("launch `{name}` has blocks of {x} x {y} x {z} threads: not 1 to {MAX_THREADS}")
        })?;
        self.inside = CodePosition::Launch;
        self.block(body)?;
        self.inside = CodePosition::Host;
        launch::check(self.function, stmt)
    }

    fn ensure_in_launch(&self, what: &str) -> CheckResult {
        ensure(self.inside == CodePosition::Launch, || format!("{what} is outside all launches"))
    }

    fn ticket(&mut self, ticket: &'f Ticket) -> CheckResult {
        self.ensure_in_launch("a ticket")?;
        self.check_address(&ticket.counter)?;
        self.check_access(ticket.shared, 4)?;
        for (buffer, space) in [(ticket.counter.buffer, Space::Counters), (ticket.shared, Space::Shared)] {
            ensure(self.function.buffer(buffer).space == space, || {
                format!("a ticket takes {} for {space:?}", self.buffer_name(buffer))
            })?;
        }
        self.define(ticket.number)?;
        self.expect(ticket.number, Ty::of(Scalar::I32), "a ticket")
    }

    fn alloc(&mut self, stmt: &'f Alloc) -> CheckResult {
        self.expect(stmt.bytes, self.index(), "the size of temporary memory")?;
        let i = stmt.buffer.0 as usize;
        let buffer = self.function.buffers.get(i);
        let buffer = buffer.ok_or_else(|| format!("buffer {i} is allocated, but not declared"))?;
        ensure(is_temporary(buffer.space), || {
            format!("buffer `{}` is allocated, but not private", buffer.name)
        })?;
        let in_launch = self.inside == CodePosition::Launch;
        ensure(in_launch || buffer.space != Space::Shared, || {
            format!("buffer `{}` is allocated in shared memory outside a launch", buffer.name)
        })?;
        ensure(self.inside == CodePosition::Host || buffer.space != Space::Counters, || {
            format!("the counters of buffer `{}` are allocated inside a launch or loop", buffer.name)
        })?;
        ensure(!in_launch || self.constants[stmt.bytes.0 as usize].is_some(), || {
            format!("the memory of buffer `{}` in a launch has a size that is not constant", buffer.name)
        })?;
        ensure(!self.allocated[i], || format!("buffer `{}` is allocated twice", buffer.name))?;
        self.allocated[i] = true;
        self.alive[i] = true;
        self.block(&stmt.body)?;
        self.alive[i] = false;
        Ok(())
    }

    fn define(&mut self, value: Value) -> CheckResult {
        self.declared_type(value)?;
        let i = value.0 as usize;
        ensure(!self.defined[i], || format!("{} is defined twice", value_name(value)))?;
        self.defined[i] = true;
        self.visible[i] = true;
        self.scope.push(value);
        Ok(())
    }

    /// Declared type of a value, which may be undefined.
    fn declared_type(&self, value: Value) -> Result<Ty, String> {
        let ty = self.function.types.get(value.0 as usize).copied();
        ty.ok_or_else(|| format!("{} has no type", value_name(value)))
    }

    /// Type of a visible value.
    fn visible_type(&self, value: Value) -> Result<Ty, String> {
        let ty = self.declared_type(value)?;
        ensure(self.visible[value.0 as usize], || {
            format!("{} is used where it is not defined", value_name(value))
        })?;
        Ok(ty)
    }

    fn expect(&self, value: Value, ty: Ty, role: &str) -> CheckResult {
        let actual = self.visible_type(value)?;
        ensure(actual == ty, || format!("{role} is {ty}, but {} is {actual}", value_name(value)))
    }

    fn buffer_name(&self, id: BufferId) -> String {
        self.function
            .buffers
            .get(id.0 as usize)
            .map_or_else(|| format!("#{}", id.0), |b| format!("`{}`", b.name))
    }

    fn check_address(&self, address: &Address) -> CheckResult {
        self.expect(address.index, self.index(), "an index")?;
        self.check_access(address.buffer, address.stride)
    }

    fn check_access(&self, buffer: BufferId, stride: u32) -> CheckResult {
        let alive = self.alive.get(buffer.0 as usize).copied().unwrap_or(false);
        let buffer = || self.buffer_name(buffer);
        ensure(alive, || format!("buffer {} is used outside its allocation", buffer()))?;
        ensure(stride > 0, || format!("an access to buffer {} has stride 0", buffer()))
    }

    fn mask(&self, mask: Value, lanes: u16) -> CheckResult {
        self.expect(mask, Ty::vector(Scalar::I1, lanes), "a mask")
    }

    fn check_storable(&self, ty: Ty, what: impl FnOnce() -> String) -> CheckResult {
        ensure(ty.scalar != Scalar::I1, || {
            format!("{} has truth values, which memory cannot represent", what())
        })
    }

    fn define_as(&mut self, value: Value, op: &Op) -> CheckResult {
        let ty = self.declared_type(value)?;
        if let Some(buffer) = op.buffer() {
            self.check_storable(ty, || format!("the value read from {}", self.buffer_name(buffer)))?;
        }
        if !op.fits(ty, self)? {
            return Err(format!(
                "{}: {ty} cannot be {} of {}",
                value_name(value),
                op.name(),
                self.operands(op)
            ));
        }
        if let Op::Int(n) = op {
            self.constants[value.0 as usize] = Some(wrap_integer(ty.scalar, *n));
        }
        self.define(value)
    }

    /// The types of an operation's operands, for messages.
    fn operands(&self, op: &Op) -> String {
        let mut types = Vec::new();
        // An operand may have no declared type, since the check ends at the first operand that does not fit.
        op.for_each_value(|value| {
            types.push(self.declared_type(value).map_or_else(|why| why, |ty| ty.to_string()));
        });
        if types.is_empty() { "this type".to_string() } else { types.join(", ") }
    }
}

impl OperandChecks for Verifier<'_> {
    fn index(&self) -> Ty {
        Ty::of(self.function.index)
    }

    fn in_launch(&self) -> bool {
        self.inside == CodePosition::Launch
    }

    fn value(&self, value: Value) -> Result<OperandType, String> {
        Ok(OperandType { ty: self.visible_type(value)?, constant: self.constants[value.0 as usize] })
    }

    fn address(&self, address: &Address) -> CheckResult {
        self.check_address(address)
    }

    fn gather(&self, gather: &Gather, lanes: u16) -> CheckResult {
        self.check_access(gather.buffer, gather.stride)?;
        self.expect(gather.base, self.index(), "the base of a gather")?;
        self.expect(gather.index, Ty::vector(Scalar::I32, lanes), "the index of a gather")?;
        gather.mask.map_or(Ok(()), |mask| self.mask(mask, lanes))
    }
}

/// An integer constant as the type holds it.
fn wrap_integer(scalar: Scalar, n: i64) -> i64 {
    let unused = 64 - bit_width(scalar);
    (n << unused) >> unused
}
