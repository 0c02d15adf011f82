//! A Bayeux session over long polling: one connection that holds one poll.

use crate::error::Error;
use crate::protocol::bayeux;
use crate::target::Target;
use crate::target::connection::Connection;

const CONNECTION_TYPE: &str = "long-polling";

/// A subscribed session. The poll's bytes are built once and sent after every response.
#[derive(Debug)]
pub(crate) struct LongPolling {
    connection: Connection,
    poll: Box<[u8]>,
    /// The parts of the poll, if the session acknowledges notifications: then each poll contains the number of the last
    /// response.
    acknowledging: Option<Box<Acknowledging>>,
}

/// The parts of the polls of a session that acknowledges notifications.
#[derive(Debug)]
struct Acknowledging {
    target: Target,
    endpoint: String,
    client_id: String,
}

impl LongPolling {
    /// Sends the handshake, subscribes at an endpoint, and sends the first poll.
    ///
    /// # Errors
    /// The server rejects a step or disconnects.
    pub(crate) async fn open(target: &Target, endpoint: &str, channel: &str) -> Result<Self, Error> {
        let mut session = Self::subscribe(target, endpoint, (&[channel.to_owned()], None), false).await?;
        session.poll_again().await?;
        Ok(session)
    }

    /// Sends the handshake and subscribes to channels of an endpoint, maybe with a filter, but sends no poll yet.
    ///
    /// # Errors
    /// The server rejects a step or disconnects.
    pub(crate) async fn subscribe(
        target: &Target,
        endpoint: &str,
        (channels, filter): (&[String], Option<&str>),
        acknowledges: bool,
    ) -> Result<Self, Error> {
        let mut connection = target.connect().await?;
        let request = target.post(endpoint, &bayeux::handshake(CONNECTION_TYPE, acknowledges));
        let client_id = bayeux::client_id(connection.body_of(bayeux::HANDSHAKE, &request).await?)?;
        for channel in channels {
            let request = target.post(endpoint, &bayeux::subscribe(&client_id, channel, filter));
            bayeux::expect_success(
                bayeux::SUBSCRIBE,
                connection.body_of(bayeux::SUBSCRIBE, &request).await?,
            )?;
        }
        if !acknowledges {
            return Ok(Self::of(connection, target.post(endpoint, &connect(&client_id))));
        }
        let (target, endpoint) = (target.same(), endpoint.to_owned());
        let acknowledging = Box::new(Acknowledging { target, endpoint, client_id });
        let poll = acknowledging.poll("0").into_boxed_slice();
        Ok(Self { connection, poll, acknowledging: Some(acknowledging) })
    }

    /// Returns the session that a connection has opened, given the request that is its poll.
    pub(crate) fn of(connection: Connection, poll: Vec<u8>) -> Self {
        Self { connection, poll: poll.into_boxed_slice(), acknowledging: None }
    }

    /// Continues the session on a new connection, after the old one broke.
    ///
    /// # Errors
    /// The server is not reachable.
    pub(crate) async fn reopen(&mut self, target: &Target) -> Result<(), Error> {
        self.connection = target.connect().await?;
        self.connection.send(&self.poll).await
    }

    /// Waits for the response to the held poll; the batch is its JSON array.
    ///
    /// # Errors
    /// The connection broke or the status was not 200.
    pub(crate) async fn batch(&mut self) -> Result<&[u8], Error> {
        let batch = self.connection.receive().await?.expect(200, bayeux::CONNECT)?;
        if let Some(acknowledging) = &self.acknowledging
            && let Some(number) = bayeux::batch_number(batch)
        {
            self.poll = acknowledging.poll(number).into_boxed_slice();
        }
        Ok(batch)
    }

    /// Returns the connection, for other requests while no poll is held.
    pub(crate) fn between_polls(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Sends the next poll.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn poll_again(&mut self) -> Result<(), Error> {
        self.connection.send(&self.poll).await
    }
}

impl Acknowledging {
    fn poll(&self, number: &str) -> Vec<u8> {
        self.target
            .post(&self.endpoint, &bayeux::acknowledging_connect(&self.client_id, CONNECTION_TYPE, number))
    }
}

/// Returns the first message of a session.
pub(crate) fn handshake() -> String {
    bayeux::handshake(CONNECTION_TYPE, false)
}

/// Returns the message that is held.
pub(crate) fn connect(client_id: &str) -> String {
    bayeux::connect(client_id, CONNECTION_TYPE)
}
