//! Systems of units (docs/rules.md#measurements; G-10).

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The units in which a client requests measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SystemOfUnits {
    /// Metre, kilogram, degree Celsius, Kelvin.
    Metric,
    /// Foot, pound, degree Fahrenheit, degree Rankine.
    Imperial,
}

/// Two units and the formulas to convert between them.
struct UnitPair {
    metric: &'static [&'static str],
    imperial: &'static [&'static str],
    to_imperial: fn(f64) -> f64,
    to_metric: fn(f64) -> f64,
}

/// The convertible units. The first spelling of each is the one in responses.
const PAIRS: [UnitPair; 7] = [
    UnitPair { metric: &["m"], imperial: &["ft"], to_imperial: |v| v / 0.3048, to_metric: |v| v * 0.3048 },
    UnitPair {
        metric: &["km"],
        imperial: &["mi"],
        to_imperial: |v| v / 1.609344,
        to_metric: |v| v * 1.609344,
    },
    UnitPair { metric: &["cm"], imperial: &["in"], to_imperial: |v| v / 2.54, to_metric: |v| v * 2.54 },
    UnitPair {
        metric: &["°C", "ºC", "C"],
        imperial: &["°F", "ºF", "F"],
        to_imperial: |v| v * 1.8 + 32.0,
        to_metric: |v| (v - 32.0) / 1.8,
    },
    UnitPair {
        metric: &["K"],
        imperial: &["°R", "ºR", "R"],
        to_imperial: |v| v * 1.8,
        to_metric: |v| v / 1.8,
    },
    UnitPair {
        metric: &["g"],
        imperial: &["oz"],
        to_imperial: |v| v / 28.349523125,
        to_metric: |v| v * 28.349523125,
    },
    UnitPair {
        metric: &["kg"],
        imperial: &["lb"],
        to_imperial: |v| v / 0.45359237,
        to_metric: |v| v * 0.45359237,
    },
];

/// The conversion from one unit to another.
#[derive(Debug, Clone, Copy)]
pub struct Conversion {
    /// The target unit.
    pub unit: &'static str,
    formula: fn(f64) -> f64,
}

impl Conversion {
    /// Returns the number in the target unit.
    pub fn apply(self, value: f64) -> f64 {
        (self.formula)(value)
    }
}

impl SystemOfUnits {
    /// Parses the header `X-Platform-System-Of-Units`, in any case.
    ///
    /// # Errors
    /// `Invalid` names the value and the two that are allowed.
    pub fn parse(text: &str) -> Result<Self> {
        match text.trim() {
            word if word.eq_ignore_ascii_case("metric") => Ok(Self::Metric),
            word if word.eq_ignore_ascii_case("imperial") => Ok(Self::Imperial),
            word => Err(Error::invalid_value("System-Of-Units", word, "metric, imperial")),
        }
    }

    /// Returns the conversion of this unit. Returns `None` when numbers stay unchanged, because the unit is unknown or
    /// belongs to this system already.
    pub fn conversion(self, unit: &str) -> Option<Conversion> {
        PAIRS.iter().find_map(|pair| match self {
            Self::Imperial if pair.metric.contains(&unit) => {
                Some(Conversion { unit: pair.imperial[0], formula: pair.to_imperial })
            }
            Self::Metric if pair.imperial.contains(&unit) => {
                Some(Conversion { unit: pair.metric[0], formula: pair.to_metric })
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_converts_by_the_table_and_back() {
        for (metric, value, imperial, shown) in [
            ("m", 0.3048, "ft", 1.0),
            ("km", 1.609344, "mi", 1.0),
            ("cm", 2.54, "in", 1.0),
            ("°C", 100.0, "°F", 212.0),
            ("ºC", 0.0, "°F", 32.0),
            ("C", -40.0, "°F", -40.0),
            ("K", 100.0, "°R", 180.0),
            ("g", 28.349523125, "oz", 1.0),
            ("kg", 0.45359237, "lb", 1.0),
        ] {
            let there = SystemOfUnits::Imperial.conversion(metric).expect(metric);
            assert_eq!((there.unit, there.apply(value)), (imperial, shown));
            let back = SystemOfUnits::Metric.conversion(imperial).expect(imperial);
            assert!((back.apply(shown) - value).abs() < 1e-12);
        }
    }

    #[test]
    fn unknown_units_and_those_of_the_system_stay_unchanged() {
        for (system, unit) in [
            (SystemOfUnits::Metric, "m"),
            (SystemOfUnits::Imperial, "ft"),
            (SystemOfUnits::Imperial, "F"),
            (SystemOfUnits::Imperial, "%"),
            (SystemOfUnits::Metric, ""),
        ] {
            assert!(system.conversion(unit).is_none(), "{unit}");
        }
    }
}
