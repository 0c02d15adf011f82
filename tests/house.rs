//! Tests the rules of the source text itself: which module may import which, the sizes of files, lines and functions,
//! the language of comments, and that the documents quote the code as it is. [CONTRIBUTING.md](../CONTRIBUTING.md)
//! explains the rules. `WRITE_HOUSE=1 cargo test --test house` writes the tables of modules in `tests/house` and
//! shortens the lists of exceptions.

#[path = "house/allowance.rs"]
mod allowance;
#[path = "house/circles.rs"]
mod circles;
#[path = "house/code_constants.rs"]
mod code_constants;
#[path = "house/constants.rs"]
mod constants;
#[path = "house/examples.rs"]
mod examples;
#[path = "house/functions.rs"]
mod functions;
#[path = "house/guard.rs"]
mod guard;
#[path = "house/imports.rs"]
mod imports;
#[path = "house/map.rs"]
mod map;
#[path = "house/markdown.rs"]
mod markdown;
#[path = "house/pattern.rs"]
mod pattern;
#[path = "house/quantity.rs"]
mod quantity;
#[path = "house/rust.rs"]
mod rust;
#[path = "house/sentences.rs"]
mod sentences;
#[path = "house/sizes.rs"]
mod sizes;
#[path = "house/table.rs"]
mod table;
#[path = "house/tree.rs"]
mod tree;

use tree::Violation;

#[test]
fn modules_import_only_what_the_tables_allow() {
    expect_none(table::violations());
}

#[test]
fn modules_form_only_the_circles_that_the_tables_name() {
    expect_none(circles::violations());
}

#[test]
fn files_and_lines_are_short() {
    expect_none(sizes::violations());
}

#[test]
fn functions_are_short() {
    expect_none(functions::violations());
}

#[test]
fn comments_are_sentences_in_the_words_of_the_field() {
    expect_none(guard::violations());
}

#[test]
fn comments_have_no_examples_that_nothing_runs() {
    expect_none(examples::violations());
}

#[test]
fn documents_quote_constants_as_they_are() {
    expect_none(constants::violations());
}

#[test]
fn the_map_shows_every_module_and_nothing_else() {
    expect_none(map::violations());
}

/// Fails with all violations at once, sorted by file and line.
fn expect_none(mut violations: Vec<Violation>) {
    violations.sort();
    let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} violations\n{}", lines.len(), lines.join("\n"));
}
