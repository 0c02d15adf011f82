//! The language of comments in Rust and SQL.

use std::collections::BTreeMap;

use crate::allowance::{self, Found};
use crate::pattern::{FILE, Pattern, patterns};
use crate::rust::{Comment, Source, sources};
use crate::sentences::{Sentence, sentences};
use crate::tree::{File, Violation, files};

/// The files that are not clean yet, with the number of their violations.
const LIST: &str = "tests/house/guard_exceptions.txt";

pub(crate) fn violations() -> Vec<Violation> {
    let patterns = patterns();
    let mut found = BTreeMap::new();
    let mut count = 0;
    // A migration that was carried out somewhere stays as it is.
    let statements = files(".sql").filter(|file| !file.path.starts_with("sql/migrations/"));
    let of_statements = statements.map(|file| (&file.path, of_sql(file)));
    for (path, sentences) in
        sources().iter().map(|source| (&source.file.path, of_rust(source))).chain(of_statements)
    {
        count += sentences.len();
        let violations: Vec<Violation> =
            sentences.iter().flat_map(|sentence| judge(path, sentence, &patterns)).collect();
        if !violations.is_empty() {
            found.insert(path.clone(), Found { count: violations.len(), violations });
        }
    }
    assert!(count > 5000, "only {count} sentences were found: are all comments read?");
    allowance::compare(LIST, found)
}

fn judge(path: &str, sentence: &Sentence, patterns: &[Pattern]) -> Vec<Violation> {
    let is_question = sentence.text.trim_end_matches([')', '"', '\'', '*']).ends_with('?');
    let broken = patterns.iter().filter(|pattern| !(pattern.begins() && is_question));
    let broken = broken.filter(|pattern| pattern.matches(&sentence.words));
    let violation = |pattern: &Pattern| {
        let text =
            format!("{FILE} refuses {:?} in {:?}; instead: {}", pattern.text, sentence.text, pattern.instead);
        Violation::new(path, sentence.line, text)
    };
    broken.map(violation).collect()
}

fn of_rust(source: &Source) -> Vec<Sentence> {
    let (alone, trailing): (Vec<_>, Vec<_>) = source.comments.iter().partition(|comment| comment.is_alone);
    let mut found = sentences(alone.into_iter().map(parts));
    found.extend(trailing.into_iter().flat_map(|comment| sentences([parts(comment)].into_iter())));
    found
}

/// Splits a comment into its line, its slashes and its text.
fn parts(comment: &Comment) -> (usize, &str, &str) {
    let kind =
        ["//!", "///", "//"].into_iter().find(|kind| comment.text.starts_with(kind)).unwrap_or_default();
    (comment.line, kind, &comment.text[kind.len()..])
}

fn of_sql(file: &File) -> Vec<Sentence> {
    let lines = file.text.lines().enumerate();
    sentences(
        lines.filter_map(|(number, line)| Some((number + 1, "--", line.trim_start().strip_prefix("--")?))),
    )
}

#[test]
fn patterns_match_words_of_a_sentence_and_respect_exceptions() {
    let cases = [
        ("What is pending.", true),
        ("What is pending?", false),
        ("How often a PUT changed it.", true),
        ("How often it changed, the row shows.", false),
        ("The session is told of it.", true),
        ("There is no session.", false),
        ("An error is no reason to stop.", true),
        ("It is no longer there.", false),
        ("Calls `answer`.", false),
        ("Calls the answer (a response).", true),
        ("See `x`: What follows.", true),
        ("Of a tenant.", true),
        ("Of these sessions the newest is kept.", false),
        ("Returns the response. It is complete.", false),
    ];
    for (text, expected) in cases {
        let refused = sentences([(1, "//", text)].into_iter())
            .iter()
            .any(|sentence| !judge("a.rs", sentence, &patterns()).is_empty());
        assert_eq!(refused, expected, "{text}");
    }
}
