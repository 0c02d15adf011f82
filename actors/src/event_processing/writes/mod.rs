//! Writes of modules: the rows that modules insert into output streams.
//!
//! A row waits in the [`queue`] of its module, is converted to the [`body`] of a request and then to a
//! [`module_write`], and is [executed](carrying_out) by the functions that also serve client requests, so every rule of
//! the API applies. A module never waits for its writes. An error is a fault of the statement, which is
//! reported to the module's actor later.

mod backlog;
mod body;
mod carrying_out;
pub(super) mod cells;
mod lanes;
mod message;
mod module_write;
mod queue;
mod request;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use actix::prelude::*;
use platform_epl::stream::OutputStream;
use platform_epl::value::{Fault, Row};
use platform_model::id::{ModuleId, TenantId};
use platform_model::limits::Limits;
use platform_model::links::Links;
use platform_model::origin::Depth;
use platform_model::rate::{Pace, Rate};
use platform_store::Database;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, UnboundedSender};

use super::OutboundRequest;
use super::module_actor::{Faulted, TooManyWrites};
use crate::platform::Platform;
use backlog::{Backlog, BacklogLimit};
use queue::{Order, Queue};

/// The maximum number of module writes in a causal chain; a further write is a fault.
const MAX_WRITES: u8 = 8;
/// The maximum number of rows and of bytes that one module may have waiting.
const WAITING: BacklogLimit = BacklogLimit { rows: 10_000, bytes: 64 << 20 };
/// The maximum number of concurrent requests of a tenant to other servers.
const REQUESTS: usize = 8;

/// The shared state of the writes of all modules of a tenant.
pub(crate) struct TenantWrites {
    platform: Weak<Platform>,
    tenant: TenantId,
    /// The fence number with which this process holds the tenant's modules.
    fence: i64,
    /// The database through which a write reads the objects that it changes; see [`Database::apart`].
    reads: Database,
    links: Links,
    /// The rate of all modules of the tenant. It stops two modules that multiply each other's rows by means of timers,
    /// where the depth does not grow.
    rate: Rate,
    requests: mpsc::Sender<OutboundRequest>,
    requests_under_way: Semaphore,
}

impl TenantWrites {
    /// Creates the state. `requests` is the channel to the component that sends requests to other servers.
    pub(crate) fn new(
        platform: Weak<Platform>,
        tenant: TenantId,
        fence: i64,
        reads: Database,
        links: Links,
        limits: &Limits,
        requests: mpsc::Sender<OutboundRequest>,
    ) -> Self {
        let (per_second, at_once) = (limits.module_writes_per_second, limits.module_writes_at_once);
        let rate = Rate::limited(Pace::per_second(per_second.into(), at_once.into()));
        let requests_under_way = Semaphore::new(REQUESTS);
        Self { platform, tenant, fence, reads, links, rate, requests, requests_under_way }
    }
}

/// The writes of one module. When it is dropped, waiting writes are discarded; writes in progress may still
/// complete.
pub(crate) struct Writes {
    shared: Arc<TenantWrites>,
    backlog: Arc<Backlog>,
    orders: UnboundedSender<Order>,
    faults: Recipient<Faulted>,
    overflow: Recipient<TooManyWrites>,
    /// Whether the module exceeded its limit, which is reported only once.
    is_over: AtomicBool,
}

impl Writes {
    /// Starts the writes of a module on the calling actor thread.
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

    /// Enqueues a row of a statement for execution; never waits. The statement is given by its index in the
    /// module and its name; `depth` is the depth of the row. Too many writes in a causal chain are a fault of
    /// the statement. Too many writes at a time, by the module or by its tenant, stop the module.
    pub(crate) fn perform(
        &self,
        statement: usize,
        name: Arc<str>,
        stream: OutputStream,
        row: Arc<Row>,
        depth: Depth,
    ) {
        if self.is_over.load(Ordering::Relaxed) {
            return;
        }
        if depth.writes >= MAX_WRITES {
            let fault = Fault::new(
                "modules triggered each other: after a chain of eight writes no further write is made",
            );
            return self.faults.do_send(Faulted { statement, fault });
        }
        let place = if self.shared.rate.admit(1).is_ok() {
            self.backlog.place(row.weight as usize, WAITING)
        } else {
            None
        };
        let Some(place) = place else {
            self.is_over.store(true, Ordering::Relaxed);
            return self.overflow.do_send(TooManyWrites);
        };
        // The events that the write causes start a new chain of statements.
        let depth = Depth { statements: 0, writes: depth.writes + 1 };
        // The receiver ends together with this sender or with the thread, so a failed send can be ignored.
        let _ = self.orders.send(Order { statement, name, stream, row, depth, place });
    }
}
