//! Tests of input besides features: numbers that stand for missing values, base margins, and remarks.
use std::sync::Arc;

use crate::common::{arrow, arrow_stream, parquet, read, show};
use arrow_array::{ArrayRef, Float32Array, Int16Array, RecordBatch, StringArray};
use parquet::basic::Compression;
use schedc_data::{DataError, DataSource, Expect, MissingNumber, Reading, RowStream};

fn source(bytes: &[u8]) -> DataSource {
    DataSource::Bytes { name: "rows".to_owned(), bytes: bytes.to_vec() }
}

/// Features `a` and `b`, an offset `o`, and a text: in CSV, Parquet and Arrow.
fn tables() -> [Vec<u8>; 4] {
    let columns: [(&str, ArrayRef); 4] = [
        ("b", Arc::new(Float32Array::from(vec![0.1, 2.0, 3.0, 4.0]))),
        ("o", Arc::new(Int16Array::from(vec![Some(7), Some(-8), Some(9), Some(10)]))),
        ("a", Arc::new(Float32Array::from(vec![Some(5.0), Some(6.0), None, Some(0.1)]))),
        ("t", Arc::new(StringArray::from(vec!["u", "v", "w", "x"]))),
    ];
    let table =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    [
        parquet(&table, 3, Compression::UNCOMPRESSED),
        arrow(&table, 3, None),
        arrow_stream(&table, 3),
        b"b,o,a,t\n0.1,7,5,u\n2,-8,6,v\n3,9,,w\n4,10,0.1,x\n".to_vec(),
    ]
}

#[test]
fn base_margins_are_read_with_rows() {
    let names = ["a", "b"].map(str::to_owned);
    // A column may be a feature, a base margin and a kept column at once.
    let keep = ["t", "o", "o", "b"].map(str::to_owned);
    for bytes in tables() {
        let reading = Reading { keep: &keep, beside: 2, ..Reading::default() };
        let mut stream = RowStream::open(&source(&bytes), Expect::named(&names), reading).unwrap();
        let mut beside = Vec::new();
        while let Some(batch) = stream.next(2).unwrap() {
            assert_eq!(batch.beside.len(), 2 * batch.rows);
            beside.extend(batch.beside.iter().map(|value| *value as f32));
        }
        assert_eq!(beside, [7.0, 0.1, -8.0, 2.0, 9.0, 3.0, 10.0, 4.0]);
    }
}

#[test]
fn base_margins_must_be_numbers() {
    let names = ["a", "b"].map(str::to_owned);
    for (column, wanted) in
        [("a", "column \"a\" holds no number in row 3"), ("t", "column \"t\" holds no number in row 1")]
    {
        let keep = [column.to_owned()];
        for bytes in tables() {
            let reading = Reading { keep: &keep, beside: 1, ..Reading::default() };
            let all = || -> Result<(), DataError> {
                let mut stream = RowStream::open(&source(&bytes), Expect::named(&names), reading)?;
                while stream.next(1)?.is_some() {}
                Ok(())
            };
            let error = all().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("D0029: rows: {wanted} of the rows that are read")),
                "{error}"
            );
        }
    }
}

#[test]
fn a_number_stands_for_missing_values() {
    let names = ["a", "b"].map(str::to_owned);
    let missing = |value, single| Expect::named(&names).with_missing(Some(MissingNumber { value, single }));
    let shown: Vec<String> =
        tables().iter().map(|bytes| show(&read(bytes, missing(0.1, true)).unwrap())).collect();
    let wanted = "5 nan | 6 2 | nan 3 | nan 4";
    assert_eq!(shown, [wanted; 4], "in single precision, both are the same number");
    let text = &tables()[3];
    assert_eq!(show(&read(text, missing(0.1, false)).unwrap()), wanted);
    assert_eq!(show(&read(text, missing(-0.0, true)).unwrap()), "5 0.1 | 6 2 | nan 3 | 0.1 4");
    assert_eq!(show(&read(b"a,b\n0,-0\n", missing(0.0, true)).unwrap()), "nan nan");
    // In double precision, the file's rounded number differs from the one to compare with.
    let [table, ..] = tables();
    let values = show(&read(&table, missing(0.1, false)).unwrap());
    assert!(!values.starts_with("5 nan"), "{values}");
}

#[test]
fn remarks_name_the_order_and_unused_columns() {
    let refusal = |names: &[&str], keep: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let keep: Vec<String> = keep.iter().map(|name| (*name).to_owned()).collect();
        let all = tables().map(|bytes| {
            let reading = Reading { keep: &keep, ..Reading::default() };
            let mut stream = RowStream::open(&source(&bytes), Expect::named(&names), reading).unwrap();
            stream.next(9).unwrap();
            let remark = stream.remark();
            assert_eq!(stream.remark(), None);
            remark
        });
        assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
        all[0].clone()
    };
    let order = "rows: columns are in another order than the model's features, and are found by name";
    assert_eq!(refusal(&["b", "o"], &["a", "t"]), None);
    assert_eq!(refusal(&["a", "b"], &["o", "t"]), Some(order.to_owned()));
    assert_eq!(refusal(&["a", "b"], &["o"]), Some(format!("{order}; others are ignored: \"t\"")));
    let wanted = "rows: ignored columns that are not features: \"o\", \"a\", \"t\"";
    assert_eq!(refusal(&["b"], &[]), Some(wanted.to_owned()));
}
