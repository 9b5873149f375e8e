//! Powers of e and of 2 in plain operations, for code that has no C library: the code of launches.
//!
//! All functions are the algorithms of the GNU C library (since 2.28). Their results are therefore the
//! library's on processors with fused multiply-add, bit for bit: `tests/exp.rs` compares all floats and many
//! doubles. The library fuses no operations of `exp2` for doubles on any x86 processor, nor does this code.
//!
//! Let `x = k ln(2) / n + r` with an integer `k`. Then `exp(x)` is `2^(k / n)` times a polynomial of the
//! small `r`, and a table holds the powers of 2 with fractional exponents. For powers of 2, `x = k / n + r`.
//! The polynomials' coefficients are the library's: coefficients of the same quality would still round a few
//! results differently.
//!
//! A product that is fused with a sum is a call of `llvm.fma`; nothing else may be fused.

use super::ir::IrBuilder;
use crate::error::LlvmError;
use inkwell::AddressSpace;
use inkwell::FloatPredicate;
use inkwell::module::Linkage;
use inkwell::values::{BasicValueEnum, FloatValue, IntValue, PointerValue};

/// `1 / ln(2)`.
const LOG2_E: f64 = std::f64::consts::LOG2_E;

/// `1.5 * 2^52`: adding and subtracting it rounds a double to an integer, which the low bits of the sum hold.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// Powers of 2 in the table for floats: the GNU C library's choice, as its polynomial has degree 3.
const FLOAT_TABLE_ENTRIES: u32 = 32;
/// Powers of 2 in the table for doubles, for a polynomial of degree 5.
const DOUBLE_TABLE_ENTRIES: u32 = 128;

/// Coefficients of `2^r - 1` for floats, from the first power of `r` on, as bits of doubles.
const EXP2_FLOAT_COEFFICIENTS: [u64; 3] =
    [0x3fe6_2e42_ff0c_52d6, 0x3fce_bfce_50fa_c4f3, 0x3fac_6af8_4b91_2394];

/// Coefficients of `exp(r) - 1 - r` for doubles, from the second power of `r` on, as bits of doubles.
const EXP_DOUBLE_COEFFICIENTS: [u64; 4] =
    [0x3fdf_ffff_ffff_fdbd, 0x3fc5_5555_5555_543c, 0x3fa5_5555_cf17_2b91, 0x3f81_1116_7a4d_017d];

/// Coefficients of `2^r - 1` for doubles, from the first power of `r` on, as bits of doubles.
const EXP2_DOUBLE_COEFFICIENTS: [u64; 5] = [
    0x3fe6_2e42_fefa_39ef,
    0x3fce_bfbd_ff82_c424,
    0x3fac_6b08_d70c_f4b5,
    0x3f83_b2ab_d246_50cc,
    0x3f55_d7e0_9b4e_3a84,
];

/// `ln(2) / 128` as the sum of a double with few digits and a remainder, each as bits.
const LN_2_OVER_128: [u64; 2] = [0x3f76_2e42_fefa_0000, 0x3d0c_f79a_bc9e_3b39];

/// The base of powers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PowerBase {
    E,
    Two,
}

impl PowerBase {
    /// The logarithm of the base to base 2.
    fn log2(self) -> f64 {
        match self {
            PowerBase::E => LOG2_E,
            PowerBase::Two => 1.0,
        }
    }

    /// Bounds beyond which powers of floats are set to infinity and 0. Powers of e are finite up to the
    /// first one and 0 below the second one.
    fn float_range(self) -> (f64, f64) {
        match self {
            PowerBase::E => (f32::from_bits(0x42b1_7217).into(), f32::from_bits(0xc2cf_f1b4).into()),
            PowerBase::Two => (128.0, -150.0),
        }
    }

    /// Bounds beyond which powers of doubles are set to infinity and 0. The algorithm itself reaches both,
    /// for powers of e a little earlier, at 709.8 and -745.2.
    fn double_range(self) -> (f64, f64) {
        match self {
            PowerBase::E => (710.0, -746.0),
            PowerBase::Two => (1024.0, -1075.0),
        }
    }

    /// Bound below which the power of a double may be subnormal, and has fewer digits.
    fn subnormal_below(self) -> f64 {
        match self {
            PowerBase::E => -512.0,
            PowerBase::Two => -928.0,
        }
    }
}

/// A float under construction.
type FloatResult<'ctx> = Result<FloatValue<'ctx>, LlvmError>;

/// A word under construction.
type WordResult<'ctx> = Result<IntValue<'ctx>, LlvmError>;

fn float(value: BasicValueEnum<'_>) -> FloatResult<'_> {
    match value {
        BasicValueEnum::FloatValue(float) => Ok(float),
        _ => Err(LlvmError::ill_formed("an operation of a power on no float")),
    }
}

fn bits(value: BasicValueEnum<'_>) -> WordResult<'_> {
    match value {
        BasicValueEnum::IntValue(word) => Ok(word),
        _ => Err(LlvmError::ill_formed("the bits of a power are no integer")),
    }
}

/// Builds powers of a base.
pub(super) struct Exponential<'s, 'a, 'ctx> {
    pub(super) base: PowerBase,
    pub(super) ir: &'s IrBuilder<'a, 'ctx>,
    /// The address space of the tables.
    pub(super) tables: AddressSpace,
}

impl<'ctx> Exponential<'_, '_, 'ctx> {
    /// The power whose exponent is a scalar.
    pub(super) fn power(&self, x: BasicValueEnum<'ctx>) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let x = float(x)?;
        let is_double = x.get_type() == self.ir.context.f64_type();
        let result = if is_double { self.power_of_double(x)? } else { self.power_of_float(x)? };
        Ok(result.into())
    }

    fn power_of_float(&self, x: FloatValue<'ctx>) -> FloatResult<'ctx> {
        let wide = self.ir.builder.build_float_ext(x, self.ir.context.f64_type(), "")?;
        let n = f64::from(FLOAT_TABLE_ENTRIES);
        let per_step = self.double(n * self.base.log2());
        let (bits, k) = self.nearest(wide, per_step)?;
        let r = self.fma(per_step, wide, self.ir.builder.build_float_neg(k, "")?)?;
        let scale = self.entry(self.table(FLOAT_TABLE_ENTRIES), bits, (FLOAT_TABLE_ENTRIES, 1, 0))?;
        let scale = self.as_double(self.add_exponent(scale, bits, FLOAT_TABLE_ENTRIES)?)?;
        let [c1, c2, c3] = EXP2_FLOAT_COEFFICIENTS.map(f64::from_bits);
        let [c1, c2, c3] = [c1 / n, c2 / n / n, c3 / n / n / n].map(|c| self.double(c));
        let square = self.mul(r, r)?;
        let low = self.fma(c1, r, self.double(1.0))?;
        let polynomial = self.fma(self.fma(c3, r, c2)?, square, low)?;
        let result = self.mul(polynomial, scale)?;
        let result = self.ir.builder.build_float_trunc(result, self.ir.context.f32_type(), "")?;
        self.limit_range(x, result, self.base.float_range())
    }

    fn power_of_double(&self, x: FloatValue<'ctx>) -> FloatResult<'ctx> {
        let (bits, k) = self.nearest(x, self.double(f64::from(DOUBLE_TABLE_ENTRIES) * self.base.log2()))?;
        let table = self.table(DOUBLE_TABLE_ENTRIES);
        let tail = self.as_double(self.entry(table, bits, (DOUBLE_TABLE_ENTRIES, 2, 0))?)?;
        let scale = self.entry(table, bits, (DOUBLE_TABLE_ENTRIES, 2, 1))?;
        let sum = match self.base {
            PowerBase::E => self.exp_of_remainder_minus_one(x, k, tail)?,
            PowerBase::Two => self.exp2_of_remainder_minus_one(x, k, tail)?,
        };

        let subnormal = self.compare(FloatPredicate::OLE, x, self.double(self.base.subnormal_below()))?;
        let usual = self.scale_normal(scale, bits, sum)?;
        let small = self.scale_subnormal(scale, bits, sum)?;
        let result = self.select(subnormal, small, usual)?;
        self.limit_range(x, result, self.base.double_range())
    }

    /// `e^r - 1 + tail` for the remainder `r = x - k ln(2) / 128`. `tail` is the relative error of the
    /// table's entry.
    fn exp_of_remainder_minus_one(
        &self,
        x: FloatValue<'ctx>,
        k: FloatValue<'ctx>,
        tail: FloatValue<'ctx>,
    ) -> FloatResult<'ctx> {
        let [high, low] = LN_2_OVER_128.map(|step| self.double(-f64::from_bits(step)));
        let r = self.fma(k, low, self.fma(k, high, x)?)?;
        let [c2, c3, c4, c5] = EXP_DOUBLE_COEFFICIENTS.map(|c| self.double(f64::from_bits(c)));
        let square = self.mul(r, r)?;
        let fourth = self.mul(square, square)?;
        let sum = self.add(tail, r)?;
        let sum = self.fma(square, self.fma(r, c3, c2)?, sum)?;
        self.fma(fourth, self.fma(r, c5, c4)?, sum)
    }

    /// `2^r - 1 + tail` for the remainder `r = x - k / 128`. `tail` is the relative error of the table's
    /// entry. Each operation is rounded.
    fn exp2_of_remainder_minus_one(
        &self,
        x: FloatValue<'ctx>,
        k: FloatValue<'ctx>,
        tail: FloatValue<'ctx>,
    ) -> FloatResult<'ctx> {
        let r = self.fma(k, self.double(-1.0 / f64::from(DOUBLE_TABLE_ENTRIES)), x)?;
        let [c1, c2, c3, c4, c5] = EXP2_DOUBLE_COEFFICIENTS.map(|c| self.double(f64::from_bits(c)));
        let linear = |c: FloatValue<'ctx>, d: FloatValue<'ctx>| self.add(c, self.mul(r, d)?);
        let square = self.mul(r, r)?;
        let fourth = self.mul(square, square)?;
        let sum = linear(tail, c1)?;
        let sum = self.add(sum, self.mul(square, linear(c2, c3)?)?)?;
        self.add(sum, self.mul(fourth, linear(c4, c5)?)?)
    }

    /// `2^(k / n) (1 + sum)`. The power is scaled by 2^-64 until the end, so that it does not overflow.
    fn scale_normal(
        &self,
        scale: IntValue<'ctx>,
        bits: IntValue<'ctx>,
        sum: FloatValue<'ctx>,
    ) -> FloatResult<'ctx> {
        let scale = self.scale_by_power(scale, bits, -64)?;
        let result = match self.base {
            PowerBase::E => self.fma(scale, sum, scale)?,
            PowerBase::Two => {
                let product = self.mul(scale, sum)?;
                self.add(scale, product)?
            }
        };
        self.mul(result, self.double(2.0f64.powi(64)))
    }

    /// `2^(k / n) (1 + sum)` if it may be subnormal. The power is scaled by 2^1022 until the end, so that it
    /// does not underflow. Adding 1 to the scaled result drops the digits that a subnormal result lacks, so
    /// that it is rounded only once.
    fn scale_subnormal(
        &self,
        scale: IntValue<'ctx>,
        bits: IntValue<'ctx>,
        sum: FloatValue<'ctx>,
    ) -> FloatResult<'ctx> {
        let scale = self.scale_by_power(scale, bits, 1022)?;
        let product = self.mul(scale, sum)?;
        let whole = self.add(scale, product)?;
        let one = self.double(1.0);
        let rest = self.add(self.sub(scale, whole)?, product)?;
        let high = self.add(one, whole)?;
        let lost = self.add(self.sub(one, high)?, whole)?;
        let rest = self.add(lost, rest)?;
        let cut = self.sub(self.add(high, rest)?, one)?;
        let subnormal = self.compare(FloatPredicate::OLT, whole, one)?;
        let result = self.select(subnormal, cut, whole)?;
        self.mul(result, self.double(f64::MIN_POSITIVE))
    }

    /// The integer nearest to `x * per_step`, as the low bits of a word and as a double.
    fn nearest(
        &self,
        x: FloatValue<'ctx>,
        per_step: FloatValue<'ctx>,
    ) -> Result<(IntValue<'ctx>, FloatValue<'ctx>), LlvmError> {
        let shift = self.double(SHIFT);
        let shifted = self.fma(per_step, x, shift)?;
        let k = self.sub(shifted, shift)?;
        Ok((bits(self.ir.builder.build_bit_cast(shifted, self.ir.context.i64_type(), "")?)?, k))
    }

    /// Word number `word` of a table's entry, which the low bits select. The table has `fractions` entries of
    /// `words` words.
    fn entry(
        &self,
        table: PointerValue<'ctx>,
        bits: IntValue<'ctx>,
        (fractions, words, word): (u32, u32, u32),
    ) -> WordResult<'ctx> {
        let i64 = self.ir.context.i64_type();
        let number = |n: u32| i64.const_int(n.into(), false);
        let b = &self.ir.builder;
        let entry = b.build_and(bits, number(fractions - 1), "")?;
        let entry = b.build_int_add(b.build_int_mul(entry, number(words), "")?, number(word), "")?;
        // SAFETY: the low bits are below the number of entries.
        let at = unsafe { b.build_in_bounds_gep(i64, table, &[entry], "")? };
        let loaded = b.build_load(i64, at, "")?;
        self.ir.mark_invariant(loaded)?;
        self::bits(loaded)
    }

    /// `2^by` times the power of 2 that [`Exponential::add_exponent`] makes of an entry of the table for
    /// doubles.
    fn scale_by_power(&self, entry: IntValue<'ctx>, bits: IntValue<'ctx>, by: i64) -> FloatResult<'ctx> {
        let power = self.add_exponent(entry, bits, DOUBLE_TABLE_ENTRIES)?;
        let by = self.ir.context.i64_type().const_int((by << 52) as u64, true);
        self.as_double(self.ir.builder.build_int_add(power, by, "")?)
    }

    /// The bits of a power of 2: a table's entry for the fraction of the exponent, `bits` for its integer
    /// part.
    fn add_exponent(&self, entry: IntValue<'ctx>, bits: IntValue<'ctx>, fractions: u32) -> WordResult<'ctx> {
        let up = self.ir.context.i64_type().const_int((52 - fractions.trailing_zeros()).into(), false);
        Ok(self.ir.builder.build_int_add(entry, self.ir.builder.build_left_shift(bits, up, "")?, "")?)
    }

    /// `result`, but infinity where `x` is above `most`, and 0 where it is below `least`.
    fn limit_range(
        &self,
        x: FloatValue<'ctx>,
        result: FloatValue<'ctx>,
        (most, least): (f64, f64),
    ) -> FloatResult<'ctx> {
        let ty = x.get_type();
        let above = self.compare(FloatPredicate::OGT, x, ty.const_float(most))?;
        let below = self.compare(FloatPredicate::OLT, x, ty.const_float(least))?;
        let result = self.select(above, ty.const_float(f64::INFINITY), result)?;
        self.select(below, ty.const_zero(), result)
    }

    fn select(
        &self,
        choice: IntValue<'ctx>,
        then: FloatValue<'ctx>,
        other: FloatValue<'ctx>,
    ) -> FloatResult<'ctx> {
        float(self.ir.builder.build_select(choice, then, other, "")?)
    }

    fn add(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> FloatResult<'ctx> {
        Ok(self.ir.builder.build_float_add(a, b, "")?)
    }

    fn sub(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> FloatResult<'ctx> {
        Ok(self.ir.builder.build_float_sub(a, b, "")?)
    }

    fn mul(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> FloatResult<'ctx> {
        Ok(self.ir.builder.build_float_mul(a, b, "")?)
    }

    fn compare(&self, how: FloatPredicate, a: FloatValue<'ctx>, b: FloatValue<'ctx>) -> WordResult<'ctx> {
        Ok(self.ir.builder.build_float_compare(how, a, b, "")?)
    }

    /// `a b + c`, rounded once.
    fn fma(&self, a: FloatValue<'ctx>, b: FloatValue<'ctx>, c: FloatValue<'ctx>) -> FloatResult<'ctx> {
        float(self.ir.fma(a.into(), b.into(), c.into())?)
    }

    fn as_double(&self, bits: IntValue<'ctx>) -> FloatResult<'ctx> {
        float(self.ir.builder.build_bit_cast(bits, self.ir.context.f64_type(), "")?)
    }

    fn double(&self, x: f64) -> FloatValue<'ctx> {
        self.ir.context.f64_type().const_float(x)
    }

    /// A table of powers of 2, made once for each module.
    fn table(&self, fractions: u32) -> PointerValue<'ctx> {
        let name = format!("schedc_powers_of_2_by_{fractions}");
        if let Some(table) = self.ir.module.get_global(&name) {
            return table.as_pointer_value();
        }
        let i64 = self.ir.context.i64_type();
        let words = if fractions == FLOAT_TABLE_ENTRIES { floats_table() } else { doubles_table() };
        let words: Vec<IntValue> = words.into_iter().map(|word| i64.const_int(word, false)).collect();
        let content = i64.const_array(&words);
        let table = self.ir.module.add_global(content.get_type(), Some(self.tables), &name);
        table.set_initializer(&content);
        table.set_constant(true);
        table.set_linkage(Linkage::Internal);
        table.set_alignment(8);
        table.as_pointer_value()
    }
}

/// The bits of `2^(i / 32)` minus `i / 32` of the exponent's lowest bit, which [`Exponential::add_exponent`]
/// adds again.
fn floats_table() -> Vec<u64> {
    powers_of_2(FLOAT_TABLE_ENTRIES)
        .into_iter()
        .zip(0..)
        .map(|((power, _), i)| bits_without_fraction(power, i, FLOAT_TABLE_ENTRIES))
        .collect()
}

/// For each `i`, the relative rounding error of the double nearest to `2^(i / 128)`, and that double's bits
/// as in [`floats_table`].
fn doubles_table() -> Vec<u64> {
    let entry = |((power, rest), i): ((f64, f64), u64)| {
        [(rest / power).to_bits(), bits_without_fraction(power, i, DOUBLE_TABLE_ENTRIES)]
    };
    powers_of_2(DOUBLE_TABLE_ENTRIES).into_iter().zip(0..).flat_map(entry).collect()
}

/// The bits of a power of 2 minus `i / fractions` of the exponent's lowest bit.
fn bits_without_fraction(power: f64, i: u64, fractions: u32) -> u64 {
    power.to_bits().wrapping_sub(i << (52 - fractions.trailing_zeros()))
}

/// `2^(i / n)` for all `i` below `n`, a power of 2, each as the nearest double and the remainder. Each is a
/// product of repeated square roots of 2, computed with twice the digits of a double.
fn powers_of_2(n: u32) -> Vec<(f64, f64)> {
    let roots: Vec<(f64, f64)> = std::iter::successors(Some((2.0, 0.0)), |x| Some(square_root(*x)))
        .skip(1)
        .take(n.trailing_zeros() as usize)
        .collect();
    let power = |i: u32| {
        let bits = roots.iter().rev().zip(0..).filter(|(_, bit)| i >> bit & 1 == 1);
        bits.fold((1.0, 0.0), |power, (root, _)| product(power, *root))
    };
    (0..n).map(power).collect()
}

/// A product of two numbers, each the sum of a double and a remainder.
fn product((a, a_rest): (f64, f64), (b, b_rest): (f64, f64)) -> (f64, f64) {
    let high = a * b;
    sum(high, a.mul_add(b, -high) + (a * b_rest + a_rest * b))
}

/// The square root of the sum of a double and a remainder.
fn square_root((x, rest): (f64, f64)) -> (f64, f64) {
    let high = x.sqrt();
    sum(high, ((-high).mul_add(high, x) + rest) / (2.0 * high))
}

/// A sum as the nearest double and the remainder; the second term is the smaller one.
fn sum(high: f64, low: f64) -> (f64, f64) {
    let nearest = high + low;
    (nearest, low - (nearest - high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_begin_with_known_words() {
        // The bits of 1, and those of the fourth root of 2 minus a quarter of the exponent's lowest bit. The
        // root in 40 digits, computed independently, is 1.189207115002721066717499970560475915293.
        let floats = floats_table();
        assert_eq!(floats.len(), 32);
        assert_eq!(floats[0], 1.0f64.to_bits());
        assert_eq!(floats[8], 1.189_207_115_002_721_f64.to_bits() - (8 << 47));
        let doubles = doubles_table();
        assert_eq!(doubles.len(), 256);
        assert_eq!(doubles[..2], [0, 1.0f64.to_bits()]);
        // sqrt(2) is 1.41421356237309514547 + -9.66729331345291345105e-17.
        assert_eq!(doubles[2 * 64 + 1], std::f64::consts::SQRT_2.to_bits() - (64 << 45));
        let rest = f64::from_bits(doubles[2 * 64]) * std::f64::consts::SQRT_2;
        assert!((rest + 9.667_293_313_452_913e-17).abs() < 1e-31, "{rest:e}");
    }
}
