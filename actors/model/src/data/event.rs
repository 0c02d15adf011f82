//! Events (docs/rules.md#events; V-01, V-02, V-09).

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use crate::body::{Body, MAX_SHORT_TEXT, missing, source_id};
use crate::data::event_binary::Content;
use crate::devices::reference::LinkKind;
use crate::error::Result;
use crate::fragments::Fragments;
use crate::id::{EventId, ManagedObjectId};
use crate::links::Linked;
use crate::page::TimeOrder;
use crate::timestamp::Timestamp;

/// The maximum number of bytes of an event's text.
const MAX_TEXT: usize = 64 << 10;
/// The members that only the server sets; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 4] = ["id", "self", "creationTime", "lastUpdated"];

/// An event as it is stored and returned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Event {
    /// The id; `None` for an event that was not stored (TRANSIENT, CEP; M-02).
    pub id: Option<EventId>,
    /// The device that sent the event.
    pub source: ManagedObjectId,
    /// The device's name, shown in `source`.
    pub source_name: Option<String>,
    /// The device's type, shown in `source`.
    pub source_type: Option<String>,
    /// The type of the event.
    pub type_: String,
    /// The time when the event happened, by the device's clock.
    pub time: Timestamp,
    /// A description of what happened.
    pub text: String,
    /// The time when the server stored the event.
    pub creation_time: Timestamp,
    /// The number of changes of the event. A change succeeds only if this number is unchanged. It is not shown.
    pub revision: i64,
    /// All other members.
    pub fragments: Fragments,
}

impl Event {
    /// Sets the fragment that describes the event's file, or removes it (V-06, V-09).
    pub fn set_content(&mut self, content: Option<&Content>) {
        for name in Content::markers() {
            self.fragments.remove(&name);
        }
        if let Some((name, marker)) = content.map(Content::marker) {
            self.fragments.set(&name, marker);
        }
    }
}

impl Serialize for Linked<'_, Event> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct EventSource<'a> {
            id: ManagedObjectId,
            #[serde(rename = "self")]
            link: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
            #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
            type_: Option<&'a str>,
        }
        let Linked { value: event, links } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.event(event.id))?;
        if let Some(id) = event.id {
            map.serialize_entry("id", &id)?;
        }
        map.serialize_entry("creationTime", &event.creation_time)?;
        map.serialize_entry("type", &event.type_)?;
        map.serialize_entry("time", &event.time)?;
        map.serialize_entry("text", &event.text)?;
        let source = EventSource {
            id: event.source,
            link: links.managed_object(Some(event.source)),
            name: event.source_name.as_deref(),
            type_: event.source_type.as_deref(),
        };
        map.serialize_entry("source", &source)?;
        event.fragments.serialize_entries(&mut map)?;
        map.end()
    }
}

/// The body of `POST /event/events`.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// See [`Event::source`].
    pub source: ManagedObjectId,
    /// See [`Event::type_`].
    pub type_: String,
    /// See [`Event::time`].
    pub time: Timestamp,
    /// See [`Event::text`].
    pub text: String,
    /// All other members.
    pub fragments: Fragments,
}

impl NewEvent {
    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` lists all missing members (E-05) or names the invalid one.
    pub fn parse(mut body: Body) -> Result<Self> {
        let type_ = body.take_text("type", MAX_SHORT_TEXT)?;
        let time = body.take_timestamp("time")?;
        let text = body.take_text("text", MAX_TEXT)?;
        let source = body.take("source").map(|raw| source_id(&raw)).transpose()?;
        match (type_, time, text, source) {
            (Some(type_), Some(time), Some(text), Some(source)) => {
                let mut fragments = fragments(body)?;
                fragments.drop_nulls();
                Ok(Self { source, type_, time, text, fragments })
            }
            (type_, time, text, source) => Err(missing(&[
                ("type", type_.is_none()),
                ("time", time.is_none()),
                ("text", text.is_none()),
                ("source", source.is_none()),
            ])),
        }
    }

    /// Returns the event of this body; the store adds the shown properties of its source.
    pub fn created(self, id: Option<EventId>) -> Event {
        Event {
            id,
            source: self.source,
            source_name: None,
            source_type: None,
            type_: self.type_,
            time: self.time,
            text: self.text,
            creation_time: Timestamp::now(),
            revision: 0,
            fragments: self.fragments,
        }
    }
}

/// The body of `PUT /event/events/<id>`: it changes text and fragments; other members are ignored (V-02).
#[derive(Debug, Clone)]
pub struct EventPatch {
    /// The new text.
    pub text: Option<String>,
    /// Fragments to replace, or to remove if they are `null`.
    pub fragments: Fragments,
}

impl EventPatch {
    /// Parses the body of a PUT.
    ///
    /// # Errors
    /// `Invalid` names the invalid member.
    pub fn parse(mut body: Body) -> Result<Self> {
        let text = body.take_text("text", MAX_TEXT)?;
        body.ignore(&["type", "time", "source"]);
        Ok(Self { text, fragments: fragments(body)? })
    }

    /// Returns the event with this patch applied, or `None` when the patch changes nothing.
    pub fn applied(&self, event: &Event) -> Option<Event> {
        let mut changed = event.clone();
        let new_text = self.text.as_ref().filter(|text| **text != event.text);
        if let Some(text) = new_text {
            changed.text.clone_from(text);
        }
        let fragments = changed.fragments.merge(&self.fragments);
        (new_text.is_some() || !fragments.is_empty()).then_some(changed)
    }
}

/// Returns the remaining fragments of a body, without those that describe a file, which only the server sets (V-09).
fn fragments(mut body: Body) -> Result<Fragments> {
    body.ignore(&SERVER_MEMBERS);
    for name in Content::markers() {
        body.ignore(&[&name]);
    }
    body.into_fragments()
}

/// The query parameters of the event collection (V-01), for the list and for bulk deletion.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// The exact type.
    pub type_: Option<String>,
    /// Events with this top-level fragment.
    pub fragment_type: Option<String>,
    /// Events of this device.
    pub source: Option<ManagedObjectId>,
    /// Events of the descendants of the device by links of these kinds, too (`withSourceAssets`, `withSourceDevices`).
    pub with_descendants: Vec<LinkKind>,
    /// `time` at or after this.
    pub date_from: Option<Timestamp>,
    /// `time` at or before this.
    pub date_to: Option<Timestamp>,
    /// The order, newest first unless reverted.
    pub order: TimeOrder,
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETE: &str = r#"{"type":"t","time":"2024-03-10T02:30:00Z","text":"x","source":{"id":208},
        "plat_X":{"a":1},"id":"7","plat_IsBinary":{},"plat_IsIncompleteBinary":{},"plat_Y":null}"#;

    fn event(json: &str) -> Event {
        let body = Body::parse(json.as_bytes()).expect("json");
        NewEvent::parse(body).expect("complete").created(Some(EventId(7)))
    }

    fn patch(json: &str) -> EventPatch {
        EventPatch::parse(Body::parse(json.as_bytes()).expect("json")).expect("valid")
    }

    #[test]
    fn body_makes_an_event_without_members_of_the_server() {
        assert_eq!(event(COMPLETE).fragments.to_json(), r#"{"plat_X":{"a":1}}"#);
    }

    #[test]
    fn all_missing_members_are_listed_at_once() {
        let body = Body::parse(br#"{"text":"x"}"#).expect("json");
        let error = NewEvent::parse(body).expect_err("incomplete").to_string();
        assert_eq!(error, "Following mandatory fields should be included: type,time,source");
    }

    #[test]
    fn patch_changes_text_and_fragments_and_nothing_else() {
        let sent = r#"{"text":"y","type":"other","time":"x","plat_X":null,"plat_IsBinary":null,"plat_Z":1}"#;
        let changed = patch(sent).applied(&event(COMPLETE)).expect("a change");
        assert_eq!((&*changed.type_, &*changed.text), ("t", "y"));
        assert_eq!(changed.fragments.to_json(), r#"{"plat_Z":1}"#);
    }

    #[test]
    fn patch_with_the_stored_values_changes_nothing() {
        let event = event(COMPLETE);
        for same in [r#"{"text":"x"}"#, r#"{"plat_X":{ "a":1 }}"#, r#"{"plat_None":null}"#, "{}"] {
            assert!(patch(same).applied(&event).is_none(), "{same}");
        }
    }
}
