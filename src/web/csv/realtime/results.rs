//! Evaluation of notifications by the template sets of a session (S-53, S-55).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::StatusCode;
use actix_web::web;
use platform_actors::hub::Notification;
use platform_actors::session::SessionTemplates;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::realtime::consumer::JournalPosition;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::csv::Csv;
use crate::csv::groups::GroupedLines;
use crate::csv::line::Lines;
use crate::csv::refusal::Refusal;
use crate::csv::static_templates;
use crate::csv::static_templates::serials::{serial_type, serials_of};
use crate::csv::template_sets::Set;
use crate::http::error::Result;

/// The time after which other requests of this thread get a turn.
const TURN: Duration = Duration::from_millis(5);
/// The size of a response in bytes after which further notifications wait for the next connect.
const RESPONSE_BYTES: usize = 16 << 20;
/// The request line in results: a notification belongs to no line, so the first is used (S-53).
const LINE: usize = 1;

/// The result of evaluating notifications.
#[derive(Debug, Default)]
pub(super) struct Evaluated {
    /// The response; empty when no set produced a line for any of them.
    pub(super) text: String,
    /// The number of evaluated notifications. The others wait.
    pub(super) count: usize,
    /// The position of the last one of them, if they are those of a consumer.
    pub(super) position: Option<JournalPosition>,
}

/// The state of the evaluation of a delivery.
struct Evaluator<'e> {
    csv: &'e Csv,
    tenant: &'e TenantId,
    sets: Vec<(&'e str, Set)>,
    /// The serials of devices that were looked up.
    serials: HashMap<ManagedObjectId, String>,
}

/// Returns the lines that the sets of a session produce for notifications.
///
/// # Errors
/// `Unavailable` or `Database` when sets or serials cannot be looked up.
pub(super) async fn evaluate(
    csv: web::Data<Csv>,
    tenant: TenantId,
    templates: Arc<SessionTemplates>,
    notifications: Vec<Arc<Notification>>,
) -> Result<Evaluated> {
    let sets = sets_of(&csv, &tenant, &templates).await?;
    let position_at = |count: usize| notifications.get(count.checked_sub(1)?).and_then(position_of);
    if sets.is_empty() {
        let count = notifications.len();
        return Ok(Evaluated { text: String::new(), count, position: position_at(count) });
    }
    let grouped = !templates.extra.is_empty();
    let mut evaluator = Evaluator { csv: &csv, tenant: &tenant, sets, serials: HashMap::new() };
    let (mut answer, mut bytes, mut count) = (GroupedLines::default(), 0, 0);
    let mut turn = Instant::now();
    for notification in &notifications {
        if turn.elapsed() > TURN {
            tokio::task::yield_now().await;
            turn = Instant::now();
        }
        if let Some(object) = object_of(notification.json()) {
            bytes += evaluator.evaluate(&object, grouped, &mut answer).await?;
        }
        count += 1;
        if bytes > RESPONSE_BYTES {
            break;
        }
    }
    Ok(Evaluated { text: answer.finish(), count, position: position_at(count) })
}

/// Returns the sets that can produce lines, those of the header first. A set that was deleted produces none.
async fn sets_of<'e>(
    csv: &Csv,
    tenant: &TenantId,
    templates: &'e SessionTemplates,
) -> Result<Vec<(&'e str, Set)>> {
    let extra = templates.extra.iter().filter(|x_id| !templates.header.contains(x_id));
    let mut sets = Vec::new();
    for x_id in templates.header.iter().chain(extra) {
        match csv.templates.select(csv.platform.database(), tenant, x_id).await? {
            Some(Set::Registered(known)) if !known.set.has_responses() => {}
            Some(set) => sets.push((&**x_id, set)),
            None => {}
        }
    }
    Ok(sets)
}

impl Evaluator<'_> {
    /// Adds the lines that each set produces for an object, and returns their size in bytes.
    async fn evaluate(&mut self, object: &Value, grouped: bool, answer: &mut GroupedLines) -> Result<usize> {
        let mut bytes = 0;
        for at in 0..self.sets.len() {
            let mut lines = Lines::default();
            match &self.sets[at].1 {
                _ if bytes > RESPONSE_BYTES => {
                    Refusal::Rest(StatusCode::PAYLOAD_TOO_LARGE).write(LINE, &mut lines);
                }
                Set::Registered(known) => known.set.evaluate(object, LINE, &mut lines),
                Set::Static => self.write_static(object, &mut lines).await?,
            }
            if !lines.is_empty() {
                answer.begin(grouped.then_some(self.sets[at].0));
                answer.lines().append(&lines);
                bytes += lines.bytes();
            }
        }
        Ok(bytes)
    }

    /// Static responses are only for operations that are PENDING.
    async fn write_static(&mut self, object: &Value, lines: &mut Lines) -> Result<()> {
        let device = object["deviceId"].as_str().and_then(|id| ManagedObjectId::parse(id).ok());
        let Some(device) = device.filter(|_| object["status"] == "PENDING") else { return Ok(()) };
        let serial = match serial_in(object) {
            Some(serial) => serial,
            None => self.serial(device).await?,
        };
        static_templates::responses::write(object, &serial, self.csv, lines);
        Ok(())
    }

    async fn serial(&mut self, device: ManagedObjectId) -> Result<String> {
        if let Some(serial) = self.serials.get(&device) {
            return Ok(serial.clone());
        }
        let mut serials = serials_of(self.csv, self.tenant, &[device]).await?;
        let serial = serials.remove(&device).unwrap_or_else(|| device.to_string());
        self.serials.insert(device, serial.clone());
        Ok(serial)
    }
}

/// Returns the serial that an operation for an agent contains (B-04); a device without a serial is identified
/// by its id (H-13).
fn serial_in(operation: &Value) -> Option<String> {
    let pairs = operation["deviceExternalIDs"]["externalIds"].as_array()?;
    let type_ = serial_type();
    let serial = pairs.iter().find(|pair| pair["type"] == type_).and_then(|pair| pair["externalId"].as_str());
    serial.or_else(|| operation["deviceId"].as_str()).map(ToOwned::to_owned)
}

/// Returns the position of a notification of a consumer.
fn position_of(notification: &Arc<Notification>) -> Option<JournalPosition> {
    #[derive(Deserialize)]
    struct Message {
        ext: Extensions,
    }
    #[derive(Deserialize)]
    struct Extensions {
        #[serde(rename = "com.platform.consumer")]
        consumer: Consumer,
    }
    #[derive(Deserialize)]
    struct Consumer {
        position: JournalPosition,
    }
    let message: Message = serde_json::from_slice(notification.json()).ok()?;
    Some(message.ext.consumer.position)
}

/// Returns the object that templates evaluate: on the channel of an agent the operation, on other channels
/// the object of the notification, and of a deleted object only its id (S-53).
fn object_of(notification: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow)]
        channel: Cow<'a, str>,
        data: Value,
    }
    let Content { channel, mut data } = serde_json::from_slice(notification).ok()?;
    let of_agent = !channel.trim_start_matches('/').contains('/');
    if of_agent || data.get("realtimeAction").is_none() {
        return Some(data);
    }
    match data.get_mut("data")?.take() {
        Value::String(id) => Some(json!({"id": id})),
        object => Some(object),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notification_yields_its_object() {
        for (notification, object) in [
            (
                json!({"channel": "/alarms/1", "data": {"realtimeAction": "CREATE", "data": {"id": "7"}}}),
                json!({"id": "7"}),
            ),
            (
                json!({"channel": "/alarms/1", "data": {"realtimeAction": "DELETE", "data": "7"}}),
                json!({"id": "7"}),
            ),
            (
                json!({"channel": "/1", "data": {"id": "7", "realtimeAction": "DELETE", "data": "8"}}),
                json!({"id": "7", "realtimeAction": "DELETE", "data": "8"}),
            ),
            (json!({"channel": "/pumps/hot", "data": {"data": "x"}}), json!({"data": "x"})),
        ] {
            let text = notification.to_string();
            assert_eq!(object_of(text.as_bytes()), Some(object), "{text}");
        }
    }

    #[test]
    fn operation_of_an_agent_has_the_serial() {
        let ids = json!([{"type": "acme", "externalId": "x"}, {"type": "plat_Serial", "externalId": "s-1"}]);
        let known = json!({"deviceId": "7", "deviceExternalIDs": {"externalIds": ids}});
        let nameless = json!({"deviceId": "7", "deviceExternalIDs": {"externalIds": []}});
        assert_eq!(serial_in(&known).as_deref(), Some("s-1"));
        assert_eq!(serial_in(&nameless).as_deref(), Some("7"));
        assert_eq!(serial_in(&json!({"deviceId": "7"})), None);
    }
}
