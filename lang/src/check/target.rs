//! Target of a schedule.

use crate::directives::Op;
use crate::options::{Options, Target};
use crate::resolve::Call;
use crate::schedule::Header;

/// Target: from the options, else from the header, else from the use of `gpuDimension`.
pub(super) fn target<'c>(
    header: &Header,
    options: &Options,
    calls: impl IntoIterator<Item = &'c Call>,
) -> Target {
    let given = options.target.clone().or_else(|| header.target.clone());
    given.unwrap_or_else(|| {
        let maps = calls.into_iter().any(|call| call.op == Op::GpuDimension);
        if maps { Target::gpu() } else { Target::cpu() }
    })
}
