use super::super::syntax::Span;
use super::super::{Mistake, parse};
use super::mistake;

#[test]
fn mistake_contains_the_text_found_and_what_is_allowed() {
    for (written, message) in [
        ("select a form A", "found 'form', expected an operator, 'as', ',' or 'from'; did you mean 'from'?"),
        ("select a b form A", "found 'form', expected ',' or 'from'; did you mean 'from'?"),
        ("select from A", "found 'from', expected an expression or '*'"),
        ("select a from", "found the end of the text, expected the name of a stream"),
        ("select a from A wehre b", "found 'wehre', expected"),
        ("select * from A, B, C", "a statement has at most 2 sources"),
        (
            "select a from A.win:lenght(2)",
            "found 'lenght', expected 'time', 'length', 'time_batch', 'length_batch' or 'keepall'; did you mean \
             'length'?",
        ),
        ("select a from A.win:keepall().std:lastevent()", "a source has one view"),
        ("select a from A.win:length(0)", "expected a whole number from 1 to 4294967295"),
        (
            "select a from A.win:time(1 year)",
            "found 'year', expected 'milliseconds', 'seconds', 'minutes', 'hours' or 'days'",
        ),
        (
            "select a from A.win:time(1 hours 5)",
            "found ')', expected 'milliseconds', 'seconds', 'minutes', 'hours' or 'days'",
        ),
        (
            "select a from A.win:time(n year)",
            "found 'year', expected 'milliseconds', 'seconds', 'minutes', 'hours' or 'days'",
        ),
        ("select a from A.win:time()", "found ')', expected a period such as 10 minutes"),
        ("select a from A.win:time(-5 seconds)", "found '-', expected a period such as 10 minutes"),
        ("select a from pattern [A until B until C]", "found 'until', expected"),
        ("select f(15 minutes) from A", "found 'minutes', expected"),
        ("select a from A.win:time(1000000 days)", "a period is at most 36500 days long"),
        (
            "create expression double js:f(a) [ return a; ]",
            "found 'js:', script bodies are not supported, expected an expression of this language",
        ),
        (
            "create expression js:f(a) [ return a; ]",
            "found 'js:', script bodies are not supported, expected an expression of this language",
        ),
        ("@Priority(1) select a from A", "found '@Priority', expected '@Name('…')' or '@Resilient'"),
        ("@Name('a') @Name('b') select a from A", "the statement has a name already"),
        ("@Name('a/b') select a from A", "the name of a statement has no '/', '*' or control character"),
        ("@Name('') select a from A", "the name of a statement has 1 to 254 characters"),
        (
            "@Name('statement_2') select a from A; select a from A",
            "another statement is called 'statement_2'",
        ),
        (
            "selct a from A",
            "found 'selct', expected 'select', 'insert', 'context', 'create', 'on' or '@'; did you mean 'select'?",
        ),
        ("select irstream * from A", "'irstream' is not supported, expected a column or '*'"),
        ("select a # b from A", "the character '#' has no meaning outside of texts and comments"),
        ("select a\u{a0}b from A", "the character U+00A0 has no meaning outside of texts and comments"),
        ("select 'a from A", "the text that begins here has no closing quote"),
        ("select /* a from A", "the comment that begins here has no closing '*/'"),
        (
            "select `a from A",
            "the name that begins here has no closing backtick before the next control character",
        ),
        (
            r"select 'a\d' from A",
            r#"'\d' stands for nothing, expected \\, \', \", \/, \n, \t, \r, \b, \f or \uXXXX"#,
        ),
        ("select 1e999 from A", "the number is too large"),
        ("select (select a from B) from A", "found 'select', expected an expression"),
        ("select a from pattern [timer:within(1 sec)]", "found 'within', expected 'interval' or 'at'"),
        ("select a in () from A", "found ')', expected an expression"),
        ("select case a end from A", "found 'end', expected"),
    ] {
        let found = mistake(written).message;
        assert!(found.starts_with(message), "{written}: {found}");
    }
}

#[test]
fn a_text_begins_with_the_name_of_the_module() {
    for (text, message) in [
        ("", "found the end of the text, expected 'module <name>;' at the beginning"),
        ("select * from A;", "found 'select', expected 'module <name>;' at the beginning"),
        ("module ;", "found ';', expected the name of the module"),
        ("module a b;", "found 'b', expected '.' or ';'"),
        ("module `a/b`;", "no module may be called 'a/b'"),
        ("module alarms;", "no module may be called 'alarms'"),
    ] {
        assert_eq!(parse(text).unwrap_err().message, message, "{text}");
    }
}

#[test]
fn a_mistake_is_shown_with_its_line_and_a_caret() {
    let text = "module m;\r\n\tselect ä,\tb form A;\r\n";
    let shown = parse(text).unwrap_err().shown(text).to_string();
    assert_eq!(
        shown,
        "found 'form', expected an operator, 'as', ',' or 'from'; did you mean 'from'?, line 2, column 14\n select \
         ä, b form A;\n             ^"
    );
}

#[test]
fn a_byte_order_mark_is_no_column() {
    let text = "\u{feff}modul m;";
    let shown = parse(text).unwrap_err().shown(text);
    assert_eq!((shown.line, shown.column, shown.caret, shown.excerpt.as_str()), (1, 1, 0, "modul m;"));
}

#[test]
fn a_long_line_is_shortened_around_the_place() {
    let text = format!("module m; select {}? from A", "'ü', ".repeat(100));
    let shown = parse(&text).unwrap_err().shown(&text);
    assert_eq!(shown.excerpt.chars().count(), 100);
    assert!(shown.excerpt.starts_with('…'), "{shown}");
    assert_eq!(shown.excerpt.chars().nth(shown.caret), Some('?'), "{shown}");
    assert_eq!(shown.column, 518);
}

#[test]
fn a_place_that_the_text_does_not_have_is_its_end() {
    let shown = Mistake::new(Span { start: 900, end: 901 }, "x").shown("a\né");
    assert_eq!((shown.line, shown.column, shown.caret), (2, 2, 1));
    let shown = Mistake::new(Span { start: 3, end: 9 }, "x").shown("a\né");
    assert_eq!((shown.line, shown.column), (2, 1));
}
