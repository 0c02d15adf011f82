//! Lists of exceptions that can only shrink: other files must be clean, and each entry must be exact.

use std::collections::BTreeMap;
use std::fs;

use crate::tree::{Violation, is_writing, root};

/// The findings under a name.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) count: usize,
    pub(crate) violations: Vec<Violation>,
}

/// Compares the findings with the list, whose lines are a name, a blank and a count.
pub(crate) fn compare(list: &str, found: BTreeMap<String, Found>) -> Vec<Violation> {
    let text = fs::read_to_string(root().join(list)).expect("the list can be read");
    if is_writing() {
        let shrunk: Vec<String> = text.lines().filter_map(|line| shrink(line, &found)).collect();
        fs::write(root().join(list), shrunk.join("\n") + "\n").expect("the list can be written");
        return compare_text(list, &(shrunk.join("\n") + "\n"), found);
    }
    compare_text(list, &text, found)
}

fn compare_text(list: &str, text: &str, mut found: BTreeMap<String, Found>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some((name, allowed)) = entry(line) else { continue };
        let mut report = |text| violations.push(Violation::new(list, number + 1, text));
        match found.remove(name) {
            None => report(format!("{name} needs no exception any more; remove the line")),
            Some(found) if found.count < allowed => {
                report(format!(
                    "{name} has {} instead of {allowed}; lower the number of the line",
                    found.count
                ));
            }
            Some(found) if found.count > allowed => {
                report(format!("{name} has {} instead of {allowed}; the list can only shrink", found.count));
                violations.extend(found.violations);
            }
            Some(_) => {}
        }
    }
    violations.extend(found.into_values().flat_map(|found| found.violations));
    violations
}

/// Returns the line with the count that was found, if that is smaller; `None` for a line that is not needed.
fn shrink(line: &str, found: &BTreeMap<String, Found>) -> Option<String> {
    let Some((name, allowed)) = entry(line) else { return Some(line.to_owned()) };
    let found = found.get(name)?;
    Some(format!("{name} {}", allowed.min(found.count)))
}

fn entry(line: &str) -> Option<(&str, usize)> {
    let (name, count) = line.rsplit_once(' ')?;
    if line.starts_with('#') { None } else { Some((name, count.parse().ok()?)) }
}
