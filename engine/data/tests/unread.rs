//! Features that the model never reads: their cells may hold anything, and tables may lack their columns.
use crate::common::{arrow, arrow_stream, npy, parquet, read, show};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Date32Array, Float32Array, ListArray, RecordBatch, StringArray};
use parquet::basic::Compression;
use sched_categories::{Categories, Choices, Label, Names, Unseen};
use schedc_data::{DataError, Expect, FeatureValues, Rows};
use std::sync::Arc;

/// Rows for a model that reads `age` and the texts of `city`, and has two more features.
fn rows(bytes: &[u8], by_position: bool) -> Result<Rows, DataError> {
    let names = ["name", "age", "city", "id"].map(str::to_owned);
    let cities = Names::texts(["Rome", "Oslo"].map(|city| Label::Text(city.to_owned())).to_vec());
    let all = [Names::unread(), Names::default(), cities, Names::unread()];
    let categories = Categories::new(all, Choices::default(), Unseen::Other);
    read(bytes, Expect::named(&names).by_position(by_position).with_categories(Some(&categories)))
}

/// The rows as text, or the first line of the error.
fn outcome(bytes: &[u8], by_position: bool) -> String {
    match rows(bytes, by_position) {
        Ok(rows) => show(&rows),
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

#[test]
fn text_may_hold_or_lack_them() {
    let by_name = [
        ("name,age,city,id\nAda,36,Oslo,x1\n\"B,\nC\",,Rome,\n", "nan 36 1 nan | nan nan 0 nan"),
        ("id,city,name,age\nx1,Oslo,Ada,36\n", "nan 36 1 nan"),
        ("city,age\nOslo,36\n", "nan 36 1 nan"),
        ("age,id,city\n36,x1,Oslo\n", "nan 36 1 nan"),
        // Columns that nothing reads need no names of their own.
        ("name,name,age,city\nAda,Bob,36,Oslo\n", "nan 36 1 nan"),
        ("Ada,36,Oslo,x1\n7,37,Rome,8\n", "nan 36 1 nan | nan 37 0 nan"),
        // The features that are read keep their rules.
        (
            "name,city,id\nAda,Oslo,x1\n",
            "D0006: rows, line 1: the header lacks features of the model: \"age\"",
        ),
        ("36,1\n", "D0004: rows, line 1: the line has 2 columns, and the model wants 4 features"),
        (
            "a,b,c\n1,2,3\n",
            "D0006: rows, line 1: the header lacks all features of the model: \"age\", \"city\"",
        ),
        ("age,city\nAda,Oslo\n", "D0005: rows, line 2, column 1 (age): \"Ada\" is not a number"),
        (
            "age,age,city\n1,2,Oslo\n",
            "D0007: rows, line 1, column 2 (age): columns 1 and 2 have the same name",
        ),
    ];
    let by_position = [
        ("a,b,c,d\nAda,36,Oslo,x1\n", "nan 36 1 nan"),
        ("Ada,36,Oslo,x1\n", "nan 36 1 nan"),
        (
            "age,city\n36,Oslo\n",
            "D0004: rows, line 1: the line has 2 columns, and the model wants 4 features",
        ),
    ];
    let by_name = by_name.map(|(text, wanted)| (text, wanted, false));
    for (text, wanted, by_position) in
        by_name.into_iter().chain(by_position.map(|(text, wanted)| (text, wanted, true)))
    {
        assert_eq!(outcome(text.as_bytes(), by_position), wanted, "{text}");
    }
}

#[test]
fn tables_may_hold_columns_of_every_type() {
    let ages: ArrayRef = Arc::new(Float32Array::from(vec![36.0, 41.0, 12.0]));
    let cities: ArrayRef = Arc::new(StringArray::from(vec!["Oslo", "Rome", "Bonn"]));
    let lists = (0..3).map(|row| Some(vec![Some(row)]));
    let others: [ArrayRef; 3] = [
        Arc::new(StringArray::from(vec![Some("Ada"), None, Some("7")])),
        Arc::new(Date32Array::from(vec![1, 2, 3])),
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
    ];
    let formats = |columns: &[(&str, &ArrayRef)]| {
        let columns = columns.iter().map(|(name, column)| (*name, Arc::clone(column), true));
        let table = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        [parquet(&table, 2, Compression::UNCOMPRESSED), arrow(&table, 2, None), arrow_stream(&table, 2)]
    };
    let wanted = "nan 36 1 nan | nan 41 0 nan | nan 12 -1 nan";
    for other in &others {
        let kind = other.data_type();
        for bytes in formats(&[("name", other), ("age", &ages), ("city", &cities), ("id", other)]) {
            assert_eq!(outcome(&bytes, false), wanted, "{kind}");
            assert_eq!(outcome(&bytes, true), wanted, "{kind}");
        }
        for bytes in formats(&[("id", other), ("city", &cities), ("age", &ages)]) {
            let read = rows(&bytes, false).unwrap();
            assert_eq!(show(&read), wanted, "{kind}");
            assert!(matches!(read.values, FeatureValues::F32(_)), "{kind}");
        }
        for bytes in formats(&[("name", other), ("city", &cities)]) {
            assert_eq!(outcome(&bytes, false), "D0006: rows: the file lacks features of the model: \"age\"");
        }
    }
}

#[test]
fn arrays_have_their_columns() {
    let data: Vec<u8> = [0.5_f32, 36.0, 1.0, f32::INFINITY].into_iter().flat_map(f32::to_le_bytes).collect();
    let header =
        |columns: usize| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {columns}), }}\n");
    assert_eq!(outcome(&npy(&header(4), &data), false), "0.5 36 1 inf");
    assert!(outcome(&npy(&header(2), &data[..8]), false).starts_with("D0004"));
}
