//! Finds several mistakes of a file at once. The parser ends at the first one, so the line of each mistake gets a value
//! that is valid, and the file is parsed again. The search ends at a line for which no such value is found.

use std::path::Path;

use toml::de::DeTable;

use super::setting::ADDED;
use super::{CAN_NEVER_HOLD, ScenarioFile};
use crate::cli::Common;
use crate::error::Error;

/// The most mistakes that one error lists.
const MOST: usize = 50;
/// The values that are tried in place of a wrong one, if the key cannot be left out.
const VALUES: [&str; 3] = ["1", "\"1d\"", "\"rest\""];

/// Returns the first mistake of a file together with those after it that are found.
pub(super) fn with_further_ones(first: Error, file: &Path, text: &str, common: &Common) -> Error {
    let mut found: Vec<Error> = Vec::new();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    // Lines that settings have added have no number.
    let added = lines.iter().filter(|line| line.trim_end().ends_with(ADDED)).count();
    let mut next = Some(first);
    while let Some(error) = next.take() {
        let index = error.line().map(|line| line - 1 + added);
        // A threshold may be wrong only because something else is.
        if found.is_empty() || !error.to_string().contains(CAN_NEVER_HOLD) {
            found.push(error);
        }
        if let Some(index) = index.filter(|index| *index < lines.len() && found.len() < MOST) {
            next =
                without(&mut lines, index, added, |text| ScenarioFile::parse_once(file, text, common).err());
        }
    }
    if found.len() == 1 {
        return found.remove(0);
    }
    let listed: Vec<String> = found.iter().map(ToString::to_string).collect();
    Error::Refused(format!("{} mistakes\n{}", found.len(), listed.join("\n")))
}

/// Changes a line so that it has no mistake, and returns the next mistake of the file. `None` if there is none, or
/// if no change of the line leads to another one.
fn without(
    lines: &mut [String],
    index: usize,
    added: usize,
    parse: impl Fn(&str) -> Option<Error>,
) -> Option<Error> {
    let header = lines[..index].iter().rposition(|line| line.trim_start().starts_with('['));
    let original = lines[index].clone();
    let end = &original[original.trim_end_matches('\n').len()..];
    let key = original.split_once('=').map(|(key, _)| key.trim_end());
    let changes = key.iter().flat_map(|key| VALUES.map(|value| format!("{key} = {value}{end}")));
    if original.trim_start().starts_with('[') {
        return None;
    }
    for change in std::iter::once(end.to_owned()).chain(changes) {
        lines[index] = change;
        let text = lines.concat();
        if DeTable::parse(&text).is_err() {
            continue;
        }
        let error = parse(&text)?;
        let at = error.line().map(|line| line - 1 + added);
        if at.is_some() && at != Some(index) && at != header {
            return Some(error);
        }
    }
    lines[index] = original;
    None
}
