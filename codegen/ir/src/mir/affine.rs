//! Sums of variables.

use super::{Affine, Var};

impl Affine {
    /// The sum of a single variable.
    pub fn var(var: Var) -> Affine {
        Affine { vars: vec![var], plus: 0 }
    }

    /// The sum with `value` in place of a variable.
    pub fn with_value(&self, var: Var, value: i64) -> Affine {
        let mut sum = self.clone();
        if let Some(at) = sum.vars.iter().position(|v| *v == var) {
            sum.vars.remove(at);
            sum.plus += value;
        }
        sum
    }

    /// The sum plus `var`.
    pub fn with(&self, var: Var) -> Affine {
        let mut sum = self.clone();
        sum.vars.push(var);
        sum
    }
}
