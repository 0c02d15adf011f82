//! Many held long polls of the noisy tenant, to which an alarm is delivered every second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::device;
use crate::error::Error;
use crate::progress::Progress;
use crate::target::Target;
use crate::target::connection::Connection;

const PATH: &str = "/notification/realtime";
/// The number of sessions that are opened at the same time.
const OPENING: usize = 32;
/// The pause between two alarms.
const PAUSE: Duration = Duration::from_secs(1);

/// Open sessions, whose polls are held after [`Polls::begin`].
pub(super) struct Polls {
    target: Arc<Target>,
    device: String,
    sessions: Vec<(Connection, String)>,
    running: JoinSet<()>,
    delivered: Arc<AtomicU64>,
    count: usize,
}

impl Polls {
    /// Opens sessions that subscribe to the alarms of a device.
    pub(super) async fn open(target: &Arc<Target>, count: u32) -> Result<Self, Error> {
        let device = device(target).await?;
        let progress = Progress::count("sessions", count as usize);
        let (mut sessions, mut opening, mut begun) = (Vec::with_capacity(count as usize), JoinSet::new(), 0);
        while sessions.len() < count as usize {
            while begun < count && opening.len() < OPENING {
                opening.spawn(open_session(Arc::clone(target), device.clone()));
                begun += 1;
            }
            if let Some(opened) = opening.join_next().await {
                sessions.push(opened.map_err(std::io::Error::other)??);
                progress.advance();
            }
        }
        let count = sessions.len();
        let (target, running) = (Arc::clone(target), JoinSet::new());
        Ok(Self { target, device, sessions, running, delivered: Arc::default(), count })
    }

    /// Holds the polls, and starts to post alarms.
    pub(super) fn begin(&mut self) {
        for (connection, client) in self.sessions.drain(..) {
            let request = connect(&self.target, &client);
            self.running.spawn(poll_forever(connection, request, Arc::clone(&self.delivered)));
        }
        self.running.spawn(post_forever(Arc::clone(&self.target), self.device.clone()));
    }

    pub(super) fn restart_count(&self) {
        self.delivered.store(0, Ordering::Relaxed);
    }

    pub(super) async fn end(mut self, seconds: f64) -> String {
        let delivered = self.delivered.load(Ordering::Relaxed) as f64 / seconds;
        let left = self.running.len().saturating_sub(1);
        self.running.shutdown().await;
        format!("{left} of {} polls, {delivered:.0} deliveries/s", self.count)
    }
}

async fn open_session(target: Arc<Target>, device: String) -> Result<(Connection, String), Error> {
    let mut connection = target.connect().await?;
    let handshake = json!([{"channel": "/meta/handshake", "version": "1.0",
        "supportedConnectionTypes": ["long-polling"], "advice": {"interval": 600_000}}]);
    let reply = reply(&mut connection, &target, &handshake).await?;
    let refused = || Error::Bayeux { channel: "/meta/handshake", reason: reply.to_string() };
    let client = reply["clientId"].as_str().ok_or_else(refused)?.to_owned();
    let channel = format!("/alarms/{device}");
    let subscribe = json!([{"channel": "/meta/subscribe", "clientId": client, "subscription": channel}]);
    self::reply(&mut connection, &target, &subscribe).await?;
    Ok((connection, client))
}

async fn reply(connection: &mut Connection, target: &Target, messages: &Value) -> Result<Value, Error> {
    let body = connection.body_of("opening a session", &target.post(PATH, &messages.to_string())).await?;
    let replies: Vec<Value> = serde_json::from_slice(body).unwrap_or_default();
    Ok(replies.into_iter().next_back().unwrap_or_default())
}

fn connect(target: &Target, client: &str) -> Vec<u8> {
    let connect = json!([{"channel": "/meta/connect", "clientId": client, "connectionType": "long-polling"}]);
    target.post(PATH, &connect.to_string())
}

async fn poll_forever(mut connection: Connection, request: Vec<u8>, delivered: Arc<AtomicU64>) {
    loop {
        if connection.send(&request).await.is_err() {
            return;
        }
        match connection.receive().await {
            Ok(response) if response.status == 200 && response.body.len() > 200 => {
                delivered.fetch_add(1, Ordering::Relaxed);
            }
            Ok(response) if response.status == 200 => {}
            _ => return,
        }
    }
}

async fn post_forever(target: Arc<Target>, device: String) {
    let mut connection = None;
    for number in 0_u64.. {
        if connection.is_none() {
            connection = target.connect().await.ok();
        }
        let alarm = json!({
            "source": {"id": device}, "type": format!("noisy {number}"), "text": "noise", "severity": "MINOR",
            "status": "ACTIVE", "time": "2026-01-01T00:00:00.000Z",
        });
        if let Some(open) = &mut connection
            && open.call("posting an alarm", &target.post("/alarm/alarms", &alarm.to_string())).await.is_err()
        {
            connection = None;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
