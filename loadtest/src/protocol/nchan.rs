//! Clients of Nchan, a notification server in C that serves as a floor (`floors/nchan.conf`). It holds polls and
//! broadcasts messages from memory, without users, tenants and a database.

use crate::error::Error;
use crate::protocol::body::Kind;
use crate::target::Target;
use crate::target::connection::Connection;

/// The first part of the paths of publishers.
const PUBLISH: &str = "/publish";
/// The first part of the paths of subscribers.
const SUBSCRIBE: &str = "/subscribe";

/// Returns the path to which a message of a kind is posted, on the channel of a device.
pub(crate) fn publisher_path(kind: Kind, device: &str) -> String {
    format!("{PUBLISH}{}/{device}", kind.channel())
}

/// A subscriber that holds one poll. Each response names its message, and the next poll asks for the one after it.
#[derive(Debug)]
pub(crate) struct NchanPoll {
    connection: Connection,
    path: Box<str>,
    authority: Box<str>,
}

impl NchanPoll {
    /// Sends the first poll.
    ///
    /// # Errors
    /// The server is not reachable.
    pub(crate) async fn open(target: &Target, channel: &str) -> Result<Self, Error> {
        let mut poll = Self {
            connection: target.connect().await?,
            path: format!("{SUBSCRIBE}{channel}").into(),
            authority: target.authority().into(),
        };
        poll.connection.send(poll.request("").as_bytes()).await?;
        Ok(poll)
    }

    /// Waits for the message that completes the held poll.
    ///
    /// # Errors
    /// The connection broke or the status was not 200.
    pub(crate) async fn message(&mut self) -> Result<&[u8], Error> {
        self.connection.receive().await?.expect(200, "polling")
    }

    /// Sends the next poll.
    ///
    /// # Errors
    /// The connection broke, or the response did not name its message.
    pub(crate) async fn poll_again(&mut self) -> Result<(), Error> {
        let Some((modified, tag)) = self.connection.validators() else {
            return Err(Error::Refused(
                "Nchan names no message: Last-Modified or Etag is missing".to_owned(),
            ));
        };
        let after = format!("If-Modified-Since: {modified}\r\nIf-None-Match: {tag}\r\n");
        self.connection.send(self.request(&after).as_bytes()).await
    }

    fn request(&self, headers: &str) -> String {
        format!("GET {} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", self.path, self.authority)
    }
}
