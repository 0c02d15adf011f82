//! The messages of the devices: each posts something every so many seconds, spread over that time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::{JoinHandle, JoinSet};

use super::{Notes, Silence};
use crate::body::Kind;
use crate::ledger::Outcome;
use crate::poster::{Answers, Poster};
use crate::target::Target;

/// Connections that post.
const CONNECTIONS: usize = 32;

/// All devices speaking.
#[derive(Debug)]
pub(super) struct Heartbeat {
    is_silent: Arc<AtomicBool>,
    conductor: JoinHandle<()>,
    posters: JoinSet<Answers>,
}

type Turns = Arc<Mutex<mpsc::UnboundedReceiver<usize>>>;

impl Heartbeat {
    /// Lets every device speak every so often.
    pub(super) fn start(
        target: &Arc<Target>,
        ids: &Arc<Vec<String>>,
        notes: &Arc<Notes>,
        silence: Silence,
        (kind, every): (Kind, Duration),
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

    /// From now on the silent devices do not speak.
    pub(super) fn silence(&self) {
        self.is_silent.store(true, Ordering::Relaxed);
    }

    /// From now on they do again.
    pub(super) fn speak_again(&self) {
        self.is_silent.store(false, Ordering::Relaxed);
    }

    /// Nobody speaks any more.
    pub(super) async fn stop(mut self) -> Answers {
        // With the conductor the sender goes, and the posters end.
        self.conductor.abort();
        let mut answers = Answers::new();
        while let Some(Ok(poster)) = self.posters.join_next().await {
            answers.add(&poster);
        }
        answers
    }
}

/// Gives the devices their turns.
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

async fn speak(mut poster: Poster, turns: Turns, ids: Arc<Vec<String>>, notes: Arc<Notes>) -> Answers {
    loop {
        let turn = turns.lock().await.recv().await;
        let Some(device) = turn else { return poster.answers };
        let sent = notes.run.now();
        if poster.post(device as u32, &ids[device], sent).await == Outcome::Acknowledged {
            notes.vigil().heard(device, sent, notes.run.now());
        }
    }
}
