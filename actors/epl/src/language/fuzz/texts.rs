//! Any text gives a module or a mistake that can be shown.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::super::syntax::Span;
use super::super::{parse, printer};
use super::{check, trees};

/// The significant tokens of the language, so that random texts contain them often.
const PIECES: [&str; 90] = [
    "module m;",
    "select ",
    "from ",
    "* ",
    "where ",
    "group by ",
    "having ",
    "output ",
    "last ",
    "every ",
    "insert into ",
    "create ",
    "schema ",
    "context ",
    "variable ",
    "constant ",
    "window ",
    "expression ",
    "on ",
    "set ",
    "delete ",
    "pattern [",
    "timer:at(",
    "timer:interval(",
    "until ",
    "secs seconds",
    ".after(",
    "15min",
    ".format()",
    ".getName()",
    "not ",
    "and ",
    "or ",
    "-> ",
    "in (",
    "between ",
    "like ",
    "escape ",
    "is ",
    "null ",
    "case ",
    "when ",
    "then ",
    "else ",
    "end ",
    "cast(",
    "count(",
    "distinct ",
    "current_timestamp",
    "partition by ",
    "unidirectional ",
    ".win:time(",
    ".win:length(",
    ".std:unique(",
    "@Name('",
    "@Resilient ",
    "as ",
    "js:",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ".",
    ":",
    "=",
    "<>",
    "||",
    "+",
    "-",
    "*/",
    "/*",
    "//",
    "\n",
    "'",
    "\"",
    "`",
    "\\",
    "1",
    "2.5e3",
    "9999999999999999999L",
    " hours ",
    "a ",
    "ä",
    "\u{feff}",
    "😀",
    "\t",
];

/// Checks that all positions in the result of parsing lie within the text, and that a mistake can be shown.
fn answers(text: &str) -> TestCaseResult {
    match parse(text) {
        Ok(module) => {
            for statement in &module.statements {
                lies_within(statement.span, text)?;
                lies_within(statement.name.span, text)?;
            }
            let debug = format!("{module:?}");
            for numbers in debug.split("Span { start: ").skip(1) {
                let mut numbers =
                    numbers.split(" }").next().expect("an end").split(", end: ").map(str::parse::<u32>);
                let (Some(Ok(start)), Some(Ok(end))) = (numbers.next(), numbers.next()) else { continue };
                lies_within(Span { start, end }, text)?;
            }
        }
        Err(mistake) => {
            lies_within(mistake.span, text)?;
            let shown = mistake.shown(text);
            prop_assert!(shown.line >= 1 && shown.column >= 1);
            prop_assert!(shown.line <= text.matches('\n').count() + 1);
            prop_assert!(shown.caret <= shown.excerpt.chars().count(), "{shown}");
            prop_assert!(shown.excerpt.chars().count() <= 100, "{shown}");
            prop_assert!(
                !shown.excerpt.contains(char::is_control) && !shown.message.contains(char::is_control),
                "{shown}"
            );
            prop_assert!(!shown.message.is_empty() && shown.message.len() < 2000, "{shown}");
            prop_assert_eq!(shown.to_string().lines().count(), 3);
        }
    }
    Ok(())
}

fn lies_within(Span { start, end }: Span, text: &str) -> TestCaseResult {
    prop_assert!(start <= end, "{start} to {end}");
    prop_assert!(text.get(start as usize..end as usize).is_some(), "{start} to {end} of {text:?}");
    Ok(())
}

#[test]
fn any_text_is_parsed_or_rejected() {
    check(&".{0,200}", |text| {
        answers(&text)?;
        answers(&format!("module m; {text}"))
    });
}

#[test]
fn any_sequence_of_pieces_is_parsed_or_rejected() {
    let pieces =
        prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60).prop_map(|pieces| pieces.concat());
    check(&pieces, |text| {
        answers(&text)?;
        answers(&format!("module m; {text}"))
    });
}

#[test]
fn any_mutation_of_a_module_is_parsed_or_rejected() {
    let changes = prop::collection::vec(
        (any::<prop::sample::Index>(), 0_usize..12, prop::sample::select(&PIECES[..])),
        1..5,
    );
    check(&(trees::module(), changes), |(module, changes)| {
        let mut text = printer::print(&module);
        for (place, length, piece) in changes {
            let start = text.floor_char_boundary(place.index(text.len() + 1));
            let end = text.floor_char_boundary((start + length).min(text.len()));
            text.replace_range(start..end, piece);
        }
        answers(&text)
    });
}
