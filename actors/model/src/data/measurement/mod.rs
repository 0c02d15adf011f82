//! Measurements (docs/rules.md#measurements; G-01 to G-11).

mod content;
mod filter;
mod reading;
mod series;
mod shape;
mod units;

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

pub use filter::MeasurementFilter;
pub use reading::Reading;
pub use series::{Aggregation, SeriesFilter, SeriesHead, SeriesName, SeriesValues};
pub use series::{MinMax, SlotKey, too_large};
pub use shape::{Number, Series, Shape, ValueFragment};

use crate::body::{Body, MAX_SHORT_TEXT, missing, source_id};
use crate::error::{Error, Result};
use crate::fragments::Fragments;
use crate::id::{ManagedObjectId, MeasurementId};
use crate::links::Linked;
use crate::timestamp::Timestamp;

/// The members that only the server sets; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 3] = ["id", "self", "creationTime"];
/// The maximum number of measurements in a request.
pub const MAX_COLLECTION: usize = 100_000;

/// A measurement as it is stored and returned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measurement {
    /// The id; `None` for a measurement that was not stored (TRANSIENT, CEP; M-02).
    pub id: Option<MeasurementId>,
    /// The device that sent the measurement.
    pub source: ManagedObjectId,
    /// The time of the measurement, by the device's clock.
    pub time: Timestamp,
    /// The type, the series and their units.
    pub shape: Arc<Shape>,
    /// The numbers of the series, in the order of the shape.
    pub readings: Vec<f64>,
    /// The original fragments, if shape and numbers cannot reproduce them.
    pub verbatim: Option<Fragments>,
}

impl Measurement {
    /// Returns whether it has a top-level member of this name, which device permissions require (U-12).
    pub fn has_fragment(&self, name: &str) -> bool {
        self.shape.members().contains(&name)
    }
}

impl Serialize for Linked<'_, Measurement> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct MeasurementSource {
            id: ManagedObjectId,
            #[serde(rename = "self")]
            link: String,
        }
        let Linked { value: measurement, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.measurement(measurement.id))?;
        if let Some(id) = measurement.id {
            map.serialize_entry("id", &id)?;
        }
        map.serialize_entry("type", &measurement.shape.type_)?;
        map.serialize_entry("time", &measurement.time)?;
        let link = links.managed_object(Some(measurement.source));
        map.serialize_entry("source", &MeasurementSource { id: measurement.source, link })?;
        match &measurement.verbatim {
            Some(fragments) => fragments.serialize_entries(&mut map)?,
            None => measurement.shape.serialize_entries(&measurement.readings, &mut map)?,
        }
        map.end()
    }
}

/// The body of `POST /measurement/measurements`, or one element of a collection.
#[derive(Debug, Clone)]
pub struct NewMeasurement {
    /// See [`Measurement::source`].
    pub source: ManagedObjectId,
    /// See [`Measurement::time`].
    pub time: Timestamp,
    /// See [`Measurement::shape`].
    pub shape: Shape,
    /// See [`Measurement::readings`].
    pub readings: Vec<f64>,
    /// See [`Measurement::verbatim`].
    pub verbatim: Option<Fragments>,
}

impl NewMeasurement {
    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` lists all missing members (E-05) or names the invalid one (G-03).
    pub fn parse(mut body: Body) -> Result<Self> {
        let type_ = body.take_text("type", MAX_SHORT_TEXT)?;
        let time = body.take_timestamp("time")?;
        let source = body.take("source").map(|raw| source_id(&raw)).transpose()?;
        match (type_, time, source) {
            (Some(type_), Some(time), Some(source)) => {
                body.ignore(&SERVER_MEMBERS);
                let mut fragments = body.into_fragments()?;
                fragments.drop_nulls();
                let content = content::ParsedFragments::of(&fragments)?;
                Ok(Self {
                    source,
                    time,
                    shape: Shape {
                        type_: type_.into(),
                        fragments: content.fragments,
                        others: content.others,
                        verbatim: !content.regular,
                    },
                    readings: content.readings,
                    verbatim: (!content.regular).then_some(fragments),
                })
            }
            (type_, time, source) => Err(missing(&[
                ("type", type_.is_none()),
                ("time", time.is_none()),
                ("source", source.is_none()),
            ])),
        }
    }

    /// Parses the member `measurements` of a collection (G-02).
    ///
    /// # Errors
    /// `Invalid` names the invalid element by its index, counted from 0.
    pub fn parse_collection(raw: &RawValue) -> Result<Vec<Self>> {
        let elements: Vec<&RawValue> = serde_json::from_str(raw.get())
            .map_err(|_| Error::invalid_value("measurements", raw.get(), "an array of measurements"))?;
        if elements.len() > MAX_COLLECTION {
            let allowed = format!("at most {MAX_COLLECTION}");
            let given = format!("{} measurements", elements.len());
            return Err(Error::invalid_value("measurements", given, &allowed));
        }
        let parse = |(at, raw): (usize, &RawValue)| {
            let name = format!("measurements[{at}]");
            Self::parse(Body::of_member(&name, raw)?).map_err(|error| match error {
                Error::Invalid(text) => Error::Invalid(format!("{name}: {text}")),
                other => other,
            })
        };
        elements.into_iter().enumerate().map(parse).collect()
    }

    /// Returns the measurement of this body; `share` returns the copy of its shape that all measurements in memory
    /// share.
    pub fn measured(self, id: Option<MeasurementId>, share: impl FnOnce(Shape) -> Arc<Shape>) -> Measurement {
        let Self { source, time, shape, readings, verbatim } = self;
        Measurement { id, source, time, shape: share(shape), readings, verbatim }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::{Links, encode};

    fn parse(fragments: &str) -> Result<NewMeasurement> {
        let body =
            format!(r#"{{"type":"t","time":"2024-01-01T00:00:00Z","source":{{"id":"7"}}{fragments}}}"#);
        NewMeasurement::parse(Body::parse(body.as_bytes())?)
    }

    #[test]
    fn regular_measurements_are_reproduced_from_shape_and_numbers() {
        let fragments = r#","a":{"x":{"value":23.5,"unit":"C"},"y":{"value":-4}},"b":{"z":{"value":1e-7}}"#;
        let new = parse(fragments).expect("is valid");
        assert!(new.verbatim.is_none());
        assert_eq!(new.readings, [23.5, -4.0, 1e-7]);
        let shown = encode(&new.measured(None, Arc::new), &Links::new("http://h"));
        let shown = String::from_utf8(shown).expect("is UTF-8");
        assert!(shown.ends_with(&format!("{}}}", &fragments[1..])), "{shown}");
    }

    #[test]
    fn measurements_that_shape_and_numbers_cannot_reproduce_are_kept_as_sent() {
        for fragments in [
            r#","a":{"x":{"value":1.50}}"#,
            r#","a":{"x":{"value":9007199254740993}}"#,
            r#","a":{"x":{"value":-0}}"#,
            r#","a":{"x":{"value":1,"unit":"C","note":"n"}}"#,
            r#","a":{"x":{"value":1},"other":true}"#,
            r#","a":{"x":{"value":1}},"b":[1]"#,
            r#","b":"text""#,
        ] {
            let new = parse(fragments).expect(fragments);
            let kept = new.verbatim.expect(fragments).to_json();
            assert_eq!(kept, format!("{{{}}}", &fragments[1..]));
        }
    }

    #[test]
    fn invalid_series_are_named_in_the_error() {
        for (fragments, named) in [
            (r#","a":{"x":{"value":"1"}}"#, "a.x.value"),
            (r#","a":{"x":{"value":null}}"#, "a.x.value"),
            (r#","a":{"x":{"value":1,"unit":5}}"#, "a.x.unit"),
            (r#","a b":{"x":{"value":1}}"#, "a b"),
            (r#","a":{"x y":{"value":1}}"#, "x y"),
            (r#","a":{"x.y":{"value":1}}"#, "x.y"),
            (r#","a":{"x[":{"value":1}}"#, "x["),
            (r#","a":{"":{"value":1}}"#, "a."),
        ] {
            let error = parse(fragments).expect_err(fragments).to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn same_shape_has_the_same_number_and_another_unit_another_one() {
        let number = |fragments: &str| parse(fragments).expect(fragments).shape.definition().0;
        let one = number(r#","a":{"x":{"value":1,"unit":"C"}}"#);
        assert_eq!(one, number(r#","a":{"x":{"unit":"C","value":2}}"#));
        assert_ne!(one, number(r#","a":{"x":{"value":1,"unit":"K"}}"#));
    }

    #[test]
    fn invalid_element_of_a_collection_is_named_by_its_index() {
        let raw = r#"[{"type":"t","time":"2024-01-01T00:00:00Z","source":{"id":"7"}},{"type":"t"}]"#;
        let raw: &RawValue = serde_json::from_str(raw).expect("is JSON");
        let error = NewMeasurement::parse_collection(raw).expect_err("lacks members").to_string();
        assert!(error.contains("measurements[1]") && error.contains("time,source"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_number_is_returned_as_it_was_sent(value in proptest::num::f64::NORMAL) {
            let text = serde_json::to_string(&Number(value)).expect("is finite");
            let back: f64 = text.parse().expect("is a number");
            proptest::prop_assert_eq!(back.to_bits(), value.to_bits());
        }

        #[test]
        fn any_fragments_are_parsed_or_rejected_without_a_panic(text in r#"[\{\}\[\]",:valueunitabc0-9. -]{0,60}"#) {
            let _ = parse(&format!(",\"a\":{text}"));
        }
    }
}
