//! Constants that documents quote. ARCHITECTURE.md and docs/internals link each to the code:
//! `[2 ms](path/to/file.rs "NAME")`. The guides, whose readers do not read code, name the setting after the number, or
//! have a line in the list.

use std::fs;
use std::sync::OnceLock;

use crate::code_constants::value;
use crate::markdown::{ConstantLink, constant_links, prose};
use crate::quantity::{Quantity, with_units};
use crate::tree::{File, Violation, files, line_of, root};

const LIST: &str = "tests/house/constants.txt";
const SETTINGS: &str = "docs/settings.md";
/// The word of a paragraph, or of a line of the list, whose numbers are not constants.
const MEASURED: &str = "measured";

pub(crate) fn violations() -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files(".md").filter(|file| file.path == "ARCHITECTURE.md" || file.path.starts_with("docs/")) {
        let links = constant_links(&file.text);
        violations.extend(links.iter().filter_map(|link| judge_link(file, link)));
        if file.path == "ARCHITECTURE.md" || file.path.starts_with("docs/internals/") {
            violations.extend(numbers_without_link(file, &links));
        }
        if file.path.starts_with("docs/guide/") {
            violations.extend(numbers_of_guide(file));
        }
    }
    violations.extend(listed().iter().filter_map(judge_entry));
    violations
}

fn judge_link(file: &File, link: &ConstantLink) -> Option<Violation> {
    let line = line_of(&file.text, link.begin);
    let violation = |text: String| Some(Violation::new(&file.path, line, text));
    let path = resolved(&file.path, link.address);
    match (Quantity::of_text(link.text), value(&path, link.name)) {
        (_, Err(text)) => violation(format!("{text}; correct the link [{}]", link.text)),
        (None, Ok(_)) => violation(format!(
            "[{}] is not a number; quote {} as a number with its unit",
            link.text, link.name
        )),
        (Some(_), Ok((actual, _))) if actual.is_quoted_by(link.text) => None,
        (Some(_), Ok((actual, at))) => {
            let text = format!(
                "[{}] is not {}, which is {actual} at {path}:{at}; correct the document",
                link.text, link.name
            );
            violation(text)
        }
    }
}

/// Returns a path relative to the project for one relative to a document.
fn resolved(document: &str, address: &str) -> String {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in address.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Finds numbers with units that are neither links nor in a paragraph about measurements.
fn numbers_without_link(file: &File, links: &[ConstantLink]) -> Vec<Violation> {
    let text = prose(&file.text);
    let linked = |at: usize| links.iter().any(|link| (link.begin..link.end).contains(&at));
    let numbers = with_units(&text)
        .into_iter()
        .filter(|(at, _)| !linked(*at) && !paragraph(&text, *at).contains(MEASURED));
    let violation = |(at, number): (usize, &str)| {
        let number = number.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = format!(
            "{number:?} is not linked to its constant; write [{number}](path/to/file.rs \"NAME\"), or \"measured\" \
             in the paragraph if it is not a constant"
        );
        Violation::new(&file.path, line_of(&file.text, at), text)
    };
    numbers.map(violation).collect()
}

fn paragraph(text: &str, at: usize) -> &str {
    let begin = text[..at].rfind("\n\n").unwrap_or(0);
    &text[begin..at + text[at..].find("\n\n").unwrap_or(text.len() - at)]
}

/// Finds numbers with units of a guide that are neither the default of the setting after them nor listed.
fn numbers_of_guide(file: &File) -> Vec<Violation> {
    let text = prose(&file.text);
    let entries = || listed().iter().filter(|entry| entry.document == file.path);
    let is_listed = |at: usize| {
        entries().any(|entry| entry.place().is_some_and(|(begin, end)| (begin..end).contains(&at)))
    };
    let mut violations = Vec::new();
    for (at, number) in with_units(&text).into_iter().filter(|(at, _)| !is_listed(*at)) {
        let line = line_of(&text, at);
        let Some(flag) = flag_after(&file.text[at + number.len()..]) else {
            let text = format!(
                "{number:?} may be a constant; add a line to {LIST} that names it, or that says {MEASURED}"
            );
            violations.push(Violation::new(&file.path, line, text));
            continue;
        };
        let default = default_of(flag);
        let actual = default.as_deref().and_then(Quantity::of_text);
        if !actual.zip(Quantity::of_text(number)).is_some_and(|(actual, quoted)| quoted.equals(actual)) {
            let default = default.as_deref().unwrap_or("not listed there");
            let text = format!(
                "{number:?} is not the default of {flag}, which is {default} in {SETTINGS}; correct the guide"
            );
            violations.push(Violation::new(&file.path, line, text));
        }
    }
    violations
}

/// Returns the setting that follows directly in parentheses, as in `90 minutes (--connect-timeout-ms)`.
fn flag_after(rest: &str) -> Option<&str> {
    let flag = rest.trim_start().strip_prefix("(`--").and_then(|rest| rest.split_once("`)"))?.0;
    (!flag.contains(' ')).then_some(flag)
}

/// Returns the default of a setting according to the generated reference.
fn default_of(flag: &str) -> Option<String> {
    let text = &files(SETTINGS).next()?.text;
    let row = text.lines().find_map(|line| line.strip_prefix(&format!("| `--{flag}` | ")))?;
    Some(row.split('|').next()?.trim().trim_matches('`').to_owned())
}

/// A line of the list: a document, its words, and the constant, or `measured`. The constant is a Rust file and an
/// expression of its constants, or any file and a piece of its text in backticks.
#[derive(Debug)]
struct Entry {
    line: usize,
    document: String,
    words: String,
    constant: String,
}

impl Entry {
    /// Returns the place of the words in the document, which may break them into lines, or of the section with this
    /// heading.
    fn place(&self) -> Option<(usize, usize)> {
        let text = &files(".md").find(|file| file.path == self.document)?.text;
        if self.words.starts_with("## ") {
            let begin = text.find(&format!("\n{}\n", self.words))? + 1;
            return Some((begin, text[begin..].find("\n## ").map_or(text.len(), |end| begin + end)));
        }
        let words: Vec<&str> = self.words.split_whitespace().collect();
        let follow = |begin: usize| {
            words.iter().try_fold(begin, |at, word| {
                let rest = text[at..].trim_start();
                let at = text.len() - rest.len();
                rest.starts_with(word).then_some(at + word.len())
            })
        };
        text.match_indices(words.first()?).find_map(|(begin, _)| Some((begin, follow(begin)?)))
    }
}

fn listed() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let text = fs::read_to_string(root().join(LIST)).expect("the list can be read");
        let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
        let entry = |(number, line): (usize, &str)| {
            let parts: Vec<String> = line.split(" | ").map(|part| part.trim().to_owned()).collect();
            let [document, words, constant] =
                parts.try_into().expect("`document | words | constant` in each line");
            Entry { line: number + 1, document, words, constant }
        };
        lines.map(entry).collect()
    })
}

fn judge_entry(entry: &Entry) -> Option<Violation> {
    let violation = |text: String| Some(Violation::new(LIST, entry.line, text));
    if entry.place().is_none() {
        return violation(format!(
            "{} does not contain {:?} any more; correct the line",
            entry.document, entry.words
        ));
    }
    if entry.constant == MEASURED {
        return None;
    }
    let Some((path, expression)) = entry.constant.split_once(' ') else {
        return violation(format!("{:?} is neither `file CONSTANT` nor `{MEASURED}`", entry.constant));
    };
    if let Some(literal) = expression.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        let is_there = fs::read_to_string(root().join(path)).is_ok_and(|text| text.contains(literal));
        let text =
            format!("{path} does not contain {literal:?} any more; correct {} and the line", entry.document);
        return (!is_there).then(|| Violation::new(LIST, entry.line, text));
    }
    let mut numbers = with_units(&entry.words).into_iter().map(|(_, number)| number);
    match value(path, expression) {
        Err(text) => violation(format!("{text}; correct the line")),
        Ok((actual, _)) if numbers.any(|number| actual.is_quoted_by(number)) => None,
        Ok((actual, line)) => violation(format!(
            "{} says {:?}, but {expression} is {actual} at {path}:{line}; correct the document and the line",
            entry.document, entry.words
        )),
    }
}
