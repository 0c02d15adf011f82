//! Parses rates that change over time, as they are written in a scenario file: `50`, `10..200`, `day 20..200`, `5,
//! bursts of 300 for 2s every 15s`. Pure data.

use std::fmt;

use crate::traffic::schedule::quantity::{Unit, parse};

/// The forms, for errors and explanations.
pub(crate) const FORMS: &str = "a number for each second, such as 50; `10..200`, which rises evenly; `day 20..200`, \
    which is low at both ends and high in the middle; or `5, bursts of 300 for 2s every 15s`";

/// A rate over the time of a phase, in events per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Curve {
    /// The rate is constant.
    Constant(f64),
    /// The rate changes evenly from the first value to the second.
    Ramp(f64, f64),
    /// The rate is lowest at both ends and highest in the middle, and changes smoothly.
    Day(f64, f64),
    /// A base rate with bursts. The first burst starts after one interval.
    Bursts {
        /// The rate between bursts.
        base: f64,
        /// The rate in a burst.
        burst: f64,
        /// The duration of a burst in seconds.
        lasts: f64,
        /// The seconds from the start of one burst to the start of the next.
        every: f64,
    },
}

impl Curve {
    /// Parses a curve.
    ///
    /// # Errors
    /// A text that names the invalid part and the allowed forms.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::read(text).ok_or_else(|| format!("{text:?} is not a rate; write {FORMS}"))
    }

    fn read(text: &str) -> Option<Self> {
        if let Some((base, bursts)) = text.split_once(", bursts of ") {
            let (burst, times) = bursts.split_once(" for ")?;
            let (lasts, every) = times.split_once(" every ")?;
            let (base, burst) = (rate(base)?, rate(burst)?);
            let seconds = |text| parse(text, Unit::Time).ok().map(|milliseconds| milliseconds / 1000.0);
            let (lasts, every) = (seconds(lasts)?, seconds(every)?);
            return (0.0 < lasts && lasts < every).then_some(Self::Bursts { base, burst, lasts, every });
        }
        let range = |text: &str| {
            let (from, to) = text.split_once("..")?;
            Some((rate(from)?, rate(to)?))
        };
        match text.strip_prefix("day ") {
            Some(rates) => {
                range(rates).filter(|(least, greatest)| least <= greatest).map(|(a, b)| Self::Day(a, b))
            }
            None => range(text).map(|(a, b)| Self::Ramp(a, b)).or_else(|| rate(text).map(Self::Constant)),
        }
    }

    /// Returns the value at a second of a phase that takes `total`.
    pub(crate) fn at(self, seconds: f64, total: f64) -> f64 {
        match self {
            Self::Constant(value) => value,
            Self::Ramp(from, to) => from + (to - from) * seconds / total,
            Self::Day(least, greatest) => {
                let turn = std::f64::consts::TAU / total;
                least + (greatest - least) / 2.0 * (1.0 - (turn * seconds).cos())
            }
            Self::Bursts { base, burst, lasts, every } => {
                let is_burst = seconds >= every && seconds % every < lasts;
                if is_burst { burst } else { base }
            }
        }
    }

    /// Returns the largest value.
    pub(crate) fn peak(self) -> f64 {
        match self {
            Self::Constant(value) | Self::Day(_, value) => value,
            Self::Ramp(from, to) => from.max(to),
            Self::Bursts { base, burst, .. } => base.max(burst),
        }
    }

    /// Returns the number of events that are due in the first `seconds` of a phase that takes `total`.
    pub(crate) fn count(self, seconds: f64, total: f64) -> f64 {
        match self {
            Self::Constant(rate) => rate * seconds,
            Self::Ramp(from, to) => from * seconds + (to - from) * seconds * seconds / (2.0 * total),
            Self::Day(least, greatest) => {
                let turn = std::f64::consts::TAU / total;
                least * seconds + (greatest - least) / 2.0 * (seconds - (turn * seconds).sin() / turn)
            }
            Self::Bursts { base, burst, lasts, every } => {
                let whole = (seconds / every).floor();
                // Each interval except the first one starts with a burst.
                let in_this = if whole > 0.0 { (seconds - whole * every).min(lasts) } else { 0.0 };
                base * seconds + (burst - base) * ((whole - 1.0).max(0.0) * lasts + in_this)
            }
        }
    }
}

fn rate(text: &str) -> Option<f64> {
    let text = text.trim();
    let rate: f64 = text.strip_suffix("/s").unwrap_or(text).parse().ok()?;
    (0.0..=1_000_000.0).contains(&rate).then_some(rate)
}

impl fmt::Display for Curve {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(rate) => write!(formatter, "{rate} each second"),
            Self::Ramp(from, to) => write!(formatter, "{from} each second at first, changing evenly to {to}"),
            Self::Day(least, greatest) => {
                write!(formatter, "{least} each second at both ends and {greatest} in the middle")
            }
            Self::Bursts { base, burst, lasts, every } => {
                write!(formatter, "{base} each second, and {burst} for {lasts} s every {every} s")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_parsed_and_described_in_words() {
        for (text, words) in [
            ("50", "50 each second"),
            ("0.5/s", "0.5 each second"),
            ("10..200", "10 each second at first, changing evenly to 200"),
            ("day 20..200", "20 each second at both ends and 200 in the middle"),
            ("5, bursts of 300 for 2s every 0.5min", "5 each second, and 300 for 2 s every 30 s"),
        ] {
            assert_eq!(Curve::parse(text).unwrap().to_string(), words);
        }
        for text in
            ["", "-1", "x", "1..", "day 5", "day 9..5", "5, bursts of 3 for 9s every 2s", "inf", "NaN", "2e9"]
        {
            assert!(Curve::parse(text).unwrap_err().contains("is not a rate; write a number"), "{text}");
        }
    }

    #[test]
    fn counts_are_the_area_below_the_curve() {
        let count = |text: &str, seconds| Curve::parse(text).unwrap().count(seconds, 60.0);
        assert_eq!((count("50", 2.0), count("10..70", 60.0), count("10..70", 30.0)), (100.0, 2400.0, 750.0));
        assert!((count("day 20..200", 60.0) - 6600.0).abs() < 1e-6);
        assert!(
            count("day 20..200", 1.0) < 21.0
                && count("day 20..200", 30.5) - count("day 20..200", 29.5) > 199.0
        );
        let bursts = "5, bursts of 105 for 2s every 15s";
        let whole: Vec<f64> = [14.0, 15.0, 16.0, 17.0, 29.0, 32.0].map(|at| count(bursts, at)).into();
        assert_eq!(whole, [70.0, 75.0, 180.0, 285.0, 345.0, 560.0]);
    }

    #[test]
    fn value_of_a_curve_is_its_slope() {
        for text in ["50", "10..70", "day 20..200", "5, bursts of 105 for 2s every 15s"] {
            let curve = Curve::parse(text).unwrap();
            for at in [0.5, 15.5, 29.0, 31.5, 59.0] {
                let slope = (curve.count(at + 0.01, 60.0) - curve.count(at - 0.01, 60.0)) / 0.02;
                assert!((curve.at(at, 60.0) - slope).abs() < 0.01, "{text} at {at}: {slope}");
                assert!(curve.at(at, 60.0) <= curve.peak());
            }
        }
    }
}
