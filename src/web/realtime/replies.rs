//! The replies to the messages of one request.

use std::borrow::Cow;

use platform_actors::session::ConnectResponse;
use platform_model::realtime::bayeux::reply::Acknowledgement;
use platform_model::realtime::bayeux::{Advice, Reply, RequestMessage, error};

use super::held::REPLY_BYTES;
use super::{CONNECT, Held};

/// The replies so far, as an unfinished JSON array.
#[derive(Default)]
pub(super) struct Replies(Vec<u8>);

impl Replies {
    pub(super) fn push(&mut self, reply: &Reply<'_>) {
        self.separate();
        reply.write(&mut self.0);
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
        self.0.reserve(notifications.iter().map(|n| n.json().len() + 1).sum::<usize>() + REPLY_BYTES);
        for notification in notifications {
            self.separate();
            self.0.extend_from_slice(notification.json());
        }
        self.separate();
        held.write_reply(answer, &mut self.0);
    }

    fn separate(&mut self) {
        self.0.push(if self.0.is_empty() { b'[' } else { b',' });
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'[');
        }
        self.0.push(b']');
        self.0
    }
}
