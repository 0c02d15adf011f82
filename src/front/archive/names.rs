//! The names of files in an archive. Only names are accepted that mean one and the same file wherever the archive is
//! unpacked.

use std::cmp::Ordering;

use platform_model::error::Result;

use super::list::Entry;

/// The directory in which the names of an archive begin.
const HERE: &str = "./";
/// The most bytes of one name.
const MAX_NAME: usize = 1024;

/// Parses a name. Some programs write `./` before every name, which is dropped (W-02a); the directory `./` itself keeps
/// its name.
///
/// # Errors
/// The rule that the name breaks.
pub(super) fn parse(name: &[u8]) -> Result<String, String> {
    let Ok(given) = std::str::from_utf8(name) else { return Err("its name is not UTF-8".into()) };
    if given == HERE {
        return Ok(given.to_owned());
    }
    let text = given.strip_prefix(HERE).unwrap_or(given);
    let path = text.strip_suffix('/').unwrap_or(text);
    let rule = if text.is_empty() {
        "it has no name"
    } else if text.len() > MAX_NAME {
        return Err(format!("its name is longer than {MAX_NAME} bytes"));
    } else if text.contains(char::is_control) {
        "its name holds a control character"
    } else if text.contains('\\') {
        "its name holds a backslash; the separator of directories is '/'"
    } else if text.starts_with('/') {
        "its name is absolute"
    } else if has_drive(text) {
        "its name begins with a drive letter"
    } else if path.split('/').any(|segment| segment == "..") {
        "its name holds a segment '..'"
    } else if path.split('/').any(|segment| segment == ".") {
        "its name holds a segment '.'"
    } else if path.split('/').any(str::is_empty) {
        "its name holds an empty segment"
    } else {
        return Ok(text.to_owned());
    };
    Err(rule.into())
}

fn has_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

/// Rejects names that some file systems treat as equal, and names that are both a file and a directory.
///
/// # Errors
/// `Invalid` names one of them.
pub(super) fn check(entries: &[Entry]) -> Result<()> {
    let folded = |entry: &Entry| entry.name.trim_end_matches('/').to_lowercase();
    let mut sorted: Vec<_> = entries.iter().map(|entry| (folded(entry), entry)).collect();
    sorted.sort_by(|(one, _), (other, _)| by_directory(one, other));
    // The entries below a directory follow it directly, so comparing neighbours finds every collision.
    for pair in sorted.windows(2) {
        let [(folded_first, first), (folded_second, second)] = pair else { continue };
        if folded_first == folded_second {
            return Err(second.refuse(if first.name == second.name {
                "there is another entry of this name"
            } else if first.is_directory() == second.is_directory() {
                "there is another name that differs in case only"
            } else {
                "it is a file and a directory"
            }));
        }
        let is_below = folded_second.strip_prefix(&**folded_first).is_some_and(|rest| rest.starts_with('/'));
        if is_below && !first.is_directory() {
            return Err(first.refuse("it is a file and a directory"));
        }
        if !spell_alike(&first.name, &second.name) {
            return Err(second.refuse("a directory of it has another name that differs in case only"));
        }
    }
    Ok(())
}

/// Compares names as text, with `/` before every other character.
fn by_directory(one: &str, other: &str) -> Ordering {
    let key = |byte| if byte == b'/' { 0 } else { byte };
    one.bytes().map(key).cmp(other.bytes().map(key))
}

/// Returns whether the directories that two names share are spelled identically.
fn spell_alike(one: &str, other: &str) -> bool {
    // The last segments are the files themselves and were compared already.
    let directories = |name| str::rsplit_once(name, '/').map_or("", |(directories, _)| directories);
    let pairs = directories(one).split('/').zip(directories(other).split('/'));
    let mut shared = pairs.take_while(|(one, other)| one.to_lowercase() == other.to_lowercase());
    shared.all(|(one, other)| one == other)
}
