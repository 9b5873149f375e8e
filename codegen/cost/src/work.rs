//! Work: the cycles for which code occupies the units of a core.

use crate::operation::InstructionKind;

/// A unit of a core whose busy cycles are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CoreUnit {
    /// Arithmetic, comparisons and selects.
    Arithmetic,
    /// Multiplications of floats, on cores that have separate units for them.
    Multiplications,
    /// Look-ups in registers, shuffles and conversions.
    Lookups,
    /// Gathers.
    Gathers,
    /// Loads and stores.
    Memory,
    /// The transfer of cache lines from the second level of the caches and beyond.
    Lines,
}

/// Number of units.
const UNIT_COUNT: usize = 6;

/// Share of a look-up's cycles for which the vector units cannot do arithmetic. On most processors, one of at
/// least two vector units does look-ups. With a larger share, look-ups would delay comparisons more.
const LOOKUP_SHARE: f64 = 0.5;

/// A resource that limits throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Vector units.
    Vectors,
    /// The vector units that can look up in registers.
    Lookups,
    /// Ports to memory, for loads, stores and gathers.
    Ports,
    /// The transfer of cache lines from beyond the first level.
    Lines,
    /// Slots in which instructions are issued.
    Instructions,
    /// The wait after mispredicted branches, during which no other instruction runs.
    Branches,
}

impl Resource {
    const ALL: [Resource; 6] = [
        Resource::Vectors,
        Resource::Lookups,
        Resource::Ports,
        Resource::Lines,
        Resource::Instructions,
        Resource::Branches,
    ];
}

/// Cycles for which some code occupies the units of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    units: [f64; UNIT_COUNT],
    instructions: f64,
    serial: f64,
}

impl Work {
    /// Work of `cycles` cycles in which no other instruction runs.
    pub fn serial(cycles: f64) -> Work {
        Work { serial: cycles, ..Work::default() }
    }

    /// Adds instructions of a kind that occupy their unit for `cycles` cycles. Scalar instructions occupy
    /// only issue slots.
    pub fn add(&mut self, kind: InstructionKind, cycles: f64, instructions: f64) {
        let unit = match kind {
            InstructionKind::Lookup { .. } | InstructionKind::Shuffle | InstructionKind::Convert => {
                CoreUnit::Lookups
            }
            InstructionKind::Gather { .. } => CoreUnit::Gathers,
            InstructionKind::Load | InstructionKind::Store => CoreUnit::Memory,
            InstructionKind::Multiply => CoreUnit::Multiplications,
            InstructionKind::Scalar => return self.add_instructions(instructions),
            _ => CoreUnit::Arithmetic,
        };
        self.units[unit as usize] += cycles;
        self.instructions += instructions;
    }

    /// Adds instructions that occupy an issue slot and no execution unit.
    pub fn add_instructions(&mut self, instructions: f64) {
        self.instructions += instructions;
    }

    /// Adds cycles for lines from beyond the first level.
    pub fn add_lines(&mut self, cycles: f64) {
        self.units[CoreUnit::Lines as usize] += cycles;
    }

    /// Adds cycles in which no other instruction runs.
    pub fn add_serial(&mut self, cycles: f64) {
        self.serial += cycles;
    }

    /// Cycles for which a unit is busy.
    pub fn unit(&self, unit: CoreUnit) -> f64 {
        self.units[unit as usize]
    }

    /// Number of instructions.
    pub fn instructions(&self) -> f64 {
        self.instructions
    }

    /// Scales all counters by `factor`.
    pub fn scaled(&self, factor: f64) -> Work {
        Work {
            units: self.units.map(|cycles| cycles * factor),
            instructions: self.instructions * factor,
            serial: self.serial * factor,
        }
    }

    /// Adds the work of other code.
    pub fn merge(&mut self, other: &Work) {
        for (mine, others) in self.units.iter_mut().zip(other.units) {
            *mine += others;
        }
        self.instructions += other.instructions;
        self.serial += other.serial;
    }

    /// The least cycles that the work takes on a core that issues `issue` instructions a cycle. Cache lines
    /// that arrive delay loads and stores only in part, so their cycles combine as the legs of a right
    /// triangle do to its hypotenuse.
    pub fn bound(&self, issue: f64) -> f64 {
        let busiest =
            Resource::ALL.into_iter().map(|resource| self.busy(resource, issue)).fold(0.0, f64::max);
        let (ports, lines) = (self.busy(Resource::Ports, issue), self.busy(Resource::Lines, issue));
        // Not `f64::hypot`, which needs glibc 2.35.
        busiest.max((ports * ports + lines * lines).sqrt())
    }

    /// The resource that is busy for most cycles.
    pub fn bottleneck(&self, issue: f64) -> Resource {
        let busy = |resource: &Resource| self.busy(*resource, issue);
        let all = Resource::ALL.into_iter();
        all.max_by(|one, other| busy(one).total_cmp(&busy(other))).unwrap_or(Resource::Instructions)
    }

    /// Cycles for which a resource is busy.
    pub fn busy(&self, resource: Resource, issue: f64) -> f64 {
        let [arithmetic, multiplications, lookups, gathers, memory, lines] = self.units;
        match resource {
            Resource::Vectors => arithmetic.max(multiplications) + LOOKUP_SHARE * lookups,
            Resource::Lookups => lookups,
            Resource::Ports => gathers + memory,
            Resource::Lines => lines,
            Resource::Instructions => self.instructions / issue,
            Resource::Branches => self.serial,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_resource_bounds_the_cycles() {
        let mut work = Work::default();
        work.add(InstructionKind::Shuffle, 8.0, 4.0);
        assert_eq!((work.bound(4.0), work.bottleneck(4.0)), (8.0, Resource::Lookups));
        // Arithmetic shares the vector units with half of the look-ups.
        work.add(InstructionKind::Vector, 6.0, 4.0);
        assert_eq!((work.bound(4.0), work.bottleneck(4.0)), (10.0, Resource::Vectors));
        // Multiplications run at the same time.
        let mut beside = work;
        beside.add(InstructionKind::Multiply, 5.0, 4.0);
        assert_eq!(beside.bound(4.0), 10.0);
        beside.add(InstructionKind::Multiply, 6.0, 0.0);
        assert_eq!(beside.bound(4.0), 15.0);
        work.add(InstructionKind::Scalar, 100.0, 72.0);
        assert_eq!((work.bound(4.0), work.bottleneck(4.0)), (20.0, Resource::Instructions));
        work.add(InstructionKind::Load, 30.0, 0.0);
        work.add_lines(40.0);
        assert_eq!((work.bound(4.0), work.bottleneck(4.0)), (50.0, Resource::Lines));
        let mut twice = work.scaled(2.0);
        twice.merge(&Work::serial(200.0));
        assert_eq!((twice.bound(4.0), twice.unit(CoreUnit::Memory)), (200.0, 60.0));
    }
}
