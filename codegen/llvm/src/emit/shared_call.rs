//! Calls of the functions that hold common code.

use super::function::Emitter;
use super::types;
use crate::error::LlvmError;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::values::AnyValue;
use sched_ir::lir::{Standalone, Stmt, Value};

impl<'ctx> Emitter<'_, 'ctx> {
    /// Calls the function of a statement that kernels have in common. Emits the function before the first
    /// call.
    pub(super) fn call_shared(&mut self, stmt: &Stmt, shared: &Standalone) -> Result<(), LlvmError> {
        let environment = self.environment(shared.values.iter().copied(), shared.buffers.iter().copied());
        let constants = shared.values.iter().map(|value| self.constant_text(*value));
        let key = (shared.text.clone(), constants.collect::<Result<Vec<_>, _>>()?);
        let known = self.shared.as_ref().and_then(|shared| shared.functions.get(&key).copied());
        let function = match known {
            Some(function) => function,
            None => {
                let pointer = types::pointer(self.ir().context);
                let signature = self.ir().context.void_type().fn_type(&[pointer.into()], false);
                let origin = shared.values.last().copied().unwrap_or(Value(0));
                let function =
                    self.separate_function(("shared", signature), (&environment, origin), |it, _| {
                        it.stmt_in_place(stmt)
                    })?;
                let kind = Attribute::get_named_enum_kind_id("noinline");
                let attribute = self.ir().context.create_enum_attribute(kind, 0);
                function.add_attribute(AttributeLoc::Function, attribute);
                if let Some(shared) = &mut self.shared {
                    shared.functions.insert(key, function);
                }
                function
            }
        };
        let memory = self.store_environment(&environment)?;
        self.ir().builder.build_call(function, &[memory.into()], "")?;
        Ok(())
    }

    /// The text of a value that is constant in this function; empty for a variable.
    fn constant_text(&self, value: Value) -> Result<String, LlvmError> {
        Ok(match self.operands.frame.variable(value) {
            Some(_) => String::new(),
            None => self.operands.frame.value(value)?.print_to_string().to_string(),
        })
    }
}
