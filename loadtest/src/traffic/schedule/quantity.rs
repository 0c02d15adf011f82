//! Parses numbers with a unit, as they are written in scenario files: `50ms`, `200MB`, `80%`.

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A number.
    Count,
    /// A number per second.
    Rate,
    /// Milliseconds.
    Time,
    /// Bytes.
    Memory,
    /// Bytes per hour.
    Growth,
    /// A number per hour.
    PerHour,
    /// Percent of a core.
    Percent,
}

impl Unit {
    /// Returns the spellings of the unit, each with its factor.
    fn names(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Count => &[("", 1.0)],
            Self::Rate => &[("", 1.0), ("/s", 1.0)],
            Self::Time => &[("ms", 1.0), ("s", 1000.0), ("min", 60_000.0), ("h", 3_600_000.0)],
            Self::Memory => &[
                ("kB", 1e3),
                ("MB", 1e6),
                ("GB", 1e9),
                ("KiB", 1024.0),
                ("MiB", 1_048_576.0),
                ("GiB", 1_073_741_824.0),
            ],
            Self::PerHour => &[("/h", 1.0)],
            Self::Growth => &[("kB/h", 1e3), ("MB/h", 1e6), ("GB/h", 1e9)],
            Self::Percent => &[("%", 1.0)],
        }
    }

    /// Returns a value with its unit, for people.
    pub(crate) fn shown(self, value: f64) -> String {
        match self {
            Self::Count => format!("{value:.0}"),
            Self::Rate => format!("{value:.1}/s"),
            Self::Time => format!("{value:.2} ms"),
            Self::Memory if value < 1e5 => format!("{:.1} kB", value / 1e3),
            Self::Memory => format!("{:.1} MB", value / 1e6),
            Self::Growth => format!("{:.1} MB/h", value / 1e6),
            Self::PerHour => format!("{value:.1}/h"),
            Self::Percent => format!("{value:.1} %"),
        }
    }
}

/// Parses a number with its unit. Returns milliseconds, bytes, bytes per hour, percent, or the number.
///
/// # Errors
/// The text is invalid; the error contains an example.
pub(crate) fn parse(text: &str, unit: Unit) -> Result<f64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor = unit.names().iter().find(|(name, _)| *name == suffix.trim()).map(|(_, factor)| *factor);
    match (number.parse::<f64>(), factor) {
        (Ok(number), Some(factor)) => Ok(number * factor),
        _ => {
            let allowed: Vec<String> = unit.names().iter().map(|(name, _)| format!("`50{name}`")).collect();
            Err(format!("{text:?} is not allowed here; write it like {}", allowed.join(" or ")))
        }
    }
}
