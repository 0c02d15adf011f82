//! What systemd is told of the server: that it starts, is ready, works, and stops. Without systemd, which then names no
//! socket in the environment, nothing is told.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{sleep, timeout};

use crate::server::Vitals;

/// The time that a start may take until it is told again that it goes on. A private PostgreSQL may recover for two
/// minutes before this program can tell anything.
const START: Duration = Duration::from_secs(180);
/// The interval at which systemd is told that a start goes on: migrations of a large database take their time.
const STARTING: Duration = Duration::from_secs(10);
/// The time that a stop may take beyond that of its settings: leases are given back, and a private PostgreSQL ends.
const STOP: Duration = Duration::from_secs(60);

/// Tells that the start goes on, so that it may take longer than `TimeoutStartSec`.
pub(crate) fn starting() {
    tell(&[NotifyState::ExtendTimeoutUsec(micros(START))]);
}

/// Waits for the start of the server, and tells meanwhile that it goes on.
pub(crate) async fn while_starting<T>(start: impl Future<Output = T>) -> T {
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

/// Tells that the server is ready.
pub(crate) fn ready(base: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("ready at {base}"))]);
}

/// Tells that the server stops, and that this may take as long as its settings say.
pub(crate) fn stopping(longest: Duration) {
    let timeout = NotifyState::ExtendTimeoutUsec(micros(longest + STOP));
    tell(&[NotifyState::Stopping, NotifyState::Status("stopping"), timeout]);
}

/// Tells again and again that the server works, if the unit has a `WatchdogSec`. Systemd kills and restarts a server
/// that tells nothing for that time. So the server tells it only after it has proved it: a hung one tells nothing,
/// though its timers run.
pub(crate) async fn keep_watch(vitals: Vitals) -> Infallible {
    let Some(limit) = sd_notify::watchdog_enabled() else { return pending().await };
    loop {
        match timeout(limit / 2, vitals.prove()).await {
            Ok(Ok(())) => tell(&[NotifyState::Watchdog]),
            Ok(Err(error)) => tracing::warn!(%error, "the server does not respond to itself"),
            Err(_) => tracing::warn!(waited = ?limit / 2, "the server does not respond to itself"),
        }
        sleep(limit / 4).await;
    }
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "systemd cannot be told what the server does");
    }
}

fn micros(time: Duration) -> u32 {
    time.as_micros().try_into().unwrap_or(u32::MAX)
}
