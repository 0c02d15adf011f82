//! The liveness check for the watchdog of systemd.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use platform_actors::Platform;
use platform_front::self_request::{self, Answer, Protocol};
use platform_front::stop::Stop;
use rustix::io::Errno;

/// The timeout of the server's request to itself, which waits in line with others when very many clients connect.
const PATIENCE: Duration = Duration::from_secs(60);

/// The liveness check of a server.
pub struct Vitals {
    platform: Arc<Platform>,
    stop: Arc<Stop>,
    address: SocketAddr,
    protocol: Protocol,
}

impl Vitals {
    pub(super) fn new(
        platform: Arc<Platform>,
        stop: Arc<Stop>,
        address: SocketAddr,
        protocol: Protocol,
    ) -> Self {
        Self { platform, stop, address, protocol }
    }

    /// Resolves when every thread for connections and for actors has processed a message and a request over the network
    /// got a response. The database is not checked: while it is unreachable, the server keeps its sessions, and a
    /// restart would end them.
    ///
    /// # Errors
    /// The request got no HTTP response, or a thread has ended.
    pub async fn prove(&self) -> io::Result<()> {
        // A stopping server accepts no connections; the stop has a time limit of its own.
        if self.stop.has_begun() {
            return Ok(());
        }
        self.platform.wait_for_threads().await.map_err(io::Error::other)?;
        match self_request::get(self.address, self.protocol, "/health/live", PATIENCE).await {
            Ok(Answer::Response { .. }) => Ok(()),
            Ok(Answer::Stranger) => Err(io::Error::other("there is no response at its own address")),
            // A server that has used up its open files still serves its connected clients.
            Err(error) if is_out_of_files(&error) => Ok(()),
            Err(_) if self.stop.has_begun() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn is_out_of_files(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}
