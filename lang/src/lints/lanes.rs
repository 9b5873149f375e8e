//! Vectors of quantized rows that fill only part of a register.

use crate::device::Limits;
use crate::illegal::{Illegal, Problem};
use crate::legality::layout_of;
use crate::lineage::{Annotation, NestBuilder};
use crate::options::TargetKind;
use sched_nest::{Axis, LoopId};

/// Largest bin in bytes, assumed without a model.
const LARGEST_BIN_BYTES: u32 = 2;
/// Largest number of full vectors of rows in a run for which narrower vectors may be faster.
const FEW_VECTORS: u64 = 2;

pub(super) fn check(builder: &NestBuilder, id: LoopId, limits: &Limits, problems: &mut Vec<Illegal>) {
    let Some(bits) = limits.vector_bits.filter(|_| limits.kind == TargetKind::Cpu) else { return };
    let node = builder.node(id);
    let lanes = node.find(|annotation| match annotation {
        Annotation::Vectorize(lanes) => *lanes,
        _ => None,
    });
    let (Some((lanes, step)), true) = (lanes, node.axis == Axis::Row && builder.tree().inside(id).is_leaf())
    else {
        return;
    };
    let Some((_, chosen)) = layout_of(builder, id).filter(|(layout, _)| layout.compares_bins()) else {
        return;
    };
    let known = builder.model().map_or(0, |model| model.bin_bytes);
    let bin_bytes = if known == 0 { LARGEST_BIN_BYTES } else { known };
    let full = bits / 8 / bin_bytes;
    let has_rows = builder.node(id).trips().is_none_or(|trips| trips >= full.into())
        && limits.max_rows.is_none_or(|rows| rows > FEW_VECTORS * u64::from(full));
    if lanes < full && has_rows {
        let problem = Problem::NarrowVector { lanes, full, bin_bytes, chosen };
        problems.push(Illegal::argument(step, 1, problem, vec![id]));
    }
}
