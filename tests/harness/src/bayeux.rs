//! A Bayeux client over long polling.

use std::time::Duration;

use serde_json::{Value, json};

use super::rest::{Caller, Response};
use super::{soon, without};

/// The endpoint of resource channels.
pub const REALTIME: &str = "/notification/realtime";

/// A session of a client.
#[derive(Debug, Clone)]
pub struct Session {
    caller: Caller,
    endpoint: String,
    /// The clientId of the session.
    pub client: String,
}

impl Caller {
    /// POSTs Bayeux messages and returns the HTTP response.
    pub async fn bayeux(&self, endpoint: &str, messages: &Value) -> Response {
        self.request("POST", endpoint).accepting_json().json(messages).send().await
    }

    /// POSTs Bayeux messages and returns the replies.
    pub async fn exchange(&self, endpoint: &str, messages: &Value) -> Vec<Value> {
        let answer = self.bayeux(endpoint, messages).await;
        assert_eq!(answer.status, 200, "{messages}: {}", answer.text);
        serde_json::from_str(&answer.text).unwrap()
    }

    /// Sends a handshake; `more` is merged into the message. Returns the reply.
    pub async fn handshake(&self, more: Value) -> Value {
        let message = merged(
            json!({
                "id": 1,
                "channel": "/meta/handshake",
                "version": "1.0",
                "supportedConnectionTypes": ["long-polling", "websocket"],
            }),
            more,
        );
        let [reply] = one(self.exchange(REALTIME, &json!([message])).await);
        reply
    }

    /// Opens a session.
    pub async fn session(&self) -> Session {
        self.session_with(json!({})).await
    }

    /// Opens a session; `more` is merged into the handshake.
    pub async fn session_with(&self, more: Value) -> Session {
        let reply = self.handshake(more).await;
        assert_eq!(reply["successful"], true, "{reply}");
        self.resume(reply["clientId"].as_str().unwrap())
    }

    /// Returns a session that this caller continues.
    pub fn resume(&self, client: &str) -> Session {
        Session { caller: self.clone(), endpoint: REALTIME.into(), client: client.into() }
    }

    /// Opens a session that is subscribed to a channel.
    pub async fn listen(&self, channel: &str) -> Session {
        let session = self.session().await;
        let reply = session.subscribe(channel).await;
        assert_eq!(reply["successful"], true, "{reply}");
        session
    }
}

impl Session {
    /// Returns the message to a meta channel; `more` is merged into it.
    pub fn message(&self, channel: &str, more: Value) -> Value {
        merged(json!({"id": "7", "channel": channel, "clientId": self.client}), more)
    }

    /// Returns the same session on another path.
    pub fn on(&self, endpoint: &str) -> Self {
        Self { endpoint: endpoint.into(), ..self.clone() }
    }

    /// Sends one message and returns the only reply.
    pub async fn ask(&self, channel: &str, more: Value) -> Value {
        let messages = json!([self.message(channel, more)]);
        let [reply] = one(self.caller.exchange(&self.endpoint, &messages).await);
        reply
    }

    /// Subscribes to a channel.
    pub async fn subscribe(&self, channel: &str) -> Value {
        self.ask("/meta/subscribe", json!({"subscription": channel})).await
    }

    /// Unsubscribes from a channel.
    pub async fn unsubscribe(&self, channel: &str) -> Value {
        self.ask("/meta/unsubscribe", json!({"subscription": channel})).await
    }

    /// Connects and waits for the complete response.
    pub async fn connect(&self) -> Vec<Value> {
        self.connect_with(json!({})).await
    }

    /// Connects and waits for the complete response; `more` is merged into the message.
    pub async fn connect_with(&self, more: Value) -> Vec<Value> {
        self.hold_with(more).await.answer().await
    }

    /// Connects with timeout 0: returns the queued notifications at once.
    pub async fn glance(&self) -> Vec<Value> {
        self.connect_with(json!({"advice": {"timeout": 0}})).await
    }

    /// Connects and waits only for the head of the response. The head arrives with the body, or with the
    /// first space: then the server holds the request.
    pub async fn hold(&self) -> Held {
        self.hold_with(json!({})).await
    }

    /// Connects as [`hold`](Self::hold) does; `more` is merged into the message.
    pub async fn hold_with(&self, more: Value) -> Held {
        let message = self.message("/meta/connect", merged(json!({"connectionType": "long-polling"}), more));
        let request = self.caller.request("POST", &self.endpoint).accepting_json().json(&json!([message]));
        Held(request.head().await)
    }

    /// Connects again and again until this many notifications have arrived.
    pub async fn receive(&self, count: usize) -> Vec<Value> {
        let mut received = Vec::new();
        while received.len() < count {
            let answer = self.connect().await;
            assert_eq!(
                reply(&answer)["successful"],
                true,
                "after {} notifications: {answer:?}",
                received.len()
            );
            received.extend_from_slice(notifications(&answer));
        }
        received
    }

    /// Raises thirty alarms at a device, each just after a client that held a poll of this session has
    /// disconnected, and expects that none is lost. `leave` holds a poll and disconnects; its return value is
    /// dropped when the alarm has arrived.
    pub async fn loses_nothing<Rest>(&self, device: &str, leave: impl AsyncFn() -> Rest) {
        for n in 0..30 {
            let rest = leave().await;
            let kind = format!("type {n}");
            self.caller.raise_alarm(device, &kind).await;
            let Ok(told) = tokio::time::timeout(Duration::from_secs(20), self.receive(1)).await else {
                self.caller.raise_alarm(device, "later").await;
                panic!("round {n} received nothing, and after a second alarm {:?}", self.receive(1).await);
            };
            assert_eq!((told.len(), &told[0]["data"]["data"]["type"]), (1, &json!(kind)), "round {n}");
            drop(rest);
        }
    }

    /// Connects with timeout 0 until something arrives: the 201 response to an alarm may precede its
    /// notification in the queue.
    pub async fn glance_until_told(&self) -> Vec<Value> {
        super::eventually("a notification", async || {
            let answer = self.glance().await;
            (!notifications(&answer).is_empty()).then_some(answer)
        })
        .await
    }

    /// Returns whether the server still knows the session. It sends a connect, which keeps the session alive.
    pub async fn is_known(&self) -> bool {
        reply(&self.glance().await)["successful"] == true
    }
}

/// A connect whose head has arrived, with a space if the server holds it.
#[derive(Debug)]
pub struct Held(reqwest::Response);

impl Held {
    /// Waits for the body.
    pub async fn answer(self) -> Vec<Value> {
        let answer = Response::of(self.0).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        serde_json::from_str(&answer.text).unwrap_or_else(|error| panic!("{error}: {:?}", answer.text))
    }

    /// Waits for the next chunk of the body; `None` at its end.
    pub async fn piece(&mut self) -> Option<String> {
        let piece = soon("a chunk of a held response", self.0.chunk()).await.unwrap();
        piece.map(|bytes| String::from_utf8(bytes.into()).unwrap())
    }

    /// Closes the connection without reading further.
    pub fn abort(self) {}
}

/// Returns the notifications of a connect response.
pub fn notifications(answer: &[Value]) -> &[Value] {
    let (last, notifications) = answer.split_last().expect("the response to a connect contains a reply");
    assert_eq!(last["channel"], "/meta/connect", "the reply comes last: {answer:?}");
    notifications
}

/// Returns the connect reply of a connect response, without the echoes.
pub fn reply(answer: &[Value]) -> Value {
    notifications(answer);
    without(answer.last().unwrap(), &["id", "clientId", "channel"])
}

fn one(replies: Vec<Value>) -> [Value; 1] {
    replies.try_into().unwrap_or_else(|replies| panic!("not one reply: {replies:?}"))
}

fn merged(mut message: Value, more: Value) -> Value {
    if let (Some(message), Value::Object(more)) = (message.as_object_mut(), more) {
        message.extend(more);
    }
    message
}
