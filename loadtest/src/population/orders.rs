//! Orders to clients, which they execute while they wait for notifications.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use crate::ledger::session::ClientId;

/// An order to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Lose the connection, and continue the session over a new one.
    Cut,
    /// Drop the connection and open a new session.
    Reconnect,
    /// Stop reading for this time.
    Stall(Duration),
    /// End the session, and open none before the order to come.
    Leave,
    /// Open a session again.
    Come,
}

#[derive(Debug, Default)]
struct Slot {
    order: Mutex<Option<Order>>,
    is_given: Notify,
    is_out: AtomicBool,
    /// Signalled when the client may open a session again.
    may_come: Notify,
}

/// The orders of all clients. A client that has not yet executed an order receives only the newest one.
#[derive(Debug)]
pub(super) struct Orders {
    slots: Vec<Slot>,
    /// The channel that passes orders on to workers, if these have the clients.
    relay: OnceLock<UnboundedSender<(ClientId, Order)>>,
}

impl Orders {
    /// Creates an empty slot for each of the clients.
    pub(super) fn new(clients: usize) -> Self {
        Self { slots: (0..clients).map(|_| Slot::default()).collect(), relay: OnceLock::new() }
    }

    /// Passes all orders on to this channel.
    pub(super) fn relay_to(&self, relay: UnboundedSender<(ClientId, Order)>) {
        self.relay.set(relay).ok();
    }

    /// Gives a client an order.
    pub(super) fn give(&self, client: ClientId, order: Order) {
        if let Some(relay) = self.relay.get() {
            if let (Order::Leave | Order::Come, Some(slot)) = (order, self.slots.get(client)) {
                slot.is_out.store(order == Order::Leave, Ordering::Relaxed);
            }
            // The loss of a worker ends the run, so the order may be dropped.
            relay.send((client, order)).ok();
        } else if let Some(slot) = self.slots.get(client) {
            slot.is_out
                .store(order == Order::Leave || slot.is_out.load(Ordering::Relaxed), Ordering::Relaxed);
            if order == Order::Come {
                slot.is_out.store(false, Ordering::Relaxed);
                slot.may_come.notify_one();
                return;
            }
            *slot.order.lock() = Some(order);
            slot.is_given.notify_one();
        }
    }

    /// Returns whether a client is meant to have no session.
    pub(super) fn is_out(&self, client: ClientId) -> bool {
        self.slots[client].is_out.load(Ordering::Relaxed)
    }

    /// Lets a client have no session from the start.
    pub(super) fn begin_out(&self, client: ClientId) {
        self.slots[client].is_out.store(true, Ordering::Relaxed);
    }

    /// Waits until a client may have a session.
    pub(super) async fn until_in(&self, client: ClientId) {
        while self.is_out(client) {
            self.slots[client].may_come.notified().await;
        }
    }

    /// Waits for an order to a client.
    pub(super) async fn next(&self, client: ClientId) -> Order {
        loop {
            let order = self.slots[client].order.lock().take();
            match order {
                Some(order) => return order,
                None => self.slots[client].is_given.notified().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn client_gets_the_newest_order_once() {
        let orders = Orders::new(2);
        orders.give(0, Order::Cut);
        orders.give(0, Order::Reconnect);
        assert_eq!(orders.next(0).await, Order::Reconnect);
        let nothing = tokio::time::timeout(Duration::from_millis(20), orders.next(0)).await;
        assert!(nothing.is_err());
        let (given, ()) = tokio::join!(orders.next(1), async { orders.give(1, Order::Cut) });
        assert_eq!(given, Order::Cut);
    }
    #[tokio::test]
    async fn client_that_left_waits_until_it_may_come() {
        let orders = Orders::new(1);
        orders.give(0, Order::Leave);
        assert_eq!((orders.next(0).await, orders.is_out(0)), (Order::Leave, true));
        // Another order does not bring it back.
        orders.give(0, Order::Cut);
        assert!(orders.is_out(0));
        let ((), ()) = tokio::join!(orders.until_in(0), async { orders.give(0, Order::Come) });
        assert!(!orders.is_out(0));
    }
}
