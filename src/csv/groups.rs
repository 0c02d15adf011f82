//! Several X-Ids in one request: lines `15`, and the groups of lines they are answered with (22.5).

use super::line::{Lines, Record};
use super::refusal::Refusal;

/// Characters of an X-Id (S-12).
const X_ID_LENGTH: std::ops::RangeInclusive<usize> = 1..=256;

/// The message id of a record; `None` for what is no unsigned integer of at most nine digits (S-27).
pub(crate) fn message_id(record: &Record<'_>) -> Option<u32> {
    id_of(record.values.as_ref().ok()?.first()?)
}

/// A message id, of a row or of a template; `None` for another text (S-27).
pub(crate) fn id_of(text: &str) -> Option<u32> {
    let digits = (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// Whether an X-Id could be one (S-12).
pub(crate) fn is_x_id(text: &str) -> bool {
    X_ID_LENGTH.contains(&text.chars().count()) && !text.contains('\0')
}

/// The X-Id that a line `15` names for what follows; `None` for another line.
///
/// # Errors
/// `Malformed` for one that names none, and beside the header `X-Id` (S-12).
pub(crate) fn switch<'r>(record: &'r Record<'_>, header: Option<&str>) -> Option<Result<&'r str, Refusal>> {
    if message_id(record) != Some(15) {
        return None;
    }
    Some(match record.values.as_deref() {
        Ok([_, x_id]) if header.is_none() && is_x_id(x_id) => Ok(x_id),
        _ => Err(Refusal::Malformed),
    })
}

/// An answer whose lines belong to X-Ids: each group of lines stands behind `87,<count>,<x_id>` (S-40). Lines are counted,
/// not records: a device may read so many lines and leave quotes to whoever takes them apart.
#[derive(Debug, Default)]
pub(crate) struct GroupedLines {
    done: Lines,
    x_id: Option<String>,
    lines: Lines,
}

impl GroupedLines {
    /// The lines from here on belong to this X-Id.
    pub(crate) fn begin(&mut self, x_id: Option<&str>) {
        if self.x_id.as_deref() != x_id {
            self.end();
            self.x_id = x_id.map(ToOwned::to_owned);
        }
    }

    /// The lines of the group under way.
    pub(crate) fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    /// Bytes of the answer so far.
    pub(crate) fn bytes(&self) -> usize {
        self.done.bytes() + self.lines.bytes()
    }

    /// The whole answer. Groups without a line are left out.
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
    fn groups_stand_behind_their_x_id_and_empty_ones_are_left_out() {
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
