//! The servers of a deployment. Each holds a slot by a lease that it renews once a second, and its slot is a part of
//! the ids that it generates. The same lease keeps it registered for [publications](crate::realtime::publications).
//!
//! Ids are unique even if the clocks of the servers differ: a server reserves milliseconds for the ids of its slot in
//! the same statement that renews the lease and uses none beyond them, and the next holder of the slot starts behind
//! them. So a server that was paused, evicted or cut off from the database can create no id that another server
//! creates too. It creates none at all until it holds a slot again, and requests that need one get 503.

mod dead;
mod list;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_model::error::{Error, Result};
use platform_model::id::IdGenerator;
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::Database;
pub(crate) use dead::end_connections_of_dead;
pub use list::{Server, State, evict, list_living, list_servers, set_state};

const FIND_GREATEST_ID: &str = include_str!("../../../../../sql/queries/deployment/find_greatest_id.sql");
const TAKE: &str = include_str!("../../../../../sql/queries/servers/take.sql");
const RENEW: &str = include_str!("../../../../../sql/queries/servers/renew.sql");
const GIVE_BACK: &str = include_str!("../../../../../sql/queries/servers/give_back.sql");
const END_DEPARTED: &str = include_str!("../../../../../sql/queries/servers/end_departed.sql");
const FIND_STATE: &str = include_str!("../../../../../sql/queries/servers/find_state.sql");
const COUNT_CONNECTIONS: &str = include_str!("../../../../../sql/queries/servers/count_connections.sql");

/// The time between the renewal of a lease and its end.
pub(crate) const LEASE: Duration = Duration::from_secs(10);
/// The interval between two renewals of a lease.
const RENEWAL: Duration = Duration::from_secs(1);
/// The milliseconds ahead that a server reserves for its ids: twice the lease, for a slow database.
const RESERVED_MILLIS: i64 = 20_000;
/// The time for which a server still counts as living after its lease has ended: others publish its tenants through
/// the database, request sessions from it, and leave its slot unused. The milliseconds that it reserved for ids are
/// past by then, so the next holder of the slot need not skip them.
pub(crate) const DEAD_AFTER: Duration = Duration::from_secs(20);
/// The attempts to take a slot; each fails if another server that starts takes the same slot first.
const ATTEMPTS: usize = 100;

/// The description of a server for the table `servers`.
#[derive(Debug, Clone)]
pub struct Introduction {
    /// A name for the operator.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// Scheme, address and port that it listens on.
    pub address: String,
}

/// The membership of this process in the deployment.
#[derive(Debug, Default)]
pub struct Membership {
    ids: Arc<IdGenerator>,
    introduced: OnceLock<Introduced>,
    held: Mutex<Option<Held>>,
    /// Whether the operator drains this server.
    draining: AtomicBool,
    stopping: AtomicBool,
}

/// This process, as the others see it.
#[derive(Debug)]
struct Introduced {
    /// Unique id of this server process.
    incarnation: i64,
    introduction: Introduction,
}

/// A slot that this process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    slot: i16,
    renewed: Instant,
}

impl Membership {
    /// Returns the generator of ids, which generates none before this process has joined.
    pub fn ids(&self) -> &Arc<IdGenerator> {
        &self.ids
    }

    /// Returns the unique id of this server process, once it has joined.
    pub fn incarnation(&self) -> Option<i64> {
        self.introduced.get().map(|introduced| introduced.incarnation)
    }

    /// Returns the name that the operator gave this server, once it has joined.
    pub fn name(&self) -> Option<&str> {
        self.introduced.get().map(|introduced| introduced.introduction.name.as_str())
    }

    /// Returns the slot that this process holds.
    pub fn slot(&self) -> Option<i16> {
        self.held.lock().map(|held| held.slot)
    }

    /// Returns whether this server should get no new clients.
    pub fn is_draining(&self) -> bool {
        self.is_drained() || self.is_stopping()
    }

    /// Returns whether the operator drains this server.
    pub fn is_drained(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Renews the lease if it is due, and stores the most connections that this process opens. Takes another slot if
    /// the lease was taken away. Returns whether a statement was sent.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn renew(&self, client: &Client, connections: i32) -> Result<bool> {
        let Some(introduced) = self.introduced.get() else { return Ok(false) };
        let held = *self.held.lock();
        let Some(held) = held else {
            self.take(client, introduced, connections).await?;
            return Ok(true);
        };
        if held.renewed.elapsed() < RENEWAL {
            return Ok(false);
        }
        let until = self.ids.latest_millis() + RESERVED_MILLIS;
        let lease = LEASE.as_secs_f64();
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&held.slot, &introduced.incarnation, &lease, &until, &connections];
        let renewed = client.query_opt(RENEW, &parameters).await?;
        match renewed {
            Some(row) => {
                self.ids.reserve(held.slot, 0, row.get(1));
                self.note_state(row.get(0));
                crate::metrics::NOTIFICATION_QUEUE.set(row.get::<_, f64>(2));
                self.note_renewal(held.slot);
            }
            None => {
                *self.held.lock() = None;
                tracing::warn!(slot = held.slot, "the slot of this server was given to another one");
                self.take(client, introduced, connections).await?;
            }
        }
        Ok(true)
    }

    /// Takes a free slot.
    ///
    /// # Errors
    /// `Unavailable` when no slot is free or the database is not reachable; `Database`.
    async fn take(&self, client: &Client, introduced: &Introduced, connections: i32) -> Result<()> {
        let Introduced { incarnation, introduction } = introduced;
        // The row of the slot is the only trace of the connections of the server that held it before.
        end_connections_of_dead(client, *incarnation).await;
        let state = match (self.is_stopping(), self.is_drained()) {
            (true, _) => State::Stopping,
            (false, true) => State::Draining,
            (false, false) => State::Up,
        };
        let (margin, lease) = (DEAD_AFTER.as_secs_f64(), LEASE.as_secs_f64());
        for _ in 0..ATTEMPTS {
            let from = self.ids.latest_millis();
            let parameters: [&(dyn ToSql + Sync); 10] = [
                incarnation,
                &introduction.name,
                &introduction.version,
                &introduction.address,
                &connections,
                &state.word(),
                &from,
                &RESERVED_MILLIS,
                &margin,
                &lease,
            ];
            if let Some(row) = client.query_opt(TAKE, &parameters).await? {
                let slot: i16 = row.get(0);
                self.ids.reserve(slot, row.get(1), row.get(2));
                self.note_renewal(slot);
                tracing::info!(slot, name = introduction.name, "this server holds a slot");
                return Ok(());
            }
        }
        Err(Error::unavailable("all 256 slots for servers are taken; see `platform server list`"))
    }

    /// Reads the state that the operator wants of this server, before the next renewal would read it.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub(crate) async fn read_state(&self, client: &Client) -> Result<()> {
        let (Some(slot), Some(incarnation)) = (self.slot(), self.incarnation()) else { return Ok(()) };
        if let Some(row) = client.query_opt(FIND_STATE, &[&slot, &incarnation]).await? {
            self.note_state(row.get(0));
        }
        Ok(())
    }

    fn note_renewal(&self, slot: i16) {
        *self.held.lock() = Some(Held { slot, renewed: Instant::now() });
    }

    fn note_state(&self, state: &str) {
        let draining = state == State::Draining.word();
        if self.draining.swap(draining, Ordering::Relaxed) != draining {
            if draining {
                tracing::info!(
                    "this server is draining: it hands its sessions to other servers, and is not ready for new clients"
                );
            } else {
                tracing::info!("this server accepts new clients again");
            }
        }
    }
}

impl Database {
    /// Joins the servers of the deployment: takes a slot, which is part of the ids that are generated from now on.
    /// [`watch`](crate::realtime::watch) renews its lease.
    ///
    /// # Errors
    /// `Unavailable` when all slots are taken or the database is not reachable; `Database`.
    pub async fn join(&self, introduction: Introduction) -> Result<()> {
        let membership = self.membership();
        membership.ids.advance_beyond(self.find_greatest_id().await?);
        let client = self.reader().await?;
        let incarnation = client.query_one("SELECT nextval('server_processes')", &[]).await?.get(0);
        let introduced = membership.introduced.get_or_init(|| Introduced { incarnation, introduction });
        membership.take(&client, introduced, self.most_connections()).await
    }

    /// Returns the greatest id that was generated from a clock, so that ids rise even if the clock was set back
    /// meanwhile (C-13).
    async fn find_greatest_id(&self) -> Result<i64> {
        Ok(self.reader().await?.query_one(FIND_GREATEST_ID, &[]).await?.get(0))
    }

    /// Ends the leases of the servers without a connection to the database, so that nobody waits for them. It is called
    /// by a process that has just started the PostgreSQL itself: whoever is not connected to it ended together with its
    /// predecessor. One statement.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn end_departed_servers(&self) -> Result<()> {
        self.reader().await?.execute(END_DEPARTED, &[]).await?;
        Ok(())
    }

    /// Logs a warning if the servers of the deployment may open more connections than PostgreSQL accepts.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn check_connections(&self) -> Result<()> {
        let (slot, own) = (self.membership().slot(), i64::from(self.most_connections()));
        let row = self.reader().await?.query_one(COUNT_CONNECTIONS, &[&slot]).await?;
        let (others, accepted): (i64, i64) = (row.get(0), row.get(1));
        if others + own > accepted {
            tracing::warn!(
                needed = others + own,
                accepted,
                "the servers may open more connections than the database accepts; raise max_connections"
            );
        }
        Ok(())
    }

    /// Makes this server unready for new clients, because its stop has begun.
    pub async fn begin_stop(&self) {
        let membership = self.membership();
        membership.stopping.store(true, Ordering::Relaxed);
        if let Some(slot) = membership.slot()
            && let Err(error) = set_state(self, slot, State::Stopping).await
        {
            tracing::debug!(%error, "the state STOPPING could not be stored for other servers");
        }
    }

    /// Gives the slot back at the end of an orderly stop, and removes this server from all tenants. No id is
    /// generated afterwards.
    pub async fn leave(&self) {
        let membership = self.membership();
        let (Some(introduced), Some(held)) = (membership.introduced.get(), membership.held.lock().take())
        else {
            return;
        };
        let unused = membership.ids.close();
        let given_back = async {
            let client = self.reader().await?;
            client.execute(GIVE_BACK, &[&held.slot, &introduced.incarnation, &unused]).await?;
            Ok::<_, Error>(())
        };
        if let Err(error) = given_back.await {
            tracing::debug!(%error, "the slot could not be given back; it is free when its lease has ended");
        }
    }
}
