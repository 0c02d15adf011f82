//! A notification, encoded once for all sessions that receive it.

use std::fmt::{self, Display};
use std::sync::Arc;

use platform_model::realtime::bayeux::Channel;
use platform_model::realtime::change::PublishedChange;
use platform_model::realtime::trace::record::TracedChange;
use platform_model::realtime::transactions::TransactionId;
use platform_model::units::SystemOfUnits;

use super::Publish;

/// A notification as clients receive it: one Bayeux message, encoded once for long polls and WebSockets.
pub struct Notification {
    /// The message as the only one of an array, as a WebSocket text frame (RFC 6455, 5.2).
    frame: Box<[u8]>,
    /// The position of the message within the frame.
    begin: usize,
    /// The channel of an object whose change it is about, and the transaction that stored the change, if it is known.
    change: Option<(Channel, Option<TransactionId>)>,
    /// The change, if a trace concerns it.
    traced: Option<Arc<TracedChange>>,
}

impl Notification {
    /// Encodes a Bayeux message.
    pub(crate) fn new(json: &[u8]) -> Self {
        let length = json.len() + 2;
        let bytes = (length as u64).to_be_bytes();
        let (code, extended): (u8, &[u8]) = match length {
            0..=125 => (length as u8, &[]),
            126..=0xFFFF => (126, &bytes[6..]),
            _ => (127, &bytes),
        };
        // The frame is final and contains text; a server does not mask its frames.
        let header = [&[0x81, code], extended, b"["].concat();
        Self { frame: [&header, json, b"]"].concat().into(), begin: header.len(), change: None, traced: None }
    }

    /// Returns the channel of an object whose change it is about, and the transaction that stored the change, if it is
    /// known. It is `None` for notifications on other channels.
    pub(crate) fn change(&self) -> Option<(Channel, Option<TransactionId>)> {
        self.change
    }

    /// Returns the change, if a trace concerns it.
    pub(crate) fn traced(&self) -> Option<&Arc<TracedChange>> {
        self.traced.as_ref()
    }

    /// Returns the notification, marked as that of a change that a trace concerns.
    pub(crate) fn traced_as(self, traced: Option<Arc<TracedChange>>) -> Self {
        Self { traced, ..self }
    }

    /// Returns the encoded Bayeux message.
    pub fn json(&self) -> &[u8] {
        &self.frame[self.begin..self.frame.len() - 1]
    }

    /// Returns the WebSocket frame with an array of this message.
    pub fn frame(&self) -> &[u8] {
        &self.frame
    }

    #[cfg(test)]
    pub(crate) fn for_test(json: &str) -> Self {
        Self::new(json.as_bytes())
    }
}

impl fmt::Debug for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Notification").field(&String::from_utf8_lossy(self.json())).finish()
    }
}

/// A notification on one channel in the systems of units that its listeners need, each encoded once.
pub(super) struct NotificationForms<'a, C> {
    pub(super) publish: &'a Publish,
    pub(super) channel: C,
    /// The channel of the object, unless the notification is for subscriptions to a family or a group.
    pub(super) object: Option<Channel>,
    /// Whether the object is a member of the group, on the channel of changes of its members (B-39).
    pub(super) is_member: Option<bool>,
    pub(super) id: u64,
    /// The forms as stored, metric and imperial. Only measurements have more than one.
    pub(super) encoded: [Option<Arc<Notification>>; 3],
}

impl<'a, C: Display> NotificationForms<'a, C> {
    pub(super) fn new(publish: &'a Publish, channel: C) -> Self {
        Self { publish, channel, object: None, is_member: None, id: 0, encoded: Default::default() }
    }

    /// Returns the notification in this system of units.
    pub(super) fn in_units(&mut self, units: Option<SystemOfUnits>) -> Arc<Notification> {
        let Publish { event, links, .. } = self.publish;
        let converted = match (event, units) {
            (PublishedChange::MeasurementCreated(measurement), Some(units)) => Some((measurement, units)),
            _ => None,
        };
        let form = match converted {
            None => 0,
            Some((_, SystemOfUnits::Metric)) => 1,
            Some((_, SystemOfUnits::Imperial)) => 2,
        };
        let encode = || {
            let converted = converted.map(|(measurement, units)| {
                PublishedChange::MeasurementCreated(Arc::new(measurement.in_units(units)))
            });
            let event = converted.as_ref().unwrap_or(event);
            let json = event.notification(&self.channel, self.id, self.is_member, links);
            let change = self.object.map(|object| (object, self.publish.transaction));
            Arc::new(Notification {
                change,
                ..Notification::new(&json).traced_as(self.publish.traced.clone())
            })
        };
        self.encoded[form].get_or_insert_with(encode).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_announces_its_length_in_the_shortest_form() {
        let cases: [(usize, &[u8]); 5] = [
            (1, &[0x81, 3]),
            (123, &[0x81, 125]),
            (124, &[0x81, 126, 0, 126]),
            (65_533, &[0x81, 126, 255, 255]),
            (65_534, &[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ];
        for (length, header) in cases {
            let json = "1".repeat(length);
            let notification = Notification::for_test(&json);

            assert_eq!(notification.json(), json.as_bytes(), "{length}");
            let frame = [header, b"[", json.as_bytes(), b"]"].concat();
            assert!(notification.frame() == frame, "{length}: {:?}", &notification.frame()[..header.len()]);
        }
    }
}
