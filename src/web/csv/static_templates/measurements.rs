//! Static rows for measurements. The body of row 200, the most frequent one, is written directly.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use actix_web::http::StatusCode;
use platform_model::id::ManagedObjectId;
use platform_model::naming::naming;
use platform_model::timestamp::Timestamp;

use super::{Arguments, Row};
use crate::csv::kind::JsonNumber;
use crate::csv::refusal::Refusal;

/// The members of a measurement that are not fragments, and the one that would make it a collection (C-08).
const RESERVED: [&str; 7] = ["id", "self", "source", "time", "type", "creationTime", "measurements"];

/// One value of a measurement.
#[derive(Debug, Clone, Copy)]
struct Series<'r> {
    name: &'r str,
    value: JsonNumber<'r>,
    unit: Option<&'r str>,
}

/// Executes a row.
pub(super) async fn perform(id: u32, row: &Row<'_>) -> Result<(), Refusal> {
    let arguments = row.arguments;
    match id {
        200 => {
            arguments.at_most(5)?;
            let (fragment, series) = (arguments.mandatory(0)?, Series::of(arguments, 1)?);
            create(row, fragment, arguments.date(4)?, [(fragment, &[series][..])]).await
        }
        201 => {
            let (type_, fragments) = (arguments.mandatory(0)?, group(arguments)?);
            let fragments = fragments.iter().map(|(name, series)| (*name, series.as_slice()));
            create(row, type_, arguments.date(1)?, fragments).await
        }
        210 => signal_strength(row).await,
        211 => single(row, "TemperatureMeasurement", "T", "C").await,
        212 => single(row, "Battery", "level", "%").await,
        _ => Err(Refusal::InvalidMessageId),
    }
}

/// Executes 210: signal strength and bit error rate, at least one of them.
async fn signal_strength(row: &Row<'_>) -> Result<(), Refusal> {
    let arguments = row.arguments;
    arguments.at_most(3)?;
    let given = [("rssi", "dBm"), ("ber", "%")].into_iter().enumerate();
    let given = given.filter(|(at, _)| arguments.text(*at).is_some());
    let series = given.map(|(at, (name, unit))| {
        Ok(Series { name, value: arguments.mandatory_number(at)?, unit: Some(unit) })
    });
    let series = series.collect::<Result<Vec<_>, Refusal>>()?;
    if series.is_empty() {
        return Err(Refusal::WrongNumber);
    }
    let fragment = naming().fragment("SignalStrength");
    create(row, &fragment, arguments.date(2)?, [(&*fragment, &*series)]).await
}

/// Executes 211 and 212: a value and its time.
async fn single(row: &Row<'_>, fragment: &str, name: &str, unit: &str) -> Result<(), Refusal> {
    row.arguments.at_most(2)?;
    let series = [Series { name, value: row.arguments.mandatory_number(0)?, unit: Some(unit) }];
    let fragment = naming().fragment(fragment);
    create(row, &fragment, row.arguments.date(1)?, [(&*fragment, &series[..])]).await
}

async fn create<'f>(
    row: &Row<'_>,
    type_: &str,
    time: Option<&str>,
    fragments: impl IntoIterator<Item = (&'f str, &'f [Series<'f>])>,
) -> Result<(), Refusal> {
    let source = row.engine.own_device().await?;
    let body = body(source, type_, time, fragments)?;
    row.engine.rest.measure(body, row.turn.take()).await
}

impl<'r> Series<'r> {
    /// Parses name, value and unit, which are consecutive arguments.
    fn of(arguments: Arguments<'r>, at: usize) -> Result<Self, Refusal> {
        let name = arguments.mandatory(at)?;
        Ok(Self { name, value: arguments.mandatory_number(at + 1)?, unit: arguments.text(at + 2) })
    }
}

/// Groups the series of row 201 by fragment, in the order they were sent.
///
/// # Errors
/// `WrongNumber` and `Kind`; 422 for a duplicate series, because a measurement has one value of each.
fn group(arguments: Arguments<'_>) -> Result<Vec<(&str, Vec<Series<'_>>)>, Refusal> {
    // Without any series, the first one is missing.
    arguments.mandatory(2)?;
    let mut fragments: Vec<(&str, Vec<Series<'_>>)> = Vec::new();
    let (mut places, mut known) = (HashMap::new(), HashMap::new());
    for given in arguments.from(2).chunks(4).map(Arguments) {
        let (name, series) = (given.mandatory(0)?, Series::of(given, 1)?);
        if known.insert((name, series.name), ()).is_some() {
            return Err(Refusal::Rest(StatusCode::UNPROCESSABLE_ENTITY));
        }
        let place = match places.entry(name) {
            Entry::Occupied(place) => *place.get(),
            Entry::Vacant(place) => {
                fragments.push((name, Vec::new()));
                *place.insert(fragments.len() - 1)
            }
        };
        fragments[place].1.push(series);
    }
    Ok(fragments)
}

/// Returns the body of the call.
///
/// # Errors
/// 422 for a fragment with a reserved name.
fn body<'f>(
    source: ManagedObjectId,
    type_: &str,
    time: Option<&str>,
    fragments: impl IntoIterator<Item = (&'f str, &'f [Series<'f>])>,
) -> Result<Vec<u8>, Refusal> {
    use std::io::Write;
    let mut json = Vec::with_capacity(256);
    let written = match time {
        Some(time) => write!(json, r#"{{"source":{{"id":"{source}"}},"time":"{time}","type":"#),
        None => write!(json, r#"{{"source":{{"id":"{source}"}},"time":"{}","type":"#, Timestamp::now()),
    };
    written.expect("writing to memory does not fail");
    push_text(&mut json, type_);
    for (name, series) in fragments {
        if RESERVED.contains(&name) {
            return Err(Refusal::Rest(StatusCode::UNPROCESSABLE_ENTITY));
        }
        json.push(b',');
        push_text(&mut json, name);
        for (at, series) in series.iter().enumerate() {
            json.extend_from_slice(if at == 0 { b":{" } else { b"," });
            series.write(&mut json);
        }
        json.push(b'}');
    }
    json.push(b'}');
    Ok(json)
}

impl Series<'_> {
    fn write(self, json: &mut Vec<u8>) {
        push_text(json, self.name);
        json.extend_from_slice(br#":{"value":"#);
        self.value.write(json);
        if let Some(unit) = self.unit {
            json.extend_from_slice(br#","unit":"#);
            push_text(json, unit);
        }
        json.push(b'}');
    }
}

fn push_text(json: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(json, text).expect("a text is written to memory");
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn written(values: &[&str]) -> Result<String, Refusal> {
        let values: Vec<Cow<'_, str>> = values.iter().map(|value| Cow::from(*value)).collect();
        let arguments = Arguments(&values);
        let fragments = group(arguments)?;
        let fragments = fragments.iter().map(|(name, series)| (*name, series.as_slice()));
        let source = ManagedObjectId::parse("7").expect("an id");
        let json = body(source, arguments.mandatory(0)?, arguments.date(1)?, fragments)?;
        Ok(String::from_utf8(json).expect("UTF-8"))
    }

    #[test]
    fn series_are_grouped_by_fragment_keep_their_digits_and_texts_are_escaped() {
        let json = written(&[
            "t\"",
            "2024-03-10T02:30:00Z",
            "a",
            "x",
            "1.50",
            "°C",
            "b\n",
            "y",
            "+2",
            "",
            "a",
            "z",
            "-.5e1",
            "\\",
        ]);
        assert_eq!(
            json.as_deref(),
            Ok(concat!(
                r#"{"source":{"id":"7"},"time":"2024-03-10T02:30:00Z","type":"t\"","#,
                r#""a":{"x":{"value":1.50,"unit":"°C"},"z":{"value":-0.5e1,"unit":"\\"}},"b\n":{"y":{"value":2}}}"#
            ))
        );
    }

    #[test]
    fn missing_and_duplicate_series_are_rejected() {
        let unprocessable = Refusal::Rest(StatusCode::UNPROCESSABLE_ENTITY);
        for (values, refusal) in [
            (&["t"][..], Refusal::WrongNumber),
            (&["t", ""], Refusal::WrongNumber),
            (&["t", "", "a", "x"], Refusal::WrongNumber),
            (&["t", "", "a", "x", "1", "C", "b"], Refusal::WrongNumber),
            (&["t", "", "a", "x", "1", "", "a", "x", "2"], unprocessable.clone()),
            (&["t", "", "time", "x", "1"], unprocessable),
        ] {
            assert_eq!(written(values), Err(refusal), "{values:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_texts_are_one_json_object(
            texts in proptest::array::uniform4("\\PC{1,6}|[\"\\\\\n\t\u{0}-\u{1f}]{1,4}")
        ) {
            let [type_, fragment, series, unit] = &texts;
            if let Ok(json) = written(&[type_, "", fragment, series, "1", unit]) {
                let read: serde_json::Value = serde_json::from_str(&json).expect("is JSON");
                proptest::prop_assert_eq!(&read["type"], type_);
                proptest::prop_assert_eq!(&read[fragment][series]["unit"], unit);
            }
        }
    }
}
