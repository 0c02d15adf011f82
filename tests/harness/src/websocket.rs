//! A Bayeux client over a WebSocket.

use std::collections::VecDeque;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::rest::Caller;
use super::soon;

/// The number of bytes the system may buffer for a client that does not read.
const RECEIVE_BUFFER: u32 = 8 << 10;

/// An open WebSocket.
#[derive(Debug)]
pub struct Socket {
    stream: WebSocketStream<TcpStream>,
    /// The messages that arrived while a reply was awaited.
    waiting: VecDeque<Value>,
}

impl Socket {
    /// Opens a WebSocket on a path, with the credentials of the caller, if any.
    pub async fn open(caller: &Caller, path: &str) -> Self {
        Self::try_open(caller, path).await.unwrap()
    }

    /// Opens a WebSocket as [`open`](Self::open) does, as the page of this origin.
    pub async fn open_from(caller: &Caller, path: &str, origin: &str) -> Self {
        Self::open_with(caller, path, Some(origin)).await.unwrap()
    }

    /// Opens a WebSocket as [`open`](Self::open) does; returns the error if the upgrade is rejected.
    pub async fn try_open(caller: &Caller, path: &str) -> Result<Self, Error> {
        Self::open_with(caller, path, None).await
    }

    async fn open_with(caller: &Caller, path: &str, origin: Option<&str>) -> Result<Self, Error> {
        let authority = caller.base().strip_prefix("http://").unwrap();
        let mut request = format!("ws://{authority}{path}").into_client_request().unwrap();
        if let Some(authorization) = caller.authorization() {
            request.headers_mut().insert("Authorization", authorization.parse().unwrap());
        }
        if let Some(origin) = origin {
            request.headers_mut().insert("Origin", origin.parse().unwrap());
        }
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(RECEIVE_BUFFER).unwrap();
        let connection = socket.connect(authority.parse().unwrap()).await.unwrap();
        let opening = tokio_tungstenite::client_async(request, connection);
        let (stream, _) = soon("the upgrade to a WebSocket", opening).await?;
        Ok(Self { stream, waiting: VecDeque::new() })
    }

    /// Opens a WebSocket and sends a handshake; returns the clientId too.
    pub async fn session(caller: &Caller) -> (Self, String) {
        let mut socket = Self::open(caller, super::REALTIME).await;
        let reply = socket.ask(handshake(json!({}))).await;
        assert_eq!(reply["successful"], true, "{reply}");
        let client = reply["clientId"].as_str().unwrap().to_owned();
        (socket, client)
    }

    /// Opens a WebSocket, sends a handshake and subscribes to a channel; returns the clientId too.
    pub async fn listen(caller: &Caller, channel: &str) -> (Self, String) {
        let (mut socket, client) = Self::session(caller).await;
        let reply = socket.ask(subscribe(&client, channel)).await;
        assert_eq!(reply["successful"], true, "{reply}");
        (socket, client)
    }

    /// Sends a text frame.
    pub async fn send(&mut self, text: impl Into<String>) {
        let text: String = text.into();
        soon("room for a frame", self.stream.send(Message::text(text))).await.unwrap();
    }

    /// Sends a text in two frames.
    pub async fn send_in_two(&mut self, text: &str) {
        let (first, second) = text.split_at(text.len() / 2);
        let first = Frame::message(first.to_owned(), OpCode::Data(Data::Text), false);
        let second = Frame::message(second.to_owned(), OpCode::Data(Data::Continue), true);
        for frame in [first, second] {
            soon("room for a frame", self.stream.send(Message::Frame(frame))).await.unwrap();
        }
    }

    /// Sends a binary frame.
    pub async fn send_binary(&mut self, bytes: &'static [u8]) {
        soon("room for a frame", self.stream.send(Message::binary(bytes))).await.unwrap();
    }

    /// Sends one message and waits for the reply on its channel; other messages are queued.
    pub async fn ask(&mut self, message: Value) -> Value {
        let channel = message["channel"].clone();
        self.send(json!([message]).to_string()).await;
        loop {
            let came = self.frame().await;
            let place = came.iter().position(|message| message["channel"] == channel);
            let mut came: VecDeque<Value> = came.into();
            let reply = place.and_then(|place| came.remove(place));
            self.waiting.extend(came);
            if let Some(reply) = reply {
                return reply;
            }
        }
    }

    /// Returns the next message.
    pub async fn message(&mut self) -> Value {
        while self.waiting.is_empty() {
            let came = self.frame().await;
            self.waiting.extend(came);
        }
        self.waiting.pop_front().unwrap()
    }

    /// Returns the next `count` messages.
    pub async fn messages(&mut self, count: usize) -> Vec<Value> {
        let mut messages = Vec::with_capacity(count);
        while messages.len() < count {
            messages.push(self.message().await);
        }
        messages
    }

    /// Returns the messages of the next text frame.
    pub async fn frame(&mut self) -> Vec<Value> {
        loop {
            match soon("a frame", self.stream.next()).await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("no text frame but {other:?}"),
            }
        }
    }

    /// Returns the next message, or `None` at the end of the connection.
    pub async fn message_or_end(&mut self) -> Option<Value> {
        while self.waiting.is_empty() {
            match soon("a message", self.stream.next()).await {
                Some(Ok(Message::Text(text))) => {
                    self.waiting.extend(serde_json::from_str::<Vec<Value>>(&text).unwrap());
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
        self.waiting.pop_front()
    }

    /// Waits for the next ping.
    pub async fn ping(&mut self) {
        loop {
            match soon("a ping", self.stream.next()).await {
                Some(Ok(Message::Ping(_))) => return,
                Some(Ok(Message::Pong(_) | Message::Text(_))) => {}
                other => panic!("no ping but {other:?}"),
            }
        }
    }

    /// Reads to the end of the connection; returns the code of the close frame, if there was one.
    pub async fn closed(&mut self) -> Option<u16> {
        let mut code = None;
        loop {
            match soon("the end of the WebSocket", self.stream.next()).await {
                Some(Ok(Message::Close(frame))) => code = frame.map(|frame| frame.code.into()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return code,
            }
        }
    }
}

/// Returns a handshake message; `more` is merged into it.
pub fn handshake(more: Value) -> Value {
    let mut message = json!({
        "id": 1,
        "channel": "/meta/handshake",
        "version": "1.0",
        "supportedConnectionTypes": ["websocket"],
    });
    if let (Some(message), Value::Object(more)) = (message.as_object_mut(), more) {
        message.extend(more);
    }
    message
}

/// Returns a subscribe message.
pub fn subscribe(client: &str, channel: &str) -> Value {
    json!({"id": 2, "channel": "/meta/subscribe", "clientId": client, "subscription": channel})
}

/// Returns a connect message.
pub fn connect(client: &str) -> Value {
    json!({"id": 3, "channel": "/meta/connect", "clientId": client, "connectionType": "websocket"})
}
