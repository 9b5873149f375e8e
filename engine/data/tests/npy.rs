//! Tests of reading NumPy arrays: the rows, or the error with its help.

use crate::common::{is_consistent, npy, read, show};
use schedc_data::{DataSource, Expect, FeatureValues, read_rows};

/// The header of an array, as NumPy writes it.
fn header(descr: &str, fortran: bool, shape: &str) -> String {
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}   \n")
}

fn expect(columns: usize) -> Expect<'static> {
    Expect::unnamed(columns)
}

#[test]
fn every_element_type_is_read() {
    let floats = [1.5f32, -2.0, f32::NAN, f32::INFINITY];
    let (small, large) = ([1i8, -2, 0, 127], [1u64, 2, 0, 1 << 53]);
    let doubles = floats.map(f64::from);
    let wide = [1i32, -2, 0, i32::MAX];
    // (type, the bytes of four elements, values, single precision?)
    let cases: [(&str, Vec<u8>, &str, bool); 14] = [
        ("<f4", floats.iter().flat_map(|value| value.to_le_bytes()).collect(), "1.5 -2 | nan inf", true),
        (">f4", floats.iter().flat_map(|value| value.to_be_bytes()).collect(), "1.5 -2 | nan inf", true),
        ("<f8", doubles.iter().flat_map(|value| value.to_le_bytes()).collect(), "1.5 -2 | nan inf", false),
        (">f8", doubles.iter().flat_map(|value| value.to_be_bytes()).collect(), "1.5 -2 | nan inf", false),
        ("<f2", vec![0x00, 0x3e, 0x00, 0xc0, 0x01, 0x7e, 0x00, 0x7c], "1.5 -2 | nan inf", true),
        (">f2", vec![0x3e, 0x00, 0xc0, 0x00, 0x7e, 0x01, 0x7c, 0x00], "1.5 -2 | nan inf", true),
        ("|i1", small.iter().flat_map(|value| value.to_le_bytes()).collect(), "1 -2 | 0 127", true),
        ("|u1", vec![1, 2, 0, 255], "1 2 | 0 255", true),
        ("|b1", vec![1, 0, 0, 1], "1 0 | 0 1", true),
        ("<i2", vec![1, 0, 0xfe, 0xff, 0, 0, 0, 1], "1 -2 | 0 256", true),
        (">u2", vec![0, 1, 0xff, 0xfe, 0, 0, 1, 0], "1 65534 | 0 256", true),
        ("<i4", wide.iter().flat_map(|value| value.to_le_bytes()).collect(), "1 -2 | 0 2147483647", false),
        (
            ">u4",
            wide.iter().flat_map(|value| value.to_be_bytes()).collect(),
            "1 4294967294 | 0 2147483647",
            false,
        ),
        (
            "<u8",
            large.iter().flat_map(|value| value.to_le_bytes()).collect(),
            "1 2 | 0 9007199254740992",
            false,
        ),
    ];
    for (descr, data, wanted, single) in cases {
        let rows = read(&npy(&header(descr, false, "(2, 2)"), &data), expect(2)).unwrap();
        assert!(is_consistent(&rows));
        assert_eq!(show(&rows), wanted, "{descr}");
        assert_eq!(matches!(rows.values, FeatureValues::F32(_)), single, "{descr}");
    }
    let negative = (-5i64).to_be_bytes();
    assert_eq!(show(&read(&npy(&header(">i8", false, "(1, 1)"), &negative), expect(1)).unwrap()), "-5");
}

#[test]
fn shapes_and_headers_are_understood() {
    let bytes = [1, 2, 3, 4, 5, 6];
    // (header, columns, values)
    let cases = [
        (header("|u1", false, "(2, 3)"), 3, "1 2 3 | 4 5 6"),
        (header("|u1", true, "(2, 3)"), 3, "1 3 5 | 2 4 6"),
        (header("|u1", false, "(6,)"), 6, "1 2 3 4 5 6"),
        (header("|u1", false, "(6,)"), 1, "1 | 2 | 3 | 4 | 5 | 6"),
        (header("|u1", true, "(6,)"), 6, "1 2 3 4 5 6"),
        (header("<u1", false, "(6, 1)"), 1, "1 | 2 | 3 | 4 | 5 | 6"),
        ("{'shape':(2L,3L),\"descr\":\"|u1\",'fortran_order':False}".to_owned(), 3, "1 2 3 | 4 5 6"),
        (
            "\n{ 'fortran_order' : False , 'descr' : '|u1' , 'shape' : ( 2 , 3 , ) }".to_owned(),
            3,
            "1 2 3 | 4 5 6",
        ),
    ];
    for (header, columns, wanted) in cases {
        assert_eq!(show(&read(&npy(&header, &bytes), expect(columns)).unwrap()), wanted, "{header}");
    }
    for (shape, columns) in [("(0, 3)", 3), ("(0,)", 1)] {
        let rows = read(&npy(&header("<f4", false, shape), &[]), expect(columns)).unwrap();
        assert_eq!((rows.rows, rows.columns), (0, columns), "{shape}");
        assert!(is_consistent(&rows));
    }
}

#[test]
fn later_versions_are_read() {
    for version in [2, 3] {
        let header = header("|u1", false, "(1, 2)");
        let mut file = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
        file.extend((header.len() as u32).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend([7, 8]);
        assert_eq!(show(&read(&file, expect(2)).unwrap()), "7 8");
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let bytes = [0; 24];
    let malformed = "D0008: rows: the header of the .npy array is malformed: ";
    // (header, the error for a model of 3 features and 24 bytes of data)
    let cases = [
        (
            header("<f4", false, "(2, 4)"),
            "D0004: rows: rows have 4 columns, and the model wants 3 features".to_owned(),
        ),
        (
            header("<f4", false, "(3, 2)"),
            "D0004: rows: rows have 2 columns, and the model wants 3 features".to_owned(),
        ),
        (
            header("<f4", false, "(6,)"),
            "D0004: rows: a one-dimensional array is one row, but this one has 6 values, and the model \
             wants 3 \
             features"
                .to_owned(),
        ),
        (header("<f4", false, "()"), "D0009: rows: the array has 0 dimensions".to_owned()),
        (header("<f4", false, "(1, 2, 3)"), "D0009: rows: the array has 3 dimensions".to_owned()),
        (header("<f4", false, "(5, 0)"), "D0009: rows: the array's rows have no columns".to_owned()),
        (
            header("<f4", false, "(3, 3)"),
            "D0010: rows: the header announces 36 bytes of data, and there are only 24".to_owned(),
        ),
        (
            header("<f4", false, "(1, 3)"),
            "D0010: rows: the header announces 12 bytes of data, and there are more".to_owned(),
        ),
        (
            header("<f4", false, "(9223372036854775807, 3)"),
            "D0011: rows: the array does not fit into memory".to_owned(),
        ),
        (
            header("<f4", false, "(99999999999999999999, 3)"),
            format!("{malformed}the size 99999999999999999999 is too large"),
        ),
        (
            header("|O", false, "(2, 3)"),
            "D0009: rows: the array's elements are Python objects ('|O'), not real numbers".to_owned(),
        ),
        (
            header("<U5", false, "(2, 3)"),
            "D0009: rows: the array's elements are text ('<U5'), not real \
             numbers"
                .to_owned(),
        ),
        (
            header("<c8", false, "(2, 3)"),
            "D0009: rows: the array's elements are complex numbers ('<c8'), not real numbers".to_owned(),
        ),
        (
            header("<f16", false, "(2, 3)"),
            "D0009: rows: the array's elements are of the type '<f16', not real numbers".to_owned(),
        ),
        (
            header("|f4", false, "(2, 3)"),
            "D0009: rows: the array's elements are of the type '|f4', not real numbers".to_owned(),
        ),
        (
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}".to_owned(),
            "D0009: rows: the array's elements are named fields (a structured type), not real numbers"
                .to_owned(),
        ),
        (String::new(), format!("{malformed}it ends where '{{' is wanted")),
        ("{}".to_owned(), format!("{malformed}it lacks 'shape'")),
        ("{'shape': (2, 3), 'descr': '<f4'}".to_owned(), format!("{malformed}it lacks 'fortran_order'")),
        ("{'shape': (2, 3), 'shape': (2, 3)}".to_owned(), format!("{malformed}it has 'shape' twice")),
        ("{'colour': 1}".to_owned(), format!("{malformed}'colour' is not known")),
        ("{'shape': (3)}".to_owned(), format!("{malformed}the shape is not a tuple")),
        ("{'shape': (-3, 2)}".to_owned(), format!("{malformed}a size is wanted at \"-3, 2)}}\"")),
        ("{'fortran_order': 1}".to_owned(), format!("{malformed}True or False is wanted at \"1}}\"")),
        ("{'descr': '<f4".to_owned(), format!("{malformed}a closing quote is wanted at \"<f4\"")),
        (header("<f4", false, "(2, 3)") + "x", format!("{malformed}something follows the dictionary")),
        (
            format!("{{'shape': ({})}}", "1,".repeat(65)),
            format!(
                "{malformed}the shape has too many \
             dimensions"
            ),
        ),
    ];
    for (header, wanted) in cases {
        let error = read(&npy(&header, &bytes), expect(3)).expect_err(&wanted);
        assert_eq!(error.to_string().lines().next(), Some(wanted.as_str()), "{header}");
    }
    let swapped = read(&npy(&header("<f4", false, "(3, 2)"), &bytes), expect(3)).unwrap_err();
    assert!(swapped.help.clone().unwrap().contains("swapped"));
}

#[test]
fn the_start_of_a_file_is_checked() {
    let cases: [(&[u8], &str); 4] = [
        (b"\x93NUMPY", "the file ends within the header"),
        (b"\x93NUMPY\x01\x00\xff\x00{", "the file ends within the header"),
        (b"\x93NUMPY\x04\x00\x00\x00", "version 4.0 of the format is not known"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", "a header of 4294967295 bytes is too long"),
    ];
    for (bytes, wanted) in cases {
        let error = read(bytes, expect(1)).unwrap_err();
        assert_eq!(error.code.to_string(), "D0008");
        assert!(error.message.ends_with(wanted), "{error}");
    }
}

#[test]
fn files_longer_than_a_block_are_read() {
    // Large enough for several blocks, and not a multiple of one.
    let values: Vec<f32> = (0..200_003).map(|number| number as f32 * 0.5).collect();
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows");
    std::fs::write(&path, npy(&header("<f4", false, "(200003, 1)"), &data)).unwrap();
    let rows = read_rows(&DataSource::Path(path), expect(1)).unwrap();
    assert_eq!((rows.rows, rows.into_f32()), (200_003, values));
}
