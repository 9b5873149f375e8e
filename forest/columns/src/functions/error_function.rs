//! The error function: `x (1 + p(x^2))` up to 1, and `1 - e^(-x^2) q(1 / (x + 2))` above.

use super::coefficients::{ERF, ERF_TAIL};
use super::exponential;
use super::number::{Number, Truth};

/// The error function.
pub(super) fn erf<N: Number>(x: N) -> N {
    // For x above 6 the result is 1.
    let size = x.magnitude().at_most(6.0);
    let square = size * size;
    let near = size.fma(square.polynomial(&ERF), size);
    let place = x.of(1.0) / (size + x.of(2.0));
    let error = (-size).fma(size, square);
    let rest = exponential::exp_of_pair(-square, error) * place.polynomial(&ERF_TAIL);
    let one = x.of(1.0);
    size.is_below(one).select(near, one - rest).signed_as(x)
}
