//! Tests of names of categories in rows: the look-up, unknown names, refused cells.
use crate::common;
use std::sync::Arc;

use crate::common::{arrow, arrow_stream, parquet, read, show};
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float32Array, Int8Array, Int64Array, LargeStringArray,
    RecordBatch, StringArray, StringViewArray,
};
use parquet::basic::Compression;
use sched_categories::{Categories, Choices, Label, Names, NumbersAs, Unseen};
use schedc_data::{DataError, Expect, Rows};

fn texts(names: &[&str]) -> Names {
    Names::listed(names.iter().map(|name| Label::Text((*name).to_owned())).collect())
}

/// Categories of a trainer with this treatment of unknown names.
fn of_trainer(names: Vec<Names>, unseen: Unseen) -> Categories {
    Categories::new(names, Choices::default(), unseen)
}

/// A colour, a number, and a floor whose names are numbers.
fn categories(unseen: Unseen) -> Categories {
    let floors = Names::listed([10, 20, 30].map(Label::Integer).to_vec());
    of_trainer(vec![texts(&["red", "NA", "7", "green"]), Names::default(), floors], unseen)
}

fn rows(bytes: &[u8], unseen: Unseen, by_position: bool) -> Result<Rows, DataError> {
    let names = ["colour", "x", "floor"].map(str::to_owned);
    let categories = categories(unseen);
    read(bytes, Expect::named(&names).by_position(by_position).with_categories(Some(&categories)))
}

/// The first line of an error, without its help.
fn words(error: &DataError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn columns<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

/// The table in every format that has names.
fn formats(table: &RecordBatch) -> [Vec<u8>; 3] {
    [parquet(table, 2, Compression::UNCOMPRESSED), arrow(table, 2, None), arrow_stream(table, 2)]
}

#[test]
fn names_in_text_are_codes() {
    let text = "floor,colour,x\n10,red,1\n30.0,green,2\n20,,3\n,NA,4\n10,7,5\n10,?,7\n";
    let shown = show(&rows(text.as_bytes(), Unseen::Error, false).unwrap());
    // "NA" and "7" are names.
    assert_eq!(shown, "0 1 0 | 3 2 2 | nan 3 1 | 1 4 nan | 2 5 0 | nan 7 0");
}

#[test]
fn a_row_of_names_is_no_header() {
    for text in ["red,1,10\ngreen,2,20\n", "red,1,NA\ngreen,2,20\n"] {
        let read = rows(text.as_bytes(), Unseen::Error, true).unwrap();
        assert_eq!(read.rows, 2, "{text}");
    }
    // A first line with unknown names may as well be a header.
    assert_eq!(rows(b"blue,x,0\ngreen,2,10\n", Unseen::Error, true).unwrap().rows, 1);
}

#[test]
fn unknown_names_are_treated_as_requested() {
    let text = b"floor,colour,x\n10,pink,1\n";
    let error = rows(text, Unseen::Error, false).unwrap_err();
    assert_eq!(
        words(&error),
        "D0027: rows, line 2, column 2 (colour): \"pink\" is not a category of the model"
    );
    let error = rows(b"floor,colour,x\n10,Green,1\n", Unseen::Error, false).unwrap_err();
    assert!(error.help.as_ref().unwrap().starts_with("\"green\" may be meant; "), "{:?}", error.help);
    assert_eq!(show(&rows(text, Unseen::Missing, false).unwrap()), "nan 1 0");
    assert_eq!(show(&rows(text, Unseen::Other, false).unwrap()), "-1 1 0");
    let dictionary: DictionaryArray<Int32Type> =
        [Some("pink"), Some("green"), None, Some("pink")].into_iter().collect();
    let x: ArrayRef = Arc::new(Float32Array::from(vec![1.0; 4]));
    let floor: ArrayRef = Arc::new(Int8Array::from(vec![10; 4]));
    for bytes in formats(&columns([("colour", Arc::new(dictionary)), ("x", x), ("floor", floor)])) {
        let error = words(&rows(&bytes, Unseen::Error, false).unwrap_err());
        let wanted = "D0027: rows, column 1 (colour): \"pink\" is not a category of the model, in row \
                      1 of the rows that are read";
        assert_eq!(error, wanted);
        assert_eq!(
            show(&rows(&bytes, Unseen::Missing, false).unwrap()),
            "nan 1 0 | 3 1 0 | nan 1 0 | nan 1 0"
        );
        assert_eq!(show(&rows(&bytes, Unseen::Other, false).unwrap()), "-1 1 0 | 3 1 0 | nan 1 0 | -1 1 0");
    }
}

#[test]
fn columns_of_every_kind_have_names() {
    let x: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0]));
    let names = [Some("green"), None, Some("7")];
    // One name of the dictionary is unknown, and no row has it.
    let keys = Int8Array::from(vec![Some(1), None, Some(2)]);
    let unused = Arc::new(StringArray::from(vec!["pink", "green", "7"]));
    let colours: [ArrayRef; 4] = [
        Arc::new(StringArray::from(names.to_vec())),
        Arc::new(LargeStringArray::from(names.to_vec())),
        Arc::new(StringViewArray::from(names.to_vec())),
        Arc::new(DictionaryArray::<Int8Type>::try_new(keys.clone(), unused).unwrap()),
    ];
    let whole: ArrayRef = Arc::new(Int64Array::from(vec![99, 30, 10]));
    let real: ArrayRef = Arc::new(Float32Array::from(vec![99.0, 30.0, 10.0]));
    let floors: [ArrayRef; 4] = [
        Arc::new(DictionaryArray::<Int8Type>::try_new(keys.clone(), whole).unwrap()),
        Arc::new(DictionaryArray::<Int8Type>::try_new(keys, real).unwrap()),
        Arc::new(Float32Array::from(vec![Some(30.0), None, Some(10.0)])),
        Arc::new(Int64Array::from(vec![Some(30), None, Some(10)])),
    ];
    for colour in &colours {
        for floor in &floors {
            let all = [("floor", Arc::clone(floor)), ("x", Arc::clone(&x)), ("colour", Arc::clone(colour))];
            for bytes in formats(&columns(all)) {
                let read = rows(&bytes, Unseen::Error, false).unwrap();
                assert_eq!(
                    show(&read),
                    "3 1 2 | nan 2 nan | 2 3 0",
                    "{:?} {:?}",
                    colour.data_type(),
                    floor.data_type()
                );
            }
        }
    }
}

#[test]
fn truth_values_have_names() {
    let truths =
        of_trainer(vec![Names::listed(vec![Label::Truth(true), Label::Truth(false)])], Unseen::Error);
    let names = ["a".to_owned()];
    let column: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]));
    for bytes in formats(&columns([("a", column)])) {
        let expect = Expect::named(&names).with_categories(Some(&truths));
        assert_eq!(show(&read(&bytes, expect).unwrap()), "0 | nan | 1");
    }
    // Parquet of pandas' categories: the reader itself builds no dictionaries of truth values.
    let (keys, values) =
        (Int8Array::from(vec![Some(1), None, Some(0)]), BooleanArray::from(vec![false, true]));
    let dictionary = DictionaryArray::<Int8Type>::try_new(keys, Arc::new(values)).unwrap();
    let table = columns([("a", Arc::new(dictionary))]);
    for bytes in [parquet(&table, 2, Compression::UNCOMPRESSED), arrow(&table, 2, None)] {
        let expect = Expect::named(&names).with_categories(Some(&truths));
        assert_eq!(show(&read(&bytes, expect).unwrap()), "0 | nan | 1");
    }
    let text = b"a\nTrue\nFalse\n";
    assert_eq!(show(&read(text, Expect::named(&names).with_categories(Some(&truths))).unwrap()), "0 | 1");
}

#[test]
fn cells_with_several_meanings_are_refused() {
    let refused = |bytes: &[u8]| words(&rows(bytes, Unseen::Missing, false).unwrap_err());
    let among_texts = "\"1\" is a number, and no category of this column has a number as its name";
    assert_eq!(
        refused(b"floor,colour,x\n10,1,1\n"),
        format!("D0028: rows, line 2, column 2 (colour): {among_texts}")
    );
    assert_eq!(
        refused(b"floor,colour,x\n10,green ,1\n"),
        "D0028: rows, line 2, column 2 (colour): \"green \" has blanks around it; without them it is the \
         name of a category"
    );
    let x: ArrayRef = Arc::new(Float32Array::from(vec![1.0]));
    let table = |colour: ArrayRef, floor: ArrayRef| {
        parquet(
            &columns([("colour", colour), ("x", Arc::clone(&x)), ("floor", floor)]),
            1,
            Compression::UNCOMPRESSED,
        )
    };
    let (one, floor): (ArrayRef, ArrayRef) =
        (Arc::new(Int64Array::from(vec![1])), Arc::new(Int64Array::from(vec![10])));
    let place = "in row 1 of the rows that are read";
    assert_eq!(
        refused(&table(Arc::clone(&one), Arc::clone(&floor))),
        format!("D0028: rows, column 1 (colour): {among_texts}, {place}")
    );
    let red: ArrayRef = Arc::new(StringArray::from(vec!["red"]));
    let among_numbers = "\"10\" is text, and no category of this column has a text as its name";
    assert_eq!(
        refused(&table(Arc::clone(&red), Arc::new(StringArray::from(vec!["10"])))),
        format!("D0028: rows, column 3 (floor): {among_numbers}, {place}")
    );
    let array = common::npy(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }",
        &[0_f32, 1.0, 30.0].map(f32::to_le_bytes).concat(),
    );
    let among_codes = "30 is the name of a category, and numbers of this column are codes, from 0 to 2";
    assert_eq!(refused(&array), format!("D0028: rows, column 3: {among_codes}, {place}"));
    // A number that is neither a name nor a code is treated as the trainer does.
    assert_eq!(show(&rows(b"floor,colour,x\n99,red,1\n", Unseen::Other, false).unwrap()), "0 1 -1");
    let empty = of_trainer(vec![texts(&["", "a"]), Names::default()], Unseen::Error);
    let names = ["a", "b"].map(str::to_owned);
    let error = read(b"a,b\na,1\n,2\n", Expect::named(&names).with_categories(Some(&empty))).unwrap_err();
    assert_eq!(
        words(&error),
        "D0028: rows, line 3, column 1 (a): the cell is empty, and the empty text is a category of the model"
    );
}

#[test]
fn numbers_are_what_the_user_chooses() {
    let names = ["colour", "x", "floor"].map(str::to_owned);
    let numbers = |numbers, bytes: &[u8]| {
        let choices = Choices { numbers: Some(numbers), unseen: None };
        let floors = Names::listed([10, 20, 30].map(Label::Integer).to_vec());
        let all = vec![texts(&["red", "green"]), Names::default(), floors];
        let categories = Categories::new(all, choices, Unseen::Error);
        show(&read(bytes, Expect::named(&names).with_categories(Some(&categories))).unwrap())
    };
    assert_eq!(numbers(NumbersAs::Codes, b"floor,colour,x\n2,1,5\n1,green,5\n"), "1 5 2 | 1 5 1");
    let array = |values: [i64; 3]| {
        common::npy(
            "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 3), }",
            &values.map(i64::to_le_bytes).concat(),
        )
    };
    assert_eq!(numbers(NumbersAs::Codes, &array([1, 5, 2])), "1 5 2");
    let x: ArrayRef = Arc::new(Float32Array::from(vec![1.0]));
    let code: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    for bytes in formats(&columns([("colour", Arc::clone(&code)), ("x", x), ("floor", code)])) {
        assert_eq!(numbers(NumbersAs::Codes, &bytes), "1 1 1");
    }
}

#[test]
fn whole_numbers_are_names_in_arrays_of_catboost() {
    let names = vec![Names::spelled(["7", "red", "99999999"].map(str::to_owned))];
    let categories = of_trainer(names, Unseen::Other);
    let values = [7_i64, 99_999_999, 8];
    let array = common::npy(
        "{'descr': '<i8', 'fortran_order': False, 'shape': (3, 1), }",
        &values.map(i64::to_le_bytes).concat(),
    );
    let shown =
        |bytes: &[u8]| show(&read(bytes, Expect::unnamed(1).with_categories(Some(&categories))).unwrap());
    assert_eq!(shown(&array), "7 | 99999999 | -0.25");
    let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    for bytes in formats(&columns([("a", column)])) {
        assert_eq!(shown(&bytes), "7 | 99999999 | -0.25");
    }
    assert_eq!(shown(b"a\n7\nred\n99999999\n07\n"), "7 | -1.5 | 99999999 | -0.25");
}
