//! Runs a nest over row and tree numbers. Tests use this direct implementation of the semantics.

use std::collections::HashMap;

use crate::sym::{Property, Sym};
use crate::{Axis, Body, Constraint, LoopId, Nest};

/// Reason why a nest cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitError {
    /// A bound depends on an unknown property.
    Unknown(Property),
    /// A value exceeds 64 bits.
    Overflow,
    /// A specialized loop without a body for one of its iterations.
    NoCase,
}

/// Calls `walk(row, tree)` for each walk of the nest over `rows` rows, in order; parallel loops run one by
/// one.
///
/// Fails if the nest depends on an unknown property. Nests that were checked for compilation do not.
pub fn visit(nest: &Nest, rows: i64, walk: &mut dyn FnMut(i64, i64)) -> Result<(), VisitError> {
    let mut run = NestVisitor { nest, rows, limits: nest.limits(), values: HashMap::new(), walk };
    run.visit_loops(&nest.roots, (0, 0))
}

struct NestVisitor<'a> {
    nest: &'a Nest,
    rows: i64,
    limits: Vec<Vec<&'a Constraint>>,
    /// Current values of the enclosing loops.
    values: HashMap<LoopId, i64>,
    walk: &'a mut dyn FnMut(i64, i64),
}

impl NestVisitor<'_> {
    fn eval(&self, sym: &Sym) -> Result<i64, VisitError> {
        let rows = self.rows;
        let known = sym
            .substitute(&|property| (property == Property::Rows).then_some(rows))
            .map_err(|_| VisitError::Overflow)?;
        known.as_int().ok_or(VisitError::Unknown(Property::NumTrees))
    }

    fn visit_loops(&mut self, loops: &[LoopId], base: (i64, i64)) -> Result<(), VisitError> {
        loops.iter().try_for_each(|id| self.visit_loop(*id, base))
    }

    fn visit_loop(&mut self, id: LoopId, base: (i64, i64)) -> Result<(), VisitError> {
        let nest = self.nest;
        let this = nest.get(id);
        let (start, step) = (self.eval(&this.start)?, self.eval(&this.step)?.max(1));
        let stop = self.stop(id)?;
        let (mut value, mut iteration) = (start, 0_usize);
        while value < stop {
            self.values.insert(id, value);
            let at = match this.axis {
                Axis::Row => (base.0 + value, base.1),
                Axis::Tree => (base.0, base.1 + value),
                Axis::Unit | Axis::Feature => base,
            };
            match &this.body {
                Body::Walk => (self.walk)(at.0, at.1),
                Body::Seq(list) => self.visit_loops(list, at)?,
                Body::Cases(cases) => {
                    self.visit_loops(cases.get(iteration).ok_or(VisitError::NoCase)?, at)?
                }
            }
            value = value.checked_add(step).ok_or(VisitError::Overflow)?;
            iteration += 1;
        }
        self.values.remove(&id);
        Ok(())
    }

    /// The end of a loop: its own stop or the tightest constraint, with inner loops at their start.
    fn stop(&self, id: LoopId) -> Result<i64, VisitError> {
        let mut stop = self.eval(&self.nest.get(id).stop)?;
        for constraint in self.limits.get(id.0 as usize).into_iter().flatten() {
            let mut rest = self.eval(&constraint.bound)?;
            for other in constraint.loops.iter().filter(|other| **other != id) {
                let value = match self.values.get(other) {
                    Some(value) => *value,
                    None => self.eval(&self.nest.get(*other).start)?,
                };
                rest = rest.checked_sub(value).ok_or(VisitError::Overflow)?;
            }
            stop = stop.min(rest);
        }
        Ok(stop)
    }
}
