//! Tests of Parquet and Arrow files and archives: the rows read, the refusals, and shards.
use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::{archive, arrow, arrow_stream, features, npy, parquet, show, shown, table};
use arrow_array::types::{Float16Type, Int32Type};
use arrow_array::{
    ArrayRef, BinaryArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int8Array,
    Int64Array, ListArray, NullArray, PrimitiveArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use parquet::basic::Compression;
use schedc_data::{
    DataError, DataSource, Expect, FeatureValues, MissingNumber, Precision, Reading, RowStream, Rows,
    WholePrecision, read_rows,
};

const PLAIN: Compression = Compression::UNCOMPRESSED;

fn source(bytes: &[u8]) -> DataSource {
    DataSource::Bytes { name: "rows".to_owned(), bytes: bytes.to_vec() }
}

/// A table of columns with these names.
fn columns<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

fn numbers(number: usize) -> ArrayRef {
    Arc::new(Int8Array::from_iter_values((0..number).map(|value| value as i8)))
}

/// The table in every format that has names.
fn formats(table: &RecordBatch, part: usize) -> [(&'static str, Vec<u8>); 3] {
    [
        ("parquet", parquet(table, part, PLAIN)),
        ("arrow", arrow(table, part, None)),
        ("stream", arrow_stream(table, part)),
    ]
}

fn names(text: &str) -> Vec<String> {
    text.split(' ').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn refused(result: Result<Rows, DataError>) -> (String, String) {
    let error = result.unwrap_err();
    (error.to_string(), error.help.clone().unwrap_or_default())
}

#[test]
fn columns_are_found_by_name_and_missing_values_are_nan() {
    let features = features();
    for part in [3, 100] {
        for (format, bytes) in formats(&table(11), part) {
            let rows = read_rows(&source(&bytes), Expect::named(&features)).unwrap();
            assert_eq!(show(&rows), shown(0..11), "{format}");
            assert_eq!(rows.names, Some(features.clone()), "{format}");
            assert!(matches!(rows.values, FeatureValues::F64(_)), "{format}: doubles are wide");
        }
    }
}

#[test]
fn types_of_columns_convert_as_those_of_arrays() {
    let halves: ArrayRef =
        Arc::new(PrimitiveArray::<Float16Type>::from_iter([Some(1.5), None].map(|value| {
            value.map(|value: f32| <Float16Type as arrow_array::ArrowPrimitiveType>::Native::from_f32(value))
        })));
    let narrow = columns([("a", numbers(2)), ("b", halves), ("c", Arc::new(NullArray::new(2)))]);
    let wide = columns([
        ("a", Arc::new(UInt32Array::from(vec![u32::MAX, 0]))),
        ("b", Arc::new(Int64Array::from(vec![(1 << 53) + 1, i64::MIN]))),
        ("c", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
    ]);
    for (format, bytes) in formats(&wide, 9) {
        let rows = read_rows(&source(&bytes), Expect::unnamed(3)).unwrap();
        let wanted = "4294967295 9007199254740992 18446744073709552000 | 0 -9223372036854776000 nan";
        assert_eq!(show(&rows), wanted, "{format}");
        // Integers that a double cannot hold are rounded as those of text are.
        let text = "4294967295,9007199254740993,18446744073709551615\n0,-9223372036854775808,\n";
        assert_eq!(show(&read_rows(&source(text.as_bytes()), Expect::unnamed(3)).unwrap()), wanted);
    }
    for (format, bytes) in formats(&narrow, 9) {
        let rows = read_rows(&source(&bytes), Expect::unnamed(3)).unwrap();
        assert_eq!(show(&rows), "0 1.5 nan | 1 nan nan", "{format}");
        assert!(matches!(rows.values, FeatureValues::F32(_)), "{format}: single precision holds all of it");
    }
}

/// Whole numbers whose nearest float differs if they are rounded to a double first.
#[test]
fn whole_numbers_are_rounded_once() {
    // Slightly above the middle of two floats. Rounded to a double first, it is exactly the middle.
    let large = (1_i64 << 61) + (1 << 37) + 1;
    assert_ne!(large as f32, large as f64 as f32);
    let whole =
        |of_tables, of_arrays| Expect::unnamed(1).with_whole_numbers(WholePrecision { of_tables, of_arrays });
    let single = f64::from(large as f32);
    let shown = |bytes: &[u8], expect| {
        read_rows(&source(bytes), expect).map(|rows| rows.into_f64()).map_err(|error| error.to_string())
    };
    let column: ArrayRef = Arc::new(Int64Array::from(vec![large]));
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![large as u64]));
    for table in [columns([("a", column)]), columns([("a", unsigned)])] {
        for (format, bytes) in formats(&table, 1) {
            let expect = whole(Precision::Single, Precision::Double);
            assert_eq!(shown(&bytes, expect), Ok(vec![single]), "{format}");
            let expect = whole(Precision::Double, Precision::Single);
            assert_eq!(shown(&bytes, expect), Ok(vec![large as f64]), "{format}");
        }
    }
    let text = format!("a\n{large}\n");
    assert_eq!(shown(text.as_bytes(), whole(Precision::Single, Precision::Double)), Ok(vec![single]));
    assert_eq!(shown(text.as_bytes(), whole(Precision::Double, Precision::Single)), Ok(vec![large as f64]));
    for (descr, bytes) in [("<i8", large.to_le_bytes()), (">u8", large.to_be_bytes())] {
        let array =
            npy(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1, 1), }}"), &bytes);
        assert_eq!(shown(&array, whole(Precision::Double, Precision::Single)), Ok(vec![single]), "{descr}");
        assert_eq!(
            shown(&array, whole(Precision::Single, Precision::Double)),
            Ok(vec![large as f64]),
            "{descr}"
        );
    }
}

#[test]
fn columns_that_are_no_numbers_are_refused_by_name() {
    let codes: DictionaryArray<Int32Type> = ["a", "b"].into_iter().collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)]), Some([None])]);
    let cases: [(ArrayRef, &str); 6] = [
        (
            Arc::new(StringArray::from(vec!["a", "b"])),
            "text, and the model does not say which numbers stand for it",
        ),
        (
            Arc::new(codes),
            "a dictionary (pandas: a category), and the model does not say which numbers stand for it",
        ),
        (Arc::new(Decimal128Array::from(vec![1, 2])), "decimals, not numbers"),
        (Arc::new(Date32Array::from(vec![1, 2])), "dates or times, not numbers"),
        (Arc::new(BinaryArray::from(vec![b"a".as_slice(), b"b"])), "bytes, not numbers"),
        (Arc::new(lists), "lists, not numbers"),
    ];
    for (column, wanted) in cases {
        let table = columns([("a", numbers(2)), ("b", column)]);
        for (format, bytes) in formats(&table, 9) {
            let (error, help) = refused(read_rows(&source(&bytes), Expect::named(&names("a b"))));
            let wanted = format!("D0020: rows, column 2 (b): a feature's column holds {wanted}");
            assert!(error.starts_with(&wanted) && !help.is_empty(), "{format}: {error}");
            // A column that is no feature may have any type.
            assert!(read_rows(&source(&bytes), Expect::named(&names("a"))).is_ok(), "{format}");
        }
    }
}

#[test]
fn names_are_matched_as_those_of_text() {
    // Messages on names are equal for all formats, except for the place.
    let cases = [
        ("a b", "a c", "D0006", "lacks features of the model: \"c\""),
        ("A b", "a c", "D0006", "lacks all features of the model: \"a\", \"c\""),
        ("a b a", "a b", "D0007", "columns 1 and 3 have the same name"),
        ("a b", "a a", "D0016", "features 0 and 1 of the model are both named \"a\""),
        ("f1 f0", "2", "D0017", "the columns are named f0, f1 ... in another order"),
        ("a b c", "2", "D0004", "3 columns"),
    ];
    for (header, model, code, wanted) in cases {
        let header = names(header);
        let fields: Vec<(&str, ArrayRef, bool)> =
            header.iter().map(|name| (name.as_str(), numbers(2), true)).collect();
        let table = RecordBatch::try_from_iter_with_nullable(fields).unwrap();
        let text = format!("{}\n{}\n", header.join(","), vec!["1"; header.len()].join(","));
        let model_names = names(model);
        let expect = match model.parse() {
            Ok(columns) => Expect::unnamed(columns),
            Err(_) => Expect::named(&model_names),
        };
        for (format, bytes) in formats(&table, 9).into_iter().chain([("text", text.into_bytes())]) {
            let (error, help) = refused(read_rows(&source(&bytes), expect));
            assert!(error.starts_with(code) && error.contains(wanted), "{format}: {error}");
            assert!(!help.is_empty(), "{format}");
        }
    }
    let table = columns([("f1", numbers(2)), ("f0", numbers(2))]);
    for (format, bytes) in formats(&table, 9) {
        let rows = read_rows(&source(&bytes), Expect::unnamed(2).by_position(true)).unwrap();
        assert_eq!(show(&rows), "0 0 | 1 1", "{format}");
        let error = refused(read_rows(&source(&bytes), Expect::untold(2))).0;
        assert!(error.starts_with("D0017: rows: the file cannot be matched"), "{format}: {error}");
    }
}

/// The rows of all pieces as text, and the kept columns.
fn pieces(
    source: &DataSource,
    expect: Expect<'_>,
    reading: Reading<'_>,
    most: usize,
) -> Result<String, DataError> {
    let mut stream = RowStream::open(source, expect, reading)?;
    let promised = stream.rows();
    let (mut text, mut rows) = (Vec::new(), 0);
    while let Some(batch) = stream.next(most)? {
        assert!((1..=most).contains(&batch.rows));
        rows += batch.rows as u64;
        let columns = expect.columns;
        // Rows are printed in the same form, row-major or column-major.
        let single = batch.columns.iter().all(|column| matches!(column, FeatureValues::F32(_)));
        let value = |column: &FeatureValues, row: usize| match column {
            FeatureValues::F32(values) => f64::from(values[row]),
            FeatureValues::F64(values) => values[row],
        };
        let by_row = || (0..batch.rows).flat_map(|row| batch.columns.iter().map(move |of| value(of, row)));
        let values = match single {
            _ if batch.columns.is_empty() => batch.values,
            true => FeatureValues::F32(by_row().map(|x| x as f32).collect()),
            false => FeatureValues::F64(by_row().collect()),
        };
        text.push(show(&Rows { values, rows: batch.rows, columns, names: None, notes: Vec::new() }));
    }
    assert!(promised.is_none_or(|promised| promised == rows), "{promised:?} rows promised, {rows} read");
    Ok(text.join(" | "))
}

#[test]
fn shards_together_are_the_whole() {
    let features = features();
    let mut files = formats(&table(23), 4).to_vec();
    files.pop();
    let data: Vec<u8> = (0..23 * 4 * 4).map(|byte| byte as u8).collect();
    for (order, name) in [("False", "npy"), ("True", "fortran")] {
        let header = format!("{{'descr': '<i4', 'fortran_order': {order}, 'shape': (23, 4), }}");
        files.push((name, npy(&header, &data)));
        files.push(("npz", archive(&[("X.npy", &npy(&header, &data))], true)));
    }
    for (format, bytes) in files {
        let whole = pieces(&source(&bytes), Expect::named(&features), Reading::default(), 5).unwrap();
        for of in [1, 2, 7, 40] {
            let shard = |number| {
                let shard = Some(format!("{number}/{of}").parse().unwrap());
                let reading = Reading { shard, ..Reading::default() };
                pieces(&source(&bytes), Expect::named(&features), reading, 5).unwrap()
            };
            let by_column = |number| {
                let shard = Some(format!("{number}/{of}").parse().unwrap());
                let reading = Reading { shard, by_column: true, ..Reading::default() };
                pieces(&source(&bytes), Expect::named(&features), reading, 5).unwrap()
            };
            let same: Vec<String> = (0..of).map(by_column).filter(|part| !part.is_empty()).collect();
            assert_eq!(same.join(" | "), whole, "{format} in {of}, by column");
            let parts: Vec<String> = (0..of).map(shard).filter(|part| !part.is_empty()).collect();
            assert_eq!(parts.join(" | "), whole, "{format} in {of}");
        }
    }
    for bytes in [arrow_stream(&table(23), 4), b"1,2,3,4\n".to_vec()] {
        let reading = Reading { shard: Some("0/2".parse().unwrap()), ..Reading::default() };
        let error = pieces(&source(&bytes), Expect::named(&features), reading, 5).unwrap_err();
        assert!(error.to_string().starts_with("D0025: rows: "), "{error}");
    }
}

#[test]
fn arrays_by_columns_are_read_in_pieces() {
    let data: Vec<u8> = (0..7 * 3).collect();
    let file = npy("{'descr': '|u1', 'fortran_order': True, 'shape': (7, 3), }", &data);
    let wanted: Vec<String> = (0..7).map(|row| format!("{row} {} {}", row + 7, row + 14)).collect();
    for most in [1, 2, 7, 100] {
        let read = pieces(&source(&file), Expect::unnamed(3), Reading::default(), most).unwrap();
        assert_eq!(read, wanted.join(" | "), "{most}");
    }
}

/// With `by_column`, files that are stored by columns are returned as columns, each in its own type.
#[test]
fn columns_of_files_are_returned_as_columns() {
    let table = columns([
        ("f0", numbers(7)),
        ("f1", Arc::new(Int8Array::from((0..7).map(|row| (row != 3).then_some(row)).collect::<Vec<_>>()))),
    ]);
    let array = npy("{'descr': '|u1', 'fortran_order': True, 'shape': (7, 2), }", &[9; 14]);
    let in_rows = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (7, 2), }", &[9; 14]);
    let mut files = formats(&table, 3).to_vec();
    files.extend([
        ("fortran", array.clone()),
        ("fortran npz", archive(&[("X.npy", &array)], true)),
        ("npy", in_rows),
    ]);
    for (format, bytes) in files {
        let reading = Reading { by_column: true, ..Reading::default() };
        let missing = Some(MissingNumber { value: 5.0, single: true });
        let expect = Expect::unnamed(2).by_position(true).with_missing(missing);
        let mut stream = RowStream::open(&source(&bytes), expect, reading).unwrap();
        let batch = stream.next(100).unwrap().unwrap();
        let stored_by_column = !matches!(format, "npy" | "csv");
        assert_eq!(batch.columns.len(), if stored_by_column { 2 } else { 0 }, "{format}");
        assert_eq!(batch.rows, 7, "{format}");
        if let [_, FeatureValues::F32(second)] = batch.columns.as_slice()
            && !format.contains("fortran")
        {
            let missing: Vec<bool> = second.iter().map(|x| x.is_nan()).collect();
            assert_eq!(missing, [false, false, false, true, false, true, false], "{format}");
        }
        assert!(!stored_by_column || matches!(batch.columns[1], FeatureValues::F32(_)), "{format}");
    }
}

#[test]
fn the_array_of_an_archive_is_chosen() {
    let array = |value: u8| npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1), }", &[value]);
    let (one, two) = (array(1), array(2));
    let read = |files: &[(&str, &[u8])], array: Option<&str>| {
        let bytes = archive(files, true);
        pieces(&source(&bytes), Expect::unnamed(1), Reading { array, ..Reading::default() }, 9)
            .map_err(|error| error.to_string())
    };
    assert_eq!(read(&[("X.npy", &one)], None).unwrap(), "1");
    assert_eq!(read(&[("X.npy", &one), ("note.txt", b"x")], None).unwrap(), "1");
    assert_eq!(read(&[("X.npy", &one), ("y.npy", &two)], Some("y")).unwrap(), "2");
    type Files<'a> = &'a [(&'a str, &'a [u8])];
    let cases: [(Files<'_>, Option<&str>, &str); 5] = [
        (&[("X.npy", &one), ("y.npy", &two)], None, "D0022: rows: the archive holds 2 arrays: \"X\", \"y\""),
        (&[("X.npy", &one)], Some("Z"), "D0022: rows: the archive holds no array \"Z\", but \"X\""),
        (&[("sheet.xml", b"x")], None, "D0022: rows: the zip archive holds no .npy array"),
        (&[("xl/sheet.xml", b"x")], None, "D0022: rows: this is a workbook of Excel"),
        (
            &[("rows.csv", b"1")],
            None,
            "D0022: rows: this is a zip archive with \"rows.csv\", and only arrays",
        ),
    ];
    for (files, array, wanted) in cases {
        let error = read(files, array).unwrap_err();
        assert!(error.starts_with(wanted), "{error}");
    }
    let error =
        pieces(&source(&one), Expect::unnamed(1), Reading { array: Some("X"), ..Reading::default() }, 9);
    assert!(error.unwrap_err().to_string().starts_with("D0022: rows: "));
}

fn write(folder: &Path, files: &[(&str, &[u8])]) {
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
    }
}

#[test]
fn folders_are_one_table_in_the_order_of_names() {
    let features = features();
    let expect = Expect::named(&features);
    let (first, second) = (table(9).slice(0, 5), table(9).slice(5, 4));
    let text = "float,double,integer,truth,user\n0.5,1,2,true,x\n";
    let folder = tempfile::tempdir().unwrap();
    let place = DataSource::from_argument(folder.path());
    write(
        folder.path(),
        &[
            ("part-2.parquet", &parquet(&second, 2, PLAIN)),
            ("part-1.parquet", &parquet(&first, 2, PLAIN)),
            ("_SUCCESS", b""),
            (".part-1.parquet.crc", b"crc"),
        ],
    );
    assert_eq!(pieces(&place, expect, Reading::default(), 3).unwrap(), shown(0..9));
    assert_eq!(show(&read_rows(&place, expect).unwrap()), shown(0..9));
    for of in [2, 3, 9] {
        let shard = |number: usize| {
            let shard = Some(format!("{number}/{of}").parse().unwrap());
            pieces(&place, expect, Reading { shard, ..Reading::default() }, 3).unwrap()
        };
        let parts: Vec<String> = (0..of).map(shard).filter(|part| !part.is_empty()).collect();
        assert_eq!(parts.join(" | "), shown(0..9), "{of}");
    }
    write(folder.path(), &[("part-3.csv", text.as_bytes())]);
    let error = read_rows(&place, expect).unwrap_err().to_string();
    assert!(error.starts_with("D0023: ") && error.contains("part-3.csv is text"), "{error}");
    fs::remove_file(folder.path().join("part-3.csv")).unwrap();
    fs::create_dir(folder.path().join("day=1")).unwrap();
    let error = read_rows(&place, expect).unwrap_err().to_string();
    assert!(error.starts_with("D0023: ") && error.contains("day=1"), "{error}");

    let texts = tempfile::tempdir().unwrap();
    write(texts.path(), &[("b.csv", text.as_bytes()), ("a.csv", text.as_bytes())]);
    let rows = read_rows(&DataSource::from_argument(texts.path()), expect).unwrap();
    assert_eq!(show(&rows), "1 1 0.5 2 | 1 1 0.5 2");
}

#[test]
fn columns_that_cannot_be_kept_are_refused() {
    let features = features();
    let attempt = |bytes: &[u8], keep: &str| {
        let keep = names(keep);
        let reading = Reading { keep: &keep, ..Reading::default() };
        pieces(&source(bytes), Expect::named(&features), reading, 9).map_err(|error| error.to_string())
    };
    let files = formats(&table(3), 9);
    for (format, bytes) in files
        .iter()
        .map(|(format, bytes)| (*format, bytes.as_slice()))
        .chain([("text", b"float,double,integer,truth,user,colour\n0,0,-2,1,a,red\n".as_slice())])
    {
        assert!(attempt(bytes, "user colour").is_ok(), "{format}");
        for keep in ["users", "user user"] {
            let error = attempt(bytes, keep).unwrap_err();
            assert!(error.starts_with("D0024: rows"), "{format}: {error}");
        }
    }
    assert!(attempt(b"1,2,3,4\n", "user").unwrap_err().starts_with("D0024: rows, line 1: "));
    let array = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 4), }", &[0; 4]);
    assert!(attempt(&array, "user").unwrap_err().starts_with("D0024: rows: "));

    let folder = tempfile::tempdir().unwrap();
    let key = |column: ArrayRef| parquet(&columns([("a", numbers(1)), ("key", column)]), 9, PLAIN);
    write(
        folder.path(),
        &[
            ("1", &key(Arc::new(Int64Array::from(vec![1])))),
            ("2", &key(Arc::new(Float64Array::from(vec![1.0])))),
        ],
    );
    let (model, keep) = (names("a"), names("key"));
    let reading = Reading { keep: &keep, ..Reading::default() };
    let error =
        pieces(&DataSource::from_argument(folder.path()), Expect::named(&model), reading, 9).unwrap_err();
    assert!(error.to_string().contains("D0024: ") && error.to_string().contains("another type"), "{error}");
}

#[test]
fn kept_columns_are_no_features_by_position() {
    let table = columns([("key", numbers(2)), ("x", numbers(2))]);
    let keep = names("key");
    for (format, bytes) in formats(&table, 9).into_iter().chain([("text", b"key,x\n0,0\n1,1\n".to_vec())]) {
        let read =
            |keep| pieces(&source(&bytes), Expect::unnamed(1), Reading { keep, ..Reading::default() }, 9);
        assert_eq!(read(&keep).unwrap(), "0 | 1", "{format}");
        assert!(read(&[]).unwrap_err().to_string().starts_with("D0004: rows"), "{format}");
    }
}
