//! Banks of shared memory, and accesses of a warp to them. All GPUs of the table of devices agree on these
//! figures.

/// Banks of shared memory, each of which delivers a word at a time.
pub const BANKS: u64 = 32;

/// Bytes of a word of a bank.
pub const BANK_BYTES: u64 = 4;

/// Most bytes that a thread loads or stores with one instruction.
pub const ACCESS_BYTES: u64 = 16;

/// Wavefronts of one access of a warp: the number of distinct words in the busiest bank. Each lane accesses a
/// range of bytes.
pub fn wavefronts(lanes: impl IntoIterator<Item = (u64, u64)>) -> u64 {
    let words = |(start, end): (u64, u64)| start / BANK_BYTES..end.div_ceil(BANK_BYTES);
    let mut words: Vec<u64> = lanes.into_iter().flat_map(words).collect();
    words.sort_unstable();
    words.dedup();
    let mut busy = [0u64; BANKS as usize];
    for word in words {
        busy[(word % BANKS) as usize] += 1;
    }
    busy.into_iter().max().unwrap_or(0)
}
