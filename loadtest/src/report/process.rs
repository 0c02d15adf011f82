//! The costs for the server, and for the generator.

use serde::Serialize;

/// The PSS of the server in bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Memory {
    /// The size with the devices created and no poll open.
    before: u64,
    /// The size with all polls open.
    held: u64,
    /// The growth from `before` to `held`, per poll; absent if the server used memory of earlier work.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_poll: Option<f64>,
    /// The size after the storm, with the polls still open.
    after: u64,
    /// `after` / `held`.
    after_over_held: f64,
    /// (`after` - `before`) / (`held` - `before`): what the storm left on the polls alone.
    growth_after_over_held: f64,
}

impl Memory {
    /// Computes the figures from three readings; `None` when one is missing.
    pub(crate) fn of(
        polls: usize,
        before: Option<u64>,
        held: Option<u64>,
        after: Option<u64>,
    ) -> Option<Self> {
        let (before, held, after) = (before?, held?, after?);
        let growth = |to: u64| to as f64 - before as f64;
        Some(Self {
            before,
            held,
            per_poll: Some(growth(held) / polls as f64),
            after,
            after_over_held: after as f64 / held as f64,
            growth_after_over_held: growth(after) / growth(held),
        })
    }
}

impl Memory {
    /// Returns the bytes of each poll, if they are known.
    pub(crate) fn per_poll(&self) -> Option<f64> {
        self.per_poll
    }

    /// Leaves out what means nothing unless the server is fresh.
    pub(crate) fn if_meant(self, is_fresh: bool) -> Self {
        Self { per_poll: self.per_poll.filter(|_| is_fresh), ..self }
    }

    pub(super) fn rows(&self) -> [(&'static str, String); 2] {
        let mebibytes = |bytes: u64| bytes as f64 / 1_048_576.0;
        [
            (
                "memory per held poll",
                self.per_poll
                    .map_or("unknown: the server is not fresh".to_owned(), |each| format!("{each:.0} bytes")),
            ),
            (
                "server PSS",
                format!(
                    "before {:.1}  held {:.1}  after {:.1} MiB; after/held {:.3}, growth only {:.3}",
                    mebibytes(self.before),
                    mebibytes(self.held),
                    mebibytes(self.after),
                    self.after_over_held,
                    self.growth_after_over_held
                ),
            ),
        ]
    }
}

/// CPU seconds in the measured window. If the generator is near 100 % of its core, it is the bottleneck and
/// not the server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Cpu {
    server_seconds: Option<f64>,
    server_percent: Option<f64>,
    generator_seconds: f64,
    generator_percent: f64,
    /// The server's microseconds per notification, if the window measures notifications.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_micros_per_delivery: Option<f64>,
}

impl Cpu {
    /// Computes the figures from the seconds each side used in `window` seconds.
    pub(crate) fn of(server_seconds: Option<f64>, generator_seconds: f64, window: f64) -> Self {
        let percent = |seconds: f64| 100.0 * seconds / window;
        Self {
            server_seconds,
            server_percent: server_seconds.map(percent),
            generator_seconds,
            generator_percent: percent(generator_seconds),
            server_micros_per_delivery: None,
        }
    }

    /// Adds the CPU time per notification of the window.
    pub(crate) fn per_delivery(self, deliveries: u64) -> Self {
        let seconds = self.server_seconds.filter(|_| deliveries > 0);
        Self { server_micros_per_delivery: seconds.map(|seconds| seconds * 1e6 / deliveries as f64), ..self }
    }

    /// Returns the server's microseconds for each of some things in the window.
    pub(crate) fn server_micros(&self, count: f64) -> Option<f64> {
        self.server_seconds.map(|seconds| seconds * 1e6 / count)
    }

    /// Returns the share of a core that the server used.
    pub(crate) fn brief(&self) -> String {
        self.server_percent.map_or("unknown".to_owned(), |percent| format!("{percent:.2} % of a core"))
    }

    /// Sums several windows of `seconds` in total.
    pub(crate) fn sum(parts: &[Self], seconds: f64) -> Self {
        let server = parts.iter().map(|part| part.server_seconds).sum::<Option<f64>>();
        Self::of(server, parts.iter().map(|part| part.generator_seconds).sum(), seconds)
    }
}

impl Cpu {
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let server = match (self.server_seconds, self.server_percent) {
            (Some(seconds), Some(percent)) => format!("server {seconds:.2} s ({percent:.2} % of a core)"),
            _ => "server unknown".to_owned(),
        };
        let generator =
            format!("generator {:.2} s ({:.1} %)", self.generator_seconds, self.generator_percent);
        let mut rows = vec![("CPU", format!("{server}  {generator}"))];
        let each = self.server_micros_per_delivery;
        rows.extend(each.map(|micros| ("server CPU per delivery", format!("{micros:.2} µs"))));
        rows
    }
}
