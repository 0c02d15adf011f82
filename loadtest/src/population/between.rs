//! Times that are chosen at random.

use std::fmt;
use std::time::Duration;

use fastrand::Rng;

/// A time that is chosen at random within these bounds, which may be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Between {
    pub(crate) least: Duration,
    pub(crate) most: Duration,
}

impl Between {
    /// Chooses a time, to the millisecond.
    pub(crate) fn choose(self, seeded: &mut Rng) -> Duration {
        let span = self.most.saturating_sub(self.least).as_millis() as u64;
        self.least + Duration::from_millis(seeded.u64(..=span))
    }
}

impl fmt::Display for Between {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [least, most] = [self.least, self.most].map(|time| time.as_secs_f64());
        if self.least == self.most {
            write!(formatter, "{least} s")
        } else {
            write!(formatter, "{least} to {most} s, at random")
        }
    }
}
