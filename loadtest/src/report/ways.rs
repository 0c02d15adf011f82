//! The same rows sent in several ways, and how these compare.

use serde::Serialize;

use super::figures::Posts;
use super::process::Cpu;
use crate::poster::Answers;

/// One way to send rows.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Way {
    /// Which.
    pub(crate) kind: String,
    /// Rows acknowledged per second.
    pub(crate) rows_per_second: f64,
    /// Bytes on the wire for each of them, heads and bodies.
    pub(crate) bytes_sent: f64,
    /// See `bytes_sent`.
    pub(crate) bytes_received: f64,
    /// Rows per second of each turn, where the ways took turns.
    pub(crate) turns: Vec<f64>,
    /// CPU time of both sides meanwhile, where nothing else went on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<Cpu>,
    /// The posts these were in.
    pub(crate) posts: Posts,
}

impl Way {
    /// From the answers of all turns, the seconds these took together, and the rows of each post.
    pub(crate) fn of(kind: String, answers: &Answers, seconds: f64, rows: u32) -> Self {
        let acknowledged = (answers.latency.len() * u64::from(rows)).max(1) as f64;
        Self {
            kind,
            rows_per_second: answers.latency.len() as f64 * f64::from(rows) / seconds,
            bytes_sent: answers.traffic.sent as f64 / acknowledged,
            bytes_received: answers.traffic.received as f64 / acknowledged,
            turns: Vec::new(),
            cpu: None,
            posts: Posts::of_rows(answers, seconds, rows),
        }
    }

    /// Bytes on the wire for each row.
    pub(crate) fn bytes(&self) -> f64 {
        self.bytes_sent + self.bytes_received
    }

    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let turns = self.turns.iter().map(|turn| format!("{turn:.0}")).collect::<Vec<_>>().join(" ");
        let turns = if turns.is_empty() { turns } else { format!("  (turns: {turns})") };
        let mut rows = vec![
            ("sent as", self.kind.clone()),
            ("rows/s", format!("{:.0}{turns}", self.rows_per_second)),
            (
                "bytes for each row",
                format!(
                    "{:.1}: {:.1} sent, {:.1} received",
                    self.bytes(),
                    self.bytes_sent,
                    self.bytes_received
                ),
            ),
        ];
        rows.extend(self.posts.rows().into_iter().filter(|(label, _)| *label != "rows/s"));
        rows.extend(self.cpu.iter().flat_map(Cpu::rows));
        rows
    }
}

/// How one way compares with another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Ratio {
    /// Which to which.
    pub(crate) of: String,
    /// Rows per second.
    pub(crate) rows_per_second: f64,
    /// Bytes for each row.
    pub(crate) bytes: f64,
    /// Rows per second, turn by turn, from the lowest on.
    pub(crate) turns: Vec<f64>,
}

impl Ratio {
    /// Of one way to another.
    pub(crate) fn of(way: &Way, to: &Way) -> Self {
        let mut turns: Vec<f64> = way.turns.iter().zip(&to.turns).map(|(way, other)| way / other).collect();
        turns.sort_by(f64::total_cmp);
        Self {
            of: format!("{} to {}", way.kind, to.kind),
            rows_per_second: way.rows_per_second / to.rows_per_second,
            bytes: way.bytes() / to.bytes(),
            turns,
        }
    }

    pub(super) fn row(&self) -> (&'static str, String) {
        let turns = match (self.turns.first(), self.turns.last()) {
            (Some(lowest), Some(highest)) => format!(" (turns {lowest:.2} to {highest:.2})"),
            _ => String::new(),
        };
        let text = format!("{}: rows/s {:.2}{turns}, bytes {:.2}", self.of, self.rows_per_second, self.bytes);
        ("ratio", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Traffic;

    fn way(kind: &str, posts: u64, rows: u32, traffic: Traffic, turns: &[f64]) -> Way {
        let mut answers = Answers::new();
        answers.latency.record_n(2000, posts).unwrap();
        answers.traffic = traffic;
        Way { turns: turns.into(), ..Way::of(kind.to_owned(), &answers, 2.0, rows) }
    }

    #[test]
    fn ways_are_compared_by_rows_and_bytes_for_each() {
        let csv = way("CSV", 100, 10, Traffic { sent: 30_000, received: 10_000 }, &[600.0, 400.0]);
        let json = way("JSON", 800, 1, Traffic { sent: 64_000, received: 64_000 }, &[500.0, 300.0]);
        assert_eq!((csv.rows_per_second, csv.bytes_sent, csv.bytes_received), (500.0, 30.0, 10.0));
        assert_eq!((json.rows_per_second, json.bytes()), (400.0, 160.0));
        let ratio = Ratio::of(&csv, &json);
        assert_eq!((ratio.rows_per_second, ratio.bytes), (1.25, 0.25));
        assert_eq!(ratio.turns, [1.2, 4.0 / 3.0]);
        assert_eq!(ratio.row().1, "CSV to JSON: rows/s 1.25 (turns 1.20 to 1.33), bytes 0.25");
        let shown = csv.rows();
        assert_eq!(shown[1], ("rows/s", "500  (turns: 600 400)".to_owned()));
        assert_eq!(shown[2].1, "40.0: 30.0 sent, 10.0 received");
    }

    #[test]
    fn way_that_nothing_went_has_no_bytes() {
        assert_eq!(way("none", 0, 1, Traffic::default(), &[]).bytes(), 0.0);
    }
}
