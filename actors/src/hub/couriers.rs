//! The way to sessions: one message to each thread that has some, whatever their number.

use std::collections::HashMap;
use std::sync::Arc;

use actix::prelude::*;

use super::Notification;
use crate::courier::{Courier, HandOut, Seat};
use crate::own_keys::OwnKeys;
use crate::session::{Deliver, End};

/// The couriers of sessions that ever listened; as many as there are threads.
#[derive(Default)]
pub(super) struct Couriers(HashMap<u32, Addr<Courier>, OwnKeys>);

impl Couriers {
    /// A session listens; its courier may be one that is not known yet.
    pub(super) fn meet(&mut self, seat: Seat, courier: Addr<Courier>) {
        self.0.entry(seat.courier).or_insert(courier);
    }

    /// Has each of these told, in order of the calls.
    pub(super) fn deliver(&self, told: impl Iterator<Item = (Seat, Arc<Notification>)>) {
        let mut rounds: Vec<(u32, HandOut<Deliver>)> = Vec::new();
        for (seat, notification) in told {
            let same = |(courier, round): &&mut (u32, HandOut<Deliver>)| {
                *courier == seat.courier && Arc::ptr_eq(&round.message.0, &notification)
            };
            match rounds.iter_mut().find(same) {
                Some((_, round)) => round.to.push(seat),
                None => {
                    rounds.push((seat.courier, HandOut { message: Deliver(notification), to: vec![seat] }));
                }
            }
        }
        for (courier, round) in rounds {
            if let Some(courier) = self.0.get(&courier) {
                courier.do_send(round);
            }
        }
    }

    /// Has each of these sessions end.
    pub(super) fn end(&self, seats: impl Iterator<Item = Seat>) {
        for seat in seats {
            if let Some(courier) = self.0.get(&seat.courier) {
                courier.do_send(HandOut { message: End, to: vec![seat] });
            }
        }
    }
}
