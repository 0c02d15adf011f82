//! A dashboard that subscribes to all alarms over a WebSocket and records those about availability.

use std::collections::HashMap;
use std::sync::Arc;

use memchr::memmem;
use serde_json::Value;
use tokio::task::JoinHandle;

use super::{ALARM_TYPE, AvailabilityRecord};
use crate::error::Error;
use crate::protocol::bayeux;
use crate::protocol::bayeux::websocket::WebSocket;
use crate::target::Target;

/// Subscribes to all alarms; the task ends only when the session does.
///
/// # Errors
/// The server rejects the session.
pub(super) async fn open(
    target: &Arc<Target>,
    ids: &[String],
    notes: &Arc<AvailabilityRecord>,
) -> Result<JoinHandle<Error>, Error> {
    let mut session =
        WebSocket::open(target, bayeux::REALTIME, (&["/alarms/*".to_owned()], None), false).await?;
    let devices: HashMap<String, usize> = ids.iter().cloned().zip(0..).collect();
    let notes = Arc::clone(notes);
    Ok(tokio::spawn(async move {
        loop {
            match session.frame().await {
                Ok(frame) => note(&notes, &devices, frame.as_bytes()),
                Err(error) => return error,
            }
        }
    }))
}

fn note(notes: &AvailabilityRecord, devices: &HashMap<String, usize>, frame: &[u8]) {
    if memmem::find(frame, ALARM_TYPE.as_bytes()).is_none() {
        return;
    }
    let now = notes.run.now();
    for (source, is_cleared) in reports(frame) {
        let Some(&device) = devices.get(&source) else { continue };
        if is_cleared {
            notes.vigil.lock().cleared(device, now)
        } else {
            notes.vigil.lock().raised(device, now)
        }
    }
}

/// Returns the sources of the unavailability alarms in a frame, and whether each is cleared.
fn reports(frame: &[u8]) -> Vec<(String, bool)> {
    let messages: Vec<Value> = serde_json::from_slice(frame).unwrap_or_default();
    let alarms = messages.iter().map(|message| &message["data"]["data"]);
    let ours = alarms.filter(|alarm| alarm["type"] == ALARM_TYPE);
    ours.filter_map(|alarm| Some((alarm["source"]["id"].as_str()?.to_owned(), alarm["status"] == "CLEARED")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_among_other_messages() {
        let frame = br#"[{"channel":"/alarms/*","data":{"realtimeAction":"CREATE","data":{"type":"plat_UnavailabilityAlarm","status":"ACTIVE","source":{"id":"7"}}}},
            {"channel":"/alarms/*","data":{"realtimeAction":"CREATE","data":{"type":"other","status":"ACTIVE","source":{"id":"8"}}}},
            {"channel":"/alarms/*","data":{"realtimeAction":"UPDATE","data":{"type":"plat_UnavailabilityAlarm","status":"CLEARED","source":{"id":"9"}}}},
            {"channel":"/alarms/*","data":{"realtimeAction":"DELETE","data":"11"}},
            {"channel":"/meta/connect","successful":true}]"#;
        assert_eq!(reports(frame), [("7".to_owned(), false), ("9".to_owned(), true)]);
    }
}
