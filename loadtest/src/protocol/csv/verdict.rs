//! The result of each row of a post, from the response: an empty one means that all rows succeeded, every
//! line means an error (S-04, S-06, S-60). Pure data.

use super::lines::{Line, lines};
use crate::ledger::Outcome;

/// The key under which a response to rows without a line is counted.
pub(crate) const CLEAN: &str = "200 empty";

/// The result of a post.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// The result of the post as a whole.
    pub(crate) outcome: Outcome,
    /// The result of each row, if they differ.
    pub(crate) rows: Option<Vec<Outcome>>,
    /// The key under which the post is counted.
    pub(crate) counted_as: String,
    /// The unexpected line.
    pub(crate) line: Option<String>,
}

impl Verdict {
    /// Returns the result of a post without a response.
    pub(crate) fn none() -> Self {
        Self { outcome: Outcome::Unknown, rows: None, counted_as: "no response".to_owned(), line: None }
    }

    /// Returns the result by the status alone.
    pub(crate) fn of_status(status: u16) -> Self {
        let outcome = match status {
            200..=299 => Outcome::Acknowledged,
            400..=499 => Outcome::Refused,
            _ => Outcome::Unknown,
        };
        Self { outcome, rows: None, counted_as: status.to_string(), line: None }
    }

    /// Returns the result by the response to this many rows, each in a line of its own.
    pub(crate) fn of_rows(status: u16, answer: &[u8], rows: u32) -> Self {
        if status != 200 {
            return Self::of_status(status);
        }
        let text = || String::from_utf8_lossy(&answer[..answer.len().min(200)]).trim().to_owned();
        match lines(answer) {
            Ok(lines) if lines.is_empty() => {
                Self { outcome: Outcome::Acknowledged, rows: None, counted_as: CLEAN.to_owned(), line: None }
            }
            Ok(lines) => {
                let rows = outcomes(&lines, rows);
                let outcome =
                    if rows.contains(&Outcome::Unknown) { Outcome::Unknown } else { Outcome::Refused };
                Self { outcome, rows: Some(rows), counted_as: gist(&lines[0]), line: Some(text()) }
            }
            Err(_) => Self {
                outcome: Outcome::Unknown,
                rows: None,
                counted_as: "200 malformed".to_owned(),
                line: Some(text()),
            },
        }
    }
}

/// A row without a line was executed.
fn outcomes(lines: &[Line], rows: u32) -> Vec<Outcome> {
    let mut outcomes = vec![Outcome::Acknowledged; rows as usize];
    for line in lines {
        let row = line.get(1).and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
        match (line[0].as_str(), row) {
            ("40", _) => outcomes.fill(Outcome::Refused),
            (id @ ("42" | "43" | "45" | "50"), Some(row)) if row < outcomes.len() => {
                // After a 5xx the row may be stored, or not.
                let is_unknown = id == "50" && line.get(2).is_some_and(|code| code.starts_with('5'));
                outcomes[row] = if is_unknown { Outcome::Unknown } else { Outcome::Refused };
            }
            _ => {}
        }
    }
    outcomes
}

/// Returns a line without its number, so that lines of one kind are counted together.
fn gist(line: &Line) -> String {
    let behind = line.get(2).map(|value| format!(",*,{value}")).unwrap_or_default();
    format!("200 {}{behind}", line[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Outcome::{Acknowledged, Refused, Unknown};

    #[test]
    fn empty_response_acknowledges_every_row() {
        let verdict = Verdict::of_rows(200, b" ", 3);
        assert_eq!((verdict.outcome, verdict.rows, verdict.line), (Acknowledged, None, None));
        assert_eq!(verdict.counted_as, CLEAN);
    }

    #[test]
    fn lines_refer_to_the_rows_that_they_name() {
        for (answer, rows, outcome, counted_as) in [
            ("50,2,422\n", vec![Acknowledged, Refused, Acknowledged], Refused, "200 50,*,422"),
            ("50,1,503\n", vec![Unknown, Acknowledged, Acknowledged], Unknown, "200 50,*,503"),
            ("45,3,No\n43,1,x\n", vec![Refused, Acknowledged, Refused], Refused, "200 45,*,No"),
            ("40,\"No template\"\n", vec![Refused; 3], Refused, "200 40"),
            // An unexpected line is counted, but changes no result.
            ("700,1,5\n", vec![Acknowledged; 3], Refused, "200 700,*,5"),
            ("50,4,422\n", vec![Acknowledged; 3], Refused, "200 50,*,422"),
        ] {
            let verdict = Verdict::of_rows(200, answer.as_bytes(), 3);
            assert_eq!((verdict.rows, verdict.outcome), (Some(rows), outcome), "{answer}");
            assert_eq!(verdict.counted_as, counted_as);
            assert_eq!(verdict.line.as_deref(), Some(answer.trim()));
        }
    }

    #[test]
    fn malformed_lines_and_other_statuses_apply_to_the_whole_post() {
        assert_eq!(Verdict::of_rows(200, b"50,1", 2).outcome, Unknown);
        assert_eq!(Verdict::of_rows(401, b"{}", 2), Verdict::of_status(401));
        assert_eq!(Verdict::of_status(401).outcome, Refused);
        assert_eq!(Verdict::of_status(503).outcome, Unknown);
        assert_eq!(Verdict::of_status(201).outcome, Acknowledged);
    }
}
