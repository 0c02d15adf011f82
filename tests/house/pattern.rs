//! The patterns of `tests/house/guard.txt`, which are runs of words.

use std::fs;

use crate::tree::root;

pub(crate) const FILE: &str = "tests/house/guard.txt";

/// A pattern that comments avoid.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    /// The words or sentences to write instead.
    pub(crate) instead: String,
    parts: Vec<Part>,
    exceptions: Vec<Vec<Part>>,
}

#[derive(Debug)]
enum Part {
    Begin,
    End,
    AnyWord,
    /// Any words without a comma between them.
    AnyWords,
    /// One of these words.
    Word(Vec<String>),
}

/// Reads the patterns.
pub(crate) fn patterns() -> Vec<Pattern> {
    let text = fs::read_to_string(root().join(FILE)).expect("the patterns can be read");
    let mut patterns: Vec<Pattern> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match (line.strip_prefix("except "), line.split_once(" -> ")) {
            (Some(exception), _) => {
                patterns
                    .last_mut()
                    .expect("a pattern precedes its exceptions")
                    .exceptions
                    .push(parts(exception));
            }
            (None, Some((text, instead))) => patterns.push(Pattern {
                text: text.to_owned(),
                instead: instead.to_owned(),
                parts: parts(text),
                exceptions: Vec::new(),
            }),
            (None, None) => panic!("{FILE}: {line:?} is not `pattern -> instead`"),
        }
    }
    patterns
}

fn parts(text: &str) -> Vec<Part> {
    let part = |text: &str| match text {
        "^" => Part::Begin,
        "$" => Part::End,
        "*" => Part::AnyWord,
        "..." => Part::AnyWords,
        words => Part::Word(words.split('/').map(str::to_owned).collect()),
    };
    text.split_whitespace().map(part).collect()
}

impl Pattern {
    /// Returns whether the pattern holds only at the beginning of a sentence.
    pub(crate) fn begins(&self) -> bool {
        matches!(self.parts.first(), Some(Part::Begin))
    }

    /// Returns whether a sentence contains the pattern outside of its exceptions.
    pub(crate) fn matches(&self, words: &[String]) -> bool {
        (0..=words.len()).any(|at| {
            let is_excepted = |at| {
                let covers = |from| {
                    self.exceptions.iter().any(|parts| end(parts, words, from).is_some_and(|end| end > at))
                };
                (at.saturating_sub(3)..=at).any(covers)
            };
            end(&self.parts, words, at).is_some() && !is_excepted(at)
        })
    }
}

/// Returns the end of the first match of the parts at this word.
fn end(parts: &[Part], words: &[String], at: usize) -> Option<usize> {
    let Some((part, rest)) = parts.split_first() else { return Some(at) };
    let word = words.get(at).map(String::as_str);
    match part {
        Part::Begin => end(rest, words, at).filter(|_| at == 0),
        Part::End => Some(at).filter(|_| at == words.len()),
        Part::AnyWord => end(rest, words, word.filter(|word| *word != ",").map(|_| at + 1)?),
        Part::AnyWords => end(rest, words, at)
            .or_else(|| word.filter(|word| *word != ",").and_then(|_| end(parts, words, at + 1))),
        Part::Word(any) => {
            word.filter(|word| any.iter().any(|any| any == word)).and_then(|_| end(rest, words, at + 1))
        }
    }
}
