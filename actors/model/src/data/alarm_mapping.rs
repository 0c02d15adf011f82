//! Alarm mappings: a tenant replaces severity or text of new alarms, or suppresses them (A-10).

use std::collections::HashMap;
use std::sync::Arc;

use crate::data::alarm::{NewAlarm, Severity};
use crate::error::{Error, Result};

/// The severity that suppresses an alarm.
const NONE: &str = "NONE";
const ALLOWED: &str = "<SEVERITY>|<text>, where SEVERITY is CRITICAL, MAJOR, MINOR, WARNING, NONE or left out, and \
    so may be the text";

/// The mapping of one alarm type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlarmMapping {
    /// Alarms are raised with these values instead of their own.
    Changed {
        /// The new severity; `None` keeps the alarm's own.
        severity: Option<Severity>,
        /// The new text; `None` keeps the alarm's own.
        text: Option<String>,
    },
    /// Alarms are not raised.
    Suppressed,
}

impl AlarmMapping {
    /// Parses the value of an option. A severity may stand alone, without the bar.
    ///
    /// # Errors
    /// `Invalid` names the type, the value and the format.
    pub fn parse(type_: &str, value: &str) -> Result<Self> {
        let (severity, text) = value.split_once('|').unwrap_or((value, ""));
        let severity = match severity.trim() {
            NONE => return Ok(Self::Suppressed),
            "" => None,
            word => Some(Severity::parse(word).map_err(|_| Error::invalid_value(type_, value, ALLOWED))?),
        };
        Ok(Self::Changed { severity, text: (!text.is_empty()).then(|| text.to_owned()) })
    }
}

/// All mappings of a tenant, by alarm type.
#[derive(Debug, Clone, Default)]
pub struct AlarmMappings(HashMap<String, AlarmMapping>);

impl AlarmMappings {
    /// Returns the alarm to raise, or `None` when it is suppressed.
    pub fn apply(&self, new: Arc<NewAlarm>) -> Option<Arc<NewAlarm>> {
        // Most tenants have no mappings, so this avoids computing a hash.
        let mapping = if self.0.is_empty() { None } else { self.0.get(&new.type_) };
        match mapping {
            None => Some(new),
            Some(AlarmMapping::Suppressed) => None,
            Some(AlarmMapping::Changed { severity, text }) => {
                let mut new = Arc::unwrap_or_clone(new);
                new.severity = severity.unwrap_or(new.severity);
                if let Some(text) = text {
                    new.text.clone_from(text);
                }
                Some(Arc::new(new))
            }
        }
    }
}

impl FromIterator<(String, AlarmMapping)> for AlarmMappings {
    fn from_iter<I: IntoIterator<Item = (String, AlarmMapping)>>(mappings: I) -> Self {
        Self(mappings.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;

    fn changed(severity: Option<Severity>, text: Option<&str>) -> AlarmMapping {
        AlarmMapping::Changed { severity, text: text.map(ToOwned::to_owned) }
    }

    #[test]
    fn either_part_may_be_left_out() {
        for (value, expected) in [
            ("MAJOR|Too hot", changed(Some(Severity::Major), Some("Too hot"))),
            ("|Too | hot", changed(None, Some("Too | hot"))),
            ("WARNING|", changed(Some(Severity::Warning), None)),
            ("WARNING", changed(Some(Severity::Warning), None)),
            ("|", changed(None, None)),
            ("NONE|whatever", AlarmMapping::Suppressed),
            ("NONE", AlarmMapping::Suppressed),
        ] {
            assert_eq!(AlarmMapping::parse("t", value).expect(value), expected);
        }
    }

    #[test]
    fn unknown_severities_are_rejected_with_type_and_value() {
        for value in ["major|x", "none|x", "Too hot", "FATAL|x"] {
            let error = AlarmMapping::parse("hot", value).expect_err(value).to_string();
            assert!(error.contains("'hot'") && error.contains(value), "{error}");
        }
    }

    #[test]
    fn alarms_of_other_types_stay_as_they_are() {
        let body =
            r#"{"type":"t","time":"2024-03-10T02:30:00Z","text":"x","severity":"MAJOR","source":{"id":"1"}}"#;
        let new = Arc::new(NewAlarm::parse(Body::parse(body.as_bytes()).expect("JSON")).expect("complete"));
        let mapped = |type_: &str, mapping| {
            let mappings: AlarmMappings = [(type_.to_owned(), mapping)].into_iter().collect();
            mappings.apply(new.clone()).map(|new| (new.severity, new.text.clone()))
        };

        assert_eq!(mapped("t", AlarmMapping::Suppressed), None);
        assert_eq!(mapped("T", AlarmMapping::Suppressed), Some((Severity::Major, "x".into())));
        assert_eq!(mapped("t", changed(None, Some("y"))), Some((Severity::Major, "y".into())));
    }
}
