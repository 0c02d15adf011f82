//! Notifications to systemd: the server is starting, ready, working or stopping. Without systemd, the environment names
//! no socket, and nothing is sent.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::io;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{sleep, timeout};

/// The time until the next notification of a start: the recovery of a private PostgreSQL may take two minutes, during
/// which this program cannot notify.
const START: Duration = Duration::from_secs(180);
/// The interval of notifications while the server starts, because migrations of a large database may take long.
const STARTING: Duration = Duration::from_secs(10);
/// The additional time of a stop, beyond that of its settings: leases are released, and the private PostgreSQL stops.
const STOP: Duration = Duration::from_secs(60);

/// Notifies that the start continues, so that it may take longer than `TimeoutStartSec`.
pub fn starting() {
    tell(&[NotifyState::ExtendTimeoutUsec(micros(START))]);
}

/// Waits for the start of the server and notifies regularly that it continues.
pub async fn while_starting<T>(start: impl Future<Output = T>) -> T {
    tokio::select! {
        started = start => started,
        never = keep_starting() => match never {},
    }
}

async fn keep_starting() -> Infallible {
    loop {
        starting();
        sleep(STARTING).await;
    }
}

/// Notifies that the server is ready.
pub fn ready(base: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("ready at {base}"))]);
}

/// Notifies that the server stops, and extends the timeout to the time that its settings allow.
pub fn stopping(longest: Duration) {
    let timeout = NotifyState::ExtendTimeoutUsec(micros(longest + STOP));
    tell(&[NotifyState::Stopping, NotifyState::Status("stopping"), timeout]);
}

/// Notifies regularly that the server works, if the unit has a `WatchdogSec`. systemd kills and restarts a server
/// without a notification for that time. The server therefore notifies only after a successful liveness check: a server
/// that hangs does not notify, even if its timers run.
pub async fn keep_watch(is_alive: impl AsyncFn() -> io::Result<()>) -> Infallible {
    let Some(limit) = sd_notify::watchdog_enabled() else { return pending().await };
    loop {
        match timeout(limit / 2, is_alive()).await {
            Ok(Ok(())) => tell(&[NotifyState::Watchdog]),
            Ok(Err(error)) => tracing::warn!(%error, "the liveness check failed"),
            Err(_) => tracing::warn!(waited = ?limit / 2, "the liveness check timed out"),
        }
        sleep(limit / 4).await;
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd could not be notified");
    }
}

fn micros(time: Duration) -> u32 {
    time.as_micros().try_into().unwrap_or(u32::MAX)
}
