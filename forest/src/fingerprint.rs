//! Recognising a model file by its content.

use sha2::{Digest, Sha256};

/// A short name for the content of a file: `sha256:` and the first 16 hexadecimal digits of its SHA-256 hash.
///
/// Files with the same fingerprint hold the same bytes for all practical purposes; it is no protection
/// against somebody who wants two files to collide.
pub fn fingerprint(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let mut text = String::from("sha256:");
    for byte in hash.iter().take(8) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hash() {
        assert_eq!(fingerprint(b"abc"), "sha256:ba7816bf8f01cfea");
        assert_ne!(fingerprint(b"abd"), fingerprint(b"abc"));
    }
}
