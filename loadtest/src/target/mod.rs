//! The server under load: its address, the credentials, and the source addresses of connections. The modules are
//! HTTP/1.1 over one connection after the other, and the process of the server.

pub(crate) mod child;
pub(crate) mod connection;
pub(crate) mod pages;
pub(crate) mod process;
mod requests;
pub(crate) mod response;
pub(crate) mod stream;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::ValueEnum;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};
use tokio::net::TcpSocket;

use crate::error::Error;
use crate::target::connection::Connection;
use crate::target::stream::{Encryption, Stream};

/// The number of connections from one source address before the next one is used; a source address has about
/// 28,000 ports.
const CONNECTIONS_PER_SOURCE: u32 = 20_000;
/// The first port of a source address that is requested; it is below those that the kernel assigns itself.
const FIRST_PORT: u16 = 10_000;
/// The header that requests a response with a body.
const ACCEPT: &str = "Accept: application/json\r\n";
/// The open files that a run needs besides those of the clients that wait: posters, and the runtime itself.
const OTHER_FILES: u64 = 200;
/// The number of failed connections in a row after which the server counts as lost.
const CHECKS: u32 = 10;
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The timeout of a TCP connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The certificates that https targets are checked against, unless they are those of the system.
pub(crate) static CA_FILE: OnceLock<PathBuf> = OnceLock::new();

/// A server of another kind, with whose figures those of the platform are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Floor {
    /// Nchan, configured by floors/nchan.conf
    Nchan,
}

/// The targets that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Loopback addresses only.
    Loopback,
    /// Any address; the caller vouches for the right to load it.
    Anywhere,
}

/// A server, with the credentials of requests.
#[derive(Debug)]
pub(crate) struct Target {
    address: SocketAddr,
    authority: String,
    authorization: String,
    post_headers: String,
    floor: Option<Floor>,
    encryption: Option<Encryption>,
    opened: Arc<AtomicU32>,
}

impl Target {
    /// Resolves `http://host[:port]` or `https://host[:port]`; `user` may be `tenant/user`.
    ///
    /// # Errors
    /// The URL is not such an address, does not resolve, or is not loopback although `reach` requires it.
    pub(crate) fn resolve(url: &str, reach: Reach, user: &str, password: &str) -> Result<Self, Error> {
        let refused = |reason: &str| Error::Refused(format!("{url}: {reason}"));
        let (scheme, authority) = url.split_once("://").unwrap_or(("", url));
        let port = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return Err(refused("only http:// and https:// targets")),
        };
        let authority = authority.trim_end_matches('/');
        if authority.contains(['/', '?', '#', '@']) {
            return Err(refused("write scheme, host and port only, such as http://127.0.0.1:8080"));
        }
        let host = authority.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        let with_port = if host.is_some() { authority.to_owned() } else { format!("{authority}:{port}") };
        let addresses: Vec<SocketAddr> = with_port.to_socket_addrs()?.collect();
        let address = *addresses
            .iter()
            .find(|address| address.is_ipv4())
            .or(addresses.first())
            .ok_or_else(|| refused("resolves to nothing"))?;
        if reach == Reach::Loopback && !address.ip().is_loopback() {
            return Err(refused("not a loopback address; --allow-remote-target lifts this"));
        }
        let ca_file = CA_FILE.get().map(PathBuf::as_path);
        let host = host.map_or(authority, |(host, _)| host);
        let encryption = (scheme == "https").then(|| Encryption::new(host, ca_file)).transpose()?;
        Ok(Self {
            address,
            authority: authority.to_owned(),
            authorization: basic(user, password),
            post_headers: ACCEPT.to_owned(),
            floor: None,
            encryption,
            opened: Arc::default(),
        })
    }

    /// Returns the same server, accessed as the same user.
    pub(crate) fn same(&self) -> Self {
        Self { authorization: self.authorization.clone(), ..self.with_user("", "") }
    }

    /// Takes the server for one of another kind, if a floor is given.
    pub(crate) fn of_kind(self, floor: Option<Floor>) -> Self {
        Self { floor, ..self }
    }

    /// Returns the kind of the server, if it is not the platform.
    pub(crate) fn floor(&self) -> Option<Floor> {
        self.floor
    }

    /// Sends this header, `Name: value`, with every measured post.
    pub(crate) fn with_post_header(mut self, header: &str) -> Self {
        self.post_headers += &header_line(header);
        self
    }

    /// Returns the same server, accessed as another user; all users share the source addresses.
    pub(crate) fn with_user(&self, user: &str, password: &str) -> Self {
        Self {
            address: self.address,
            authority: self.authority.clone(),
            authorization: basic(user, password),
            post_headers: self.post_headers.clone(),
            floor: self.floor,
            encryption: self.encryption.clone(),
            opened: Arc::clone(&self.opened),
        }
    }

    /// Returns the same server, accessed with this token.
    pub(crate) fn with_bearer(&self, token: &str) -> Self {
        Self { authorization: format!("Bearer {token}"), ..self.with_user("", "") }
    }

    /// Returns the same server, accessed by the device of a certificate.
    ///
    /// # Errors
    /// The connections to the server are not encrypted, or the certificate cannot be used.
    pub(crate) fn with_certificate(
        &self,
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, Error> {
        let encryption = self.encryption.as_ref();
        let encryption = encryption.ok_or_else(|| {
            Error::Refused("--certificates needs an address that begins with https".to_owned())
        })?;
        let encryption = Some(encryption.with_certificate(certificate, key)?);
        Ok(Self { authorization: String::new(), encryption, ..self.with_user("", "") })
    }

    /// Returns the id of the tenant that the user belongs to.
    ///
    /// # Errors
    /// The server does not return it.
    pub(crate) async fn tenant(&self) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Tenant {
            name: String,
        }
        let request = self.get("/tenant/currentTenant");
        let tenant = self.connect().await?.json(200, "asking for the tenant", &request).await;
        tenant.map(|Tenant { name }| name)
    }

    /// Checks that the server responds to the user.
    ///
    /// # Errors
    /// No server listens, or the user is rejected; the error contains a hint.
    pub(crate) async fn check(&self) -> Result<(), Error> {
        let hint = match self.tenant().await {
            Ok(_) => return Ok(()),
            Err(Error::Status { status: 401, .. }) => {
                "the user or the password is wrong; set --user and LOADTEST_PASSWORD".to_owned()
            }
            // A floor knows no tenants.
            Err(Error::Status { status: 404, .. }) => return Ok(()),
            Err(error) => format!("{error}; start the server, or name another one with --url"),
        };
        Err(Error::Refused(format!("{}: {hint}", self.authority)))
    }

    /// Waits until the server has accepted no connection for some seconds; returns that in words.
    pub(crate) async fn lost(&self) -> String {
        let mut failures = 0;
        while failures < CHECKS {
            tokio::time::sleep(CHECK_INTERVAL).await;
            failures = if self.open_stream().await.is_ok() { 0 } else { failures + 1 };
        }
        format!("{} accepts no connection since {CHECKS} seconds", self.authority)
    }

    /// Returns the complete header lines of every measured post, which request a response with a body.
    pub(crate) fn post_headers(&self) -> &str {
        &self.post_headers
    }

    /// Returns these header lines without the request for a body.
    pub(crate) fn quiet_post_headers(&self) -> &str {
        self.post_headers.strip_prefix(ACCEPT).unwrap_or_default()
    }

    /// Returns host and port as the URL has them.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the URL of the server.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.encryption.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.authority)
    }

    /// Begins with another source address than other processes of this machine, which have other numbers.
    pub(crate) fn starting_at_source(self, number: usize) -> Self {
        self.opened.store(number as u32 * CONNECTIONS_PER_SOURCE, Ordering::Relaxed);
        self
    }

    /// Returns the value of the `Authorization` header.
    pub(crate) fn authorization(&self) -> &str {
        &self.authorization
    }

    /// Returns the TCP port of the server.
    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Opens a connection for HTTP requests.
    ///
    /// # Errors
    /// No connection within 20 s, or no free port.
    pub(crate) async fn connect(&self) -> Result<Connection, Error> {
        Ok(Connection::new(self.open_stream().await?))
    }

    /// Opens a socket from the next source address. It is reset, not closed, when dropped: ten thousand
    /// sockets in TIME_WAIT would occupy the ports of the next run.
    ///
    /// # Errors
    /// Fails like [`Self::connect`].
    pub(crate) async fn open_stream(&self) -> Result<Stream, Error> {
        let socket = if self.address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_nodelay(true)?;
        socket.set_zero_linger()?;
        if let Some(source) = self.next_source() {
            socket.set_reuseaddr(true)?;
            // The kernel takes ever longer to find a free port, so one is named that should be free.
            socket.bind(source).or_else(|_| socket.bind(SocketAddr::new(source.ip(), 0)))?;
        }
        let connecting = async {
            let stream = socket.connect(self.address).await?;
            match &self.encryption {
                Some(encryption) => encryption.wrap(stream).await,
                None => Ok(Stream::Plain(stream)),
            }
        };
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
        Ok(connected.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??)
    }

    fn next_source(&self) -> Option<SocketAddr> {
        let is_ipv4_loopback = matches!(self.address.ip(), IpAddr::V4(ip) if ip.is_loopback());
        let opened = self.opened.fetch_add(1, Ordering::Relaxed);
        let last_octet = 1 + (opened / CONNECTIONS_PER_SOURCE) % 250;
        let source = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last_octet as u8));
        let port = FIRST_PORT + (opened % CONNECTIONS_PER_SOURCE) as u16;
        // The default source address need not be requested.
        (is_ipv4_loopback && source != self.address.ip()).then_some(SocketAddr::new(source, port))
    }
}

/// Returns a complete header line.
pub(crate) fn header_line(header: &str) -> String {
    format!("{}\r\n", header.trim())
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
}

/// Raises the soft limit of open files to the hard limit; each poll needs a file descriptor.
pub(crate) fn raise_open_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // If this fails, the run ends later with a clear "too many open files".
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).ok();
}

/// Returns whether this number of clients may be open at the same time; each needs an open file.
///
/// # Errors
/// The limit of open files is too low; the error contains the necessary limit.
pub(crate) fn expect_open_files(clients: usize) -> Result<(), Error> {
    expect_within(clients, getrlimit(Resource::Nofile).current)
}

fn expect_within(clients: usize, limit: Option<u64>) -> Result<(), Error> {
    let needed = clients as u64 + OTHER_FILES;
    match limit {
        Some(limit) if limit < needed => Err(Error::Refused(format!(
            "{clients} clients need about {needed} open files, and this process may have {limit}; \
             raise the limit before, with `ulimit -n {needed}`"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(url: &str, reach: Reach) -> Result<Target, Error> {
        Target::resolve(url, reach, "main/admin", "secret")
    }

    #[test]
    fn loopback_targets_are_accepted() {
        for url in ["http://127.0.0.1:8080", "http://127.0.0.9:8080/", "http://[::1]:8080"] {
            assert_eq!(resolve(url, Reach::Loopback).unwrap().port(), 8080, "{url}");
        }
    }

    #[test]
    fn remote_targets_are_rejected_unless_allowed() {
        let url = "http://192.0.2.1:8080";
        assert!(matches!(resolve(url, Reach::Loopback), Err(Error::Refused(_))));
        assert!(resolve(url, Reach::Anywhere).is_ok());
    }

    #[test]
    fn limit_of_open_files_is_compared_with_the_clients() {
        assert!(expect_within(824, Some(1024)).is_ok() && expect_within(10_000, None).is_ok());
        let error = expect_within(10_000, Some(1024)).unwrap_err().to_string();
        assert!(error.contains("10200 open files, and this process may have 1024"), "{error}");
        assert!(error.ends_with("`ulimit -n 10200`"), "{error}");
    }

    #[test]
    fn other_schemes_are_rejected() {
        for url in ["ftp://127.0.0.1:1", "127.0.0.1:1", ""] {
            assert!(matches!(resolve(url, Reach::Loopback), Err(Error::Refused(_))), "{url}");
        }
    }

    #[test]
    fn source_address_changes_before_its_ports_run_out() {
        let target = resolve("http://127.0.0.1:8080", Reach::Loopback).unwrap();
        let other = target.with_user("other", "secret");
        target.opened.store(CONNECTIONS_PER_SOURCE - 1, Ordering::Relaxed);
        let sources = [target, other].map(|target| target.next_source().map(|source| source.to_string()));
        assert_eq!(sources, [None, Some("127.0.0.2:10000".to_owned())]);
    }
}
