//! Several X-Ids in one request: lines `15`, and the groups of response lines for each X-Id.

use super::line::{Lines, Record};
use super::refusal::Refusal;

/// The number of characters of an X-Id (S-12).
const X_ID_LENGTH: std::ops::RangeInclusive<usize> = 1..=256;

/// Returns the message id of a record; `None` unless it is an unsigned integer of at most nine digits (S-27).
pub(crate) fn message_id(record: &Record<'_>) -> Option<u32> {
    id_of(record.values.ok()?.first()?)
}

/// Parses the message id of a row or a template; `None` for other text (S-27).
pub(crate) fn id_of(text: &str) -> Option<u32> {
    let digits = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// Returns whether a text is a valid X-Id (S-12).
pub(crate) fn is_x_id(text: &str) -> bool {
    X_ID_LENGTH.contains(&text.chars().count()) && !text.contains('\0')
}

/// Returns the X-Id that a line `15` selects for the lines after it; `None` for another line.
///
/// # Errors
/// `Malformed` for a line `15` without a valid X-Id, and for any in a request with the header `X-Id` (S-12).
pub(crate) fn switch<'r>(record: &Record<'r>, header: Option<&str>) -> Option<Result<&'r str, Refusal>> {
    if message_id(record) != Some(15) {
        return None;
    }
    Some(match record.values {
        Ok([_, x_id]) if header.is_none() && is_x_id(x_id) => Ok(x_id),
        _ => Err(Refusal::Malformed),
    })
}

/// A response whose lines belong to X-Ids: a line `87,<count>,<x_id>` precedes each group (S-40). The count
/// is of lines, not records, so that a device can read that many lines before it parses quotes.
#[derive(Debug, Default)]
pub(crate) struct GroupedLines {
    done: Lines,
    x_id: Option<String>,
    lines: Lines,
}

impl GroupedLines {
    /// Starts the group of an X-Id; the lines that follow belong to it.
    pub(crate) fn begin(&mut self, x_id: Option<&str>) {
        if self.x_id.as_deref() != x_id {
            self.end();
            self.x_id = x_id.map(ToOwned::to_owned);
        }
    }

    /// Returns the lines of the current group.
    pub(crate) fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    /// Returns the size of the response so far, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.done.bytes() + self.lines.bytes()
    }

    /// Returns the whole response, without empty groups.
    pub(crate) fn finish(mut self) -> String {
        self.end();
        self.done.into_text()
    }

    fn end(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        match &self.x_id {
            Some(x_id) if !lines.is_empty() => self.done.push(["87", &lines.count().to_string(), x_id]),
            _ => {}
        }
        self.done.append(&lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_their_x_id_and_empty_ones_are_omitted() {
        let mut answer = GroupedLines::default();
        answer.lines().push_text("42,1,Malformed Request");
        for (x_id, lines) in [("a", 2), ("b", 0), ("c,d", 1)] {
            answer.begin(Some(x_id));
            (0..lines).for_each(|line| answer.lines().push_text(&format!("{line}")));
        }
        assert_eq!(answer.finish(), "42,1,Malformed Request\n87,2,a\n0\n1\n87,1,\"c,d\"\n0\n");
    }

    #[test]
    fn value_with_line_breaks_counts_as_the_lines_it_takes() {
        let mut answer = GroupedLines::default();
        answer.begin(Some("a"));
        answer.lines().push(["900", "x\ny\nz"]);
        answer.lines().push(["901", "x"]);
        assert_eq!(answer.finish(), "87,4,a\n900,\"x\ny\nz\"\n901,x\n");
    }
}
