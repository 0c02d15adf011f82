//! The numbers of a measurement, with the precision in which they were sent.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::content::JsonMembers;
use super::{Measurement, Number, Series, Shape, ValueFragment};

/// One number of a series: a double, and the original digits if a double cannot reproduce them.
#[derive(Debug, Clone)]
pub struct Reading {
    number: f64,
    digits: Option<Box<RawValue>>,
}

impl Reading {
    /// Returns the number as a double.
    pub fn number(&self) -> f64 {
        self.number
    }

    /// Compares by value. Whole numbers are compared exactly, because large ones are equal as doubles (G-03).
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.whole(), other.whole()) {
            (Some(one), Some(two)) => one.cmp(&two),
            _ => self.number.total_cmp(&other.number),
        }
    }

    fn whole(&self) -> Option<i128> {
        match &self.digits {
            Some(digits) => digits.get().parse().ok(),
            // A double represents every whole number of this size exactly.
            None => (self.number.fract() == 0.0 && self.number.abs() < 1e30).then_some(self.number as i128),
        }
    }
}

impl From<f64> for Reading {
    fn from(number: f64) -> Self {
        Self { number, digits: None }
    }
}

impl Serialize for Reading {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.digits {
            Some(digits) => digits.serialize(serializer),
            None => Number(self.number).serialize(serializer),
        }
    }
}

impl Measurement {
    /// Returns the numbers of the series, in the order of the shape.
    pub fn exact_readings(&self) -> Vec<Reading> {
        let digits = self.verbatim.as_ref().map(|sent| {
            let fragments: HashMap<&str, &RawValue> = sent.iter().collect();
            let of_fragment = |fragment: &ValueFragment| {
                let members = fragments.get(&*fragment.name).and_then(|raw| JsonMembers::of(raw));
                let members: HashMap<&str, &RawValue> = members.iter().flat_map(JsonMembers::iter).collect();
                let digits = |series: &Series| {
                    JsonMembers::of(members.get(&*series.name)?)?.get("value").map(ToOwned::to_owned)
                };
                fragment.series.iter().map(digits).collect::<Vec<_>>()
            };
            self.shape.fragments.iter().flat_map(of_fragment).collect::<Vec<_>>()
        });
        let mut digits = digits.into_iter().flatten();
        let reading = |number: &f64| {
            let digits = digits.next().flatten();
            Reading { number: *number, digits: digits.filter(|d| !Number(*number).is_written_as(d.get())) }
        };
        self.readings.iter().map(reading).collect()
    }
}

impl Shape {
    /// Returns whether measurements of this shape have more numbers than an index entry can hold.
    pub fn is_wide(&self, most: usize) -> bool {
        self.series().count() > most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;
    use crate::data::measurement::NewMeasurement;

    fn readings(fragments: &str) -> Vec<Reading> {
        let body =
            format!(r#"{{"type":"t","time":"2024-01-01T00:00:00Z","source":{{"id":"7"}},{fragments}}}"#);
        let body = Body::parse(body.as_bytes()).expect("JSON");
        NewMeasurement::parse(body).expect("is valid").measured(None, std::sync::Arc::new).exact_readings()
    }

    #[test]
    fn digits_that_a_double_cannot_reproduce_are_kept() {
        let fragments = r#""a":{"x":{"value":9007199254740993},"y":{"value":1.50}},"b":{"z":{"value":2}}"#;
        let shown = serde_json::to_string(&readings(fragments)).expect("JSON");
        assert_eq!(shown, "[9007199254740993,1.50,2]");
    }

    #[test]
    fn whole_numbers_compare_digit_by_digit() {
        let large = readings(
            r#""a":{"x":{"value":9007199254740992},"y":{"value":9007199254740993},"z":{"value":1.5}}"#,
        );
        assert_eq!(large[0].compare(&large[1]), Ordering::Less);
        assert_eq!(large[2].compare(&large[0]), Ordering::Less);
        assert_eq!(large[2].compare(&large[2]), Ordering::Equal);
    }
}
