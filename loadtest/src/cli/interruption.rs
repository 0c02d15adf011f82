//! The signals that end a run: Ctrl-C, and SIGTERM, which `timeout`, systemd, Docker and CI runners send.

use std::io;

use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};

/// Waits for a signal.
///
/// # Errors
/// The system does not allow a handler.
pub(crate) async fn interrupted() -> io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        pressed = ctrl_c() => pressed,
        _ = terminated.recv() => Ok(()),
    }
}
