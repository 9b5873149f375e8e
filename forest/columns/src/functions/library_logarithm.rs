//! The natural logarithm of singles with the bits of the C library.
//!
//! The algorithm is that of `logf` in the GNU C library (since 2.27) on processors with fused multiply-add:
//! `x = 2^k z`, a table has `c` near `z` with its logarithm, and a polynomial has the logarithm of `z / c`.
//! The table's and the polynomial's numbers are the library's. Others of the same quality would round a few
//! results differently.

use super::logarithm::{EXPONENT_OFFSET, ReducedNumber, at_ends};
use super::number::{Number, Truth};

/// The bits of the least `z`, 0.69921875.
const LOW_BITS: i64 = 0x3fe6_6000_0000_0000;

/// The distance between the least `z` of consecutive entries, in units of the bits of doubles.
const STEP_BITS: i64 = 1 << 48;

/// For each interval of `z`: `1 / c` and the logarithm of `c`, as bits.
const TABLE: [[u64; 2]; 16] = [
    [0x3ff6_61ec_79f8_f3be, 0xbfd5_7bf7_808c_aade],
    [0x3ff5_71ed_4aaf_883d, 0xbfd2_bef0_a7c0_6ddb],
    [0x3ff4_9539_f0f0_10b0, 0xbfd0_1eae_7f51_3a67],
    [0x3ff3_c995_b0b8_0385, 0xbfcb_31d8_a682_24e9],
    [0x3ff3_0d19_0c88_64a5, 0xbfc6_574f_0ac0_7758],
    [0x3ff2_5e22_7b0b_8ea0, 0xbfc1_aa2b_c79c_8100],
    [0x3ff1_bb4a_4a1a_343f, 0xbfba_4e76_ce8c_0e5e],
    [0x3ff1_2358_f08a_e5ba, 0xbfb1_973c_5a61_1ccc],
    [0x3ff0_953f_4199_00a7, 0xbfa2_52f4_38e1_0c1e],
    [0x3ff0_0000_0000_0000, 0x0000_0000_0000_0000],
    [0x3fee_608c_fd9a_47ac, 0x3faa_a5aa_5df2_5984],
    [0x3fec_a4b3_1f02_6aa0, 0x3fbc_5e53_aa36_2eb4],
    [0x3feb_2036_576a_fce6, 0x3fc5_26e5_7720_db08],
    [0x3fe9_c2d1_63a1_aa2d, 0x3fcb_c286_0d22_4770],
    [0x3fe8_86e6_0378_41ed, 0x3fd1_058b_c8a0_7ee1],
    [0x3fe7_67dc_f553_4862, 0x3fd4_0430_57b6_ee09],
];

/// `ln(2)`, as bits.
const LN2_BITS: u64 = 0x3fe6_2e42_fefa_39ef;

/// Coefficients of the polynomial from the second power on, as bits.
const COEFFICIENT_BITS: [u64; 3] = [0xbfd0_0ea3_48b8_8334, 0x3fd5_575b_0be0_0b6a, 0xbfdf_fffe_f20a_4123];

/// The logarithm of a single. The caller rounds the result to single precision.
pub fn log_of_single<N: Number>(x: N) -> N {
    let ReducedNumber { exponent, f, .. } = ReducedNumber::from_low(x, x.of(EXPONENT_OFFSET), LOW_BITS);
    let z = f + x.of(1.0);
    let [mut inverse, mut log] = TABLE[0].map(|bits| x.of(f64::from_bits(bits)));
    for (entry, number) in TABLE.iter().zip(0..).skip(1) {
        let least = x.of(f64::from_bits((LOW_BITS + number * STEP_BITS).cast_unsigned()));
        let is_here = least.is_at_most(z);
        let [entry_inverse, entry_log] = entry.map(|bits| x.of(f64::from_bits(bits)));
        inverse = is_here.select(entry_inverse, inverse);
        log = is_here.select(entry_log, log);
    }
    let [c4, c3, c2] = COEFFICIENT_BITS.map(|bits| x.of(f64::from_bits(bits)));
    let r = z.fma(inverse, x.of(-1.0));
    let of_c = exponent.fma(x.of(f64::from_bits(LN2_BITS)), log);
    let square = r * r;
    let factor = c4.fma(square, c3.fma(r, c2));
    at_ends(x, factor.fma(square, of_c + r))
}
