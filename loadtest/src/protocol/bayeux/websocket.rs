//! A Bayeux session over WebSocket: notifications arrive as separate frames.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use memchr::memmem;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message, Utf8Bytes};

use crate::error::Error;
use crate::protocol::bayeux;
use crate::target::Target;
use crate::target::connection::RESPONSE_TIMEOUT;
use crate::target::stream::Stream;

const CONNECTION_TYPE: &str = "websocket";
/// The longest time until the server closes a socket that the client has closed.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// A subscribed session.
#[derive(Debug)]
pub(crate) struct WebSocket {
    socket: WebSocketStream<Stream>,
    endpoint: String,
    connect: Utf8Bytes,
    /// The id of a session that acknowledges notifications: then each connect names the last response.
    acknowledging: Option<String>,
}

impl WebSocket {
    /// Upgrades, sends the handshake, subscribes to channels of an endpoint, maybe with a filter, and sends the first
    /// connect.
    ///
    /// # Errors
    /// The server rejects a step or disconnects.
    pub(crate) async fn open(
        target: &Target,
        endpoint: &str,
        (channels, filter): (&[String], Option<&str>),
        acknowledges: bool,
    ) -> Result<Self, Error> {
        let mut socket = upgrade(target, endpoint).await?;
        let handshake = bayeux::handshake(CONNECTION_TYPE, acknowledges);
        let client_id = bayeux::client_id(call(&mut socket, bayeux::HANDSHAKE, handshake).await?.as_bytes())?;
        for channel in channels {
            let subscribe = bayeux::subscribe(&client_id, channel, filter);
            let answer = call(&mut socket, bayeux::SUBSCRIBE, subscribe).await?;
            bayeux::expect_success(bayeux::SUBSCRIBE, answer.as_bytes())?;
        }
        let connect = match acknowledges {
            true => bayeux::acknowledging_connect(&client_id, CONNECTION_TYPE, "0"),
            false => bayeux::connect(&client_id, CONNECTION_TYPE),
        };
        let acknowledging = acknowledges.then_some(client_id);
        let mut session =
            Self { socket, endpoint: endpoint.to_owned(), connect: connect.into(), acknowledging };
        session.heartbeat().await?;
        Ok(session)
    }

    /// Waits for the next frame; responds to pings and renews the connect when the server ended it.
    ///
    /// # Errors
    /// The socket was closed, or the session is gone.
    pub(crate) async fn frame(&mut self) -> Result<Utf8Bytes, Error> {
        let frame = self.read().await?;
        self.go_on(&frame).await?;
        Ok(frame)
    }

    /// Waits for the next frame. No frame is lost when the future is dropped.
    ///
    /// # Errors
    /// The socket was closed.
    pub(crate) async fn read(&mut self) -> Result<Utf8Bytes, Error> {
        next_text(&mut self.socket).await
    }

    /// Renews the connect if the frame reports that the server ended it.
    ///
    /// # Errors
    /// The socket was closed, or the session is gone.
    pub(crate) async fn go_on(&mut self, frame: &Utf8Bytes) -> Result<(), Error> {
        if memmem::find(frame.as_bytes(), bayeux::CONNECT.as_bytes()).is_none() {
            return Ok(());
        }
        bayeux::expect_success(bayeux::CONNECT, frame.as_bytes())?;
        if let Some(client_id) = &self.acknowledging
            && let Some(number) = bayeux::batch_number(frame.as_bytes())
        {
            self.connect = bayeux::acknowledging_connect(client_id, CONNECTION_TYPE, number).into();
        }
        self.heartbeat().await
    }

    /// Closes the socket, and passes on the frames that the server sent before it closed it, too.
    ///
    /// # Errors
    /// The connection broke, or the server did not close it within five seconds; the frames before are passed on.
    pub(crate) async fn close(&mut self, mut take: impl FnMut(&[u8])) -> Result<(), Error> {
        self.socket.close(None).await.map_err(Box::new)?;
        let until_closed = async {
            while let Some(message) = self.socket.next().await {
                if let Ok(text) = message.map_err(Box::new)?.into_text() {
                    take(text.as_bytes());
                }
            }
            Ok(())
        };
        let closed = tokio::time::timeout(CLOSE_LIMIT, until_closed).await;
        closed.map_err(|_| Error::Timeout("closing a socket"))?
    }

    /// Continues the session on a new socket.
    ///
    /// # Errors
    /// The server is not reachable, or rejects the upgrade.
    pub(crate) async fn reopen(&mut self, target: &Target) -> Result<(), Error> {
        self.socket = upgrade(target, &self.endpoint).await?;
        self.heartbeat().await
    }

    async fn heartbeat(&mut self) -> Result<(), Error> {
        Ok(self.socket.send(Message::Text(self.connect.clone())).await.map_err(Box::new)?)
    }
}

async fn upgrade(target: &Target, endpoint: &str) -> Result<WebSocketStream<Stream>, Error> {
    // The stream is encrypted already if it has to be.
    let address = format!("ws://{}{endpoint}", target.authority());
    let uri = address.parse().map_err(|error| Error::Refused(format!("{address}: {error}")))?;
    let request = ClientRequestBuilder::new(uri).with_header("Authorization", target.authorization());
    let upgrading = tokio_tungstenite::client_async(request, target.open_stream().await?);
    let upgraded = tokio::time::timeout(RESPONSE_TIMEOUT, Box::pin(upgrading)).await;
    let (socket, _) = upgraded.map_err(|_| Error::Timeout("upgrade"))?.map_err(Box::new)?;
    Ok(socket)
}

async fn call(
    socket: &mut WebSocketStream<Stream>,
    step: &'static str,
    message: String,
) -> Result<Utf8Bytes, Error> {
    socket.send(Message::text(message)).await.map_err(Box::new)?;
    tokio::time::timeout(RESPONSE_TIMEOUT, next_text(socket)).await.map_err(|_| Error::Timeout(step))?
}

async fn next_text(socket: &mut WebSocketStream<Stream>) -> Result<Utf8Bytes, Error> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => return Ok(text),
            Some(Ok(Message::Close(_))) | None => return Err(Box::new(SocketError::ConnectionClosed).into()),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(Box::new(error).into()),
        }
    }
}
