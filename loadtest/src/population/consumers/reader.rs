//! The reader of a consumer. It stays with its server as long as that responds, and otherwise continues at the next
//! one; with `round-robin` it changes the server after every response.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::super::Shared;
use super::super::clients::gist;
use super::super::open_session::is_broken;
use super::super::orders::Order;
use super::super::world::Login;
use super::plan::Away;
use crate::error::Error;
use crate::ledger::positions::{ConsumerId, Received};
use crate::protocol::consumer::batch::{Batch, Notification};
use crate::protocol::consumer::reader::{Reader, Reading};

/// The longest pause before the reader tries the next server, in milliseconds.
const LONGEST_PAUSE: u64 = 200;
/// The pause after a part of a stream without notifications, so that streams that end at once make no tight loop.
const EMPTY_PAUSE: Duration = Duration::from_millis(20);
/// The time between two looks whether the run is over, for a reader that is away.
const LOOK: Duration = Duration::from_millis(100);

/// A reader before it starts.
#[derive(Debug)]
pub(super) struct ReaderSpec {
    pub(super) id: ConsumerId,
    /// The name of the consumer.
    pub(super) name: String,
    pub(super) login: Login,
    pub(super) reading: Reading,
    pub(super) away: Option<Away>,
    /// The number of its first server.
    pub(super) home: usize,
}

/// The reason why a reader stops reading over its connection.
enum Stop {
    /// It is away for a time, with or without what it has handled and not acknowledged.
    Order(Order),
    /// It pauses by its own plan.
    Away,
    /// It goes on at the next server.
    NextServer,
    Failed(Error),
}

impl ReaderSpec {
    /// Reads until the task is aborted.
    pub(super) async fn read_all(self, shared: Arc<Shared>) {
        let (mut turn, mut handled) = (self.home, None);
        let mut seeded = fastrand::Rng::with_seed(self.id as u64 + 1);
        loop {
            self.stay_out(&shared).await;
            let server = shared.balancer.server_from(turn);
            let until = self.away.map(|away| Instant::now() + away.every.choose(&mut seeded));
            let stop = self.read(&shared, server, &mut handled, until).await;
            shared.series.reconnected();
            turn = server;
            match stop {
                // A reader that is killed does not know what it has handled.
                Stop::Order(Order::Reconnect | Order::Leave) => handled = None,
                Stop::Order(Order::Stall(time)) => rest(&shared, time).await,
                Stop::Order(Order::Cut | Order::Come) => {}
                Stop::Away => {
                    let lasts = self.away.map_or(Duration::ZERO, |away| away.lasts.choose(&mut seeded));
                    rest(&shared, lasts).await;
                }
                Stop::NextServer => turn = server + 1,
                Stop::Failed(error) => {
                    shared.note(format!("consumer: {}", gist(&error)));
                    if is_broken(&error) {
                        shared.balancer.leave_out(server);
                    }
                    turn = server + 1;
                    sleep(Duration::from_millis(fastrand::u64(..LONGEST_PAUSE))).await;
                }
            }
        }
    }

    async fn stay_out(&self, shared: &Shared) {
        if shared.consumer_orders.is_out(self.id) && !shared.run.is_over() {
            shared.consumer_orders.until_in(self.id).await;
        }
    }

    /// Reads over one connection to a server. `handled` is the position to acknowledge next.
    async fn read(
        &self,
        shared: &Shared,
        server: usize,
        handled: &mut Option<u64>,
        until: Option<Instant>,
    ) -> Stop {
        let target = self.login.at(&shared.targets[server]);
        let mut reader = match Reader::connect(&target, &self.name, self.reading, *handled).await {
            Ok(reader) => reader,
            Err(error) => return Stop::Failed(error),
        };
        let away = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(away);
        loop {
            let begins = reader.begins_anew();
            let batch = tokio::select! {
                received = Box::pin(reader.receive(&target)) => match received {
                    Ok(batch) => batch,
                    Err(error) => return Stop::Failed(error),
                },
                order = shared.consumer_orders.next(self.id) => return Stop::Order(order),
                () = &mut away, if !shared.run.is_over() => return Stop::Away,
            };
            if begins {
                shared.positions.lock().begin(self.id);
            }
            shared.consume(self.id, &batch);
            *handled = batch.position.or(*handled);
            if shared.is_round_robin && reader.begins_anew() {
                return Stop::NextServer;
            }
            if batch == Batch::default() {
                sleep(EMPTY_PAUSE).await;
            }
        }
    }
}

/// Waits for a time, but not longer than until the posts are over.
async fn rest(shared: &Shared, time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end && !shared.run.is_over() {
        sleep(LOOK.min(end.saturating_duration_since(Instant::now()))).await;
    }
}

impl Shared {
    /// Records the notifications of a response or of a part of a stream.
    fn consume(&self, consumer: ConsumerId, batch: &Batch) {
        let now = self.run.now();
        let (mut ledger, mut falsifier) = (self.positions.lock(), self.consumer_falsifier.lock());
        if let Some(missed) = batch.missed {
            ledger.miss(consumer, (missed.from, missed.to), now);
        }
        for notification in &batch.notifications {
            for notification in falsifier.apply((consumer, 0), *notification) {
                let Notification { position, digest, mark } = notification;
                let own = mark.filter(|mark| self.run.is_own(*mark));
                let row = own.map(|mark| (mark.device, mark.sequence));
                ledger.deliver(consumer, Received { position, digest, row }, now);
            }
        }
    }
}
