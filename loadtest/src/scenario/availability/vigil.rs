//! The messages of devices, and the unavailability alarms that were raised and cleared. Pure data; no clock,
//! no I/O. Times are microseconds of the run.

use crate::ledger::latency::{Delay, Latency};
use crate::report::Fact;

/// The record of a device.
#[derive(Debug, Default, Clone)]
struct DeviceRecord {
    heard: u64,
    raised: u32,
    cleared: u32,
    /// The time from the last message to the alarm.
    silence: Option<u64>,
    /// The time when the first message after the alarm was sent.
    spoke_again: Option<u64>,
    cleared_at: Option<u64>,
}

/// The messages and alarms of one run.
#[derive(Debug)]
pub(crate) struct Vigil {
    devices: Vec<DeviceRecord>,
}

impl Vigil {
    /// Creates an empty record of `devices` devices.
    pub(crate) fn new(devices: usize) -> Self {
        Self { devices: vec![DeviceRecord::default(); devices] }
    }

    /// Records a message of a device, with the times of request and response.
    pub(crate) fn heard(&mut self, device: usize, sent: u64, answered: u64) {
        let watched = &mut self.devices[device];
        watched.heard = watched.heard.max(answered);
        if watched.raised > 0 {
            watched.spoke_again.get_or_insert(sent);
        }
    }

    /// Records that the alarm of a device became or stayed active.
    pub(crate) fn raised(&mut self, device: usize, at: u64) {
        let watched = &mut self.devices[device];
        watched.raised += 1;
        watched.silence.get_or_insert(at.saturating_sub(watched.heard));
    }

    /// Records that the alarm of a device was cleared.
    pub(crate) fn cleared(&mut self, device: usize, at: u64) {
        let watched = &mut self.devices[device];
        watched.cleared += 1;
        watched.cleared_at.get_or_insert(at);
    }

    /// Returns how many devices have an alarm, and how many had theirs cleared.
    pub(crate) fn progress(&self) -> (usize, usize) {
        let count =
            |has: fn(&DeviceRecord) -> bool| self.devices.iter().filter(|watched| has(watched)).count();
        (count(|watched| watched.raised > 0), count(|watched| watched.cleared > 0))
    }

    /// Checks that exactly the silent devices were reported, once, neither early nor late, and cleared once.
    pub(crate) fn facts(&self, is_silent: impl Fn(usize) -> bool, earliest: u64, latest: u64) -> Vec<Fact> {
        let count = |is_wrong: &dyn Fn(usize, &DeviceRecord) -> bool| {
            let wrong =
                self.devices.iter().enumerate().filter(|(device, watched)| is_wrong(*device, watched));
            wrong.count()
        };
        let silent = count(&|device, _| is_silent(device));
        let silence = |watched: &DeviceRecord, is_wrong: fn(u64, u64) -> bool, limit| {
            watched.silence.is_some_and(|silence| is_wrong(silence, limit))
        };
        vec![
            Fact::number("silent, reported once", count(&|d, w| is_silent(d) && w.raised == 1), silent),
            Fact::number("silent, not reported", count(&|d, w| is_silent(d) && w.raised == 0), 0),
            Fact::number("reported twice", count(&|_, w| w.raised > 1), 0),
            Fact::number(
                "reported too early",
                count(&|_, w| silence(w, |is, limit| is < limit, earliest)),
                0,
            ),
            Fact::number("reported too late", count(&|_, w| silence(w, |is, limit| is > limit, latest)), 0),
            Fact::number("reported, not silent", count(&|d, w| !is_silent(d) && w.raised > 0), 0),
            Fact::number("cleared once", count(&|d, w| is_silent(d) && w.cleared == 1), silent),
            Fact::number("cleared twice", count(&|_, w| w.cleared > 1), 0),
        ]
    }

    /// Returns the times until silence was reported, and until the report was cleared.
    pub(crate) fn delays(&self) -> Vec<Delay> {
        let silences = self.devices.iter().filter_map(|watched| watched.silence);
        let clearings = self
            .devices
            .iter()
            .filter_map(|watched| Some(watched.cleared_at?.saturating_sub(watched.spoke_again?)));
        vec![
            Delay { kind: "last message to alarm", latency: Latency::of(&silences.collect()) },
            Delay { kind: "message to cleared", latency: Latency::of(&clearings.collect()) },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    /// Returns the faults. Devices 0 and 1 are silent, 2 is not; alarms must be raised 60 to 120 s after the
    /// last message.
    fn wrong(vigil: &Vigil) -> Vec<&'static str> {
        let facts = vigil.facts(|device| device < 2, 60 * SECOND, 120 * SECOND);
        facts.into_iter().filter(|fact| !fact.holds).map(|fact| fact.what).collect()
    }

    /// Returns a record in which both silent devices sent their last message at 10 s, were reported at 100 s, and were
    /// cleared when they resumed.
    fn vigil() -> Vigil {
        let mut vigil = Vigil::new(3);
        (0..3).for_each(|device| vigil.heard(device, 9 * SECOND, 10 * SECOND));
        for device in 0..2 {
            vigil.raised(device, 100 * SECOND);
            vigil.heard(device, 200 * SECOND, 201 * SECOND);
            vigil.cleared(device, 202 * SECOND);
        }
        vigil
    }

    #[test]
    fn exactly_the_silent_reported_and_cleared_once_holds() {
        let vigil = vigil();
        assert!(wrong(&vigil).is_empty());
        assert_eq!(vigil.progress(), (2, 2));
        let delays = serde_json::to_value(vigil.delays()).unwrap();
        assert!((delays[0]["latency"]["max_ms"].as_f64().unwrap() - 90_000.0).abs() < 100.0);
        assert!((delays[1]["latency"]["max_ms"].as_f64().unwrap() - 2000.0).abs() < 10.0);
    }

    #[test]
    fn each_fault_is_reported() {
        let mut twice = vigil();
        twice.raised(0, 110 * SECOND);
        twice.cleared(1, 300 * SECOND);
        assert_eq!(
            wrong(&twice),
            ["silent, reported once", "reported twice", "cleared once", "cleared twice"]
        );
        let mut others = vigil();
        others.heard(2, 100 * SECOND, 100 * SECOND);
        others.raised(2, 159 * SECOND);
        assert_eq!(wrong(&others), ["reported too early", "reported, not silent"]);
        let mut late = Vigil::new(3);
        late.raised(0, 121 * SECOND);
        assert_eq!(
            wrong(&late),
            ["silent, reported once", "silent, not reported", "reported too late", "cleared once"]
        );
    }
}
