//! A connection of a pool to PostgreSQL, with the turn of its tenant.

use std::sync::Arc;

use deadpool_postgres::Object;
use parking_lot::Mutex;
use platform_model::error::{Error, Result};

use crate::connect::ConnectionTurn;

/// A connection to PostgreSQL, until it is dropped.
pub struct Connection {
    /// It goes back to the pool before the turn goes to the next. Empty only while it is dropped.
    connection: Option<Object>,
    turn: Option<ConnectionTurn>,
    /// The transaction that it belongs to.
    moment: Option<Arc<MomentConnection>>,
}

impl Connection {
    pub(crate) fn of(
        connection: Object,
        turn: Option<ConnectionTurn>,
        moment: Option<Arc<MomentConnection>>,
    ) -> Self {
        Self { connection: Some(connection), turn, moment }
    }

    /// Takes it out of the transaction that it belongs to.
    pub(crate) fn into_parts(mut self) -> (Object, Option<ConnectionTurn>) {
        (self.connection.take().expect("it is not dropped"), self.turn.take())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let (Some(connection), Some(moment)) = (self.connection.take(), self.moment.take()) {
            moment.put_back(connection, self.turn.take());
        }
    }
}

impl std::ops::Deref for Connection {
    type Target = Object;

    fn deref(&self) -> &Object {
        self.connection.as_ref().expect("it is not dropped")
    }
}

impl std::ops::DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Object {
        self.connection.as_mut().expect("it is not dropped")
    }
}

/// The connection of a moment, while no read uses it.
#[derive(Default)]
pub(crate) struct MomentConnection(Mutex<Option<(Object, Option<ConnectionTurn>)>>);

impl MomentConnection {
    /// Takes the connection for one read.
    ///
    /// # Errors
    /// `Unavailable` while another read uses it.
    pub(crate) fn take(self: &Arc<Self>) -> Result<Connection> {
        match self.0.lock().take() {
            Some((connection, turn)) => Ok(Connection::of(connection, turn, Some(self.clone()))),
            None => Err(Error::unavailable("another read uses the connection of the transaction")),
        }
    }

    /// Takes the connection back after a read.
    pub(crate) fn put_back(&self, connection: Object, turn: Option<ConnectionTurn>) {
        *self.0.lock() = Some((connection, turn));
    }
}

impl Drop for MomentConnection {
    fn drop(&mut self) {
        // The transaction has not ended, so the connection is closed instead of used again.
        if let Some((connection, _)) = self.0.lock().take() {
            drop(Object::take(connection));
        }
    }
}
