//! The subscriptions of an arriving session, which begin at the point of the move.

use std::sync::Arc;

use actix::prelude::*;
use parking_lot::Mutex;
use platform_model::realtime::bayeux::{Pattern, Subscription};
use platform_model::units::SystemOfUnits;

use crate::hub::{AddSubscriptions, NotificationHub, RemoveSubscriptions, Subscriptions};
use crate::session::dispatcher::{SessionDispatcher, SessionSlot};

/// The dispatcher and the hub of an arriving session, with the progress of its arrival.
pub(crate) struct ArrivalPlace {
    pub(crate) slot: SessionSlot,
    pub(crate) dispatcher: Addr<SessionDispatcher>,
    pub(crate) hub: NotificationHub,
    reached: Mutex<Reached>,
}

/// The progress of an arriving session.
enum Reached {
    Nothing,
    /// Its subscriptions are in the hub.
    Point(Vec<Subscription>),
    /// The session ended before its point.
    End,
}

impl ArrivalPlace {
    pub(crate) fn new(
        slot: SessionSlot,
        dispatcher: Addr<SessionDispatcher>,
        hub: NotificationHub,
    ) -> Arc<Self> {
        Arc::new(Self { slot, dispatcher, hub, reached: Mutex::new(Reached::Nothing) })
    }

    /// Subscribes the session, unless it has ended.
    pub(super) fn begin(
        &self,
        subscriptions: &mut Subscriptions,
        of_session: Vec<Subscription>,
        units: Option<SystemOfUnits>,
    ) {
        let mut reached = self.reached.lock();
        if matches!(*reached, Reached::Nothing) {
            let (slot, dispatcher) = (self.slot, self.dispatcher.clone());
            let join = AddSubscriptions { slot, dispatcher, units, subscriptions: of_session.clone() };
            subscriptions.add(join);
            *reached = Reached::Point(of_session);
        }
    }

    /// Ends an arrival. Returns the subscriptions, or `None` if the point of the move was not reached.
    fn end(&self) -> Option<Vec<Subscription>> {
        match std::mem::replace(&mut *self.reached.lock(), Reached::End) {
            Reached::Point(of_session) => Some(of_session),
            Reached::Nothing | Reached::End => None,
        }
    }

    /// Ends an arrival that succeeded. Returns the subscriptions.
    pub(crate) fn arrived(&self) -> Box<[Subscription]> {
        self.end().unwrap_or_default().into()
    }

    /// Ends an arrival whose session ends. Returns whether the point of the move was reached, which means that the
    /// database names this server as the holder.
    pub(crate) fn abandoned(&self) -> bool {
        let Some(of_session) = self.end() else { return false };
        let patterns: Vec<Pattern> =
            of_session.into_iter().map(|subscription| subscription.pattern).collect();
        if !patterns.is_empty() {
            self.hub.remove_subscriptions(RemoveSubscriptions { slot: self.slot, patterns });
        }
        true
    }
}

impl std::fmt::Debug for ArrivalPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrivalPlace").field("slot", &self.slot).finish_non_exhaustive()
    }
}
