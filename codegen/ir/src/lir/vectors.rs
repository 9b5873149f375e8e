//! Vector operations of the builder, and rounding.

use super::{Builder, Op, Rounding, Scalar, Ty, Value};

impl Builder {
    /// A float as a whole number of its type.
    pub fn round(&mut self, rounding: Rounding, value: Value) -> Value {
        self.define(self.ty(value), Op::Round(rounding, value))
    }

    /// `a * b + c`, rounded once, lane by lane.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.define(self.ty(a), Op::Fma(a, b, c))
    }

    /// The square root, lane by lane.
    pub fn square_root(&mut self, value: Value) -> Value {
        self.define(self.ty(value), Op::SquareRoot(value))
    }

    /// The scalar in `lanes` lanes; the scalar itself for one lane.
    pub fn splat(&mut self, value: Value, lanes: u16) -> Value {
        let ty = Ty::vector(self.ty(value).scalar, lanes);
        match self.as_int(value) {
            _ if lanes == 1 => value,
            Some(n) => self.int_of(ty, n),
            None => self.define(ty, Op::Splat(value)),
        }
    }

    /// The numbers of the lanes.
    pub fn iota(&mut self, ty: Ty) -> Value {
        self.define(ty, Op::Iota)
    }

    /// One lane.
    pub fn extract(&mut self, value: Value, lane: u16) -> Value {
        let ty = Ty::of(self.ty(value).scalar);
        self.define(ty, Op::Extract(value, lane))
    }

    /// The low (0) or the high (1) 32 bits of each lane.
    pub fn extract_half(&mut self, value: Value, number: u16) -> Value {
        let ty = self.ty(value).with(Scalar::I32);
        self.define(ty, Op::ExtractHalf(value, number))
    }

    /// The bytes of an integer vector as narrower integers, lowest bits first; the vector itself if the
    /// widths are equal.
    pub fn bitcast_narrow(&mut self, value: Value, scalar: Scalar) -> Value {
        let ty = self.ty(value);
        let pieces = (ty.scalar.bytes() / scalar.bytes()) as u16;
        if pieces == 1 {
            value
        } else {
            self.define(Ty::vector(scalar, pieces * ty.lanes), Op::BitcastNarrow(value))
        }
    }

    /// The lanes of `a`, then those of `b`.
    pub fn concat(&mut self, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        self.define(Ty { lanes: 2 * ty.lanes, ..ty }, Op::Concat(a, b))
    }

    /// The even (`number` 0) or the odd (1) blocks of `size` lanes of both vectors, alternating.
    pub fn transpose_step(&mut self, a: Value, b: Value, size: u16, number: u16) -> Value {
        self.define(self.ty(a), Op::TransposeStep(a, b, size, number))
    }

    /// The lanes shifted down by `distance`, with zeros above them.
    pub fn lane_shift(&mut self, value: Value, distance: u16) -> Value {
        self.define(self.ty(value), Op::LaneShift(value, distance))
    }

    /// The sum of all lanes, of which there are a power of two: lanes of the lower half and of the upper half
    /// are added, again and again.
    pub fn sum_of_lanes(&mut self, vector: Value) -> Value {
        let mut sums: Vec<Value> =
            (0..self.ty(vector).lanes).map(|lane| self.extract(vector, lane)).collect();
        while sums.len() > 1 {
            let upper = sums.split_off(sums.len() / 2);
            sums = sums.into_iter().zip(upper).map(|(low, high)| self.add(low, high)).collect();
        }
        sums.first().copied().unwrap_or(vector)
    }

    /// Table element for each lane of `index`.
    pub fn lookup(&mut self, table: Value, index: Value) -> Value {
        let (element, at) = (self.ty(table).scalar, self.ty(index));
        let ty = if element.is_float() { at.with(element) } else { at };
        self.define(ty, Op::Lookup(table, index))
    }

    /// Whether any lane holds.
    pub fn any(&mut self, mask: Value) -> Value {
        if self.ty(mask).lanes == 1 { mask } else { self.define(Ty::I1, Op::Any(mask)) }
    }

    /// The lanes of a mask as the bits of an `i64`.
    pub fn mask_bits(&mut self, mask: Value) -> Value {
        self.define(Ty::I64, Op::MaskBits(mask))
    }

    /// Number of set bits of an `i64`.
    pub fn pop_count(&mut self, bits: Value) -> Value {
        self.define(Ty::I64, Op::PopCount(bits))
    }
}
