//! A Bayeux session over long polling: one connection that holds one poll.

use crate::bayeux;
use crate::connection::Connection;
use crate::error::Error;
use crate::target::Target;

const CONNECTION_TYPE: &str = "long-polling";

/// A subscribed session. The poll's bytes are made once and sent again after every answer.
#[derive(Debug)]
pub(crate) struct LongPolling {
    connection: Connection,
    poll: Box<[u8]>,
}

impl LongPolling {
    /// Shakes hands, subscribes and sends the first poll.
    ///
    /// # Errors
    /// The server refuses a step or goes away.
    pub(crate) async fn open(target: &Target, channel: &str) -> Result<Self, Error> {
        let mut connection = target.connect().await?;
        let answer =
            call(&mut connection, target, bayeux::HANDSHAKE, &bayeux::handshake(CONNECTION_TYPE)).await?;
        let client_id = bayeux::client_id(answer)?;
        let answer =
            call(&mut connection, target, bayeux::SUBSCRIBE, &bayeux::subscribe(&client_id, channel)).await?;
        bayeux::expect_success(bayeux::SUBSCRIBE, answer)?;
        let poll =
            target.post(bayeux::PATH, &bayeux::connect(&client_id, CONNECTION_TYPE)).into_boxed_slice();
        connection.send(&poll).await?;
        Ok(Self { connection, poll })
    }

    /// Goes on with the same session on a new connection, after the old one broke.
    ///
    /// # Errors
    /// The server is away.
    pub(crate) async fn reopen(&mut self, target: &Target) -> Result<(), Error> {
        self.connection = target.connect().await?;
        self.connection.send(&self.poll).await
    }

    /// Waits until the held poll is answered; the batch is the JSON array of the answer.
    ///
    /// # Errors
    /// The connection broke or the status was not 200.
    pub(crate) async fn batch(&mut self) -> Result<&[u8], Error> {
        let response = self.connection.receive().await?;
        match response.status {
            200 => Ok(response.body),
            status => Err(Error::status(bayeux::CONNECT, status, response.body)),
        }
    }

    /// Sends the next poll.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn poll_again(&mut self) -> Result<(), Error> {
        self.connection.send(&self.poll).await
    }
}

async fn call<'a>(
    connection: &'a mut Connection,
    target: &Target,
    step: &'static str,
    body: &str,
) -> Result<&'a [u8], Error> {
    let response = connection.call(step, &target.post(bayeux::PATH, body)).await?;
    match response.status {
        200 => Ok(response.body),
        status => Err(Error::status(step, status, response.body)),
    }
}
