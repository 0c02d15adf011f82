//! A part of a device that measures and may have troubles: the device itself, or a room of a cold store.

use tokio::time::{Duration, Instant};

use super::chance::Chance;
use super::plan::Kind;
use super::shape::{self, Reading};
use super::trouble::Trouble;
use super::world::World;

/// The mean time between two troubles of the whole fleet, and the bounds of that of one unit, in seconds.
const TROUBLE_EVERY: f64 = 14.0;
const BOUNDS: (f64, f64) = (600.0, 6000.0);
/// One unit of so many begins with a trouble, so that a new demo is not without alarms.
const TROUBLED_AT_FIRST: usize = 19;
/// The seconds between two repetitions of an alarm.
const REPEAT: f64 = 25.0;
/// The pause before an end that could not be told is repeated, in seconds.
const AGAIN: f64 = 5.0;

/// What measures.
pub(super) struct Unit {
    pub(super) kind: Kind,
    /// The seed of its values.
    pub(super) shape: u64,
    /// The id of its managed object.
    pub(super) id: String,
    pub(super) trouble: Option<Lasting>,
    /// When the next trouble begins.
    next: Instant,
    /// The mean time between two troubles, in seconds.
    every: f64,
}

/// A trouble that lasts.
pub(super) struct Lasting {
    pub(super) trouble: Trouble,
    begun: Instant,
    ends: Instant,
    repeats: Instant,
    /// The alarm that was raised for it.
    pub(super) alarm: Option<String>,
}

/// What happens to a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TroubleChange {
    Begins,
    Repeats,
    Ends,
}

impl Unit {
    /// Returns the unit of a device or of a room, by its number in the fleet.
    pub(super) fn new(world: &World, number: usize, id: String, chance: &mut Chance) -> Self {
        let every = (TROUBLE_EVERY * world.fleet.len() as f64).clamp(BOUNDS.0, BOUNDS.1);
        let begins_with_one = number.is_multiple_of(TROUBLED_AT_FIRST);
        let wait = if begins_with_one { chance.between(0.0, 4.0) } else { chance.wait(every) };
        let (kind, shape) = (world.fleet[number].kind, world.shape(number));
        Self { kind, shape, id, trouble: None, next: after(wait), every }
    }

    /// Returns when something happens to it.
    pub(super) fn due(&self) -> Instant {
        self.trouble.as_ref().map_or(self.next, |lasting| lasting.ends.min(lasting.repeats))
    }

    /// Returns what happens now, if something does.
    pub(super) fn turn(&mut self, now: Instant, chance: &mut Chance) -> Option<TroubleChange> {
        match &mut self.trouble {
            None if self.next <= now => {
                let trouble = *chance.pick(self.kind.troubles());
                let (least, most) = trouble.duration();
                let ends = after(chance.between(least, most));
                self.trouble =
                    Some(Lasting { trouble, begun: now, ends, repeats: after(REPEAT), alarm: None });
                Some(TroubleChange::Begins)
            }
            Some(lasting) if lasting.ends <= now => {
                self.next = after(chance.wait(self.every));
                Some(TroubleChange::Ends)
            }
            Some(lasting) if lasting.repeats <= now => {
                lasting.repeats = after(REPEAT);
                Some(TroubleChange::Repeats)
            }
            _ => None,
        }
    }

    /// Lets the end of its trouble come once more.
    pub(super) fn postpone(&mut self) {
        if let Some(lasting) = &mut self.trouble {
            lasting.ends = after(AGAIN);
        }
    }

    /// Returns what it measures at a moment.
    pub(super) fn readings(&self, seconds: f64) -> Vec<Reading> {
        let trouble = self.trouble.as_ref();
        let since = |lasting: &Lasting| (lasting.trouble, lasting.begun.elapsed().as_secs_f64());
        shape::readings(self.kind, self.shape, seconds, trouble.map(since))
    }
}

/// Returns the moment some seconds from now.
pub(super) fn after(seconds: f64) -> Instant {
    Instant::now() + Duration::from_secs_f64(seconds)
}
