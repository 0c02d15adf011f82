//! The shape of a measurement: what it measures, without the numbers.
//!
//! A fleet sends the same few kinds of measurements over and over. Type, names and units are stored once for all of
//! a kind, and each measurement keeps its numbers.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::model::id::digest;

/// What a kind of measurements consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Type of the measurement.
    #[serde(rename = "type")]
    pub type_: Box<str>,
    /// The members that hold series, in the order they came.
    pub fragments: Vec<ValueFragment>,
    /// Names of the other members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Box<str>>,
    /// Whether each measurement of this kind is kept as it was sent, beside its numbers: shape and numbers cannot give it
    /// back. Part of the shape, so that a reader knows without a look at the row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verbatim: bool,
}

/// A member that holds series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueFragment {
    /// Its name.
    pub name: Box<str>,
    /// What is measured in it, in the order it came; at least one.
    pub series: Vec<Series>,
}

/// One series of a fragment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Its name.
    pub name: Box<str>,
    /// The unit of its numbers, as the device wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Box<str>>,
}

impl Shape {
    /// The definition as it is stored, and the number it is known by: a digest, so that nobody has to be asked for it.
    pub(crate) fn definition(&self) -> (i64, String) {
        let definition = serde_json::to_string(self).expect("writing to memory does not fail");
        (digest(definition.as_bytes()), definition)
    }

    /// Fragment and series, in the order of the numbers of a measurement.
    pub fn series(&self) -> impl Iterator<Item = (&str, &Series)> {
        self.fragments
            .iter()
            .flat_map(|fragment| fragment.series.iter().map(|series| (&*fragment.name, series)))
    }

    /// Where a series stands among the numbers.
    pub fn position(&self, fragment: &str, series: &str) -> Option<usize> {
        self.series().position(|(of, known)| of == fragment && &*known.name == series)
    }

    /// Names of all top-level members.
    pub(crate) fn members(&self) -> Vec<&str> {
        self.fragments
            .iter()
            .map(|fragment| &*fragment.name)
            .chain(self.others.iter().map(|n| &**n))
            .collect()
    }

    /// Writes the fragments as entries of an object that is being serialised, with these numbers.
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

/// A number as devices write it: without a fraction when it has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number(pub f64);

/// Whole numbers up to here are exact in a double and written with all their digits.
const EXACT: f64 = 1e15;

impl Number {
    /// Whether this text is how the number is written: then it need not be kept.
    pub(super) fn is_written_as(self, text: &str) -> bool {
        serde_json::to_string(&self).is_ok_and(|written| written == text)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.fract() == 0.0 && self.0.abs() < EXACT {
            true => serializer.serialize_i64(self.0 as i64),
            false => serializer.serialize_f64(self.0),
        }
    }
}
