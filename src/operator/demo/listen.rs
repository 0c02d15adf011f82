//! The held polls of an agent, by which it receives new operations.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::error::SendError;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::order::Order;
use super::wire::Wire;
use super::world::World;
use crate::client::bayeux::{Ended, Session};
use crate::client::failure::Failure;

const ENDPOINT: &str = "/notification/operations";
/// The pause before the next attempt to reach the server.
const PAUSE: Duration = Duration::from_secs(2);

/// The receiver of the operations of one agent.
pub(super) struct Listener {
    pub(super) world: Arc<World>,
    pub(super) wire: Wire,
    /// The id of the agent's managed object.
    pub(super) id: String,
    pub(super) speaks_csv: bool,
    pub(super) orders: mpsc::Sender<Order>,
    /// Whether the device is on.
    pub(super) online: watch::Receiver<bool>,
}

/// The reason why a session delivers nothing more.
enum End {
    /// The session has ended. The next session queries pending operations again.
    Session,
    /// The device has ended.
    Device,
}

impl Listener {
    /// Receives operations until the device ends. While the device is off, nothing is received.
    pub(super) async fn listen(mut self) {
        while self.online.wait_for(|online| *online).await.is_ok() {
            let mut online = self.online.clone();
            let listening = async {
                loop {
                    let ended = if self.speaks_csv {
                        self.listen_in_csv().await
                    } else {
                        self.listen_in_json().await
                    };
                    match ended {
                        Ok(End::Device) => return,
                        Ok(End::Session) => {}
                        Err(failure) => self.world.note(&failure),
                    }
                    sleep(PAUSE).await;
                }
            };
            tokio::select! {
                () = listening => return,
                switched_off = online.wait_for(|online| !*online) => if switched_off.is_err() { return },
            }
            self.wire.server().hang_up();
        }
    }

    async fn listen_in_json(&mut self) -> Result<End, Failure> {
        let mut session = Session::open(self.wire.server(), ENDPOINT, &format!("/{}", self.id)).await?;
        self.give_up_old().await?;
        // Operations that are created between subscription and query are received by both, so none is missed.
        let pending = self.with_status("PENDING").await?;
        if self.take(pending.iter().filter_map(Order::of_json)).await.is_err() {
            return Ok(End::Device);
        }
        loop {
            match session.connect(self.wire.server()).await {
                Ok(operations) => {
                    if self.take(operations.iter().filter_map(Order::of_json)).await.is_err() {
                        return Ok(End::Device);
                    }
                }
                Err(Ended::Session(_)) => return Ok(End::Session),
                Err(Ended::Connection(failure)) => {
                    self.world.note(&failure);
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Marks operations as failed that an earlier run of the demo left in status EXECUTING.
    async fn give_up_old(&mut self) -> Result<(), Failure> {
        for operation in self.with_status("EXECUTING").await? {
            let id = operation["id"].as_str().unwrap_or_default().to_owned();
            if self.world.is_under_way(&id) {
                continue;
            }
            let path = format!("/devicecontrol/operations/{id}");
            let body =
                serde_json::json!({"status": "FAILED", "failureReason": "It was switched off meanwhile"});
            self.wire.change(&path, body).await?;
        }
        Ok(())
    }

    async fn with_status(&mut self, status: &str) -> Result<Vec<Value>, Failure> {
        let path = format!("/devicecontrol/operations?agentId={}&status={status}&pageSize=100", self.id);
        Ok(self.wire.read(&path).await?["operations"].as_array().cloned().unwrap_or_default())
    }

    async fn listen_in_csv(&mut self) -> Result<End, Failure> {
        let client = self.wire.rows(ENDPOINT, "80".into()).await?.trim().to_owned();
        self.wire.rows(ENDPOINT, format!("81,{client},/{}", self.id)).await?;
        let pending = self.wire.rows("/s", "500".into()).await?;
        if self.take(pending.lines().filter_map(Order::of_row)).await.is_err() {
            return Ok(End::Device);
        }
        loop {
            let lines = self.wire.rows(ENDPOINT, format!("83,{client}")).await?;
            if lines.lines().any(|line| line.starts_with("40,")) {
                return Ok(End::Session);
            }
            if self.take(lines.lines().filter_map(Order::of_row)).await.is_err() {
                return Ok(End::Device);
            }
        }
    }

    /// Passes orders to the device.
    ///
    /// # Errors
    /// The device has ended.
    async fn take(&mut self, orders: impl Iterator<Item = Order>) -> Result<(), SendError<Order>> {
        for order in orders {
            self.orders.send(order).await?;
        }
        Ok(())
    }
}
