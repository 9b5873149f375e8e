//! Checks of products of matrices.

use super::check_result::{CheckResult, ensure};
use super::{CodePosition, Verifier};
use crate::lir::{BlockProduct, OperandChecks, Scalar};

impl Verifier<'_> {
    /// Checks a product of matrices.
    pub(super) fn product(&self, product: &BlockProduct) -> CheckResult {
        ensure(self.inside == CodePosition::Launch, || {
            "a product of matrices is outside all launches".to_owned()
        })?;
        for value in product.values() {
            self.expect(value, self.index(), "a number in a product of matrices")?;
        }
        for of in product.elements() {
            self.check_access(of.buffer, Scalar::F64.bytes())?;
        }
        ensure(product.terms >= 1 && product.panels >= 1, || {
            let BlockProduct { terms, panels, .. } = product;
            format!("a product of matrices has {terms} terms and {panels} panels")
        })
    }
}
