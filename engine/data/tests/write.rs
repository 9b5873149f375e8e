//! Tests of writing tables: a file appears whole or not at all.
use std::fs;
use std::io;
use std::path::Path;

use crate::common::{arrow, arrow_stream, features, parquet, read, show, table};
use ::parquet::basic::Compression;
use schedc_data::{
    DataError, DataSource, Destination, Expect, FeatureValues, NumberType, Reading, ResultNumbers,
    ResultTable, RowStream, TableLayout, TableWriter, read_rows, replace_atomically, write_atomically,
    write_table, write_together,
};

/// The text or bytes of a table as a file.
fn written(name: &str, values: ResultNumbers<'_>, columns: usize) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    let table = ResultTable { values, columns, heading: "prediction" };
    write_table(&table, &Destination::Path(path.clone())).unwrap();
    assert_eq!(names_in(directory.path()), [name]);
    fs::read(path).unwrap()
}

/// The names of a directory's entries.
fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn csv_is_short_and_reads_back() {
    let singles = ResultNumbers::F32(&[0.1, -1.0, 1e-7, f32::MAX, f32::NAN, f32::NEG_INFINITY]);
    let doubles = ResultNumbers::F64(&[0.1, 1.0 / 3.0]);
    let cases = [
        (singles, 1, "prediction\n0.1\n-1.0\n1e-7\n3.4028235e38\nNaN\n-inf\n"),
        (singles, 3, "prediction_0,prediction_1,prediction_2\n0.1,-1.0,1e-7\n3.4028235e38,NaN,-inf\n"),
        (doubles, 2, "prediction_0,prediction_1\n0.1,0.3333333333333333\n"),
        (ResultNumbers::I32(&[-1, 2]), 1, "prediction\n-1\n2\n"),
        (ResultNumbers::F32(&[]), 2, "prediction_0,prediction_1\n"),
    ];
    for (values, columns, wanted) in cases {
        let file = written("out.csv", values, columns);
        assert_eq!(String::from_utf8(file.clone()).unwrap(), wanted);
        assert!(read(&file, Expect::unnamed(columns)).is_ok());
    }
}

#[test]
fn arrays_read_back() {
    let cases = [
        (ResultNumbers::F32(&[0.5, 1.0, -3.0, 4.0]), 1, "0.5 | 1 | -3 | 4", "(4,)"),
        (ResultNumbers::F32(&[0.5, 1.0, -3.0, 4.0]), 2, "0.5 1 | -3 4", "(2, 2)"),
        (ResultNumbers::F64(&[0.1]), 1, "0.1", "(1,)"),
        (ResultNumbers::I32(&[7, i32::MIN]), 2, "7 -2147483648", "(1, 2)"),
        (ResultNumbers::F32(&[]), 3, "", "(0, 3)"),
    ];
    for (values, columns, wanted, shape) in cases {
        let file = written("OUT.NPY", values, columns);
        assert_eq!(show(&read(&file, Expect::unnamed(columns)).unwrap()), wanted);
        let text = String::from_utf8_lossy(&file);
        assert!(text.contains(&format!("'shape': {shape}, }}")), "{text}");
        assert_eq!(file.iter().position(|&byte| byte == b'\n').map(|end| (end + 1) % 64), Some(0));
    }
}

#[test]
fn labels_are_texts_in_every_format() {
    let labels = ["no", "\u{e4}\u{1f600}b", "a,\"c\""].map(str::to_owned).to_vec();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = folder.path().join(name);
        let rows = read(b"1\n2\n3\n4\n", Expect::unnamed(1)).unwrap().rows;
        let mut stream = RowStream::open(
            &DataSource::Bytes { name: "rows".to_owned(), bytes: b"1\n2\n3\n4\n".to_vec() },
            Expect::unnamed(1),
            Reading::default(),
        )
        .unwrap();
        let batch = stream.next(rows).unwrap().unwrap();
        let layout = TableLayout::of("class", 1, NumberType::I32, stream.kept()).with_labels(labels.clone());
        let mut writer = TableWriter::create(&Destination::Path(path.clone()), &layout).unwrap();
        assert!(writer.write(ResultNumbers::I32(&[0; 4]), &batch).is_err(), "numbers are no labels");
        writer.write(ResultNumbers::Label(&[2, 0, 1, 0]), &batch).unwrap();
        writer.finish().unwrap();
        path
    };
    let text = fs::read_to_string(write("out.csv")).unwrap();
    assert_eq!(text, "class\n\"a,\"\"c\"\"\"\nno\n\u{e4}\u{1f600}b\nno\n");
    for name in ["out.parquet", "out.arrow"] {
        // The written column is read again, as a kept one.
        let keep = ["class".to_owned()];
        let source = DataSource::Path(write(name));
        let reading = Reading { keep: &keep, ..Reading::default() };
        let mut stream = RowStream::open(&source, Expect::named(&[]), reading).unwrap();
        let batch = stream.next(9).unwrap().unwrap();
        let again = folder.path().join("again.csv");
        let layout = TableLayout::of("row", 1, NumberType::I32, stream.kept());
        let mut writer = TableWriter::create(&Destination::Path(again.clone()), &layout).unwrap();
        writer.write(ResultNumbers::I32(&[0, 1, 2, 3]), &batch).unwrap();
        writer.finish().unwrap();
        let wanted = "class,row\n\"a,\"\"c\"\"\",0\nno,1\n\u{e4}\u{1f600}b,2\nno,3\n";
        assert_eq!(fs::read_to_string(again).unwrap(), wanted, "{name}");
    }
    let array = fs::read(write("out.npy")).unwrap();
    let header = String::from_utf8_lossy(&array[10..128]);
    assert!(header.starts_with("{'descr': '<U5', 'fortran_order': False, 'shape': (4,), }"), "{header}");
    let letters = |text: &str| -> Vec<u8> {
        let mut bytes: Vec<u8> = text.chars().flat_map(|letter| (letter as u32).to_le_bytes()).collect();
        bytes.resize(20, 0);
        bytes
    };
    let wanted = [letters("a,\"c\""), letters("no"), letters("\u{e4}\u{1f600}b"), letters("no")].concat();
    assert_eq!(array[128..], wanted);
}

#[test]
fn tables_that_cannot_be_written_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("taken.csv")).unwrap();
    let cases = [
        ("out.txt", 1, "D0013", "the extension of the file names no format"),
        ("out", 1, "D0013", "the extension of the file names no format"),
        ("absent/out.csv", 1, "D0012", "its directory does not exist"),
        ("taken.csv", 1, "D0012", "this is a directory"),
        ("out.csv", 2, "D0014", "3 values do not fill rows of 2 columns"),
        ("out.csv", 0, "D0014", "3 values do not fill rows of 0 columns"),
    ];
    for (name, columns, code, message) in cases {
        let destination = Destination::from_argument(directory.path().join(name));
        let table = ResultTable { values: ResultNumbers::I32(&[1, 2, 3]), columns, heading: "leaf" };
        let error = write_table(&table, &destination).unwrap_err();
        assert_eq!((error.code.to_string().as_str(), error.message.as_str()), (code, message), "{name}");
    }
    assert_eq!(names_in(directory.path()), ["taken.csv"]);
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("artefact");
    fs::write(&path, "old").unwrap();
    let failed = write_atomically(&path, |writer| {
        writer.write_all(b"half of the ne")?;
        Err(io::ErrorKind::StorageFull.into())
    });
    assert_eq!(failed.unwrap_err().message, "the disk is full");
    let failed = replace_atomically(&path, |beside| {
        fs::write(beside, "half").unwrap();
        Err::<(), DataError>(write_atomically(directory.path(), |_| Ok(())).unwrap_err())
    });
    assert_eq!(failed.unwrap_err().message, "this is a directory");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names_in(directory.path()), ["artefact"]);

    write_atomically(&path, |writer| writer.write_all(b"new")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    replace_atomically(&path, |beside| fs::write(beside, "newer").map_err(|_| unreachable_error())).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "newer");
    assert_eq!(names_in(directory.path()), ["artefact"]);
}

#[test]
fn files_that_belong_together_appear_together() {
    let directory = tempfile::tempdir().unwrap();
    let [library, header] = ["model.so", "model.h"].map(|name| directory.path().join(name));
    fs::write(&library, "old").unwrap();
    fs::create_dir(&header).unwrap();
    let files: [(&Path, &[u8]); 2] = [(&library, b"new"), (&header, b"text")];
    assert_eq!(write_together(&files).unwrap_err().message, "this is a directory");
    let full: [(&Path, &[u8]); 2] = [(&library, b"new"), (Path::new("/dev/full"), b"text")];
    assert_eq!(write_together(&full).unwrap_err().message, "the disk is full");
    assert_eq!(fs::read_to_string(&library).unwrap(), "old");
    assert_eq!(names_in(directory.path()), ["model.h", "model.so"]);

    fs::remove_dir(&header).unwrap();
    write_together(&files).unwrap();
    assert_eq!(fs::read_to_string(&library).unwrap(), "new");
    assert_eq!(fs::read_to_string(&header).unwrap(), "text");
}

/// An error for code that is not reached: writing into a new temporary directory does not fail.
fn unreachable_error() -> DataError {
    write_atomically(Path::new("/"), |_| Ok(())).unwrap_err()
}

#[cfg(unix)]
#[test]
fn links_devices_and_modes_are_respected() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let directory = tempfile::tempdir().unwrap();
    let (target, link) = (directory.path().join("target.csv"), directory.path().join("link.csv"));
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, PermissionsExt::from_mode(0o640)).unwrap();
    symlink("target.csv", &link).unwrap();
    write_atomically(&link, |writer| writer.write_all(b"new")).unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);

    // A new file has the mode that any new file gets, not the private one of temporary files.
    let (fresh, plain) = (directory.path().join("fresh"), directory.path().join("plain"));
    write_atomically(&fresh, |_| Ok(())).unwrap();
    fs::write(&plain, "").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&fresh), mode(&plain));

    write_atomically(Path::new("/dev/null"), |writer| writer.write_all(b"gone")).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let refused = replace_atomically(Path::new("/dev/null"), |_| Ok::<(), DataError>(()));
    assert_eq!(refused.unwrap_err().message, "this is no regular file");
}

/// A stream of the rows of [`table`] with the columns that are kept.
fn kept<'a>(source: &DataSource, names: &'a [String], keep: &'a [String]) -> RowStream<'a> {
    RowStream::open(source, Expect::named(names), Reading { keep, ..Reading::default() }).unwrap()
}

/// Writes a number for each row, after the kept columns.
fn write_kept(source: &DataSource, keep: &[&str], result: &Path) -> Result<(), DataError> {
    let (names, keep) = (features(), keep.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let mut stream = kept(source, &names, &keep);
    let layout = TableLayout::of("class", 1, NumberType::I32, stream.kept());
    let mut writer = TableWriter::create(&Destination::from_argument(result), &layout)?;
    let mut rows = 0;
    while let Some(batch) = stream.next(4)? {
        let results: Vec<i32> = (rows..rows + batch.rows as i32).collect();
        rows += batch.rows as i32;
        assert!(writer.write(ResultNumbers::I32(&results), &batch)?);
        assert!(!result.exists(), "a file appears when it is whole");
    }
    writer.finish()
}

#[test]
fn columns_are_kept_in_tables_and_text() {
    let folder = tempfile::tempdir().unwrap();
    let keep = ["colour", "user", "integer", "double", "truth"];
    let text = "\
        colour,user,integer,double,truth,class\n\
        red,user 0,-2,0.0,true,0\n\
        blue,user 1,-1,0.3333333333333333,,1\n\
        red,user 2,,NaN,true,2\n\
        blue,,1,1.0,false,3\n\
        red,user 0,2,1.3333333333333333,true,4\n";
    for bytes in
        [parquet(&table(5), 3, Compression::SNAPPY), arrow(&table(5), 3, None), arrow_stream(&table(5), 3)]
    {
        let source = DataSource::Bytes { name: "rows".to_owned(), bytes };
        let place = |name: &str| folder.path().join(name);
        for name in ["kept.csv", "kept.parquet", "kept.arrow"] {
            let _ = fs::remove_file(place(name));
            write_kept(&source, &keep, &place(name)).unwrap();
        }
        assert_eq!(fs::read_to_string(place("kept.csv")).unwrap(), text);
        // The tables are read again: their columns are kept once more, and the classes are a feature.
        for name in ["kept.parquet", "kept.arrow"] {
            let (names, keep) = (vec!["class".to_owned()], keep.map(str::to_owned).to_vec());
            let mut stream = kept(&DataSource::Path(place(name)), &names, &keep);
            let layout = TableLayout::of("class", 1, NumberType::I32, stream.kept());
            let again = place("again.csv");
            let mut writer = TableWriter::create(&Destination::from_argument(&again), &layout).unwrap();
            while let Some(batch) = stream.next(9).unwrap() {
                let classes: Vec<i32> = match &batch.values {
                    FeatureValues::F32(values) => values.iter().map(|value| *value as i32).collect(),
                    FeatureValues::F64(values) => values.iter().map(|value| *value as i32).collect(),
                };
                writer.write(ResultNumbers::I32(&classes), &batch).unwrap();
            }
            writer.finish().unwrap();
            assert_eq!(fs::read_to_string(again).unwrap(), text, "{name}");
        }
    }
}

#[test]
fn kept_text_is_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let text = "key,truth,double,float,integer\n\"a, \"\"b\"\"\nc\",1,1,1,1\n é ,2,2,2,2\n,3,3,3,3\n";
    let source = DataSource::Bytes { name: "rows".to_owned(), bytes: text.as_bytes().to_vec() };
    let result = folder.path().join("kept.csv");
    write_kept(&source, &["key"], &result).unwrap();
    let wanted = "key,class\n\"a, \"\"b\"\"\nc\",0\n é ,1\n,2\n";
    assert_eq!(fs::read_to_string(result).unwrap(), wanted);
}

#[test]
fn kept_columns_are_refused_in_arrays_and_as_names_of_results() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = parquet(&table(5), 3, Compression::SNAPPY);
    let source = DataSource::Bytes { name: "rows".to_owned(), bytes };
    let destination = |name: &str| Destination::from_argument(folder.path().join(name));
    let keep = ["user".to_owned()];
    for name in ["a.npy", "a.npz"] {
        assert_eq!(destination(name).check(&keep).unwrap_err().code.to_string(), "D0024");
        assert!(destination(name).check(&[]).is_ok());
    }
    let names = features();
    let stream = kept(&source, &names, &keep);
    let layout = TableLayout::of("user", 1, NumberType::I32, stream.kept());
    let error = TableWriter::create(&destination("a.csv"), &layout).err().unwrap();
    assert!(error.to_string().contains("has the name of a result"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn tables_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["margin_0", "margin_1"].map(str::to_owned);
    for end in ["parquet", "arrow", "npz", "npy", "csv"] {
        for (values, wanted) in [
            (ResultNumbers::F32(&[0.1, f32::NAN, f32::INFINITY, -0.0]), "0.10000000149011612 nan | inf -0"),
            (ResultNumbers::F64(&[0.1, 1e300, -1.0, 2.0]), "0.1 1e300 | -1 2"),
            (ResultNumbers::I32(&[1, -2, i32::MAX, 0]), "1 -2 | 2147483647 0"),
            (ResultNumbers::F64(&[]), ""),
        ] {
            let path = folder.path().join(format!("table.{end}"));
            let table = ResultTable { values, columns: 2, heading: "margin" };
            write_table(&table, &Destination::from_argument(&path)).unwrap();
            let rows = read_rows(&DataSource::Path(path), Expect::named(&names)).unwrap();
            let wanted =
                if end == "csv" { wanted.replace("0.10000000149011612", "0.1") } else { wanted.to_owned() };
            assert_eq!(show(&rows), wanted.replace("1e300", &1e300.to_string()), "{end}");
        }
    }
}
