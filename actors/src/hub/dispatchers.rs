//! Delivery to session dispatchers: one message to each thread that has sessions for a notification, however many.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use actix::prelude::*;

use super::Notification;
use crate::server_key_hasher::ServerKeyHasher;
use crate::session::dispatcher::{DispatchToSessions, SessionDispatcher, SessionSlot};
use crate::session::{DeliverNotification, EndSession};

/// The dispatchers of all sessions that ever subscribed; there is one per HTTP thread.
#[derive(Default)]
pub(super) struct SessionDispatchers(HashMap<NonZeroU32, Addr<SessionDispatcher>, ServerKeyHasher>);

impl SessionDispatchers {
    /// Remembers the dispatcher of a session that subscribes.
    pub(super) fn remember(&mut self, slot: SessionSlot, dispatcher: Addr<SessionDispatcher>) {
        self.0.entry(slot.dispatcher).or_insert(dispatcher);
    }

    /// Sends each session its notification, in the order of the calls.
    pub(super) fn deliver(&self, recipients: impl Iterator<Item = (SessionSlot, Arc<Notification>)>) {
        let mut batches: Vec<(NonZeroU32, DispatchToSessions<DeliverNotification>)> = Vec::new();
        for (slot, notification) in recipients {
            let same = |(dispatcher, batch): &&mut (NonZeroU32, DispatchToSessions<DeliverNotification>)| {
                *dispatcher == slot.dispatcher && Arc::ptr_eq(&batch.message.0, &notification)
            };
            match batches.iter_mut().find(same) {
                Some((_, batch)) => batch.to.push(slot),
                None => {
                    batches.push((
                        slot.dispatcher,
                        DispatchToSessions { message: DeliverNotification(notification), to: vec![slot] },
                    ));
                }
            }
        }
        for (dispatcher, batch) in batches {
            if let Some(dispatcher) = self.0.get(&dispatcher) {
                dispatcher.do_send(batch);
            }
        }
    }

    /// Ends these sessions.
    pub(super) fn end(&self, slots: impl Iterator<Item = SessionSlot>) {
        for slot in slots {
            if let Some(dispatcher) = self.0.get(&slot.dispatcher) {
                dispatcher.do_send(DispatchToSessions { message: EndSession, to: vec![slot] });
            }
        }
    }
}
