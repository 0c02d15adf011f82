//! Lets clients come and go: a curve says how many clients of a group or of dashboards have a session.

use std::time::Duration;

use tokio::time::{Instant, interval};

use super::Shared;
use super::orders::{Order, Orders};
use super::plan::PhasePlan;
use crate::ledger::session::ClientId;
use crate::traffic::schedule::curve::Curve;

const INTERVAL: Duration = Duration::from_millis(200);

/// Lets the clients that are not online when the first phase begins have no session from the start.
pub(super) fn begin(shared: &Shared, first: &PhasePlan) {
    for (name, curve) in &first.online {
        let (clients, orders) = shared.named(name);
        let online = online(*curve, 0.0, first.lasts, clients.len());
        clients.skip(online).for_each(|client| orders.begin_out(client));
    }
}

/// Lets clients come and go until the phase is over. Those that no curve names come at its start.
pub(super) async fn play(shared: &Shared, phase: &PhasePlan) {
    let started = Instant::now();
    let named = |name: &str| phase.online.iter().find(|(of, _)| of == name).map(|(_, curve)| *curve);
    let mut ticks = interval(INTERVAL);
    loop {
        ticks.tick().await;
        let seconds = started.elapsed().as_secs_f64().min(phase.lasts.as_secs_f64());
        for (name, clients, orders) in shared.all_by_name() {
            let count = clients.len();
            let online = named(name).map_or(count, |curve| online(curve, seconds, phase.lasts, count));
            for (number, client) in clients.enumerate() {
                tell(orders, client, number < online);
            }
        }
        if started.elapsed() >= phase.lasts {
            return;
        }
    }
}

/// Tells a client to come or to leave, unless it is as it should be.
fn tell(orders: &Orders, client: ClientId, is_online: bool) {
    match (is_online, orders.is_out(client)) {
        (true, true) => orders.give(client, Order::Come),
        (false, false) => orders.give(client, Order::Leave),
        _ => {}
    }
}

/// Returns how many of the clients are online at a second of a phase.
fn online(curve: Curve, seconds: f64, lasts: Duration, clients: usize) -> usize {
    (curve.at(seconds, lasts.as_secs_f64()).round() as usize).min(clients)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_clients_follows_the_curve() {
        let at =
            |text: &str, seconds| online(Curve::parse(text).unwrap(), seconds, Duration::from_secs(60), 600);
        assert_eq!([0.0, 30.0, 60.0].map(|seconds| at("0..600", seconds)), [0, 300, 600]);
        assert_eq!((at("day 10..90", 30.0), at("9999", 1.0)), (90, 600));
    }
}
