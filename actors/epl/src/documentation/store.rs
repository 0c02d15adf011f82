//! The objects that a transcript puts into the store, for the finders of its module.

use std::cell::RefCell;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::transcript::{self, Content};
use crate::plan::expression::{Filter, Finder, Take};
use crate::runtime::LookUps;
use crate::value::{Fault, Object, ObjectKind, Value};

#[derive(Default)]
pub(super) struct Store {
    /// The objects, the newest last.
    objects: RefCell<Vec<(ObjectKind, Map<String, Json>)>>,
}

impl Store {
    /// Stores an object; it replaces one with the same id.
    pub(super) fn put(&self, kind: &str, content: &Content) {
        let kind = match kind {
            "ManagedObject" => ObjectKind::ManagedObject,
            "Event" => ObjectKind::Event,
            "Measurement" => ObjectKind::Measurement,
            "Operation" => ObjectKind::Operation,
            "Alarm" => ObjectKind::Alarm,
            kind => panic!("'{kind}' is not stored"),
        };
        let mut objects = self.objects.borrow_mut();
        objects.retain(|(known, json)| *known != kind || json["id"] != content.json["id"]);
        objects.push((kind, content.json.clone()));
    }
}

impl LookUps for Store {
    fn find(&self, finder: &Finder, arguments: &[Value]) -> Result<Value, Fault> {
        let arguments: Vec<_> =
            arguments.iter().map(|value| value.as_text().unwrap_or_default().into_owned()).collect();
        let objects = self.objects.borrow();
        let found = |kind: ObjectKind, filters: &[Filter]| -> Vec<Value> {
            let matches = |json: &Map<String, Json>| {
                filters.iter().zip(&arguments).all(|(filter, wanted)| has(json, *filter, wanted))
            };
            let of_kind = objects.iter().rev().filter(|(known, _)| *known == kind);
            of_kind.filter(|(_, json)| matches(json)).map(|(_, json)| object(kind, json)).collect()
        };
        match finder {
            Finder::ById(kind) => {
                let known = objects.iter().find(|(known, json)| known == kind && json["id"] == *arguments[0]);
                Ok(known.map_or(Value::Null, |(_, json)| object(*kind, json)))
            }
            Finder::By { kind, take, filters } => {
                let mut found = found(*kind, filters);
                match (take, found.len()) {
                    (Take::All, _) => Ok(Value::List(found.into())),
                    (Take::First, 0) => Ok(Value::Null),
                    (Take::First, _) | (Take::One, 1) => Ok(found.swap_remove(0)),
                    (Take::One, 0) => Err(Fault::new("a look-up for exactly one found none")),
                    (Take::One, _) => Err(Fault::new("a look-up for exactly one found several")),
                }
            }
            Finder::InMaintenanceMode | Finder::ReplaceAllPlaceholders => {
                panic!("no example of the document uses it")
            }
        }
    }
}

fn has(json: &Map<String, Json>, filter: Filter, wanted: &str) -> bool {
    match filter {
        Filter::Source | Filter::Device => {
            json.get("source").and_then(|source| source.get("id")).or(json.get("deviceId"))
                == Some(&wanted.into())
        }
        Filter::Type => json.get("type") == Some(&wanted.into()),
        Filter::Status => json.get("status") == Some(&wanted.into()),
        Filter::FragmentType => json.contains_key(wanted),
        filter => panic!("no example of the document filters by {filter:?}"),
    }
}

fn object(kind: ObjectKind, json: &Map<String, Json>) -> Value {
    Value::Object(match kind {
        ObjectKind::ManagedObject => Object::ManagedObject(Arc::new(transcript::managed_object(json))),
        ObjectKind::Event => Object::Event(Arc::new(transcript::event(json))),
        ObjectKind::Alarm => Object::Alarm(Arc::new(transcript::alarm(json))),
        ObjectKind::Operation => Object::Operation(Arc::new(transcript::operation(json))),
        ObjectKind::Measurement => Object::Measurement(Arc::new(transcript::measurement(json))),
    })
}
