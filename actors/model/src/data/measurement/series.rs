//! Series: the measurements of a source over a time, one column per series (docs/rules.md#measurements; G-06 to G-08).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::Reading;
use crate::error::{Error, Result};
use crate::id::ManagedObjectId;
use crate::page::TimeOrder;
use crate::timestamp::Timestamp;
use crate::units::{Conversion, SystemOfUnits};

/// The query parameters of a request for series.
#[derive(Debug, Clone)]
pub struct SeriesFilter {
    /// The source.
    pub source: ManagedObjectId,
    /// `time` at or after this.
    pub date_from: Timestamp,
    /// `time` at or before this.
    pub date_to: Timestamp,
    /// The series in their order; if empty, all that the source has sent.
    pub series: Vec<SeriesName>,
    /// The length of buckets; `None` for one pair per measurement.
    pub aggregation: Option<Aggregation>,
    /// The order, which determines the end that is cut off when there are too many values (G-08).
    pub order: TimeOrder,
    /// The units of the numbers; `None` for the original ones (G-10).
    pub units: Option<SystemOfUnits>,
}

/// `<fragment>.<series>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SeriesName {
    /// The name of the fragment.
    pub fragment: Box<str>,
    /// The name of the series in the fragment.
    pub series: Box<str>,
}

impl SeriesName {
    /// Parses a value of the parameter `series`.
    ///
    /// # Errors
    /// `Invalid` names the value and the format.
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

/// The length of a bucket (G-07).
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
    /// Parses the parameter `aggregationType`.
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
    /// The unit of the numbers: the first one the source ever sent for this series.
    pub unit: Option<Box<str>>,
    /// The name of the series.
    pub name: Box<str>,
    /// The name of the fragment.
    #[serde(rename = "type")]
    pub fragment: Box<str>,
}

/// The minimum and the maximum of a series at one time.
#[derive(Debug, Clone, Serialize)]
pub struct MinMax {
    /// The smallest value.
    pub min: Reading,
    /// The largest value.
    pub max: Reading,
}

impl MinMax {
    /// Returns the pair in another unit.
    pub fn converted(self, by: Option<Conversion>) -> Self {
        match by {
            // All formulas are increasing, so the minimum stays the minimum.
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

/// The time of a pair in the result.
#[derive(Debug, Clone, Copy)]
pub struct SlotKey {
    /// The slot of the time, which rises with time; pairs of one slot are shown together.
    pub slot: i64,
    /// The instant and the id of the first measurement, whose time and offset become the key of the slot.
    pub first: (i128, i64),
    /// The time that is shown.
    pub key: Timestamp,
}

/// The pairs of one time by the index of their series, in this order; absent pairs are not stored.
#[derive(Debug)]
struct Slot {
    first: (i128, i64),
    key: Timestamp,
    pairs: Vec<(usize, MinMax)>,
}

/// The result: for each time, one optional pair per series.
#[derive(Debug, Default)]
pub struct SeriesValues {
    series: Vec<SeriesHead>,
    slots: BTreeMap<i64, Slot>,
    count: usize,
    truncated: bool,
}

impl SeriesValues {
    /// Creates an empty result.
    pub fn of(series: Vec<SeriesHead>) -> Self {
        Self { series, ..Self::default() }
    }

    /// Returns the number of pairs.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Adds a pair of a series; two pairs of the same time are merged (G-06).
    pub fn add(&mut self, place: SlotKey, series: usize, pair: MinMax) {
        let SlotKey { slot, first, key } = place;
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

    /// Keeps the first `most` pairs in the given order (G-08).
    pub fn truncate(&mut self, most: usize, order: TimeOrder) {
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

    /// Removes series without values: a request for all series returns only those with values.
    pub fn drop_empty_series(&mut self) {
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

    /// Returns the result, unless it has too many cells, one per time and series.
    ///
    /// # Errors
    /// `Invalid` suggests a smaller request.
    pub fn within(self, cells: usize) -> Result<Self> {
        if self.slots.len().saturating_mul(self.series.len()) > cells {
            Err(too_large(cells))
        } else {
            Ok(self)
        }
    }
}

/// Returns the error for a result with too many values.
pub fn too_large(cells: usize) -> Error {
    Error::Invalid(format!(
        "More than {cells} values; request a shorter time, fewer series or a longer aggregationType"
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
            let pair = MinMax { min: (*number).into(), max: (*number).into() };
            values.add(SlotKey { slot: *second, first: ((*second).into(), 0), key }, *series, pair);
        }
        values
    }

    fn shown(values: &SeriesValues) -> String {
        let json = serde_json::to_value(values).expect("JSON");
        let slots = json["values"].as_object().expect("an object");
        let shown = |pairs: &serde_json::Value| {
            let pairs = pairs.as_array().expect("an array").iter();
            pairs
                .map(|pair| {
                    if pair.is_null() { "-".to_owned() } else { format!("{}..{}", pair["min"], pair["max"]) }
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
    fn truncation_keeps_the_first_values_in_the_order() {
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
