//! CSV text in, rows or a helpful error out.

mod common;

use common::{is_consistent, read, show};
use schedc_data::{DataError, Expect, Rows, Source, read_rows};

/// Reads text for a model that is described by its number of features or by their names.
fn read_for(model: &str, text: &str) -> Result<Rows, DataError> {
    match model.parse() {
        Ok(columns) => read(text.as_bytes(), Expect { columns, names: None }),
        Err(_) => {
            let names: Vec<String> = model.split(' ').map(str::to_owned).collect();
            read(text.as_bytes(), Expect { columns: names.len(), names: Some(&names) })
        }
    }
}

#[test]
fn rows_are_read() {
    // (what is tried, the model's feature names or how many features, text, rows, names of the columns)
    let cases = [
        ("plain", "2", "1,2\n3,4.5\n", "1 2 | 3 4.5", ""),
        ("no line end at the end", "2", "1,2\n3,4", "1 2 | 3 4", ""),
        ("header", "2", "a,b\n1,2\n", "1 2", "a b"),
        ("header alone", "2", "a,b\n", "", "a b"),
        ("header with an unnamed column", "2", ",b\n1,2\n", "1 2", " b"),
        ("numbers of every kind", "6", "-1,+.5,1.,1e3,1E-2,007\n", "-1 0.5 1 1000 0.01 7", ""),
        ("infinities", "4", "inf,-INF,Infinity,+inf\n", "inf -inf inf inf", ""),
        (
            "missing",
            "10",
            ",NA,na,N/A,<NA>,NaN,-nan,null,None,?\n",
            "nan nan nan nan nan nan nan nan nan nan",
            "",
        ),
        ("booleans", "4", "True,FALSE,true,0\n", "1 0 1 0", ""),
        ("blanks around cells", "2", " 1 ,\t2\n3 , \n", "1 2 | 3 nan", ""),
        ("quotes", "2", "\"a\",\"b, \"\"c\"\"\"\n\"1\",\" 2\"\n", "1 2", "a b,_\"c\""),
        ("CRLF", "2", "a,b\r\n1,2\r\n\r\n3,4\r\n", "1 2 | 3 4", "a b"),
        ("CR", "2", "a,b\r1,2\r3,4", "1 2 | 3 4", "a b"),
        ("blank lines", "2", "\n\na,b\n\n1,2\n  \n3,4\n\n\n", "1 2 | 3 4", "a b"),
        ("byte order mark", "2", "\u{feff}a,b\n1,2\n", "1 2", "a b"),
        ("byte order mark, no header", "2", "\u{feff}1,2\n", "1 2", ""),
        ("tabs", "2", "a\tb\n1\t2\n", "1 2", "a b"),
        ("semicolons", "2", "\"a,z\";b\n1;2\n", "1 2", "a,z b"),
        ("one column", "1", "a\n1\n2\n", "1 | 2", "a"),
        ("one column with missing values", "1", "1\n\"\"\nNA\n2\n", "1 | nan | nan | 2", ""),
        ("first line all missing", "2", "NA,\n1,2\n", "nan nan | 1 2", ""),
        ("header with a year", "3", "age,sex,2010\n1,2,3\n", "1 2 3", "age sex 2010"),
        ("names in order", "a b", "a,b\n1,2\n", "1 2", "a b"),
        ("names reordered", "a b c", "c,a,b\n3,1,2\n", "1 2 3", "a b c"),
        (
            "columns left out, text in them",
            "a b",
            "id,b,label,a\nx7,2,yes,1\nx8,4,no,3\n",
            "1 2 | 3 4",
            "a b",
        ),
        ("names in quotes and blanks", "a b", "\" b\", a \n2,1\n", "1 2", "a b"),
        ("other names", "a b", "x,y\n1,2\n", "1 2", "x y"),
        ("no header, model with names", "a b", "1,2\n", "1 2", ""),
        ("number names", "0 1 2", "0,1,2\n5,6,7\n", "5 6 7", "0 1 2"),
        ("number names, too few to tell", "0 1", "0,1\n5,6\n", "0 1 | 5 6", ""),
        ("repeated names of other columns", "a b", "x,a,x,b\n9,1,9,2\n", "1 2", "a b"),
        ("repeated names without a model's", "2", "x,x\n1,2\n", "1 2", "x x"),
    ];
    for (what, model, text, wanted, wanted_names) in cases {
        let rows = read_for(model, text);
        let rows = rows.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(is_consistent(&rows), "{what}");
        assert_eq!(show(&rows), wanted, "{what}");
        let found = rows
            .names
            .map(|names| names.iter().map(|name| name.replace(' ', "_")).collect::<Vec<_>>().join(" "));
        assert_eq!(found.unwrap_or_default(), wanted_names, "{what}");
    }
}

#[test]
fn errors_say_what_and_where() {
    // (what is tried, model, text, the error)
    let cases = [
        ("text", "2", "a,b\n1,2\n3,x y\n", "D0005: rows, line 3, column 2 (b): \"x y\" is not a number"),
        ("text, no header", "2", "1,2\n\n3,abc\n", "D0005: rows, line 3, column 2: \"abc\" is not a number"),
        ("text in the first line", "3", "1,2,x\n", "D0005: rows, line 1, column 3: \"x\" is not a number"),
        (
            "text after CRLF",
            "1",
            "a\r\n\r\n1\r\nx\r\n",
            "D0005: rows, line 4, column 1 (a): \"x\" is not a number",
        ),
        ("text, no line end", "1", "a\n1\nx", "D0005: rows, line 3, column 1 (a): \"x\" is not a number"),
        (
            "text in a reordered column",
            "a b",
            "i,b,a\n9,1,x\n",
            "D0005: rows, line 2, column 3 (a): \"x\" is not a number",
        ),
        (
            "decimal comma",
            "2",
            "a;b\n1;\"2,5\"\n",
            "D0005: rows, line 2, column 2 (b): \"2,5\" is not a number",
        ),
        (
            "digits with underscores",
            "1",
            "1\n1_000\n",
            "D0005: rows, line 2, column 1: \"1_000\" is not a number",
        ),
        ("hexadecimal", "1", "1\n0x10\n", "D0005: rows, line 2, column 1: \"0x10\" is not a number"),
        (
            "open quote",
            "2",
            "1,2\n3,\"4\n5,6\n",
            "D0005: rows, line 2, column 2: \"4\\n5,6\" is not a number",
        ),
        (
            "after a cell of two lines",
            "a",
            "i,a\n\"x\ny\",1\nz,w\n",
            "D0005: rows, line 4, column 2 (a): \"w\" is not a number",
        ),
        (
            "escape characters",
            "1",
            "1\n\u{1b}[2J\n",
            "D0005: rows, line 2, column 1: \"\\u{1b}[2J\" is not a number",
        ),
        (
            "too few columns",
            "3",
            "1,2,3\n4,5\n",
            "D0004: rows, line 2: the line has 2 columns, and the model wants 3 features",
        ),
        (
            "too many columns",
            "1",
            "1,2\n",
            "D0004: rows, line 1: the line has 2 columns, and the model wants 1 feature",
        ),
        (
            "too wide a header",
            "2",
            "a,b,label\n1,2,3\n",
            "D0004: rows, line 1: the line has 3 columns, and the model wants 2 features",
        ),
        (
            "comma at the end",
            "2",
            "1,2,\n",
            "D0004: rows, line 1: the line has 3 columns, and the model wants 2 features",
        ),
        (
            "line unlike its header",
            "2",
            "a,b\n1,2\n1\n",
            "D0004: rows, line 3: the line has 1 column, and the header has 2",
        ),
        (
            "line unlike a reordered header",
            "a",
            "b,a\n1\n",
            "D0004: rows, line 2: the line has 1 column, and the header has 2",
        ),
        (
            "a feature lacking",
            "a b c",
            "a,b,d\n1,2,3\n",
            "D0006: rows, line 1: the header lacks features of the model: \"c\"",
        ),
        (
            "features lacking",
            "a b c d e",
            "a,x\n1,2\n",
            "D0006: rows, line 1: the header lacks features of the model: \"b\", \"c\", \"d\" and 1 more",
        ),
        (
            "a feature twice",
            "a b",
            "a,b,a\n1,2,3\n",
            "D0007: rows, line 1, column 3 (a): columns 1 and 3 have the same name",
        ),
        ("nothing", "2", "", "D0003: rows: there is no data"),
        ("blank lines", "2", "\n \n\r\n", "D0003: rows: there are only blank lines"),
        (
            "spreadsheet",
            "2",
            "PK\u{3}\u{4}",
            "D0002: rows: this is a zip archive (an .npz or spreadsheet file?)",
        ),
        ("binary", "2", "1,2\n\0", "D0002: rows: this is neither text nor a .npy array"),
    ];
    for (what, model, text, wanted) in cases {
        let error = read_for(model, text).expect_err(what);
        let message = error.to_string();
        assert_eq!(message.lines().next(), Some(wanted), "{what}");
        assert!(error.help.is_some(), "{what}: a way out");
    }
}

#[test]
fn text_that_is_not_utf8_is_shown_as_far_as_it_can_be() {
    let error = read(b"1\nM\xfcller\n", Expect { columns: 1, names: None }).unwrap_err();
    assert_eq!(error.place.line, Some(2));
    assert_eq!(error.message, "\"M\u{fffd}ller\" is not a number");
}

#[test]
fn help_fits_the_fault() {
    let cases = [
        ("2", "a;b\n1;\"2,5\"\n", "decimal point"),
        ("2", "1,2\n3,\"4\n5,6\n", "quotation mark"),
        ("2", "1,2\n3,red\n", "text features"),
        ("2", "1\n", "one cell per feature"),
        ("2", "1,2,3\n", "leave out columns"),
        ("a b", "1,2,3\n", "feature names"),
    ];
    for (model, text, wanted) in cases {
        let help = read_for(model, text).unwrap_err().help.unwrap();
        assert!(help.contains(wanted), "{text:?}: {help}");
    }
}

#[test]
fn files_that_cannot_be_read_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let expect = Expect { columns: 1, names: None };
    let absent = directory.path().join("absent.csv");
    let cases = [(absent.as_path(), "there is no such file"), (directory.path(), "this is a directory")];
    for (path, wanted) in cases {
        let error = read_rows(&Source::from_argument(path), expect).unwrap_err();
        assert_eq!((error.code.as_str(), error.message.as_str()), ("D0001", wanted));
        assert_eq!(error.place.source, path.display().to_string());
    }
}

#[test]
fn long_files_are_read_whole() {
    // Longer than the part looked at to tell the format, so that lines are cut between the two.
    let mut text = "first,second\n".to_owned();
    let count = 30_000;
    for row in 0..count {
        text.push_str(&format!("{row},{}.25\n", row * 2));
    }
    let rows = read_for("2", &text).unwrap();
    assert_eq!(rows.rows, count);
    let wanted: Vec<f64> = (0..count).flat_map(|row| [row as f64, (row * 2) as f64 + 0.25]).collect();
    assert_eq!(rows.into_f64(), wanted);
    text.push_str("x,1\n");
    assert_eq!(read_for("2", &text).unwrap_err().place.line, Some(count as u64 + 2));
}
