//! Identity providers for the tests: one that the tests control, one of npm, and one of PyPI.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::net::TcpListener;

use super::*;
use crate::harness::issuer::{RSA_2048, now};
use crate::harness::{node, python};

pub(super) const AUDIENCE: &str = "https://platform.example.com";

/// An identity provider whose keys and description the test chooses.
pub(super) struct Provider {
    pub(super) issuer: String,
    pub(super) description: Mutex<Value>,
    pub(super) keys: Mutex<Vec<Value>>,
    pub(super) is_down: AtomicBool,
    /// The ID token for which every code is redeemed.
    pub(super) id_token: Mutex<String>,
    /// The last request that redeemed a code: its head and its form.
    pub(super) redeemed: Mutex<(String, String)>,
    /// The response that begins a log-in of a command.
    pub(super) begun: Mutex<Value>,
    /// The errors with which the next requests for a token end.
    pub(super) errors: Mutex<VecDeque<&'static str>>,
}

impl Provider {
    pub(super) async fn start(keys: Vec<Value>) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}/realms/acme", listener.local_addr().unwrap());
        let description = json!({
            "issuer": issuer, "jwks_uri": format!("{issuer}/keys"),
            "authorization_endpoint": format!("{issuer}/authorize"), "token_endpoint": format!("{issuer}/token"),
            "device_authorization_endpoint": format!("{issuer}/device"),
            "end_session_endpoint": format!("{issuer}/end?x=1"),
        });
        let begun = json!({
            "device_code": "dev1ce", "user_code": "WDJB-MJHT", "verification_uri": format!("{issuer}/enter"),
            "expires_in": 60, "interval": 1,
        });
        let provider = Arc::new(Self {
            issuer,
            description: Mutex::new(description),
            keys: Mutex::new(keys),
            is_down: AtomicBool::new(false),
            id_token: Mutex::default(),
            redeemed: Mutex::default(),
            begun: Mutex::new(begun),
            errors: Mutex::default(),
        });
        tokio::spawn(provider.clone().serve(listener));
        provider
    }

    async fn serve(self: Arc<Self>, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            let mut connection = RawConnection::accepted(stream);
            let mut request = connection.read_until("\r\n\r\n").await;
            let (head, _) = request.split_once("\r\n\r\n").unwrap();
            let head = head.to_owned();
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            while request.len() < head.len() + 4 + length.unwrap_or(0) {
                request += &String::from_utf8_lossy(&connection.read_at_most(4096).await);
            }
            let path = head.split(' ').nth(1).unwrap();
            let (status, body) = match self.is_down.load(Ordering::Relaxed) {
                true => ("500 Internal Server Error", String::new()),
                false => self.respond(path, &head, &request[head.len() + 4..]),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
            connection.send(head + &body).await;
        }
    }

    fn respond(&self, path: &str, head: &str, form: &str) -> (&'static str, String) {
        let body = match path {
            "/realms/acme/.well-known/openid-configuration" => self.description.lock().unwrap().clone(),
            "/realms/acme/keys" => json!({"keys": *self.keys.lock().unwrap()}),
            "/realms/acme/device" => self.begun.lock().unwrap().clone(),
            "/realms/acme/token" => {
                *self.redeemed.lock().unwrap() = (head.to_owned(), form.to_owned());
                if let Some(error) = self.errors.lock().unwrap().pop_front() {
                    return ("400 Bad Request", json!({"error": error}).to_string());
                }
                json!({"id_token": *self.id_token.lock().unwrap(), "access_token": "a"})
            }
            path => panic!("somebody requests {path}"),
        };
        ("200 OK", body.to_string())
    }

    /// Returns the host and the port, which the operator allows.
    pub(super) fn address(&self) -> &str {
        self.issuer.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// Returns valid claims of a person in these groups of the provider.
    pub(super) fn claims(&self, name: &str, groups: &[&str]) -> Value {
        let (iat, exp) = (now() - 1.0, now() + 3600.0);
        json!({
            "iss": self.issuer, "aud": [AUDIENCE, "other"], "sub": name, "iat": iat, "exp": exp,
            "realm": {"groups": groups}, "email": format!("{name}@example.com"), "given_name": "Mia",
        })
    }

    pub(super) fn token(&self, name: &str, groups: &[&str]) -> String {
        RSA_2048.sign(&RSA_2048.header(), &self.claims(name, groups))
    }

    pub(super) fn options(&self) -> Value {
        json!({
            "issuer": self.issuer, "audience": AUDIENCE, "groupsClaim": "realm.groups",
            "groups": r#"{"ops": "admins", "staff": "business"}"#,
        })
    }
}

/// The provider of PyPI, which the process ends with.
pub(super) struct Mocked {
    pub(super) issuer: String,
    _process: tokio::process::Child,
}

impl Mocked {
    /// Starts the provider; `None` if it cannot run here.
    pub(super) async fn start() -> Option<Self> {
        let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("oidc-provider-mock");
        let programs = match python::install_packages(&directory, "oidc-provider-mock==0.3.4\n") {
            Ok(programs) => programs,
            Err(missing) => {
                assert!(!other_programs_are_required(), "the identity provider cannot run: {missing}");
                eprintln!("SKIPPED the identity provider of PyPI: {missing}");
                return None;
            }
        };
        let command = |port: u16| {
            let mut command = tokio::process::Command::new(programs.join("oidc-provider-mock"));
            command.args(["--port", &port.to_string()]).stdout(std::process::Stdio::null());
            command
        };
        let (issuer, process) = started(command).await;
        Some(Self { issuer, _process: process })
    }
}

/// Starts a provider and returns its issuer when it responds. Another process may have taken the port meanwhile: then
/// the provider ends, and is started at another one.
async fn started(command: impl Fn(u16) -> tokio::process::Command) -> (String, tokio::process::Child) {
    eventually("the identity provider", async || {
        let port = free_port();
        let issuer = format!("http://127.0.0.1:{port}");
        let mut command = command(port);
        let mut process = command.stderr(std::process::Stdio::null()).kill_on_drop(true).spawn().unwrap();
        let description = format!("{issuer}/.well-known/openid-configuration");
        let deadline = Instant::now() + Duration::from_secs(60);
        while process.try_wait().unwrap().is_none() && Instant::now() < deadline {
            if reqwest::get(&description).await.is_ok() {
                return Some((issuer, process));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    })
    .await
}

/// The provider of npm, which the process ends with.
pub(super) struct Certified {
    pub(super) issuer: String,
    _process: tokio::process::Child,
}

impl Certified {
    /// Starts the provider for a platform; `None` if it cannot run here.
    pub(super) async fn start(platform: &str) -> Option<Self> {
        let suite = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
        if let Err(missing) = node::find_node().and_then(|()| node::install_packages(&suite)) {
            assert!(!other_programs_are_required(), "the identity provider cannot run: {missing}");
            eprintln!("SKIPPED the identity provider of npm: {missing}");
            return None;
        }
        let command = |port: u16| {
            let mut command = tokio::process::Command::new("node");
            command.arg(suite.join("identity_provider.mjs")).args([&port.to_string(), platform]);
            command
        };
        let (issuer, process) = started(command).await;
        Some(Self { issuer, _process: process })
    }

    /// Returns the host and the port, which the operator allows.
    pub(super) fn address(&self) -> &str {
        self.issuer.strip_prefix("http://").unwrap()
    }
}
