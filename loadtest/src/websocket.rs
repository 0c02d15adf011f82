//! A Bayeux session over WebSocket: notifications arrive as separate frames.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use memchr::memmem;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message, Utf8Bytes};

use crate::bayeux;
use crate::connection::RESPONSE_TIMEOUT;
use crate::error::Error;
use crate::target::Target;

const CONNECTION_TYPE: &str = "websocket";
/// The longest time until the server closes a socket that the client has closed.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// A subscribed session.
#[derive(Debug)]
pub(crate) struct WebSocket {
    socket: WebSocketStream<TcpStream>,
    connect: Utf8Bytes,
}

impl WebSocket {
    /// Upgrades, sends the handshake, subscribes and sends the first connect.
    ///
    /// # Errors
    /// The server rejects a step or disconnects.
    pub(crate) async fn open(target: &Target, channel: &str) -> Result<Self, Error> {
        let mut socket = upgrade(target).await?;
        let answer = call(&mut socket, bayeux::HANDSHAKE, bayeux::handshake(CONNECTION_TYPE)).await?;
        let client_id = bayeux::client_id(answer.as_bytes())?;
        let answer = call(&mut socket, bayeux::SUBSCRIBE, bayeux::subscribe(&client_id, channel)).await?;
        bayeux::expect_success(bayeux::SUBSCRIBE, answer.as_bytes())?;
        let mut session = Self { socket, connect: bayeux::connect(&client_id, CONNECTION_TYPE).into() };
        session.heartbeat().await?;
        Ok(session)
    }

    /// Waits for the next frame; responds to pings and renews the connect when the server ended it.
    ///
    /// # Errors
    /// The socket was closed, or the session is gone.
    pub(crate) async fn frame(&mut self) -> Result<Utf8Bytes, Error> {
        let frame = next_text(&mut self.socket).await?;
        if memmem::find(frame.as_bytes(), bayeux::CONNECT.as_bytes()).is_some() {
            bayeux::expect_success(bayeux::CONNECT, frame.as_bytes())?;
            self.heartbeat().await?;
        }
        Ok(frame)
    }

    /// Closes the socket; returns the frames that the server sent before it closed it, too.
    ///
    /// # Errors
    /// The connection broke, or the server did not close it within five seconds.
    pub(crate) async fn close(&mut self) -> Result<Vec<Utf8Bytes>, Error> {
        self.socket.close(None).await.map_err(Box::new)?;
        let until_closed = async {
            let mut frames = Vec::new();
            while let Some(message) = self.socket.next().await {
                frames.extend(message.map_err(Box::new)?.into_text().ok());
            }
            Ok(frames)
        };
        let closed = tokio::time::timeout(CLOSE_LIMIT, until_closed).await;
        closed.map_err(|_| Error::Timeout("closing a socket"))?
    }

    /// Continues the session on a new socket.
    ///
    /// # Errors
    /// The server is not reachable, or rejects the upgrade.
    pub(crate) async fn reopen(&mut self, target: &Target) -> Result<(), Error> {
        self.socket = upgrade(target).await?;
        self.heartbeat().await
    }

    async fn heartbeat(&mut self) -> Result<(), Error> {
        Ok(self.socket.send(Message::Text(self.connect.clone())).await.map_err(Box::new)?)
    }
}

async fn upgrade(target: &Target) -> Result<WebSocketStream<TcpStream>, Error> {
    let address = format!("ws://{}{}", target.authority(), bayeux::REALTIME);
    let uri = address.parse().map_err(|error| Error::Refused(format!("{address}: {error}")))?;
    let request = ClientRequestBuilder::new(uri).with_header("Authorization", target.authorization());
    let upgrading = tokio_tungstenite::client_async(request, target.open_stream().await?);
    let upgraded = tokio::time::timeout(RESPONSE_TIMEOUT, Box::pin(upgrading)).await;
    let (socket, _) = upgraded.map_err(|_| Error::Timeout("upgrade"))?.map_err(Box::new)?;
    Ok(socket)
}

async fn call(
    socket: &mut WebSocketStream<TcpStream>,
    step: &'static str,
    message: String,
) -> Result<Utf8Bytes, Error> {
    socket.send(Message::text(message)).await.map_err(Box::new)?;
    tokio::time::timeout(RESPONSE_TIMEOUT, next_text(socket)).await.map_err(|_| Error::Timeout(step))?
}

async fn next_text(socket: &mut WebSocketStream<TcpStream>) -> Result<Utf8Bytes, Error> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => return Ok(text),
            Some(Ok(Message::Close(_))) | None => return Err(Box::new(SocketError::ConnectionClosed).into()),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(Box::new(error).into()),
        }
    }
}
