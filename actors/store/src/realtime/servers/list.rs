//! The servers, as operators see them.

use platform_model::error::{Error, Result};
use time::OffsetDateTime;

use crate::Database;

const LIST: &str = include_str!("../../../../../sql/queries/servers/list.sql");
const LIST_LIVING: &str = include_str!("../../../../../sql/queries/servers/list_living.sql");
const SET_STATE: &str = include_str!("../../../../../sql/queries/servers/set_state.sql");
const EVICT: &str = include_str!("../../../../../sql/queries/servers/evict.sql");

/// A server that holds a slot, or is gone without having given it back.
#[derive(Debug, Clone)]
pub struct Server {
    /// The slot: 0 to 255.
    pub slot: i16,
    /// The name that the operator gave it.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// Scheme, address and port that it listens on.
    pub address: String,
    /// `UP`, `DRAINING`, `STOPPING`, or `GONE` when its lease has ended.
    pub state: String,
    /// The time when it took its slot.
    pub started_at: OffsetDateTime,
    /// The seconds since then, by the clock of the database.
    pub age: f64,
    /// The end of its lease.
    pub leased_until: OffsetDateTime,
    /// The seconds until then; negative when it is gone.
    pub lease: f64,
    /// The most database connections that it opens.
    pub connections: i32,
}

/// The states that an operator can set and a server reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It accepts new clients.
    Up,
    /// It is not ready for new clients, and hands its sessions over.
    Draining,
    /// It is stopping.
    Stopping,
}

impl State {
    /// The word in the table `servers`.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Up => "UP",
            Self::Draining => "DRAINING",
            Self::Stopping => "STOPPING",
        }
    }
}

/// Lists the servers by slot. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_servers(database: &Database) -> Result<Vec<Server>> {
    let rows = database.reader().await?.query(LIST, &[]).await?;
    let server = |row: &tokio_postgres::Row| Server {
        slot: row.get(0),
        name: row.get(1),
        version: row.get(2),
        address: row.get(3),
        state: row.get(4),
        started_at: row.get(5),
        age: row.get(6),
        leased_until: row.get(7),
        lease: row.get(8),
        connections: row.get(9),
    };
    Ok(rows.iter().map(server).collect())
}

/// Lists the incarnations and names of the living servers. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_living(database: &Database) -> Result<Vec<(i64, String)>> {
    let rows = database.loader().await?.query(LIST_LIVING, &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Drains a living server, or lets it accept new clients again, unless it is stopping. The server applies this with
/// its next renewal, or when a command waits for it. One statement.
///
/// # Errors
/// `Invalid` when no living server holds the slot; `Unavailable` or `Database`.
pub async fn set_state(database: &Database, slot: i16, state: State) -> Result<()> {
    match database.reader().await?.execute(SET_STATE, &[&slot, &state.word()]).await? {
        0 => Err(Error::Invalid(format!(
            "the server of slot {slot} is gone or stops; `platform server evict` frees the slot of one that is gone"
        ))),
        _ => Ok(()),
    }
}

/// Frees the slot of a server that is gone, or with `force` of a living one, which takes another slot. The connections
/// of that server to the database end. One statement.
///
/// # Errors
/// `Invalid` when the server lives and is not forced; `Unavailable` or `Database`.
pub async fn evict(database: &Database, slot: i16, force: bool) -> Result<()> {
    match database.reader().await?.execute(EVICT, &[&slot, &force]).await? {
        0 => Err(Error::Invalid(format!(
            "the server of slot {slot} renews its lease; stop it, or take its slot away with --force"
        ))),
        _ => Ok(()),
    }
}
