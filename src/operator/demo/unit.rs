//! A part of a device that has measurements and may have faults: the device itself, or a room of a cold store.

use tokio::time::{Duration, Instant};

use super::chance::Chance;
use super::plan::Kind;
use super::shape::{self, Reading};
use super::trouble::Trouble;
use super::world::World;

/// The mean seconds between two faults of the whole fleet, and the bounds of the mean for one unit.
const TROUBLE_EVERY: f64 = 14.0;
const BOUNDS: (f64, f64) = (600.0, 6000.0);
/// The number of units among which one begins with a fault, so that a new demo has alarms from the start.
const TROUBLED_AT_FIRST: usize = 19;
/// The seconds between two repetitions of an alarm.
const REPEAT: f64 = 25.0;
/// The pause in seconds before the end of a fault that could not be reported is reported again.
const AGAIN: f64 = 5.0;

/// A device or a room with its measurements.
pub(super) struct Unit {
    pub(super) kind: Kind,
    /// The seed of its measured values.
    pub(super) shape: u64,
    /// The id of its managed object.
    pub(super) id: String,
    pub(super) trouble: Option<Lasting>,
    /// The time at which the next fault begins.
    next: Instant,
    /// The mean seconds between two faults.
    every: f64,
}

/// A fault that lasts.
pub(super) struct Lasting {
    pub(super) trouble: Trouble,
    begun: Instant,
    ends: Instant,
    repeats: Instant,
    /// The id of the alarm that was raised for it.
    pub(super) alarm: Option<String>,
}

/// A change in the fault of a unit.
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

    /// Returns the time of the next change.
    pub(super) fn due(&self) -> Instant {
        self.trouble.as_ref().map_or(self.next, |lasting| lasting.ends.min(lasting.repeats))
    }

    /// Returns the change that is due now, if any.
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

    /// Postpones the end of the fault, because it could not be reported.
    pub(super) fn postpone(&mut self) {
        if let Some(lasting) = &mut self.trouble {
            lasting.ends = after(AGAIN);
        }
    }

    /// Returns the measured values at a moment.
    pub(super) fn readings(&self, seconds: f64) -> Vec<Reading> {
        let trouble = self.trouble.as_ref();
        let since = |lasting: &Lasting| (lasting.trouble, lasting.begun.elapsed().as_secs_f64());
        shape::readings(self.kind, self.shape, seconds, trouble.map(since))
    }
}

/// Returns the moment this many seconds from now.
pub(super) fn after(seconds: f64) -> Instant {
    Instant::now() + Duration::from_secs_f64(seconds)
}
