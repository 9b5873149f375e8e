//! Evaluation of the code's values: integers that are determined by the number of rows and the model's
//! tables.

use super::reuse::{LoadAddresses, LoadedValues};
use crate::call::KernelCall;
use crate::value::{DEPTHS, DependenceChain, Dependences, StaticValue, ValueState};
use sched_ir::lir::{Address, Bin, Cast, Cmp, Function, Module, Op, Space, Value};

/// Mask of the bits of a shift distance that a 64-bit shift uses.
const SHIFT_MASK: i64 = 63;

/// States of a function's LIR values while the estimator visits its statements.
pub struct ValueStates<'a> {
    module: &'a Module,
    function: &'a Function,
    call: KernelCall<'a>,
    states: Vec<ValueState>,
    /// Loads of the current iteration whose results later loads from the same address reuse.
    loads: LoadedValues<'a>,
}

impl<'a> ValueStates<'a> {
    /// The values of a function before its first statement.
    pub fn new(
        module: &'a Module,
        function: &'a Function,
        loads: &'a LoadAddresses,
        call: KernelCall<'a>,
    ) -> ValueStates<'a> {
        let states = vec![ValueState::default(); function.types.len()];
        ValueStates { module, function, call, states, loads: LoadedValues::new(loads) }
    }

    /// Resets the values to their states before the first statement, for another pass.
    pub fn reset(mut self) -> ValueStates<'a> {
        self.states.fill(ValueState::default());
        self.loads.forget(0);
        self
    }

    /// The state of a value.
    pub fn get(&self, value: Value) -> &ValueState {
        self.states.get(value.0 as usize).unwrap_or(&ValueState::UNKNOWN)
    }

    /// Replaces the state of a value.
    pub fn set(&mut self, value: Value, state: ValueState) {
        if let Some(place) = self.states.get_mut(value.0 as usize) {
            *place = state;
        }
    }

    /// Adds `dependences` to the set that a value depends on.
    pub fn add_dependence(&mut self, value: Value, dependences: Dependences) {
        if let Some(state) = self.states.get_mut(value.0 as usize) {
            state.content.dependences = state.content.dependences | dependences;
        }
    }

    /// Returns the cycle in which all operands of an operation are available, at least `earliest_start`. Also
    /// returns the longest chain that they continue from a value carried by the loop whose body has `depth`
    /// loops around it.
    pub fn operands(&self, op: &Op, earliest_start: f64, depth: usize) -> (f64, Option<DependenceChain>) {
        let (mut ready, mut longest) = (earliest_start, None::<DependenceChain>);
        op.for_each_value(|operand| {
            let operand = self.get(operand);
            ready = ready.max(operand.ready);
            if let Some(chain) = operand.chain.filter(|chain| chain.depth == depth) {
                let cycles = longest.map_or(chain.cycles, |longest| longest.cycles.max(chain.cycles));
                longest = Some(DependenceChain { depth, cycles });
            }
        });
        (ready, longest)
    }

    /// The state of an earlier load from the same address in this iteration, if it may be reused. Otherwise
    /// later loads may reuse `value`.
    pub fn reuse_load(&mut self, value: Value) -> Option<ValueState> {
        self.loads.reuse_or_record(value).map(|earlier| *self.get(earlier))
    }

    /// Number of loads that can be reused.
    pub fn reusable_loads(&self) -> usize {
        self.loads.count()
    }

    /// Forgets all loads except the first `count`, at the end of an iteration.
    pub fn forget_loads(&mut self, count: usize) {
        self.loads.forget(count);
    }

    /// The content of an operation's result.
    pub fn evaluate(&self, op: &Op, is_scalar: bool) -> StaticValue {
        let content = |value: Value| &self.get(value).content;
        let mut result = StaticValue::default();
        op.for_each_value(|operand| result.dependences = result.dependences | content(operand).dependences);
        match op {
            Op::Int(n) => result.int = Some(*n),
            Op::RowCount => result.int = Some(self.call.rows as i64),
            Op::Bin(op, a, b) if is_scalar => {
                let (a, b) = (content(*a), content(*b));
                if let (Some(m), Some(n)) = (a.int, b.int) {
                    (result.int, result.slopes) = binary(*op, (a, m), (b, n));
                }
            }
            Op::Cmp(cmp, a, b) if is_scalar => {
                let both = content(*a).int.zip(content(*b).int);
                result.int = both.and_then(|(a, b)| compare(*cmp, a, b)).map(i64::from);
            }
            Op::Select(condition, a, b) if is_scalar => {
                if let Some(condition) = content(*condition).int {
                    let selected = content(if condition != 0 { *a } else { *b });
                    (result.int, result.slopes) = (selected.int, selected.slopes);
                }
            }
            Op::Cast(Cast::ZExt | Cast::SExt | Cast::Trunc, v) if is_scalar => {
                let v = content(*v);
                (result.int, result.slopes) = (v.int, v.slopes);
            }
            Op::Load(at, _) => return self.load(at, result, is_scalar),
            Op::Gather(_) | Op::LoadMasked(..) => result.dependences = result.dependences | Dependences::DATA,
            _ => {}
        }
        result
    }

    /// The content of a load: an integer of the model's tables, a word of the input's layout, or data.
    fn load(&self, at: &Address, mut result: StaticValue, is_scalar: bool) -> StaticValue {
        let index = &self.get(at.index).content;
        let buffer = self.function.buffer(at.buffer);
        match (buffer.space, index.int) {
            // Word 0 is 0 for row-major input. Otherwise word `1 + f` is the position of feature `f` in row
            // 0.
            (Space::InputOrder, Some(first)) => {
                let columns = i64::from(self.call.column_major);
                result.int = Some(columns * first * self.call.rows as i64 + i64::from(first == 0) * columns);
            }
            (Space::ModelTable(table), Some(n)) if is_scalar && !buffer.element.is_float() => {
                let stride = i64::from(at.stride);
                let word = |record: i64| {
                    let start = record * stride + i64::from(at.offset);
                    self.table_integer(table, start, buffer.element.bytes())
                };
                result.int = word(n);
                result.dependences = result.dependences.through_table();
                // Tables of integers hold positions, which are assumed to grow evenly from the first record
                // to the last.
                let last = (self.table_bytes(table) / f64::from(at.stride)) as i64 - 1;
                if let Some((begin, end)) = word(0).zip(word(last)).filter(|_| last > 0) {
                    let growth = (end - begin) as f32 / last as f32;
                    result.slopes = index.slopes.map(|slope| slope * growth);
                }
            }
            (Space::ModelTable(_), None)
            | (Space::Input | Space::Private | Space::Shared | Space::Output | Space::Counters, _) => {
                result.dependences = result.dependences | Dependences::DATA;
            }
            _ => {}
        }
        result
    }

    fn table_bytes(&self, table: u32) -> f64 {
        self.module.tables.get(table as usize).map_or(0.0, |table| table.bytes.len() as f64)
    }

    /// A signed little-endian integer of a table, at byte `start`.
    fn table_integer(&self, table: u32, start: i64, bytes: u32) -> Option<i64> {
        let start = usize::try_from(start).ok()?;
        let bytes = self.module.tables.get(table as usize)?.bytes.get(start..start + bytes as usize)?;
        let mut word = [if bytes.last()? & 0x80 != 0 { 0xff } else { 0 }; 8];
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(i64::from_le_bytes(word))
    }
}

/// The result of a binary operation on the integers `m` and `n` of two values, and its slopes.
fn binary(op: Bin, (a, m): (&StaticValue, i64), (b, n): (&StaticValue, i64)) -> (Option<i64>, [f32; DEPTHS]) {
    let (of_a, of_b) = ((Some(m), a.slopes), (Some(n), b.slopes));
    match op {
        Bin::Add => (Some(m.wrapping_add(n)), a.combined_slopes(1.0, b, 1.0)),
        Bin::Sub => (Some(m.wrapping_sub(n)), a.combined_slopes(1.0, b, -1.0)),
        Bin::Mul => (Some(m.wrapping_mul(n)), a.combined_slopes(n as f64, b, m as f64)),
        Bin::IDiv if n > 0 => (Some(m / n), a.combined_slopes(1.0 / n as f64, b, 0.0)),
        Bin::Min if m <= n => of_a,
        Bin::Max if m >= n => of_a,
        Bin::Min | Bin::Max => of_b,
        Bin::And => (Some(m & n), [0.0; DEPTHS]),
        Bin::Or => (Some(m | n), [0.0; DEPTHS]),
        Bin::Xor => (Some(m ^ n), [0.0; DEPTHS]),
        Bin::Shr => {
            let distance = n & SHIFT_MASK;
            let shifted = ((m as u64) >> distance) as i64;
            (Some(shifted), a.combined_slopes(0.5f64.powi(distance as i32), b, 0.0))
        }
        Bin::Div | Bin::IDiv => (None, [0.0; DEPTHS]),
    }
}

/// The result of an integer comparison; `None` for comparisons of floats.
fn compare(cmp: Cmp, a: i64, b: i64) -> Option<bool> {
    Some(match cmp {
        Cmp::Eq => a == b,
        Cmp::Ne => a != b,
        Cmp::Lt => a < b,
        Cmp::Le => a <= b,
        Cmp::UnsignedLt => (a as u64) < b as u64,
        Cmp::OLt | Cmp::OLe | Cmp::ULt | Cmp::ULe | Cmp::Uno => return None,
    })
}
