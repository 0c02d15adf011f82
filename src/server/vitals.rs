//! The proof that a server works, for systemd's watchdog.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use platform_actors::Platform;
use rustix::io::Errno;

use crate::self_request::{self, Answer, Protocol};
use crate::stop::Stop;

/// The timeout of a request of the server to itself. In a storm of connections it waits among them.
const PATIENCE: Duration = Duration::from_secs(60);

/// What proves that a server works.
pub(crate) struct Vitals {
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

    /// Resolves when the server has proved that it works: every thread of connections and of actors has processed a
    /// message, and a request over the network got a response. It does not need the database: while that is
    /// unreachable the server keeps its sessions, and a restart would end them.
    ///
    /// # Errors
    /// The request got no response of HTTP, or a thread has ended.
    pub(crate) async fn prove(&self) -> io::Result<()> {
        // A server that stops accepts no connections any more; its stop has a limit of its own.
        if self.stop.has_begun() {
            return Ok(());
        }
        self.platform.wait_for_threads().await.map_err(io::Error::other)?;
        match self_request::get(self.address, self.protocol, "/health/live", PATIENCE).await {
            Ok(Answer::Response { .. }) => Ok(()),
            Ok(Answer::Stranger) => Err(io::Error::other("there is no response at its own address")),
            // A server whose open files are used up serves those who are connected.
            Err(error) if is_out_of_files(&error) => Ok(()),
            Err(_) if self.stop.has_begun() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn is_out_of_files(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}
