//! What a piece of code keeps busy.

use crate::operation::Kind;

/// What instructions wait for: the parts of a core that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Arithmetic and choices.
    Arithmetic,
    /// Look-ups in registers, and lanes that change places.
    Lookups,
    /// Gathers.
    Gathers,
    /// Loads and stores.
    Memory,
    /// Lines that come from the second level of caches and beyond.
    Lines,
}

/// Their number.
const PARTS: usize = 5;

/// How much of a vector unit a look-up leaves to arithmetic: most processors look up in one of two units, or more.
const SHARED: f64 = 0.5;

/// What limits how much goes on at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// The units for vectors.
    Vectors,
    /// Those of them that look up.
    Lookups,
    /// Ports to memory, for loads, stores and gathers.
    Ports,
    /// Lines from beyond the first cache.
    Lines,
    /// Instructions that begin in a cycle.
    Instructions,
    /// Branches that were guessed wrong, during which nothing else goes on.
    Branches,
}

impl Shared {
    /// All.
    const ALL: [Shared; 6] = [
        Shared::Vectors,
        Shared::Lookups,
        Shared::Ports,
        Shared::Lines,
        Shared::Instructions,
        Shared::Branches,
    ];
}

/// Cycles that some code keeps the parts of a core busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    parts: [f64; PARTS],
    /// Instructions.
    pub instructions: f64,
    /// Cycles in which nothing else goes on: branches that were guessed wrong, with what they waited for.
    pub serial: f64,
}

impl Work {
    /// Cycles in which nothing else goes on.
    pub fn alone(cycles: f64) -> Work {
        Work { serial: cycles, ..Work::default() }
    }

    /// Adds what some instructions of a kind take.
    pub fn add(&mut self, kind: Kind, cycles: f64, instructions: f64) {
        let part = match kind {
            Kind::Lookup { .. } | Kind::Shuffle | Kind::Convert => Part::Lookups,
            Kind::Gather { .. } => Part::Gathers,
            Kind::Load | Kind::Store => Part::Memory,
            Kind::Scalar => return self.instructions += instructions,
            _ => Part::Arithmetic,
        };
        self.parts[part as usize] += cycles;
        self.instructions += instructions;
    }

    /// Adds lines that come from farther than the first level.
    pub fn add_lines(&mut self, cycles: f64) {
        self.parts[Part::Lines as usize] += cycles;
    }

    /// The cycles of a part.
    pub fn part(&self, part: Part) -> f64 {
        self.parts[part as usize]
    }

    /// So many times the same.
    pub fn times(&self, times: f64) -> Work {
        Work {
            parts: self.parts.map(|cycles| cycles * times),
            instructions: self.instructions * times,
            serial: self.serial * times,
        }
    }

    /// Both, one after the other.
    pub fn and(&mut self, other: &Work) {
        for (mine, others) in self.parts.iter_mut().zip(other.parts) {
            *mine += others;
        }
        self.instructions += other.instructions;
        self.serial += other.serial;
    }

    /// The least cycles that it takes, whatever goes on at the same time. Lines that are brought partly stand in the way of
    /// loads and stores.
    pub fn bound(&self, issue: f64) -> f64 {
        let most = Shared::ALL.into_iter().map(|shared| self.busy(shared, issue)).fold(0.0, f64::max);
        most.max(self.busy(Shared::Ports, issue).hypot(self.busy(Shared::Lines, issue)))
    }

    /// What is the busiest.
    pub fn busiest(&self, issue: f64) -> Shared {
        let busy = |shared: &Shared| self.busy(*shared, issue);
        let all = Shared::ALL.into_iter();
        all.max_by(|one, other| busy(one).total_cmp(&busy(other))).unwrap_or(Shared::Instructions)
    }

    /// The cycles that it keeps busy what instructions share.
    pub fn busy(&self, shared: Shared, issue: f64) -> f64 {
        let [arithmetic, lookups, gathers, memory, lines] = self.parts;
        match shared {
            Shared::Vectors => arithmetic + SHARED * lookups,
            Shared::Lookups => lookups,
            Shared::Ports => gathers + memory,
            Shared::Lines => lines,
            Shared::Instructions => self.instructions / issue,
            Shared::Branches => self.serial,
        }
    }
}
