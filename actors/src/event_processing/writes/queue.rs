//! The queue of one module's writes: rows arrive, are assigned to the lane of their device, and are written in
//! order.

use std::sync::Arc;

use actix::prelude::*;
use futures_util::StreamExt;
use futures_util::stream::{FuturesOrdered, FuturesUnordered};
use platform_epl::stream::OutputStream;
use platform_epl::value::{Fault, Row};
use platform_model::error::Error;
use platform_model::id::{ManagedObjectId, ModuleId};
use platform_model::origin::Depth;
use platform_model::origin::Origin;
use tokio::sync::mpsc::UnboundedReceiver;

use super::backlog::BacklogSpace;
use super::lanes::Lanes;
use super::module_write::ModuleWrite;
use super::request::RequestRow;
use super::{TenantWrites, message};
use crate::event_processing::module_actor::Faulted;
use crate::metrics;

/// The maximum number of rows whose device is looked up concurrently.
const SORTED_AT_ONCE: usize = 32;
/// The maximum number of measurements of one device that are written together. This keeps their order, and none
/// waits for the commit of another.
const MEASUREMENTS_AT_ONCE: usize = 500;

/// A row to be written.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) statement: usize,
    /// The name of the statement.
    pub(super) name: Arc<str>,
    pub(super) stream: OutputStream,
    pub(super) row: Arc<Row>,
    /// The depth of the events that the write causes.
    pub(super) depth: Depth,
    pub(super) place: BacklogSpace,
}

/// A write to be executed.
#[derive(Debug)]
struct Write {
    statement: usize,
    change: ModuleWrite,
    depth: Depth,
    /// The backlog space of all rows that the write consists of.
    places: Vec<BacklogSpace>,
}

/// The task that executes the writes of one module.
pub(super) struct Queue {
    pub(super) shared: Arc<TenantWrites>,
    pub(super) module: ModuleId,
    pub(super) faults: Recipient<Faulted>,
}

impl Queue {
    /// Executes the writes until the sending side is dropped. The module has then ended, and waiting writes are
    /// discarded.
    pub(super) async fn run(self, mut orders: UnboundedReceiver<Order>) {
        let (mut sorting, mut lanes) = (FuturesOrdered::new(), Lanes::default());
        let (mut writing, mut requesting) = (FuturesUnordered::new(), FuturesUnordered::new());
        loop {
            while let Some((device, write)) = lanes.begin() {
                let write = along(write, device, &mut lanes);
                writing.push(Box::pin(self.write(device, write)));
            }
            tokio::select! {
                order = orders.recv(), if sorting.len() < SORTED_AT_ONCE => match order {
                    None => return,
                    Some(order) if order.stream == OutputStream::SendRequest => {
                        requesting.push(Box::pin(self.request(order)));
                    }
                    Some(order) => if let Some(write) = self.read(order) {
                        sorting.push_back(Box::pin(self.sort(write)));
                    }
                },
                Some(sorted) = sorting.next() => if let Some((device, write)) = sorted {
                    lanes.push(device, write);
                },
                Some(device) = writing.next() => lanes.done(device),
                Some(()) = requesting.next() => {}
            }
        }
    }

    /// Converts a row to a write. A message needs no write and is finished here.
    fn read(&self, order: Order) -> Option<Write> {
        let Order { statement, name, stream, row, depth, place } = order;
        if message::is_message(stream) {
            match message::check(stream, &row) {
                Ok(()) => {
                    metrics::MODULE_MESSAGES.increment(1);
                    tracing::info!(tenant.id = %self.shared.tenant, module.id = %self.module, statement = %name,
                        ?stream, "a message of an event-processing module is not delivered");
                }
                Err(error) => self.tell(statement, &error),
            }
            return None;
        }
        match ModuleWrite::of(stream, &row) {
            Ok(change) => change.map(|change| Write { statement, change, depth, places: vec![place] }),
            Err(error) => {
                self.tell(statement, &error);
                None
            }
        }
    }

    /// Determines the lane of a write.
    async fn sort(&self, write: Write) -> Option<(Option<ManagedObjectId>, Write)> {
        match self.shared.device_of(&write.change).await {
            Ok(device) => Some((device, write)),
            Err(error) => {
                self.tell(write.statement, &error);
                None
            }
        }
    }

    async fn write(&self, device: Option<ManagedObjectId>, write: Write) -> Option<ManagedObjectId> {
        let Write { statement, change, depth, .. } = &write;
        let origin = Arc::new(Origin::of_module(self.shared.links.clone(), *depth, self.shared.fence));
        match self.shared.carry_out(change, &origin).await {
            Ok(()) => metrics::MODULE_WRITES.increment(1),
            Err(error) => self.tell(*statement, &error),
        }
        device
    }

    async fn request(&self, order: Order) {
        let outcome = match RequestRow::of(&order.row) {
            Ok(asked) => self.shared.request(asked, order.depth).await,
            Err(error) => Err(Fault::new(error.to_string())),
        };
        if let Err(fault) = outcome {
            self.faults.do_send(Faulted { statement: order.statement, fault });
        }
    }

    fn tell(&self, statement: usize, error: &Error) {
        self.faults.do_send(Faulted { statement, fault: Fault::new(error.to_string()) });
    }
}

/// Combines a write with the measurements that directly follow it in the lane of its device, if they have the
/// same statement and depth, so that a fault is reported for the right statement.
fn along(mut write: Write, device: Option<ManagedObjectId>, lanes: &mut Lanes<Write>) -> Write {
    if !matches!(write.change, ModuleWrite::CreateMeasurements(_)) {
        return write;
    }
    let own = (write.statement, write.depth);
    let may = |next: &Write| {
        (next.statement, next.depth) == own && matches!(next.change, ModuleWrite::CreateMeasurements(_))
    };
    for next in lanes.along_with(device, MEASUREMENTS_AT_ONCE, may) {
        write.change.take_along(next.change);
        write.places.extend(next.places);
    }
    write
}
