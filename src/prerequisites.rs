//! What a server needs of its machine: a certificate, a secret key, an address.
//!
//! All of it is looked at before a database is made or changed, for most first starts that fail do so here: on a port that is
//! in use, or on a file that cannot be read.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Socket, TcpKeepalive, Type};

use crate::config::Settings;
use crate::secret_key;
use crate::server::StartError;
use crate::tls::Tls;

/// TCP keep-alive finds peers that vanished behind a NAT without a word.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(120);
/// Connections that may wait to be accepted when a fleet reconnects.
const BACKLOG: i32 = 8192;

/// A machine on which this server can start.
pub struct Prerequisites {
    /// What connections are encrypted with.
    pub(crate) tls: Option<Arc<Tls>>,
    /// The address, taken; nobody can connect yet.
    socket: Socket,
    address: SocketAddr,
}

impl Prerequisites {
    /// Reads the certificate, looks at the secret key and takes the address.
    ///
    /// # Errors
    /// [`StartError`]; nothing was made or changed.
    pub fn check(settings: &Settings) -> Result<Self, StartError> {
        let tls = Tls::load(&settings.tls).map_err(StartError::Tls)?;
        secret_key::load(&settings.store)?;
        let refused = |cause| StartError::Listen { address: settings.listen, cause };
        let socket = take(settings.listen).map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?.as_socket().unwrap_or(settings.listen);
        Ok(Self { tls, socket, address })
    }

    /// Where the server will listen; with port 0 the port the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https` or `http`: how the server will be spoken to.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Scheme, address and port.
    pub fn base(&self) -> String {
        format!("{}://{}", self.scheme(), self.address)
    }

    /// From here on connections wait to be accepted.
    pub(crate) fn listen(self) -> Result<TcpListener, StartError> {
        let refused = |cause| StartError::Listen { address: self.address, cause };
        self.socket.listen(BACKLOG).map_err(refused)?;
        Ok(self.socket.into())
    }
}

fn take(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    // Connections inherit both. A small answer must not wait for an acknowledgement; without either everything works, only later.
    socket.set_tcp_nodelay(true).ok();
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(TCP_KEEP_ALIVE)).ok();
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// What an operator can do about an address that is refused, as the end of a sentence.
pub(crate) fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::AddrInUse => {
            "; another program listens there: stop it, or choose another address with --listen (with port 0 the system chooses)"
        }
        io::ErrorKind::PermissionDenied => {
            "; ports below 1024 are for root and for programs with CAP_NET_BIND_SERVICE: choose another with --listen"
        }
        io::ErrorKind::AddrNotAvailable => "; this machine has no such address: choose another with --listen",
        _ => "",
    }
}
