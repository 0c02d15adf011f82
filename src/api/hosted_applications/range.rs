//! Parts of a file: one range, as players and downloads that go on ask for it. Several at once are not worth their trouble, and
//! who asks for them gets the file.

use std::ops::Range;

use actix_web::http::header::{self, HeaderMap};

/// What of a file is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it.
    Whole,
    /// Some of its bytes, at least one.
    Part(Range<u64>),
    /// Bytes that there are not.
    Nothing,
}

/// Reads `Range`, which is ignored when it is no single range of bytes, or of another file than the one with this tag.
pub(super) fn wanted(headers: &HeaderMap, tag: &str, length: u64) -> Wanted {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(range) = text(header::RANGE) else { return Wanted::Whole };
    if headers.contains_key(header::IF_RANGE) && text(header::IF_RANGE) != Some(tag) {
        return Wanted::Whole;
    }
    parse(range, length).unwrap_or(Wanted::Whole)
}

fn parse(range: &str, length: u64) -> Option<Wanted> {
    let (unit, range) = range.split_once('=')?;
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        // What is beyond any file is the end.
        true => Some(text.parse().unwrap_or(u64::MAX)),
        false => None,
    };
    let (first, last) = (first.trim(), last.trim());
    let range = match (number(first), number(last)) {
        _ if !unit.trim().eq_ignore_ascii_case("bytes") => return None,
        (Some(first), Some(last)) if first > last => return None,
        (Some(first), Some(last)) => first..last.saturating_add(1).min(length),
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        _ => return None,
    };
    Some(if range.is_empty() { Wanted::Nothing } else { Wanted::Part(range) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_range_is_taken_and_everything_else_is_ignored() {
        for (range, wanted) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-5", Wanted::Part(2..6)),
            ("Bytes = 2 - 5", Wanted::Part(2..6)),
            ("bytes=2-", Wanted::Part(2..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-30", Wanted::Part(0..10)),
            ("bytes=5-99999999999999999999999", Wanted::Part(5..10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=10-12", Wanted::Nothing),
            ("bytes=99999999999999999999999-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=5-2", Wanted::Whole),
            ("bytes=0-1,3-4", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("lines=0-1", Wanted::Whole),
            ("0-1", Wanted::Whole),
        ] {
            assert_eq!(parse(range, 10).unwrap_or(Wanted::Whole), wanted, "{range}");
        }
        assert_eq!(parse("bytes=0-", 0), Some(Wanted::Nothing));
    }
}
