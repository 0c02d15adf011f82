//! The meaning of the path of a condition.

use super::{FragmentPath, Path, TextMember, TimeMember};
use crate::fragment_name::is_fixed_member;

/// The standard members of notifications that are timestamps.
const TIMES: [&str; 4] = ["time", "creationTime", "lastUpdated", "firstOccurrenceTime"];
/// The standard members of notifications that have no members.
const SIMPLE: [&str; 4] = ["id", "self", "type", "realtimeAction"];

/// Returns the path of a managed object.
///
/// # Errors
/// The expected syntax, if no object has such a path.
pub(super) fn of_object(FragmentPath(mut names): FragmentPath) -> Result<Path, String> {
    let is_date = is_date(&names);
    let time = |member| match names.len() {
        1 => Some(Path::Time(member)),
        2 if is_date => Some(Path::Time(member)),
        _ => None,
    };
    let text = |member| (names.len() == 1).then_some(Path::Text(member));
    let standard = match names[0].as_str() {
        "id" if names.len() == 1 => Some(Path::Id),
        "type" => text(TextMember::Type),
        "name" => text(TextMember::Name),
        "owner" => text(TextMember::Owner),
        "creationTime" => time(TimeMember::CreationTime),
        "lastUpdated" => time(TimeMember::LastUpdated),
        _ => None,
    };
    match standard {
        Some(standard) => Ok(standard),
        // No object has a fragment of this name, so a negated condition would match every object (I-08a).
        None if is_fixed_member(&names[0]) => Err(no_members(&names[0])),
        None if is_date => {
            names.pop();
            Ok(Path::Instant(FragmentPath(names)))
        }
        None => Ok(Path::Fragment(FragmentPath(names))),
    }
}

/// Returns the path of a notification (B-35).
///
/// # Errors
/// The expected syntax, if no notification has such a path.
pub(super) fn of_notification(FragmentPath(mut names): FragmentPath) -> Result<Path, String> {
    let is_date = is_date(&names);
    if is_date {
        names.pop();
    }
    let is_time = names.len() == 1 && TIMES.contains(&names[0].as_str());
    if SIMPLE.contains(&names[0].as_str()) && (names.len() > 1 || is_date) {
        return Err(no_members(&names[0]));
    }
    Ok(match FragmentPath(names) {
        FragmentPath(names) if names == ["id"] => Path::Id,
        path if is_date || is_time => Path::Instant(path),
        path => Path::Fragment(path),
    })
}

fn is_date(names: &[String]) -> bool {
    names.len() > 1 && names.last().is_some_and(|last| last == "date")
}

fn no_members(name: &str) -> String {
    format!("the path of a fragment; '{name}' is none, and has no members")
}
