//! A receiver of a webhook that fails as the test plans, checks every signature, and remembers what it accepted.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use platform_test_harness::{eventually_within, free_port};
use ring::hmac;
use serde_json::Value;

/// The secret of the signatures.
pub(crate) const SECRET: &str = "secret of the webhook";

/// A way in which the receiver treats a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// It reads the request and never responds.
    Hang,
    /// It closes the connection before it has read the request.
    Reset,
    /// It accepts the request, and the response is lost.
    Swallow,
    /// It responds with this status.
    Refuse(u16),
}

#[derive(Default)]
struct State {
    plan: Mutex<VecDeque<Behaviour>>,
    accepted: Mutex<Vec<Value>>,
    is_dead: AtomicBool,
}

/// A receiver at one address, which can die and come back.
pub(crate) struct Receiver {
    state: Arc<State>,
    port: u16,
    listening: Option<JoinHandle<()>>,
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let mut receiver = Self { state: Arc::default(), port: free_port(), listening: None };
        receiver.revive();
        receiver
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// Plans what happens to the next requests; further ones are accepted.
    pub(crate) fn plan(&self, behaviours: impl IntoIterator<Item = Behaviour>) {
        self.state.plan.lock().unwrap().extend(behaviours);
    }

    /// Closes the address.
    pub(crate) fn die(&mut self) {
        self.state.is_dead.store(true, Ordering::SeqCst);
        TcpStream::connect(("127.0.0.1", self.port)).ok();
        self.listening.take().map(JoinHandle::join);
    }

    /// Opens the address.
    pub(crate) fn revive(&mut self) {
        self.state.is_dead.store(false, Ordering::SeqCst);
        let (listener, state) = (TcpListener::bind(("127.0.0.1", self.port)).unwrap(), self.state.clone());
        self.listening = Some(std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if state.is_dead.load(Ordering::SeqCst) {
                    return;
                }
                let state = state.clone();
                std::thread::spawn(move || state.serve(stream));
            }
        }));
    }

    /// Waits until it has accepted exactly these types of alarms, each at one position.
    pub(crate) async fn has(&self, types: &[String]) {
        eventually_within(Duration::from_secs(60), "all notifications at the receiver", async || {
            let accepted = self.state.accepted.lock().unwrap();
            (super::bridges::in_order(&accepted) == types).then_some(())
        })
        .await;
    }

    /// Returns how many notifications it accepted more than once.
    pub(crate) fn repetitions(&self) -> usize {
        let accepted = self.state.accepted.lock().unwrap();
        accepted.len() - super::bridges::in_order(&accepted).len()
    }
}

impl State {
    fn serve(&self, stream: TcpStream) {
        let behaviour = self.plan.lock().unwrap().pop_front();
        if behaviour == Some(Behaviour::Reset) {
            // Bytes that nobody has read make the system reset the connection.
            let _ = (&stream).read(&mut [0; 1]);
            return;
        }
        let Some(request) = Request::read(&stream) else { return };
        if request.is_get {
            return respond(&stream, 204);
        }
        let notifications = request.checked();
        let is_poison = notifications.iter().any(|one| one["data"]["data"]["type"] == "poison");
        match behaviour {
            Some(Behaviour::Hang) => {
                // The client gives up.
                let _ = (&stream).read(&mut [0; 1]);
            }
            Some(Behaviour::Refuse(status)) => respond(&stream, status),
            None if is_poison => respond(&stream, 422),
            _ => {
                self.accepted.lock().unwrap().extend(notifications);
                if behaviour != Some(Behaviour::Swallow) {
                    respond(&stream, 204);
                }
            }
        }
    }
}

fn respond(mut stream: &TcpStream, status: u16) {
    // A client that follows with a GET gets 204, and has lost the content.
    let more = if status == 302 { "Location: /elsewhere\r\n" } else { "" };
    let head =
        format!("HTTP/1.1 {status} As planned\r\nContent-Length: 0\r\nConnection: close\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).ok();
}

/// A request with its signature.
struct Request {
    is_get: bool,
    timestamp: String,
    signature: String,
    body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let (mut length, mut timestamp, mut signature) = (0, String::new(), String::new());
        let mut first = String::new();
        reader.read_line(&mut first).ok()?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").unwrap_or((line, ""));
            match &*name.to_ascii_lowercase() {
                "content-length" => length = value.parse().ok()?,
                "webhook-timestamp" => timestamp = value.to_owned(),
                "webhook-signature" => signature = value.to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { is_get: first.starts_with("GET "), timestamp, signature, body })
    }

    /// Checks the signature and returns the notifications.
    fn checked(&self) -> Vec<Value> {
        let signed = [self.timestamp.as_bytes(), b".", &*self.body].concat();
        let given = self.signature.strip_prefix("sha256=").unwrap();
        let given: Vec<u8> = (0..given.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&given[at..at + 2], 16).unwrap())
            .collect();
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
        hmac::verify(&key, &signed, &given).expect("the signature fits time and body");
        let age = time::OffsetDateTime::now_utc().unix_timestamp() - self.timestamp.parse::<i64>().unwrap();
        assert!((0..60).contains(&age), "the time is {age} s ago");
        let body: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(body["consumer"], "bridge");
        body["notifications"].as_array().unwrap().clone()
    }
}
