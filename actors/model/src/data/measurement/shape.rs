//! The shape of a measurement: its type, series and units, without the numbers.
//!
//! A fleet sends measurements of a few shapes over and over. Type, names and units are stored once per shape, and each
//! measurement stores its numbers.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::id::digest;

/// The structure that measurements have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The type of the measurement.
    #[serde(rename = "type")]
    pub type_: Box<str>,
    /// The members that contain series, in their original order.
    pub fragments: Vec<ValueFragment>,
    /// The names of the other members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Box<str>>,
    /// Whether each measurement of this shape is also stored in its original form, because shape and numbers cannot
    /// reproduce it. It is part of the shape, so a reader knows this without reading the row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verbatim: bool,
}

/// A member that contains series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueFragment {
    /// The name of the member.
    pub name: Box<str>,
    /// The series, in their original order; there is at least one.
    pub series: Vec<Series>,
}

/// One series of a fragment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The name of the series.
    pub name: Box<str>,
    /// The unit of its numbers, as the device sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Box<str>>,
}

impl Shape {
    /// Returns the stored definition and its number. The number is a digest, so no query is needed to obtain it.
    pub fn definition(&self) -> (i64, String) {
        let definition = serde_json::to_string(self).expect("writing to memory does not fail");
        (digest(definition.as_bytes()), definition)
    }

    /// Returns fragment and series, in the order of the numbers of a measurement.
    pub fn series(&self) -> impl Iterator<Item = (&str, &Series)> {
        self.fragments
            .iter()
            .flat_map(|fragment| fragment.series.iter().map(|series| (&*fragment.name, series)))
    }

    /// Returns the index of a series among the numbers.
    pub fn position(&self, fragment: &str, series: &str) -> Option<usize> {
        self.series().position(|(of, known)| of == fragment && &*known.name == series)
    }

    /// Returns the names of all top-level members.
    pub fn members(&self) -> Vec<&str> {
        self.fragments
            .iter()
            .map(|fragment| &*fragment.name)
            .chain(self.others.iter().map(|n| &**n))
            .collect()
    }

    /// Writes the fragments with these numbers as entries of an object that is being serialized.
    pub(super) fn serialize_entries<M: SerializeMap>(
        &self,
        readings: &[f64],
        map: &mut M,
    ) -> Result<(), M::Error> {
        let mut rest = readings;
        for fragment in &self.fragments {
            let (of_fragment, behind) = rest.split_at_checked(fragment.series.len()).unwrap_or((rest, &[]));
            rest = behind;
            map.serialize_entry(&fragment.name, &Filled { fragment, readings: of_fragment })?;
        }
        Ok(())
    }
}

/// A fragment with its numbers.
struct Filled<'a> {
    fragment: &'a ValueFragment,
    readings: &'a [f64],
}

impl Serialize for Filled<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Reading<'a> {
            value: Number,
            #[serde(skip_serializing_if = "Option::is_none")]
            unit: Option<&'a str>,
        }
        let mut map = serializer.serialize_map(Some(self.readings.len()))?;
        for (series, value) in self.fragment.series.iter().zip(self.readings) {
            let reading = Reading { value: Number(*value), unit: series.unit.as_deref() };
            map.serialize_entry(&series.name, &reading)?;
        }
        map.end()
    }
}

/// A number in the format of devices: without a fraction if it has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number(pub f64);

/// The greatest whole number that is exact in a double and written with all its digits.
const EXACT: f64 = 1e15;

impl Number {
    /// Returns whether this text is the written form of the number, so that it need not be stored.
    pub(super) fn is_written_as(self, text: &str) -> bool {
        serde_json::to_string(&self).is_ok_and(|written| written == text)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < EXACT {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}
