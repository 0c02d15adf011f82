//! The prerequisites of a server on its machine: a certificate, a secret key, an address.
//!
//! All of them are checked before a database is created or changed, because most first starts that fail do so here: the
//! port is in use, or a file cannot be read.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Socket, TcpKeepalive, Type};

use crate::config::Settings;
use crate::start_error::StartError;
use crate::tls::Tls;

/// The interval of TCP keep-alive, which detects peers that silently disappeared behind a NAT.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(120);
/// The number of connections that may wait to be accepted when a fleet reconnects.
const BACKLOG: i32 = 8192;

/// The setting of the address for operators.
pub const ADMIN_LISTEN: &str = "--admin-listen";

/// The checked prerequisites: this server can start on this machine.
pub struct Prerequisites {
    /// The TLS configuration of connections.
    pub tls: Option<Arc<Tls>>,
    clients: BoundAddress,
    operators: Option<BoundAddress>,
}

/// The sockets on which a server listens.
pub struct Listeners {
    /// The listener for clients.
    pub clients: TcpListener,
    /// The listener for health and metrics, with its address, if one is configured.
    pub operators: Option<(SocketAddr, TcpListener)>,
}

impl Prerequisites {
    /// Reads the certificate and binds the addresses.
    ///
    /// # Errors
    /// [`StartError`]; nothing has been created or changed.
    pub fn check(settings: &Settings) -> Result<Self, StartError> {
        let tls = Tls::load(&settings.tls).map_err(StartError::Tls)?;
        let clients = BoundAddress::take("--listen", settings.listen)?;
        let operators =
            settings.admin_listen.map(|address| BoundAddress::take(ADMIN_LISTEN, address)).transpose()?;
        Ok(Self { tls, clients, operators })
    }

    /// Returns the address on which the server will listen. For port 0 it contains the port that the system selected.
    pub fn address(&self) -> SocketAddr {
        self.clients.address
    }

    /// Returns the scheme of the server: `https` or `http`.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Returns the scheme, address and port.
    pub fn base(&self) -> String {
        format!("{}://{}", self.scheme(), self.address())
    }

    /// Starts to listen. From now on connections wait to be accepted.
    pub fn listen(self) -> Result<Listeners, StartError> {
        let operators = match self.operators {
            Some(place) => Some((place.address, place.listen()?)),
            None => None,
        };
        Ok(Listeners { clients: self.clients.listen()?, operators })
    }
}

/// An address with its socket, which is bound; no client can connect yet.
struct BoundAddress {
    flag: &'static str,
    address: SocketAddr,
    socket: Socket,
}

impl BoundAddress {
    /// Binds the address of a setting.
    fn take(flag: &'static str, address: SocketAddr) -> Result<Self, StartError> {
        let refused = |cause| StartError::Listen { flag, address, cause };
        let socket = take(address).map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?.as_socket().unwrap_or(address);
        Ok(Self { flag, address, socket })
    }

    fn listen(self) -> Result<TcpListener, StartError> {
        let Self { flag, address, socket } = self;
        socket.listen(BACKLOG).map_err(|cause| StartError::Listen { flag, address, cause })?;
        Ok(socket.into())
    }
}

fn take(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    // Connections inherit both options. A small response must not wait for an acknowledgement. Errors are ignored,
    // because the server also works without the options, only with delays.
    socket.set_tcp_nodelay(true).ok();
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(TCP_KEEP_ALIVE)).ok();
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}
