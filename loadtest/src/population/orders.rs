//! What clients are told to do while they wait for notifications.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedSender;

use crate::session_ledger::ClientId;

/// What a client is told to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Lose the connection, and go on with the session over a new one.
    Cut,
    /// Drop the connection and begin a new session.
    Reconnect,
    /// Read nothing for this time.
    Stall(Duration),
}

#[derive(Debug, Default)]
struct Slot {
    order: Mutex<Option<Order>>,
    is_given: Notify,
}

/// The orders of all clients. A client that has not yet carried out one gets the newest only.
#[derive(Debug)]
pub(super) struct Orders {
    slots: Vec<Slot>,
    /// Who passes them on to workers, if these have the clients.
    relay: OnceLock<UnboundedSender<(ClientId, Order)>>,
}

impl Orders {
    /// Creates an empty slot for each of the clients.
    pub(super) fn new(clients: usize) -> Self {
        Self { slots: (0..clients).map(|_| Slot::default()).collect(), relay: OnceLock::new() }
    }

    /// Passes all orders on.
    pub(super) fn relay_to(&self, relay: UnboundedSender<(ClientId, Order)>) {
        self.relay.set(relay).ok();
    }

    /// Gives a client an order.
    pub(super) fn give(&self, client: ClientId, order: Order) {
        if let Some(relay) = self.relay.get() {
            // A worker that is gone ends the run.
            relay.send((client, order)).ok();
        } else if let Some(slot) = self.slots.get(client) {
            *slot.order.lock().unwrap_or_else(PoisonError::into_inner) = Some(order);
            slot.is_given.notify_one();
        }
    }

    /// Waits for an order to a client.
    pub(super) async fn next(&self, client: ClientId) -> Order {
        loop {
            let order = self.slots[client].order.lock().unwrap_or_else(PoisonError::into_inner).take();
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
}
