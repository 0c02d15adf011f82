//! The length of functions outside of tests.

use std::collections::BTreeMap;

use crate::allowance::{self, Found};
use crate::rust::{closing, sources};
use crate::tree::{Violation, line_of};

const LIST: &str = "tests/house/functions.txt";
/// The maximum number of lines between the braces of a function. Comments and empty lines do not count.
const LINES: usize = 40;

pub(crate) fn violations() -> Vec<Violation> {
    let mut long: BTreeMap<String, Found> = BTreeMap::new();
    for source in sources() {
        let Some(code) = source.production() else { continue };
        let path = &source.file.path;
        for (name, line, lines) in
            functions(&code, &source.file.text).into_iter().filter(|(_, _, lines)| *lines > LINES)
        {
            let text =
                format!("the function {name} has {lines} lines; split it, so that each has at most {LINES}");
            let found =
                long.entry(format!("{path} {name}")).or_insert(Found { count: 0, violations: Vec::new() });
            found.count = found.count.max(lines);
            found.violations.push(Violation::new(path, line, text));
        }
    }
    allowance::compare(LIST, long)
}

/// Returns the functions with bodies: name, line and number of lines between the braces.
fn functions<'a>(code: &'a str, text: &str) -> Vec<(&'a str, usize, usize)> {
    let starts = code
        .match_indices("fn ")
        .filter(|(at, _)| !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    let function = |at: usize| {
        let name = code[at + 3..].split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next()?;
        let open = body(code, at)?;
        let lines = text[open + 1..closing(code, open)?].lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
        (!name.is_empty()).then(|| (name, line_of(code, at), lines.count()))
    };
    starts.filter_map(|(at, _)| function(at)).collect()
}

/// Returns the offset of the brace of the body; `None` for a declaration without one.
fn body(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0;
    for (offset, byte) in code.bytes().enumerate().skip(at) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(offset),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}
