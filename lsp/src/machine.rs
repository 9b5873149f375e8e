//! The machine that the server runs on, which is the one that a schedule without a target is for.

/// Bits of its vector registers, if that is known.
#[cfg(target_arch = "x86_64")]
pub fn vector_bits() -> Option<u32> {
    let long = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
    match (long, is_x86_feature_detected!("avx2")) {
        (true, _) => Some(512),
        (false, true) => Some(256),
        (false, false) => None,
    }
}

/// Bits of its vector registers, if that is known.
#[cfg(not(target_arch = "x86_64"))]
pub fn vector_bits() -> Option<u32> {
    None
}
