//! The replies to the messages of one request.

use std::borrow::Cow;

use platform_actors::Refusal;
use platform_actors::session::{ClientId, ConnectResponse};
use platform_model::realtime::bayeux::reply::Acknowledgement;
use platform_model::realtime::bayeux::{Advice, Reply, RequestMessage, error};

use super::held::REPLY_BYTES;
use super::{CONNECT, Held};

/// The replies so far.
#[derive(Default)]
pub(super) struct Replies {
    /// An unfinished JSON array.
    json: Vec<u8>,
    /// The messages that were rejected, for traces (B-37).
    refusals: Vec<Refusal>,
}

impl Replies {
    pub(super) fn push(&mut self, reply: &Reply<'_>) {
        self.separate();
        reply.write(&mut self.json);
    }

    pub(super) fn accept(&mut self, message: &RequestMessage<'_>, channel: &str) {
        let (id, client) = (message.id(), message.client_id());
        let reply = Reply { id, channel: Some(channel), client_id: client.as_deref(), ..Reply::default() };
        self.push(&Reply { subscription: message.subscription(), successful: true, ..reply });
    }

    pub(super) fn refuse(
        &mut self,
        message: &RequestMessage<'_>,
        channel: Option<&str>,
        error: &str,
        advice: Option<Advice>,
    ) {
        let client: Option<Cow<'_, str>> = message.client_id();
        self.push(&Reply {
            id: message.id(),
            channel,
            client_id: client.as_deref(),
            subscription: message.subscription(),
            error: Some(error),
            advice,
            ..Reply::default()
        });
        self.refusals.push(Refusal {
            client: client.as_deref().and_then(ClientId::parse),
            channel: channel.unwrap_or_default().to_owned(),
            subscription: message
                .subscriptions()
                .unwrap_or_default()
                .iter()
                .map(ToString::to_string)
                .collect(),
            error: error.to_owned(),
        });
    }

    /// Adds the reason to the last rejected message, for traces. Its client does not receive it.
    pub(super) fn explain(&mut self, reason: &str) {
        if let Some(refusal) = self.refusals.last_mut() {
            refusal.error = format!("{}: {reason}", refusal.error);
        }
    }

    /// Takes the messages that were rejected.
    pub(super) fn take_refusals(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.refusals)
    }

    pub(super) fn unknown_client(&mut self, message: &RequestMessage<'_>, channel: &str) {
        self.refuse(message, Some(channel), error::UNKNOWN_CLIENT, Some(Advice::HANDSHAKE));
    }

    /// Rejects a message whose session may exist, but cannot be used at the moment (B-16a).
    pub(super) fn not_now(&mut self, message: &RequestMessage<'_>, channel: &str) {
        let client = message.client_id();
        let is_connect = channel == CONNECT;
        self.push(&Reply {
            id: message.id(),
            channel: Some(channel),
            client_id: client.as_deref(),
            subscription: message.subscription(),
            error: Some(error::NOT_NOW),
            advice: Some(Advice::RETRY),
            ext: message.acknowledged_batch().filter(|_| is_connect).map(Acknowledgement::Batch),
            ..Reply::default()
        });
    }

    /// Writes the notifications, followed by the reply to their connect.
    pub(super) fn connected(&mut self, held: &Held, answer: &ConnectResponse) {
        let notifications = &answer.delivery.notifications;
        self.json.reserve(notifications.iter().map(|n| n.json().len() + 1).sum::<usize>() + REPLY_BYTES);
        for notification in notifications {
            self.separate();
            self.json.extend_from_slice(notification.json());
        }
        self.separate();
        held.write_reply(answer, &mut self.json);
    }

    fn separate(&mut self) {
        self.json.push(if self.json.is_empty() { b'[' } else { b',' });
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.json.is_empty() {
            self.json.push(b'[');
        }
        self.json.push(b']');
        self.json
    }
}
