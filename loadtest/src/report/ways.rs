//! The same rows sent in several ways, and the ratios between these.

use serde::Serialize;

use super::figures::Posts;
use super::process::Cpu;
use crate::traffic::poster::Responses;

/// A way to send rows.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Way {
    /// The name of the way.
    pub(crate) kind: String,
    /// The rows acknowledged per second.
    pub(crate) rows_per_second: f64,
    /// The bytes sent per row, heads and bodies.
    pub(crate) bytes_sent: f64,
    /// The bytes received per row, heads and bodies.
    pub(crate) bytes_received: f64,
    /// The rows per second of each turn, if the ways took turns.
    pub(crate) turns: Vec<f64>,
    /// The CPU time of both sides, if nothing else was running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<Cpu>,
    /// The posts of the rows.
    pub(crate) posts: Posts,
}

impl Way {
    /// Computes the figures from the responses of all turns, the total seconds of these, and the rows per
    /// post.
    pub(crate) fn of(kind: String, responses: &Responses, seconds: f64, rows: u32) -> Self {
        let acknowledged = (responses.latency.len() * u64::from(rows)).max(1) as f64;
        Self {
            kind,
            rows_per_second: responses.latency.len() as f64 * f64::from(rows) / seconds,
            bytes_sent: responses.traffic.sent as f64 / acknowledged,
            bytes_received: responses.traffic.received as f64 / acknowledged,
            turns: Vec::new(),
            cpu: None,
            posts: Posts::of_rows(responses, seconds, rows),
        }
    }

    /// Returns the bytes on the wire per row.
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

/// The ratios between two ways.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Ratio {
    /// The names of the two ways.
    pub(crate) of: String,
    /// The ratio of rows per second.
    pub(crate) rows_per_second: f64,
    /// The ratio of bytes per row.
    pub(crate) bytes: f64,
    /// The ratio of rows per second of each turn, in ascending order.
    pub(crate) turns: Vec<f64>,
}

impl Ratio {
    /// Computes the ratios of one way to another.
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
    use crate::target::connection::Traffic;

    fn way(kind: &str, posts: u64, rows: u32, traffic: Traffic, turns: &[f64]) -> Way {
        let mut responses = Responses::default();
        responses.latency.record_n(2000, posts);
        responses.traffic = traffic;
        Way { turns: turns.into(), ..Way::of(kind.to_owned(), &responses, 2.0, rows) }
    }

    #[test]
    fn ways_are_compared_by_rows_and_bytes_per_row() {
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
    fn way_without_posts_has_no_bytes() {
        assert_eq!(way("none", 0, 1, Traffic::default(), &[]).bytes(), 0.0);
    }
}
