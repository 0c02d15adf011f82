//! Delivery to session dispatchers: one message to each thread that has sessions for a notification, however many.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use actix::prelude::*;
use platform_model::id::TenantId;
use platform_model::realtime::trace::record::EndReason;

use super::Notification;
use crate::server_key_hasher::ServerKeyHasher;
use crate::session::deliveries::DispatchToSessions;
use crate::session::dispatcher::{SessionDispatcher, SessionSlot};
use crate::session::{DeliverNotification, EndSession};

/// The dispatchers of all sessions of a tenant that ever subscribed; there is one per HTTP thread.
pub(super) struct SessionDispatchers {
    tenant: TenantId,
    dispatchers: HashMap<NonZeroU32, Addr<SessionDispatcher>, ServerKeyHasher>,
}

impl SessionDispatchers {
    pub(super) fn new(tenant: TenantId) -> Self {
        Self { tenant, dispatchers: HashMap::default() }
    }

    /// Remembers the dispatcher of a session that subscribes.
    pub(super) fn remember(&mut self, slot: SessionSlot, dispatcher: Addr<SessionDispatcher>) {
        self.dispatchers.entry(slot.dispatcher).or_insert(dispatcher);
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
                    let (tenant, message) = (self.tenant.clone(), DeliverNotification(notification));
                    batches.push((slot.dispatcher, DispatchToSessions { tenant, message, to: vec![slot] }));
                }
            }
        }
        for (dispatcher, batch) in batches {
            if let Some(dispatcher) = self.dispatchers.get(&dispatcher) {
                dispatcher.do_send(batch);
            }
        }
    }

    /// Ends these sessions.
    pub(super) fn end(&self, slots: impl Iterator<Item = SessionSlot>) {
        for slot in slots {
            if let Some(dispatcher) = self.dispatchers.get(&slot.dispatcher) {
                let tenant = self.tenant.clone();
                dispatcher.do_send(DispatchToSessions {
                    tenant,
                    message: EndSession(EndReason::Gap),
                    to: vec![slot],
                });
            }
        }
    }
}
