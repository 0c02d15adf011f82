//! What modules do to the platform and to the world: rows of output streams.
//!
//! A row is an order: it waits in the [`queue`] of its module, is read as the [`body`] of a request into a [`deed`], and is
//! [carried out](carrying_out) by what requests of clients end in, so every rule of the API holds. Nothing here makes a module wait.
//! What goes wrong is a fault of the statement, told to the module's actor afterwards.

mod allowance;
mod body;
mod carrying_out;
pub(super) mod cells;
mod deed;
mod lanes;
mod message;
mod queue;
mod request;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use actix::prelude::*;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, UnboundedSender};

use super::OutboundRequest;
use super::module_actor::{Faulted, TooManyWrites};
use super::runtime::Fault;
use super::stream::{Depth, OutputStream, Row};
use crate::limits::Limits;
use crate::model::id::{ModuleId, TenantId};
use crate::model::links::Links;
use crate::platform::Platform;
use crate::store::Database;
use allowance::{Allowance, Backlog};
use queue::{Order, Queue};

/// Writes of modules, one causing the other; what would come after that is a fault.
const MAX_WRITES: u8 = 8;
/// Rows and bytes of one module that may wait to be written.
const WAITING: (usize, usize) = (10_000, 64 << 20);
/// Requests to other servers that a tenant may have under way.
const REQUESTS: usize = 8;

/// What all modules of a tenant write through.
pub(crate) struct TenantWrites {
    platform: Weak<Platform>,
    tenant: TenantId,
    /// The number by which this process holds the modules of the tenant.
    fence: i64,
    /// By which objects are looked up that are changed; see [`Database::apart`].
    reads: Database,
    links: Links,
    allowance: Allowance,
    requests: mpsc::Sender<OutboundRequest>,
    requests_under_way: Semaphore,
}

impl TenantWrites {
    /// `requests` leads to whoever makes requests to other servers.
    pub(crate) fn new(
        platform: Weak<Platform>,
        (tenant, fence): (TenantId, i64),
        reads: Database,
        links: Links,
        limits: &Limits,
        requests: mpsc::Sender<OutboundRequest>,
    ) -> Self {
        let (per_second, at_once) = (limits.module_writes_per_second, limits.module_writes_at_once);
        let allowance = Allowance::new(per_second, at_once, Instant::now());
        let requests_under_way = Semaphore::new(REQUESTS);
        Self { platform, tenant, fence, reads, links, allowance, requests, requests_under_way }
    }
}

/// What one module writes. Dropped, it writes nothing any more: what waits is not made, what is under way may be.
pub(crate) struct Writes {
    shared: Arc<TenantWrites>,
    backlog: Arc<Backlog>,
    orders: UnboundedSender<Order>,
    faults: Recipient<Faulted>,
    overflow: Recipient<TooManyWrites>,
    /// It asked for too much, which is told once.
    is_over: AtomicBool,
}

impl Writes {
    /// Begins to write for a module, on the calling actor thread.
    pub(crate) fn start(
        shared: Arc<TenantWrites>,
        module: ModuleId,
        faults: Recipient<Faulted>,
        overflow: Recipient<TooManyWrites>,
    ) -> Self {
        let (orders, ordered) = mpsc::unbounded_channel();
        let queue = Queue { shared: shared.clone(), module, faults: faults.clone() };
        actix::spawn(queue.run(ordered));
        let (backlog, is_over) = (Arc::default(), AtomicBool::default());
        Self { shared, backlog, orders, faults, overflow, is_over }
    }

    /// Has a row of a statement carried out, soon; never waits. The statement by its place in the module and its name, `depth` is that
    /// of the row. Too many writes in a chain of causes are a fault of the statement; too many at a time, of the module or of its tenant,
    /// end the module.
    pub(crate) fn perform(
        &self,
        (statement, name): (usize, Arc<str>),
        stream: OutputStream,
        row: Arc<Row>,
        depth: Depth,
    ) {
        if self.is_over.load(Ordering::Relaxed) {
            return;
        }
        if depth.writes >= MAX_WRITES {
            let fault = Fault::new("modules set each other going: what eight writes led to is not written");
            return self.faults.do_send(Faulted { statement, fault });
        }
        let place = match self.shared.allowance.take(Instant::now()) {
            true => self.backlog.place(row.weight as usize, WAITING),
            false => None,
        };
        let Some(place) = place else {
            self.is_over.store(true, Ordering::Relaxed);
            return self.overflow.do_send(TooManyWrites);
        };
        // What it causes begins a chain of statements anew.
        let depth = Depth { statements: 0, writes: depth.writes + 1 };
        // Whoever receives ends with this sender, or with the thread.
        let _ = self.orders.send(Order { statement, name, stream, row, depth, place });
    }
}
