//! Causes the faults of a phase at servers, the database and clients, one after the other.

use std::time::Duration;

use fastrand::Rng;
use tokio::time::{Instant, sleep, sleep_until};

use super::Shared;
use super::orders::Order;
use super::plan::{Clients, Fault, FaultKind};
use super::servers::{Servers, cut_listening_connections};
use crate::error::Error;
use crate::ledger::session::Disturbed;

/// The faults of a phase, each with its next time.
#[derive(Debug)]
struct Agenda<'a> {
    faults: Vec<(Duration, &'a Fault)>,
}

impl<'a> Agenda<'a> {
    fn of(faults: &'a [Fault], seeded: &mut Rng) -> Self {
        Self { faults: faults.iter().map(|fault| (fault.at.choose(seeded), fault)).collect() }
    }

    /// Takes the next fault that ends by `end`, with the time at which it is due.
    fn next(&mut self, end: Duration) -> Option<(Duration, &'a Fault)> {
        self.faults.retain(|(at, fault)| *at + fault.lasts <= end);
        let earliest = (0..self.faults.len()).min_by_key(|number| self.faults[*number].0)?;
        Some(self.faults.swap_remove(earliest))
    }

    /// Records that a fault ended at this time, and schedules its repetition.
    fn over(&mut self, fault: &'a Fault, now: Duration, seeded: &mut Rng) {
        self.faults.extend(fault.every.map(|every| (now + every.choose(seeded), fault)));
    }
}

/// Causes the faults of a phase until `length` is over. A fault that would end later is skipped.
///
/// # Errors
/// A server does not become ready again, or the database is not reachable.
pub(super) async fn play(
    shared: &Shared,
    faults: &[Fault],
    mut servers: Option<&mut Servers>,
    seeded: &mut Rng,
    length: Duration,
) -> Result<Vec<Disturbed>, Error> {
    let started = Instant::now();
    let mut agenda = Agenda::of(faults, seeded);
    let mut disturbances = Vec::new();
    let mut turns = (0..shared.targets.len()).cycle();
    while let Some((at, fault)) = agenda.next(length) {
        sleep_until(started + at).await;
        let from = shared.run.now();
        let what = match (&fault.of, servers.as_deref_mut()) {
            (Some(clients), _) => {
                if fault.what == FaultKind::SlowReaders {
                    // A session whose queue is full may end.
                    let until = from + fault.lasts.as_micros() as u64;
                    disturbances.push(Disturbed { server: None, from, until });
                }
                to_clients(shared, fault, clients, seeded)
            }
            (None, Some(servers)) => {
                let number = turns.next().unwrap_or_default();
                disturbances.push(to_servers(shared, fault, servers, number).await?);
                match fault.what {
                    FaultKind::CutDatabase | FaultKind::StopDatabase => fault.what.words().0.to_owned(),
                    _ => format!("{} of server {number}", fault.what.words().0),
                }
            }
            (None, None) => return Err(Error::Refused("there are no servers of this run".to_owned())),
        };
        shared.mark(from, what);
        agenda.over(fault, started.elapsed(), seeded);
    }
    sleep_until(started + length).await;
    Ok(disturbances)
}

/// Gives an order to a share of the clients with a name.
fn to_clients(shared: &Shared, fault: &Fault, clients: &Clients, seeded: &mut Rng) -> String {
    let order = match fault.what {
        FaultKind::CutConnections => Order::Cut,
        FaultKind::ReconnectStorm => Order::Reconnect,
        _ => Order::Stall(fault.lasts),
    };
    let (numbers, orders) = shared.named(&clients.name);
    let mut chosen: Vec<usize> = numbers.collect();
    let count = (chosen.len() as f64 * clients.share).ceil() as usize;
    for place in 0..count.min(chosen.len()) {
        let other = seeded.usize(place..chosen.len());
        chosen.swap(place, other);
        orders.give(chosen[place], order);
    }
    format!("{} of {count} {}", fault.what.words().0, clients.name)
}

async fn to_servers(
    shared: &Shared,
    fault: &Fault,
    servers: &mut Servers,
    number: usize,
) -> Result<Disturbed, Error> {
    let from = shared.run.now();
    let since = |server: Option<usize>, until| Disturbed { server, from, until };
    match fault.what {
        FaultKind::Kill => {
            servers.kill(number).await?;
            let killed = shared.run.now();
            servers.restart(number).await?;
            Ok(since(Some(number), killed))
        }
        FaultKind::Pause => {
            servers.running(number)?.pause()?;
            sleep(fault.lasts).await;
            servers.running(number)?.resume()?;
            Ok(since(Some(number), shared.run.now()))
        }
        FaultKind::CutDatabase => {
            if cut_listening_connections(&servers.database().await?).await? == 0 {
                return Err(Error::Refused("no listening connection was found".to_owned()));
            }
            Ok(since(None, shared.run.now()))
        }
        FaultKind::StopDatabase => {
            servers.stop_postgres().await?;
            Ok(since(None, from))
        }
        _ => {
            servers.stop_one(number).await?;
            servers.restart(number).await?;
            Ok(since(Some(number), shared.run.now()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::plan::Between;

    #[test]
    fn faults_come_in_the_order_of_their_times_and_none_begins_too_late() {
        let (seconds, mut seeded) = (Duration::from_secs, Rng::with_seed(1));
        let fixed = |time| Between { least: seconds(time), most: seconds(time) };
        let fault = |what, at, every: Option<u64>, lasts| Fault {
            what,
            at: fixed(at),
            every: every.map(fixed),
            lasts: seconds(lasts),
            of: None,
        };
        let faults = [
            fault(FaultKind::Kill, 4, Some(5), 0),
            fault(FaultKind::Pause, 6, None, 3),
            fault(FaultKind::Pause, 13, None, 3),
        ];
        let mut agenda = Agenda::of(&faults, &mut seeded);
        let mut done = Vec::new();
        while let Some((at, fault)) = agenda.next(seconds(15)) {
            done.push((at.as_secs(), fault.what));
            agenda.over(fault, at + fault.lasts + seconds(1), &mut seeded);
        }
        assert_eq!(done, [(4, FaultKind::Kill), (6, FaultKind::Pause), (10, FaultKind::Kill)]);
    }

    #[test]
    fn random_times_differ_and_lie_within_their_bounds() {
        let mut seeded = Rng::with_seed(1);
        let [least, most] = [1, 8].map(Duration::from_secs);
        let times: Vec<Duration> = (0..20).map(|_| Between { least, most }.choose(&mut seeded)).collect();
        assert!(times.iter().all(|time| (least..=most).contains(time)), "{times:?}");
        assert!(times.windows(2).any(|pair| pair[0] != pair[1]), "{times:?}");
        assert_eq!(Between { least, most: least }.choose(&mut seeded), least);
    }
}
