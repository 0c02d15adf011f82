//! Range requests for files: a single range, as media players, modems and resumed downloads send (I-14a). A request for
//! several ranges gets the whole file.

use std::ops::Range;

use actix_web::http::header::{self, HeaderMap};

/// The part of a file that is requested.
#[derive(Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// The whole file.
    Whole,
    /// Some of its bytes, at least one.
    Part(Range<u64>),
    /// Bytes beyond the file.
    Nothing,
}

/// Parses `Range`, which is ignored when it is not a single range of bytes or is meant for a file with
/// another tag.
pub fn requested(headers: &HeaderMap, tag: &str, length: u64) -> RequestedRange {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(range) = text(header::RANGE) else { return RequestedRange::Whole };
    if headers.contains_key(header::IF_RANGE) && text(header::IF_RANGE) != Some(tag) {
        return RequestedRange::Whole;
    }
    parse(range, length).unwrap_or(RequestedRange::Whole)
}

fn parse(range: &str, length: u64) -> Option<RequestedRange> {
    let (unit, range) = range.split_once('=')?;
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        // A number that does not fit means the end of the file.
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
    Some(if range.is_empty() { RequestedRange::Nothing } else { RequestedRange::Part(range) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_range_is_taken_and_everything_else_is_ignored() {
        for (range, wanted) in [
            ("bytes=0-0", RequestedRange::Part(0..1)),
            ("bytes=2-5", RequestedRange::Part(2..6)),
            ("Bytes = 2 - 5", RequestedRange::Part(2..6)),
            ("bytes=2-", RequestedRange::Part(2..10)),
            ("bytes=-3", RequestedRange::Part(7..10)),
            ("bytes=-30", RequestedRange::Part(0..10)),
            ("bytes=5-99999999999999999999999", RequestedRange::Part(5..10)),
            ("bytes=10-", RequestedRange::Nothing),
            ("bytes=10-12", RequestedRange::Nothing),
            ("bytes=99999999999999999999999-", RequestedRange::Nothing),
            ("bytes=-0", RequestedRange::Nothing),
            ("bytes=5-2", RequestedRange::Whole),
            ("bytes=0-1,3-4", RequestedRange::Whole),
            ("bytes=-", RequestedRange::Whole),
            ("bytes=a-b", RequestedRange::Whole),
            ("bytes=+1-2", RequestedRange::Whole),
            ("lines=0-1", RequestedRange::Whole),
            ("0-1", RequestedRange::Whole),
        ] {
            assert_eq!(parse(range, 10).unwrap_or(RequestedRange::Whole), wanted, "{range}");
        }
        assert_eq!(parse("bytes=0-", 0), Some(RequestedRange::Nothing));
    }
}
