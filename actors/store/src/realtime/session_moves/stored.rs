//! The sessions of the last server of a deployment, stored from its stop to the next start. Nothing is written in
//! between, so the sessions miss nothing.

use std::time::Duration;

use platform_model::error::Result;
use platform_model::id::TenantId;
use platform_model::realtime::session_move::SessionState;

use crate::Database;
use crate::realtime::servers::DEAD_AFTER;

const STORE: &str = include_str!("../../../../../sql/queries/session_moves/store.sql");
const LIST_STORED: &str = include_str!("../../../../../sql/queries/session_moves/list_stored.sql");
const NOTE_TAKEN: &str = include_str!("../../../../../sql/queries/session_moves/note_taken.sql");
const IS_LAST: &str = include_str!("../../../../../sql/queries/session_moves/is_last.sql");

/// The lock that is held while sessions are stored, or taken over by a server that starts.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtext('platform stored sessions'))";
/// The most sessions of one statement.
const AT_ONCE: usize = 500;

/// A session that is stored and at no server.
#[derive(Debug)]
pub struct StoredSession {
    /// The clientId.
    pub client: String,
    /// The tenant.
    pub tenant: TenantId,
    /// The state of the session.
    pub state: SessionState,
    /// The rest of its lifetime.
    pub lifetime: Duration,
}

/// The longest time without a server after which sessions continue. Nothing happens meanwhile that they could receive,
/// so storing them costs nothing.
const LONGEST_OUTAGE: Duration = Duration::from_secs(5 * 60);
/// The longest pause of a client between two attempts to reach a server. CometD makes none longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl StoredSession {
    /// Returns the time for which a session with this interval is stored.
    #[must_use]
    pub fn lifetime_of(interval: Duration) -> Duration {
        interval + LONGEST_OUTAGE
    }

    /// Returns the seconds that the session waits for its client beyond its interval. Clients try again less and less
    /// often, so their last pause may be as long as there was no server.
    fn grace(&self) -> u8 {
        let outage = Self::lifetime_of(self.state.interval).saturating_sub(self.lifetime);
        u8::try_from(outage.min(LONGEST_PAUSE).as_secs()).unwrap_or(u8::MAX)
    }
}

impl Database {
    /// Stores the sessions of this server, which writes nothing any more, if it is the last one. Returns whether it
    /// is. One transaction.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn store_sessions(&self, sessions: &[StoredSession]) -> Result<bool> {
        let mut client = self.loader().await?;
        let transaction = client.transaction().await?;
        transaction.batch_execute(LOCK).await?;
        let own = self.session_moves.server();
        if !transaction.query_one(IS_LAST, &[&own, &DEAD_AFTER.as_secs_f64()]).await?.get::<_, bool>(0) {
            return Ok(false);
        }
        let statement = transaction.prepare_cached(STORE).await?;
        for sessions in sessions.chunks(AT_ONCE) {
            let clients: Vec<&str> = sessions.iter().map(|stored| &*stored.client).collect();
            let tenants: Vec<&str> = sessions.iter().map(|stored| stored.tenant.as_str()).collect();
            let state =
                |stored: &StoredSession| serde_json::to_string(&stored.state).expect("a state is JSON");
            let states: Vec<String> = sessions.iter().map(state).collect();
            let lifetimes: Vec<f64> = sessions.iter().map(|stored| stored.lifetime.as_secs_f64()).collect();
            transaction.execute(&statement, &[&clients, &tenants, &states, &lifetimes]).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Returns whether no other server lives. One statement.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn is_last_server(&self) -> Result<bool> {
        let own = self.session_moves.server();
        Ok(self.reader().await?.query_one(IS_LAST, &[&own, &DEAD_AFTER.as_secs_f64()]).await?.get(0))
    }

    /// Passes the stored sessions to `take`, and deletes them afterwards. No other server starts meanwhile.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn take_stored_sessions(&self, take: impl AsyncFnOnce(Vec<StoredSession>)) -> Result<()> {
        // `take` uses connections of the other pool, so this transaction cannot block it.
        let mut client = self.reader().await?;
        let transaction = client.transaction().await?;
        transaction.batch_execute(LOCK).await?;
        let rows = transaction.query(LIST_STORED, &[]).await?;
        let stored = |row: &tokio_postgres::Row| {
            let (state, seconds): (&str, f64) = (row.get(2), row.get(3));
            let mut stored = StoredSession {
                client: row.get(0),
                tenant: TenantId::parse(row.get(1)).ok()?,
                state: serde_json::from_str(state).ok()?,
                lifetime: Duration::try_from_secs_f64(seconds).ok()?,
            };
            stored.state.grace = stored.grace();
            Some(stored)
        };
        // This transaction has written nothing so far, so `take` can wait for all transactions that have.
        take(rows.iter().filter_map(stored).collect()).await;
        transaction.execute(NOTE_TAKEN, &[&self.session_moves.server()]).await?;
        transaction.batch_execute("DELETE FROM stored_sessions").await?;
        transaction.commit().await?;
        Ok(())
    }
}
