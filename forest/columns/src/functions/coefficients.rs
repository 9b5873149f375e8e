//! Coefficients, made by `scripts/functions.py`. Numbers are the bits of doubles.

/// `1 / ln(2)`.
pub(super) const LOG2_E: f64 = f64::from_bits(0x3ff7_1547_652b_82fe);

/// `ln(2)`.
pub(super) const LN2: f64 = f64::from_bits(0x3fe6_2e42_fefa_39ef);

/// The first 32 bits of `ln(2)`: products with exponents are exact.
pub(super) const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);

/// The remainder of `ln(2)`.
pub(super) const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// The error of `2 / 3` as a double.
pub(super) const TWO_THIRDS_LOW: f64 = f64::from_bits(0x3c85_5555_5555_5555);

/// `2 / pi`.
pub(super) const TWO_BY_PI: f64 = f64::from_bits(0x3fe4_5f30_6dc9_c883);

/// The first 53 bits of `pi / 2`.
pub(super) const HALF_PI_HIGH: f64 = f64::from_bits(0x3ff9_21fb_5444_2d18);

/// The next 30 bits of `pi / 2`: products with whole numbers below `2^23` are exact.
pub(super) const HALF_PI_MIDDLE: f64 = f64::from_bits(0x3c91_a626_3300_0000);

/// The remainder of `pi / 2`.
pub(super) const HALF_PI_LOW: f64 = f64::from_bits(0x3a94_5c06_e0e6_8948);

/// Coefficients of `(exp(r) - 1 - r) / r^2` for `|r| <= ln(2) / 2`,
/// from the constant on. The largest weighted error is 2^-57.93.
pub(super) const EXP: [f64; 10] = [
    f64::from_bits(0x3fe0_0000_0000_000b),
    f64::from_bits(0x3fc5_5555_5555_5561),
    f64::from_bits(0x3fa5_5555_5555_0311),
    f64::from_bits(0x3f81_1111_1110_d79e),
    f64::from_bits(0x3f56_c16c_1853_06e3),
    f64::from_bits(0x3f2a_01a0_1ba7_e03e),
    f64::from_bits(0x3efa_0199_78c2_a2c9),
    f64::from_bits(0x3ec7_1dde_0897_cbee),
    f64::from_bits(0x3e92_8af9_3f9c_f1b9),
    f64::from_bits(0x3e5a_f848_66a4_d655),
];

/// Coefficients of `(exp(r) - 1 - r) / r^2` for `|r| <= ln(2) / 2`, for results in single precision,
/// from the constant on. The largest weighted error is 2^-34.22.
pub(super) const EXP_SHORT: [f64; 6] = [
    f64::from_bits(0x3fe0_0000_041a_9b66),
    f64::from_bits(0x3fc5_5555_597e_3c77),
    f64::from_bits(0x3fa5_5548_1ee1_6e44),
    f64::from_bits(0x3f81_1107_cf01_31ab),
    f64::from_bits(0x3f56_d959_c443_dd6b),
    f64::from_bits(0x3f2a_1b82_b154_d097),
];

/// Coefficients of `(2 atanh(s) / s - 2) / z`, with `z = s^2 <= 0.0295`,
/// from the constant on. The largest weighted error is 2^-58.45.
pub(super) const LOG: [f64; 7] = [
    f64::from_bits(0x3fe5_5555_5555_558f),
    f64::from_bits(0x3fd9_9999_9998_0d5e),
    f64::from_bits(0x3fd2_4924_9413_7bd8),
    f64::from_bits(0x3fcc_71c5_28cb_4bef),
    f64::from_bits(0x3fc7_4662_6ced_f8ff),
    f64::from_bits(0x3fc3_9a3f_0adc_52b9),
    f64::from_bits(0x3fc2_ef0d_ad8e_84d7),
];

/// Coefficients of `(2 atanh(s) / s - 2) / z`, with `z = s^2 <= 0.0295`, for results in single precision,
/// from the constant on. The largest weighted error is 2^-36.58.
pub(super) const LOG_SHORT: [f64; 4] = [
    f64::from_bits(0x3fe5_5555_4ff4_f54d),
    f64::from_bits(0x3fd9_99a7_83ec_f8dd),
    f64::from_bits(0x3fd2_4394_f8e0_83e3),
    f64::from_bits(0x3fce_2e72_49e6_a2f1),
];

/// Coefficients of `(2 atanh(s) / s - 2 - 2 z / 3) / z^2`,
/// from the constant on. The largest weighted error is 2^-58.9.
pub(super) const LOG_LONG: [f64; 8] = [
    f64::from_bits(0x3fd9_9999_9999_999a),
    f64::from_bits(0x3fd2_4924_9249_2523),
    f64::from_bits(0x3fcc_71c7_1c6e_a3a7),
    f64::from_bits(0x3fc7_45d1_77ae_7ca4),
    f64::from_bits(0x3fc3_b139_5b31_2af8),
    f64::from_bits(0x3fc1_118c_def6_0706),
    f64::from_bits(0x3fbd_f7b9_e38d_150d),
    f64::from_bits(0x3fbe_039c_40bc_c6e0),
];

/// Coefficients of `erf(x) / x - 1` for `x^2 <= 1`,
/// from the constant on. The largest weighted error is 2^-56.97.
pub(super) const ERF: [f64; 12] = [
    f64::from_bits(0x3fc0_6eba_8214_db68),
    f64::from_bits(0xbfd8_1274_6b03_79c2),
    f64::from_bits(0x3fbc_e2f2_1a04_1018),
    f64::from_bits(0xbf9b_82ce_3120_62bc),
    f64::from_bits(0x3f75_65bc_cfa9_a825),
    f64::from_bits(0xbf4c_02db_072f_3fe0),
    f64::from_bits(0x3f1f_9a2b_f73f_0c68),
    f64::from_bits(0xbeef_4ca9_4990_cb86),
    f64::from_bits(0x3ebb_9827_b188_5f9b),
    f64::from_bits(0xbe85_c16e_30fb_0d45),
    f64::from_bits(0x3e4d_7849_3661_8cc2),
    f64::from_bits(0xbe0a_cdff_90b8_ebd8),
];

/// Coefficients of `exp(x^2) (1 - erf(x))` for `1 <= x <= 6`, in `1 / (x + 2)`,
/// from the constant on. The largest weighted error is 2^-58.59.
pub(super) const ERF_TAIL: [f64; 13] = [
    f64::from_bits(0xbecc_4d0c_43a5_62db),
    f64::from_bits(0x3fe2_0f74_ea0b_eb5e),
    f64::from_bits(0x3ff1_f83b_d1af_9343),
    f64::from_bits(0x4000_7b17_f20a_5866),
    f64::from_bits(0x3ffe_3267_0323_64a9),
    f64::from_bits(0x4023_db86_10dc_046a),
    f64::from_bits(0xc044_9afd_7af1_c416),
    f64::from_bits(0x4064_2846_9f69_a078),
    f64::from_bits(0xc07f_e4dc_0bbb_7bfe),
    f64::from_bits(0x408f_07d4_65fa_1d1e),
    f64::from_bits(0xc091_f7ff_07b4_e8cb),
    f64::from_bits(0x4087_4a8f_08ca_8fb0),
    f64::from_bits(0xc06a_6383_e9c7_ff5a),
];

/// Coefficients of `(sin(r) / r - 1) / r^2` for `|r| <= pi / 4`,
/// from the constant on. The largest weighted error is 2^-57.99.
pub(super) const SINE: [f64; 6] = [
    f64::from_bits(0xbfc5_5555_5555_5549),
    f64::from_bits(0x3f81_1111_1110_f8d4),
    f64::from_bits(0xbf2a_01a0_19c1_adf3),
    f64::from_bits(0x3ec7_1de3_57e9_ae7e),
    f64::from_bits(0xbe5a_e5e6_af9c_ce54),
    f64::from_bits(0x3de5_d943_ce2c_b532),
];

/// Coefficients of `(cos(r) - 1 + z / 2) / z^2`, with `z = r^2`, for `|r| <= pi / 4`,
/// from the constant on. The largest weighted error is 2^-64.02.
pub(super) const COSINE: [f64; 6] = [
    f64::from_bits(0x3fa5_5555_5555_554e),
    f64::from_bits(0xbf56_c16c_16c1_5520),
    f64::from_bits(0x3efa_01a0_19d0_0ec8),
    f64::from_bits(0xbe92_7e4f_83d0_4672),
    f64::from_bits(0x3e21_eea0_b70c_b357),
    f64::from_bits(0xbda8_fbda_07db_722f),
];

/// Coefficients of `(sin(r) / r - 1) / r^2` for `|r| <= pi / 2`, for results in single precision,
/// from the constant on. The largest weighted error is 2^-35.62.
pub(super) const SINE_SHORT: [f64; 5] = [
    f64::from_bits(0xbfc5_5555_5496_8b09),
    f64::from_bits(0x3f81_1110_cc49_64f4),
    f64::from_bits(0xbf2a_017f_e6fb_ec62),
    f64::from_bits(0x3ec7_174e_07fc_4552),
    f64::from_bits(0xbe59_ac4a_5068_07a8),
];

/// The binary digits of `2 / pi`, 53 in each number, as fractions of 1.
pub(super) const TWO_BY_PI_DIGITS: [f64; 23] = [
    f64::from_bits(0x3fe4_5f30_6dc9_c882),
    f64::from_bits(0x3fe4_a7f0_9d5f_47d4),
    f64::from_bits(0x3fea_6ee0_6db1_4acc),
    f64::from_bits(0x3fe3_c439_041f_e516),
    f64::from_bits(0x3fcd_5ef5_de2b_0db8),
    f64::from_bits(0x3fd2_371d_2126_e970),
    f64::from_bits(0x3f79_24bb_a827_4600),
    f64::from_bits(0x3fe2_1cfe_1deb_1cb1),
    f64::from_bits(0x3fc4_d39f_7441_1af8),
    f64::from_bits(0x3fe4_baed_1213_a671),
    f64::from_bits(0x3fe8_135a_2fbf_209c),
    f64::from_bits(0x3fe9_1d63_9835_339f),
    f64::from_bits(0x3fd2_7211_7e2e_f7e4),
    f64::from_bits(0x3fd4_1d8f_fc4b_ffee),
    f64::from_bits(0x3fe0_2cc0_7f79_788c),
    f64::from_bits(0x3fd6_b414_da3e_da6c),
    f64::from_bits(0x3fdf_b3c9_f2c2_6dd2),
    f64::from_bits(0x3fed_18fd_9a79_7fa8),
    f64::from_bits(0x3fe6_ba93_dd63_f5f2),
    f64::from_bits(0x3fef_17b3_d073_9f78),
    f64::from_bits(0x3fe4_a525_d4d7_f6bf),
    f64::from_bits(0x3fd8_8fc6_ae84_2b00),
    f64::from_bits(0x3fe9_8237_e3db_5d5f),
];
