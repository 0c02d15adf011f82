//! The records of traces about a session (B-37).

use std::sync::Arc;

use actix::prelude::*;
use platform_model::realtime::bayeux::Subscription;
use platform_model::realtime::trace::record::{EndReason, MOST_LOST, TraceEvent, TracedChange};

use super::moving::Moving;
use super::{SessionActor, SessionContext};
use crate::hub::Notification;

impl SessionActor {
    /// Ends the session.
    pub(super) fn end(&mut self, reason: EndReason, ctx: &mut SessionContext) {
        self.end_reason = reason;
        ctx.stop();
    }

    /// Records what happened to the session, if a trace concerns it.
    pub(super) fn trace(&self, event: impl FnOnce() -> TraceEvent) {
        let recorder = &self.environment.recorder;
        if recorder.is_on() {
            recorder.record_receiver(Some(self.client.bits()), &self.user, event());
        }
    }

    /// Records what happened to a notification, if a trace concerns its change.
    pub(super) fn trace_notification(
        &self,
        notification: &Notification,
        event: impl FnOnce(Arc<TracedChange>) -> TraceEvent,
    ) {
        if let Some(change) = notification.traced() {
            self.trace(|| event(change.clone()));
        }
    }

    /// Records what happened to notifications, if a trace concerns their changes.
    pub(super) fn trace_notifications<'n>(
        &self,
        notifications: impl IntoIterator<Item = &'n Arc<Notification>>,
        event: fn(Arc<TracedChange>) -> TraceEvent,
    ) {
        if self.environment.recorder.is_on() {
            notifications.into_iter().for_each(|one| self.trace_notification(one, event));
        }
    }

    /// Records the end of the session, unless it goes on elsewhere.
    pub(super) fn trace_end(&self) {
        if matches!(self.moving.as_deref(), Some(Moving::Left(_))) {
            return;
        }
        let reason = if self.is_missed() { EndReason::NotMoved } else { self.end_reason };
        self.trace(|| TraceEvent::Ended {
            reason,
            channels: self.subscriptions.iter().map(channel_and_filter).collect(),
            lost: self.queue.len() as u64,
            changes: self.queue.traced().take(MOST_LOST).collect(),
        });
    }
}

fn channel_and_filter(Subscription { pattern, filter }: &Subscription) -> (String, Option<String>) {
    (pattern.to_string(), filter.as_ref().map(|filter| filter.text().to_owned()))
}
