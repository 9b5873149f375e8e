//! Tests that damaged files give an error or rows, and never a panic.

use crate::common::{is_consistent, npy, read};
use schedc_data::Expect;

/// Reads every prefix of a file, and the file with each bit of each byte flipped.
fn damage(file: &[u8], expect: Expect<'_>) {
    let attempt = |bytes: &[u8]| match read(bytes, expect) {
        Ok(rows) => assert!(is_consistent(&rows)),
        Err(error) => assert!(!error.to_string().is_empty()),
    };
    for length in 0..file.len() {
        attempt(&file[..length]);
    }
    for position in 0..file.len() {
        for bit in 0..8 {
            let mut damaged = file.to_vec();
            damaged[position] ^= 1 << bit;
            attempt(&damaged);
        }
    }
}

#[test]
fn damaged_arrays() {
    let data: Vec<u8> = (0..48).collect();
    for (descr, fortran, shape) in
        [("<f4", "False", "(4, 3)"), (">f8", "True", "(2, 3)"), ("|u1", "False", "(16, 3)")]
    {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}  \n");
        damage(&npy(&header, &data), Expect::unnamed(3));
    }
}

#[test]
fn cut_off_arrays_are_refused() {
    let file = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }", &[0; 48]);
    let expect = Expect::unnamed(3);
    assert!((0..file.len()).all(|length| read(&file[..length], expect).is_err()));
    assert!(read(&file, expect).is_ok());
}

#[test]
fn damaged_text() {
    let names = ["a".to_owned(), "b c".to_owned()];
    let text = b"id,\"b c\",a\r\nx,1.5,NA\r\n\r\n\"y \"\"z\"\"\",-2e3,inf\n,,\n";
    damage(text, Expect::named(&names));
    damage(b"1,2\n3,\"4\"\n", Expect::unnamed(2));
    damage(b"1\n\"\"\nx\n", Expect::unnamed(1));
}
