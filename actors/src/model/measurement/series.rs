//! Series: what a source measured over a time, one column per series (docs/rules.md#measurements; G-06 to G-08).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::Reading;
use crate::error::{Error, Result};
use crate::model::id::ManagedObjectId;
use crate::model::page::TimeOrder;
use crate::model::timestamp::Timestamp;
use crate::model::units::{Conversion, SystemOfUnits};

/// Which series are asked for.
#[derive(Debug, Clone)]
pub struct SeriesFilter {
    /// Of this source.
    pub source: ManagedObjectId,
    /// Measured at or after.
    pub date_from: Timestamp,
    /// Measured before or at.
    pub date_to: Timestamp,
    /// These series in this order; all that the source has sent when none is named.
    pub series: Vec<SeriesName>,
    /// One pair per bucket instead of one per measurement.
    pub aggregation: Option<Aggregation>,
    /// Which end is left off when there is too much (G-08).
    pub order: TimeOrder,
    /// In which units numbers are shown; as they were sent when none is named (G-10).
    pub units: Option<SystemOfUnits>,
}

/// `<fragment>.<series>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SeriesName {
    /// The member of the measurement.
    pub fragment: Box<str>,
    /// What is measured in it.
    pub series: Box<str>,
}

impl SeriesName {
    /// Reads a value of the parameter `series`.
    ///
    /// # Errors
    /// `Invalid` names the value and the form.
    pub fn parse(text: &str) -> Result<Self> {
        match text.split_once('.') {
            Some((fragment, series))
                if !fragment.is_empty() && !series.is_empty() && !series.contains('.') =>
            {
                Ok(Self { fragment: fragment.into(), series: series.into() })
            }
            _ => Err(Error::invalid_value("series", text, "<fragment>.<series>")),
        }
    }
}

/// How long a bucket is (G-07).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregation {
    /// A day of the device's clock.
    Daily,
    /// An hour.
    Hourly,
    /// A minute.
    Minutely,
}

impl Aggregation {
    /// Reads the parameter `aggregationType`.
    ///
    /// # Errors
    /// `Invalid` names the value and what is allowed.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "DAILY" => Ok(Self::Daily),
            "HOURLY" => Ok(Self::Hourly),
            "MINUTELY" => Ok(Self::Minutely),
            _ => Err(Error::invalid_value("aggregationType", word, "DAILY, HOURLY, MINUTELY")),
        }
    }
}

/// A column of the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeriesHead {
    /// The unit of the numbers; the first the source ever sent with this series.
    pub unit: Option<Box<str>>,
    /// Name of the series.
    pub name: Box<str>,
    /// Name of the fragment.
    #[serde(rename = "type")]
    pub fragment: Box<str>,
}

/// The least and the greatest number of a series at one time.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Pair {
    pub(crate) min: Reading,
    pub(crate) max: Reading,
}

impl Pair {
    /// The same in another unit.
    pub(crate) fn converted(self, by: Option<Conversion>) -> Self {
        match by {
            // All formulas rise, so the least stays the least.
            Some(by) => {
                Self { min: by.apply(self.min.number()).into(), max: by.apply(self.max.number()).into() }
            }
            None => self,
        }
    }

    fn merge(&mut self, other: Self) {
        if other.min.compare(&self.min) == Ordering::Less {
            self.min = other.min;
        }
        if other.max.compare(&self.max) == Ordering::Greater {
            self.max = other.max;
        }
    }
}

/// Where a pair belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// What belongs together has the same; rising with time.
    pub(crate) slot: i64,
    /// Instant and id of the first measurement: its time, in its offset, gives the slot its name.
    pub(crate) first: (i128, i64),
    /// The name.
    pub(crate) key: Timestamp,
}

/// The pairs of one time by the place of their series, in this order; what is absent is not held.
#[derive(Debug)]
struct Slot {
    first: (i128, i64),
    key: Timestamp,
    pairs: Vec<(usize, Pair)>,
}

/// The result: for each time, a pair for each series or nothing.
#[derive(Debug, Default)]
pub struct SeriesValues {
    series: Vec<SeriesHead>,
    slots: BTreeMap<i64, Slot>,
    count: usize,
    truncated: bool,
}

impl SeriesValues {
    /// No values yet.
    pub(crate) fn of(series: Vec<SeriesHead>) -> Self {
        Self { series, ..Self::default() }
    }

    /// Pairs that are there.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Adds a pair of a series; two of the same time become one (G-06).
    pub(crate) fn add(&mut self, place: Place, series: usize, pair: Pair) {
        let Place { slot, first, key } = place;
        let slot =
            self.slots.entry(slot).or_insert_with(|| Slot { first, key, pairs: Vec::with_capacity(1) });
        if first < slot.first {
            (slot.first, slot.key) = (first, key);
        }
        match slot.pairs.binary_search_by_key(&series, |(known, _)| *known) {
            Ok(at) => slot.pairs[at].1.merge(pair),
            Err(at) => {
                slot.pairs.insert(at, (series, pair));
                self.count += 1;
            }
        }
    }

    /// Leaves the first `most` pairs, counted from the end that comes first (G-08).
    pub(crate) fn truncate(&mut self, most: usize, order: TimeOrder) {
        if self.count <= most {
            return;
        }
        (self.truncated, self.count) = (true, most);
        let mut left = most;
        let mut leave = |slot: &mut Slot| {
            slot.pairs.truncate(left);
            left -= slot.pairs.len();
        };
        match order {
            TimeOrder::OldestFirst => self.slots.values_mut().for_each(&mut leave),
            TimeOrder::NewestFirst => self.slots.values_mut().rev().for_each(&mut leave),
        }
        self.slots.retain(|_, slot| !slot.pairs.is_empty());
    }

    /// Leaves out series without any value: who asks for all wants those there are.
    pub(crate) fn drop_empty_series(&mut self) {
        let mut places = vec![None; self.series.len()];
        self.slots.values().flat_map(|slot| &slot.pairs).for_each(|(series, _)| places[*series] = Some(0));
        let there = places.iter_mut().flatten();
        there.enumerate().for_each(|(at, place)| *place = at);
        let mut is_there = places.iter().map(Option::is_some);
        self.series.retain(|_| is_there.next().unwrap_or_default());
        for (series, _) in self.slots.values_mut().flat_map(|slot| &mut slot.pairs) {
            *series = places[*series].unwrap_or_default();
        }
    }

    /// The result, unless it is too large to be given: each series has its place at each time.
    ///
    /// # Errors
    /// `Invalid` says what to ask for instead.
    pub(crate) fn within(self, cells: usize) -> Result<Self> {
        match self.slots.len().saturating_mul(self.series.len()) > cells {
            true => Err(too_large(cells)),
            false => Ok(self),
        }
    }
}

/// A result with more than so many values.
pub(crate) fn too_large(cells: usize) -> Error {
    Error::Invalid(format!(
        "More than {cells} values; ask for a shorter time, fewer series or a longer aggregationType"
    ))
}

impl Serialize for SeriesValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Values<'a>(&'a SeriesValues);
        struct Row<'a>(&'a Slot, usize);
        impl Serialize for Values<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let width = self.0.series.len();
                let rows = self.0.slots.values().map(|slot| (slot.key.to_string(), Row(slot, width)));
                serializer.collect_map(rows)
            }
        }
        impl Serialize for Row<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut pairs = self.0.pairs.iter().peekable();
                let next = |series| pairs.next_if(|(of, _)| *of == series).map(|(_, pair)| pair);
                serializer.collect_seq((0..self.1).map(next))
            }
        }
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("values", &Values(self))?;
        map.serialize_entry("series", &self.series)?;
        map.serialize_entry("truncated", &self.truncated)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(pairs: &[(i64, usize, f64)]) -> SeriesValues {
        let head = |name: &str| SeriesHead { unit: None, name: name.into(), fragment: "f".into() };
        let mut values = SeriesValues::of(vec![head("a"), head("b"), head("c")]);
        for (second, series, number) in pairs {
            let key = format!("2024-01-01T00:00:{second:02}Z");
            let key = Timestamp::parse("time", &key).expect("a time");
            let pair = Pair { min: (*number).into(), max: (*number).into() };
            values.add(Place { slot: *second, first: ((*second).into(), 0), key }, *series, pair);
        }
        values
    }

    fn shown(values: &SeriesValues) -> String {
        let json = serde_json::to_value(values).expect("JSON");
        let slots = json["values"].as_object().expect("an object");
        let shown = |pairs: &serde_json::Value| {
            let pairs = pairs.as_array().expect("an array").iter();
            pairs
                .map(|pair| match pair.is_null() {
                    true => "-".to_owned(),
                    false => format!("{}..{}", pair["min"], pair["max"]),
                })
                .collect::<Vec<_>>()
                .join(" ")
        };
        slots.values().map(shown).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn same_time_merges_and_missing_series_are_null() {
        let values = result(&[(2, 1, 5.0), (1, 0, 1.0), (2, 1, 3.0)]);
        assert_eq!(shown(&values), "1..1 - - | - 3..5 -");
    }

    #[test]
    fn truncation_keeps_the_end_that_comes_first() {
        let pairs = [(1, 0, 1.0), (1, 1, 2.0), (2, 0, 3.0), (3, 0, 4.0)];
        let mut oldest = result(&pairs);
        oldest.truncate(3, TimeOrder::OldestFirst);
        assert_eq!(shown(&oldest), "1..1 2..2 - | 3..3 - -");
        let mut newest = result(&pairs);
        newest.truncate(3, TimeOrder::NewestFirst);
        assert_eq!(shown(&newest), "1..1 - - | 3..3 - - | 4..4 - -");
        assert!(newest.truncated && oldest.truncated);
    }

    #[test]
    fn series_without_values_are_left_out() {
        let mut values = result(&[(1, 0, 1.0), (2, 2, 2.0)]);
        values.drop_empty_series();
        assert_eq!(shown(&values), "1..1 - | - 2..2");
        assert_eq!(values.series.len(), 2);
    }

    #[test]
    fn names_need_one_dot_with_something_around_it() {
        assert!(SeriesName::parse("a.b").is_ok());
        for text in ["", ".", "a", "a.", ".b", "a.b.c"] {
            assert!(SeriesName::parse(text).is_err(), "{text}");
        }
    }
}
