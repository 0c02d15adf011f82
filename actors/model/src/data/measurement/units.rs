//! Conversion of measurements to the units of a request (G-10).

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};

use super::content::JsonMembers;
use super::{Measurement, Number, Shape};
use crate::units::{Conversion, SystemOfUnits};

impl Measurement {
    /// Returns the measurement in this system of units: numbers and units of convertible series are converted, and
    /// everything else stays as it was sent.
    pub fn in_units(&self, system: SystemOfUnits) -> Self {
        let conversions: Vec<_> = self.shape.conversions(system).collect();
        if conversions.iter().all(Option::is_none) {
            return self.clone();
        }
        let mut converted = self.clone();
        for (number, conversion) in converted.readings.iter_mut().zip(&conversions) {
            if let Some(conversion) = conversion {
                *number = conversion.apply(*number);
            }
        }
        if let Some(sent) = &mut converted.verbatim {
            let mut of_fragments = HashMap::with_capacity(self.shape.fragments.len());
            let mut rest = conversions.iter();
            for fragment in &self.shape.fragments {
                let of_series = fragment.series.iter().zip(rest.by_ref());
                let of_series = of_series.filter_map(|(series, by)| Some((&*series.name, (*by)?)));
                of_fragments.insert(&*fragment.name, of_series.collect());
            }
            sent.replace_each(|name, raw| rewrite(raw, of_fragments.get(name)?));
        }
        converted.shape = Arc::new(self.shape.in_units(system));
        converted
    }
}

impl Shape {
    /// Returns the conversion of each series, in the order of the numbers.
    pub fn conversions(&self, system: SystemOfUnits) -> impl Iterator<Item = Option<Conversion>> {
        self.series().map(move |(_, series)| system.conversion(series.unit.as_deref()?))
    }

    fn in_units(&self, system: SystemOfUnits) -> Self {
        let mut shape = self.clone();
        for series in shape.fragments.iter_mut().flat_map(|fragment| &mut fragment.series) {
            if let Some(conversion) = series.unit.as_deref().and_then(|unit| system.conversion(unit)) {
                series.unit = Some(conversion.unit.into());
            }
        }
        shape
    }
}

/// Returns an original fragment with converted values and units.
fn rewrite(raw: &RawValue, conversions: &HashMap<&str, Conversion>) -> Option<Box<RawValue>> {
    if conversions.is_empty() {
        return None;
    }
    let members = JsonMembers::of(raw)?;
    object(members.iter().map(|(name, raw)| {
        let converted = conversions.get(name).and_then(|conversion| rewrite_series(raw, *conversion));
        (name, converted.unwrap_or_else(|| raw.to_owned()))
    }))
}

fn rewrite_series(raw: &RawValue, conversion: Conversion) -> Option<Box<RawValue>> {
    let members = JsonMembers::of(raw)?;
    let number: f64 = members.get("value")?.get().parse().ok()?;
    let value = to_raw_value(&Number(conversion.apply(number))).ok()?;
    let unit = to_raw_value(conversion.unit).ok()?;
    object(members.iter().map(|(name, raw)| match name {
        "value" => (name, value.clone()),
        "unit" => (name, unit.clone()),
        _ => (name, raw.to_owned()),
    }))
}

/// Builds an object of these members, in this order.
fn object<'a>(members: impl Iterator<Item = (&'a str, Box<RawValue>)>) -> Option<Box<RawValue>> {
    let mut json = String::from("{");
    for (at, (name, raw)) in members.enumerate() {
        if at > 0 {
            json.push(',');
        }
        json += &serde_json::to_string(name).ok()?;
        json.push(':');
        json += raw.get();
    }
    json.push('}');
    RawValue::from_string(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;
    use crate::data::measurement::NewMeasurement;
    use crate::links::{Links, encode};

    fn shown(fragments: &str, system: SystemOfUnits) -> String {
        let body =
            format!(r#"{{"type":"t","time":"2024-01-01T00:00:00Z","source":{{"id":"7"}},{fragments}}}"#);
        let new = NewMeasurement::parse(Body::parse(body.as_bytes()).expect("JSON")).expect("is valid");
        let shown = encode(&new.measured(None, Arc::new).in_units(system), &Links::new("http://h"));
        let shown = String::from_utf8(shown).expect("is UTF-8");
        let at = shown.find(r#""a":"#).expect("holds the fragment");
        shown[at..shown.len() - 1].to_owned()
    }

    #[test]
    fn converted_series_change_and_the_others_stay() {
        assert_eq!(
            shown(
                r#""a":{"x":{"value":100,"unit":"°C"},"y":{"value":1,"unit":"%"}}"#,
                SystemOfUnits::Imperial
            ),
            r#""a":{"x":{"value":212,"unit":"°F"},"y":{"value":1,"unit":"%"}}"#
        );
        let metric = r#""a":{"x":{"value":100,"unit":"°C"}}"#;
        assert_eq!(shown(metric, SystemOfUnits::Metric), metric);
    }

    #[test]
    fn members_besides_value_and_unit_stay_byte_for_byte() {
        assert_eq!(
            shown(
                r#""a":{"x":{"note":"n\u00e9","value":1.00,"unit":"K"},"y":{"value":1.50},"z":[1.0]},"b":{ "c" : 1.0 }"#,
                SystemOfUnits::Imperial
            ),
            r#""a":{"x":{"note":"n\u00e9","value":1.8,"unit":"°R"},"y":{"value":1.50},"z":[1.0]},"b":{ "c" : 1.0 }"#
        );
    }
}
