//! Tests of reading CSV text: the rows, or the error with its help.

use crate::common::{is_consistent, read, show};
use sched_diagnostics::{Place, TableColumn};
use schedc_data::{DataError, DataSource, Expect, Rows, read_rows};

/// Reads text for a model that is described by its number of features or by their names.
fn read_for(model: &str, text: &str) -> Result<Rows, DataError> {
    // A number is the number of features of a model without names, so no name here is a number.
    match model.parse() {
        Ok(columns) if columns > 0 => read(text.as_bytes(), Expect::unnamed(columns)),
        _ => {
            // An underscore at the beginning of a name stands for a blank.
            let name = |name: &str| name.strip_prefix('_').map_or(name.to_owned(), |rest| format!(" {rest}"));
            let names: Vec<String> = model.split(' ').map(name).collect();
            read(text.as_bytes(), Expect::named(&names))
        }
    }
}

#[test]
fn blanks_in_names_match_underscores_where_the_trainer_writes_them() {
    let names = ["a_b", "c_d"].map(str::to_owned);
    let renamed = Expect::named(&names).with_blanks_renamed(true);
    let found = |text: &str, expect| read(text.as_bytes(), expect).map(|rows| show(&rows));
    // A column with the feature's own name comes first.
    for text in ["c d,x y,a b\n2,9,1\n", "c_d,a b\n2,1\n", "a b,c_d,a_b\n9,2,1\n"] {
        assert_eq!(found(text, renamed).ok().as_deref(), Some("1 2"), "{text}");
    }
    for text in ["a b,c d\n1,2\n", "a b,a b,c_d\n1,1,2\n"] {
        let expect = if text.starts_with("a b,c d") { Expect::named(&names) } else { renamed };
        let refused = found(text, expect).expect_err(text);
        assert_eq!(refused.code.to_string(), "D0006", "{text}");
    }
}

#[test]
fn texts_in_other_encodings_are_refused_where_they_matter() {
    let names = ["a", "größe"].map(str::to_owned);
    let refused = |bytes: &[u8]| {
        let error = read(bytes, Expect::named(&names)).expect_err("another encoding");
        assert!(error.help.as_ref().is_some_and(|help| help.contains("iconv -f WINDOWS-1252 -t UTF-8")));
        format!("{} {}", error.code, error.message)
    };
    let message = "D0002 the text is not UTF-8, probably Latin-1 or Windows-1252";
    assert_eq!(refused(b"a,gr\xf6\xdfe\n1,2\n"), message);
    // The character U+0001 stands for a letter of Latin-1.
    let latin =
        |text: &str| -> Vec<u8> { text.bytes().map(|byte| if byte == 1 { 0xfc } else { byte }).collect() };
    assert_eq!(refused(&latin("a,größe\n1,M\u{1}ller\n")), message);
    let error = read(&latin("1\nM\u{1}ller\n"), Expect::unnamed(1)).expect_err("another encoding");
    assert_eq!(
        error.place,
        Place::Cell { line: Some(2), column: Some(TableColumn { number: 1, name: None }) }
    );
    assert_eq!(
        read(&latin("a,größe,other\n1,2,\u{1}\n"), Expect::named(&names))
            .map(|rows| show(&rows))
            .ok()
            .as_deref(),
        Some("1 2")
    );
}

#[test]
fn rows_are_read() {
    // (the case, the model's feature names or their number, text, rows, names of the columns)
    let cases = [
        ("plain", "2", "1,2\n3,4.5\n", "1 2 | 3 4.5", ""),
        ("no line end at the end", "2", "1,2\n3,4", "1 2 | 3 4", ""),
        ("header", "2", "a,b\n1,2\n", "1 2", "a b"),
        ("header alone", "2", "a,b\n", "", "a b"),
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
        ("names told apart by blanks", "a _a b", "\" a\",b,a\n2,3,1\n", "1 2 3", "a a b"),
        ("no header, model with names", "a b", "1,2\n", "1 2", ""),
        ("number names", "0 1 2", "0,1,2\n5,6,7\n", "5 6 7", "0 1 2"),
        ("number names, two of them", "0 1", "0,1\n5,6\n", "5 6", "0 1"),
        ("number names, one", "0", "0\n5\n", "5", "0"),
        ("number names reordered", "0 1 2", "2,0,1\n7,5,6\n", "5 6 7", "0 1 2"),
        ("two number names reordered", "0 1", "1,0\n6,5\n", "5 6", "0 1"),
        ("number names behind an index", "0 1 2", ",0,1,2\n0,5,6,7\n", "5 6 7", "0 1 2"),
        ("two number names behind an index", "0 1", ",0,1\n0,5,6\n", "5 6", "0 1"),
        ("number names and a label", "0 1", "0,1,2\n5,6,1\n", "5 6", "0 1"),
        ("number names and a label with a name", "0 1", "0,1,y\n5,6,1\n", "5 6", "0 1"),
        (
            "years among names",
            "age 2010 2011 2012",
            "2012,2011,2010,age\n4,3,2,1\n",
            "1 2 3 4",
            "age 2010 2011 2012",
        ),
        ("numbers from 0", "3", "0,1,2\n5,6,7\n", "5 6 7", "0 1 2"),
        ("numbers from 0, two", "2", "0,1\n5,6\n", "5 6", "0 1"),
        ("numbers from 0, one", "1", "0\n5\n", "5", "0"),
        ("numbers not from 0", "3", "1,2,3\n5,6,7\n", "1 2 3 | 5 6 7", ""),
        ("numbers from 0 in another way", "3", "0.0,1.0,2.0\n5,6,7\n", "0 1 2 | 5 6 7", ""),
        ("names that are words of missing values", "na none", "none,na\n2,1\n", "1 2", "na none"),
        ("names behind an index", "a b", ",b,a\n0,2,1\n", "1 2", "a b"),
        ("names f0 ... in order", "3", "f0,f1,f2\n1,2,3\n", "1 2 3", "f0 f1 f2"),
        ("names in brackets", "a[0] <b>", "<b>,a[0]\n2,1\n", "1 2", "a[0] <b>"),
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
    // (the case, model, text, the error)
    let cases = [
        ("text", "2", "a,b\n1,2\n3,x y\n", "D0005: rows, line 3, column 2 (b): \"x y\" is not a number"),
        ("text, no header", "2", "1,2\n\n3,abc\n", "D0005: rows, line 3, column 2: \"abc\" is not a number"),
        ("text in the first line", "3", "1,2,x\n", "D0005: rows, line 1, column 3: \"x\" is not a number"),
        (
            "text after CRLF",
            "1",
            "a\r\n1\r\nx\r\n",
            "D0005: rows, line 3, column 1 (a): \"x\" is not a number",
        ),
        (
            "an empty line of one column",
            "1",
            "\r\na\r\n1\r\n\r\n2\r\n",
            "D0005: rows, line 4: the line is empty: it may be a missing value, or no row",
        ),
        (
            "an empty line at the end",
            "1",
            "a\n1\n\n",
            "D0005: rows, line 3: the line is empty: it may be a missing value, or no row",
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
            "D0015: rows, line 2, column 2: a quotation mark opens in this cell and is never closed",
        ),
        (
            "open quote in a column that is left out",
            "a",
            "a,note\n1,x\n2,\"y\n3,z\n",
            "D0015: rows, line 3, column 2: a quotation mark opens in this cell and is never closed",
        ),
        (
            "open quote after a cell of two lines",
            "a",
            "a,b,c\n1,\"x\ny\",\"z\n3,4,5\n",
            "D0015: rows, line 3, column 3: a quotation mark opens in this cell and is never closed",
        ),
        (
            "open quote in the header",
            "a b",
            "a,\"b\n1,2\n",
            "D0015: rows, line 1, column 2: a quotation mark opens in this cell and is never closed",
        ),
        (
            "a quote that is closed on a later line",
            "2",
            "1,2\n3,\"4\n5\"\n",
            "D0005: rows, line 2, column 2: \"4\\n5\" is not a number",
        ),
        (
            "other names",
            "a b",
            "x,y\n1,2\n",
            "D0006: rows, line 1: the header lacks all features of the model: \"a\", \"b\"",
        ),
        (
            "names in another case",
            "age weight",
            "Age,Weight\n1,2\n",
            "D0006: rows, line 1: the header lacks all features of the model: \"age\", \"weight\"",
        ),
        (
            "numbers from 0 for a model with names",
            "a b c",
            "0,1,2\n5,6,7\n",
            "D0006: rows, line 1: the header lacks all features of the model: \"a\", \"b\", \"c\"",
        ),
        (
            "features of one name",
            "a b a",
            "a,b,c\n1,2,3\n",
            "D0016: rows, line 1: features 0 and 2 of the model are both named \"a\", so the header cannot \
             be matched",
        ),
        (
            "a feature with an empty name",
            "a  b",
            "a,,b\n1,2,3\n",
            "D0016: rows, line 1: feature 1 of the model has an empty name, so the header cannot be matched",
        ),
        (
            "an index for a model without names",
            "2",
            ",b\n1,2\n",
            "D0017: rows, line 1: the first column has no name, as if it were the index that pandas writes",
        ),
        (
            "an index too many for a model without names",
            "2",
            ",a,b\n0,1,2\n",
            "D0004: rows, line 1: the line has 3 columns, and the model wants 2 features",
        ),
        (
            "names f0 ... in another order",
            "3",
            "f1,f0,f2\n1,2,3\n",
            "D0017: rows, line 1: the columns are named f0, f1 ... in another order, and the model has no \
             names to find \
             them by",
        ),
        (
            "a wide row that holds a name by chance",
            "0",
            "3,0,7\n1,2,3\n",
            "D0004: rows, line 1: the line has 3 columns, and the model wants 1 feature",
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
            "D0021: rows: the archive cannot be read: invalid Zip archive: Could not find EOCD",
        ),
        ("zeros", "2", "1,2\n\0", "D0002: rows: this is text with NUL bytes"),
        ("binary", "2", "\u{1}\u{2}\0\u{3}", "D0002: rows: this is neither text nor an array nor a table"),
        (
            "two bytes a letter",
            "2",
            "1\0,\u{0}2\0",
            "D0002: rows: this is text in UTF-16 without a byte order mark",
        ),
        ("feather", "2", "FEA1\u{1}", "D0002: rows: this is a Feather file of version 1"),
        ("bzip2", "2", "BZh91AY", "D0002: rows: this is bzip2-compressed"),
        (
            "a no-break space",
            "2",
            "1,\u{a0}2\n",
            "D0005: rows, line 1, column 2: \"\\u{a0}2\" is not a number",
        ),
    ];
    for (what, model, text, wanted) in cases {
        let error = read_for(model, text).expect_err(what);
        let message = error.to_string();
        assert_eq!(message.lines().next(), Some(wanted), "{what}");
        assert!(error.help.is_some(), "{what}: help");
    }
}

#[test]
fn by_position_ignores_names() {
    let names = ["a", "b"].map(str::to_owned);
    let twice = ["a", "a"].map(str::to_owned);
    let models = [Expect::named(&names), Expect::named(&twice), Expect::unnamed(2), Expect::untold(2)];
    let headers = ["x,y", "b,a", "a,x", "a,a", ",b", "f1,f0", "0,1"];
    for expect in models {
        for header in headers {
            let text = format!("{header}\n1,2\n");
            let rows = read(text.as_bytes(), expect.by_position(true)).unwrap();
            assert_eq!(show(&rows), "1 2", "{header}");
        }
        let error = read(b"x,y,z\n1,2,3\n", expect.by_position(true)).unwrap_err();
        assert_eq!(error.code.to_string(), "D0004");
    }
}

#[test]
fn unknown_names_are_not_guessed() {
    let expect = Expect::untold(2);
    for header in ["a,b", "x,y", "0,1", ",b"] {
        let error = read(format!("{header}\n1,2\n").as_bytes(), expect).unwrap_err();
        assert_eq!(error.code.to_string(), "D0017", "{header}");
        assert!(error.help.clone().unwrap().contains("--by-position"), "{header}");
    }
    assert_eq!(show(&read(b"1,2\n3,4\n", expect).unwrap()), "1 2 | 3 4");
}

#[test]
fn a_first_line_of_numbers_causes_a_note() {
    // (model, text, a part of the note; empty for no note)
    let cases = [
        ("3", "0,1,2\n5,6,7\n", "as a header"),
        ("1", "0\n5\n", "as a header"),
        ("0 1", "1,0\n5,6\n", "as a header"),
        ("1990 1991 1992", "1992,1990,1991\n5,6,7\n", "as a header"),
        ("1990 1991 1992", "1990,1991,1993\n5,6,7\n", "as a row"),
        ("0 1 2 3 4", "0,1,2,4,4\n5,6,7,8,9\n", "as a row"),
        ("0 1 2 3 4", "1,1,0,1,1\n5,6,7,8,9\n", ""),
        ("3", "1,2,3\n5,6,7\n", "as a row"),
        ("3", "2,0,1\n5,6,7\n", "as a row"),
        ("3", "0.0,1.0,2.0\n5,6,7\n", "as a row"),
        ("4", ",0,1,2\n0,5,6,7\n", "as a row"),
        ("3", "a,b,c\n1,2,3\n", ""),
        ("a b c", "c,b,a\n1,2,3\n", ""),
        ("3", "1.5,2,3\n", ""),
        ("3", "1,1,2\n", ""),
        ("2", "1,2\n5,6\n", "as a row"),
        ("1", "1\n5\n", "as a row"),
        ("2", "3,7\n0.5,1.5\n", "as a row"),
        ("3", "30,10,20\n0.5,,1e3\n", "as a row"),
        ("2", "3,7\n0.5,1\n", ""),
        ("2", "3,7\n1,2\n0.5,0.5\n", ""),
        ("2", "3,7\n,\n", ""),
        ("2", "3.0,7\n0.5,1.5\n", ""),
    ];
    for (model, text, wanted) in cases {
        let notes = read_for(model, text).unwrap().notes.join("; ");
        assert_eq!(notes.is_empty(), wanted.is_empty(), "{model}, {text:?}: {notes}");
        assert!(notes.contains(wanted), "{model}, {text:?}: {notes}");
        assert!(notes.is_empty() || notes.starts_with("rows, line 1: "), "{notes}");
    }
}

#[test]
fn help_names_the_remedy_for_each_error() {
    let cases = [
        ("2", "a;b\n1;\"2,5\"\n", "decimal point"),
        ("2", "1,2\n3,\"4\n5\"\n", "quotation mark"),
        ("2", "1,2\n3,\"4\n5,6\n", "close it"),
        ("2", ",a,b\n0,1,2\n", "index=False"),
        ("2", ",a\n0,1\n", "index=False"),
        ("a b", "x,y\n1,2\n", "--by-position"),
        ("a b", "0,1\n1,2\n", "if the line is a row"),
        (
            "petal_length width",
            "petal length,Width\n1,2\n",
            "\"petal length\" may stand for \"petal_length\"",
        ),
        ("petal_length width", "petal length,Width\n1,2\n", "\"Width\" may stand for \"width\""),
        ("age weight", "age,wieght\n1,2\n", "\"wieght\" may stand for \"weight\""),
        ("2", "1,2\n3,red\n", "text features"),
        ("3", "1,2,red\n", "if the line is a header"),
        ("2", "1\n", "one cell per feature"),
        ("2", "1,2,3\n", "leave out columns"),
        ("a b", "1,2,3\n", "feature names"),
    ];
    for (model, text, wanted) in cases {
        let help = read_for(model, text).unwrap_err().help.clone().unwrap();
        assert!(help.contains(wanted), "{text:?}: {help}");
    }
}

#[test]
fn files_that_cannot_be_read_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let expect = Expect::unnamed(1);
    let absent = directory.path().join("absent.csv");
    let cases = [
        (absent.as_path(), "D0001", "there is no such file"),
        (directory.path(), "D0023", "there is no file in it"),
    ];
    for (path, code, wanted) in cases {
        let error = read_rows(&DataSource::from_argument(path), expect).unwrap_err();
        assert_eq!((error.code.to_string().as_str(), error.message.as_str()), (code, wanted));
        assert_eq!(error.file, Some(path.display().to_string()));
    }
}

#[test]
fn long_files_are_read_whole() {
    // Longer than the bytes by which the format is detected, so that a line is cut at their end.
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
    let place = read_for("2", &text).unwrap_err().place.to_string();
    assert!(place.starts_with(&format!("line {}, column 1", count + 2)), "{place}");
}
