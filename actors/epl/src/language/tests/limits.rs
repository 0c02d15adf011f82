use super::super::{MAX_TEXT, parse};
use super::mistake;

/// Parses on a small stack: nested texts must not need more.
fn message(statements: String) -> String {
    let read = move || mistake(&statements).message;
    std::thread::Builder::new().stack_size(1 << 20).spawn(read).unwrap().join().expect("no overflow")
}

#[test]
fn too_deep_nesting_is_a_mistake() {
    let many = 50_000;
    for opened in ["(", "not ", "-", "{", "f(", "case ", "a[", "a.b(", "case when a then ", "cast(", "a in ("]
    {
        let found = message(format!("select {}", opened.repeat(many)));
        assert_eq!(found, "nested more than 64 deep", "{opened}");
    }
    for opened in ["(", "every ", "not ", "every (", "A(("] {
        let found = message(format!("select * from pattern [{}", opened.repeat(many)));
        assert_eq!(found, "nested more than 64 deep", "{opened}");
    }
}

#[test]
fn deepest_nesting_needs_little_stack() {
    let deepest = "a or b and c = d || e + f * (".repeat(64) + "x" + &")".repeat(64);
    let read = move || parse(&format!("module m; select {deepest} as x from A")).map(drop);
    let found =
        std::thread::Builder::new().stack_size(1 << 20).spawn(read).unwrap().join().expect("no overflow");
    assert!(found.unwrap_err().message.contains("more than 200 operators"));
}

#[test]
fn rows_of_operators_have_an_end() {
    for (operator, most) in
        [(" + 1", 200), (" or a", 200), (" is null", 200), (".b", 200), ("[0]", 200), (" = 1", 200)]
    {
        let text = |count| format!("module m; select a{} as x from A", operator.repeat(count));
        parse(&text(most)).unwrap_or_else(|found| panic!("{operator}: {}", found.message));
        let found = parse(&text(most + 1)).unwrap_err().message;
        assert_eq!(found, "the expression has more than 200 operators one upon the other", "{operator}");
        parse(&text(100_000)).unwrap_err();
    }
    let filters = |count| format!("module m; select * from A({})", vec!["a"; count].join(", "));
    parse(&filters(201)).unwrap();
    parse(&filters(202)).unwrap_err();
}

#[test]
fn a_module_has_at_most_a_thousand_statements() {
    let text = |count| format!("module m; {}", "select * from A;".repeat(count));
    assert_eq!(parse(&text(1000)).unwrap().statements.len(), 1000);
    let found = parse(&text(60_000)).unwrap_err();
    assert_eq!(found.message, "a module has at most 1000 statements");
    assert_eq!(found.shown(&text(1001)).line, 1);
}

#[test]
fn a_text_is_at_most_a_mebibyte_long() {
    let text = |length: usize| format!("module m;{}", " ".repeat(length - 9));
    assert!(parse(&text(MAX_TEXT)).is_ok());
    assert_eq!(parse(&text(MAX_TEXT + 1)).unwrap_err().message, "the text is longer than 1048576 bytes");
}

#[test]
fn names_are_at_most_254_characters_long() {
    let text = |length| format!("module m; select * from {}", "ä".repeat(length));
    assert!(parse(&text(254)).is_ok());
    assert_eq!(parse(&text(255)).unwrap_err().message, "the name is longer than 254 characters");
}

#[test]
fn mebibyte_of_any_text_is_parsed_or_rejected() {
    for piece in [
        "(",
        "a ",
        "a.",
        "@",
        ";",
        "'",
        "`a`",
        "1 ",
        "->",
        "every ",
        "/*",
        "\u{feff}",
        "\n",
        "select * from A,",
    ] {
        let mut text = String::from("module m;");
        while text.len() + piece.len() <= MAX_TEXT {
            text.push_str(piece);
        }
        if let Err(found) = parse(&text) {
            found.shown(&text);
        }
    }
}
