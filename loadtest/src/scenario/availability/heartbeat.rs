//! The messages of the devices: each posts at a fixed interval, and the devices are spread over that
//! interval.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::{JoinHandle, JoinSet};

use super::{AvailabilityRecord, Silence};
use crate::ledger::Outcome;
use crate::protocol::body::Kind;
use crate::target::Target;
use crate::traffic::poster::{Poster, Responses};

/// The number of connections that post.
const CONNECTIONS: usize = 32;

/// The running messages of all devices.
#[derive(Debug)]
pub(super) struct Heartbeat {
    is_silent: Arc<AtomicBool>,
    conductor: JoinHandle<()>,
    posters: JoinSet<Responses>,
}

type Turns = Arc<Mutex<mpsc::UnboundedReceiver<usize>>>;

impl Heartbeat {
    /// Starts messages of every device at an interval.
    pub(super) fn start(
        target: &Arc<Target>,
        ids: &Arc<Vec<String>>,
        notes: &Arc<AvailabilityRecord>,
        silence: Silence,
        kind: Kind,
        every: Duration,
    ) -> Self {
        let (sender, turns) = mpsc::unbounded_channel();
        let turns = Arc::new(Mutex::new(turns));
        let is_silent = Arc::new(AtomicBool::new(false));
        let conductor = tokio::spawn(conduct(sender, Arc::clone(&is_silent), silence, every));
        let mut posters = JoinSet::new();
        let headers: Arc<str> = target.quiet_post_headers().into();
        for _ in 0..CONNECTIONS {
            let poster = Poster::new(target, &notes.run, 0).with(kind, &headers);
            posters.spawn(speak(poster, Arc::clone(&turns), Arc::clone(ids), Arc::clone(notes)));
        }
        Self { is_silent, conductor, posters }
    }

    /// Stops the messages of the silent devices.
    pub(super) fn silence(&self) {
        self.is_silent.store(true, Ordering::Relaxed);
    }

    /// Resumes the messages of the silent devices.
    pub(super) fn speak_again(&self) {
        self.is_silent.store(false, Ordering::Relaxed);
    }

    /// Stops all messages.
    pub(super) async fn stop(mut self) -> Responses {
        // The conductor owns the sender, so the posters end with it.
        self.conductor.abort();
        let mut responses = Responses::default();
        while let Some(Ok(poster)) = self.posters.join_next().await {
            responses.add(&poster);
        }
        responses
    }
}

/// Hands the devices to the posters, each at its time.
async fn conduct(
    turns: mpsc::UnboundedSender<usize>,
    is_silent: Arc<AtomicBool>,
    silence: Silence,
    every: Duration,
) {
    let started = tokio::time::Instant::now();
    let apart = every / silence.devices as u32;
    for (turn, device) in (0..).zip((0..silence.devices).cycle()) {
        tokio::time::sleep_until(started + apart * turn).await;
        let speaks = !(is_silent.load(Ordering::Relaxed) && silence.holds(device));
        if speaks && turns.send(device).is_err() {
            return;
        }
    }
}

async fn speak(
    mut poster: Poster,
    turns: Turns,
    ids: Arc<Vec<String>>,
    notes: Arc<AvailabilityRecord>,
) -> Responses {
    loop {
        let turn = turns.lock().await.recv().await;
        let Some(device) = turn else { return poster.responses };
        let sent = notes.run.now();
        if poster.post(device as u32, &ids[device], sent).await == Outcome::Acknowledged {
            notes.vigil.lock().heard(device, sent, notes.run.now());
        }
    }
}
