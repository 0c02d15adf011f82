//! The limits of one tenant at this server, and its usage of those that apply to all servers together.

use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use platform_model::error::{Error, Result};
use platform_model::rate::{Pace, Rate};
use platform_model::tenancy::tenant::{LimitOrigin, LimitValues, TenantLimit};

use super::amounts::Amounts;

/// The stored value of a limit that is not set.
const UNLIMITED: u64 = u64::MAX;
/// The seconds' worth of requests that may come at once, unless the burst is set.
const BURST: f64 = 2.0;
/// The seconds' worth of computing time of modules that may be used at once.
const MODULE_BURST: f64 = 1.0;
/// The seconds' worth of bytes of unstored writes that may be sent at once.
const TRANSIENT_BURST: f64 = 4.0;

/// A kind of usage that each server counts and the others know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Held long polls.
    HeldPolls,
    /// Open WebSockets.
    WebSockets,
    /// Sessions.
    Sessions,
}

impl Counted {
    pub(super) const ALL: [Self; 3] = [Self::HeldPolls, Self::WebSockets, Self::Sessions];

    fn limit(self) -> TenantLimit {
        match self {
            Self::HeldPolls => TenantLimit::HeldPolls,
            Self::WebSockets => TenantLimit::WebSockets,
            Self::Sessions => TenantLimit::Sessions,
        }
    }
}

/// The limits of a tenant that are in force at this server. Every check reads memory only.
#[derive(Debug)]
pub struct TenantLimits {
    values: [AtomicU64; TenantLimit::ALL.len()],
    origins: Mutex<[LimitOrigin; TenantLimit::ALL.len()]>,
    requests: Rate,
    module_micros: Rate,
    transient_bytes: Rate,
    /// The usage of the tenant at this server.
    here: [AtomicI64; Counted::ALL.len()],
    /// The usage at the other servers, as they last stored it.
    elsewhere: [AtomicI64; Counted::ALL.len()],
    /// The usage at this server as the others know it.
    noted: [AtomicI64; Counted::ALL.len()],
    /// The number of living servers.
    servers: AtomicUsize,
    amounts: Amounts,
    /// The rates of the last second: requests, microseconds of modules, and bytes of unstored writes.
    lately: Mutex<Lately>,
}

#[derive(Debug, Default)]
struct Lately {
    admitted: [u64; 3],
    per_second: [u64; 3],
}

impl TenantLimits {
    /// Creates limits that bound nothing.
    pub fn unlimited() -> Self {
        Self {
            values: std::array::from_fn(|_| AtomicU64::new(UNLIMITED)),
            origins: Mutex::new([LimitOrigin::Server; TenantLimit::ALL.len()]),
            requests: Rate::default(),
            module_micros: Rate::default(),
            transient_bytes: Rate::default(),
            here: Default::default(),
            elsewhere: Default::default(),
            noted: Default::default(),
            servers: AtomicUsize::new(1),
            amounts: Amounts::default(),
            lately: Mutex::default(),
        }
    }

    /// Sets the values in force. Each of `servers` gets an equal share of the rates.
    pub(super) fn apply(
        &self,
        (values, origins): (&LimitValues, [LimitOrigin; TenantLimit::ALL.len()]),
        servers: usize,
    ) {
        for limit in TenantLimit::ALL {
            self.values[limit.index()].store(values.get(limit).unwrap_or(UNLIMITED), Ordering::Relaxed);
        }
        *self.origins.lock() = origins;
        self.servers.store(servers, Ordering::Relaxed);
        let share = |value: u64| value as f64 / servers.max(1) as f64;
        let rate = |limit| values.get(limit).map(share);
        let burst = rate(TenantLimit::RequestBurst);
        self.requests.set(
            rate(TenantLimit::RequestsPerSecond)
                .map(|per_second| Pace::per_second(per_second, burst.unwrap_or(per_second * BURST))),
        );
        let transient_bytes = rate(TenantLimit::TransientBytesPerSecond);
        self.transient_bytes
            .set(transient_bytes.map(|bytes| Pace::per_second(bytes, bytes * TRANSIENT_BURST)));
        // All modules of a tenant run at one server, so it gets the whole rate.
        let millis = values.get(TenantLimit::ModuleMillisPerSecond).map(|millis| millis as f64);
        let micros = millis.map(|millis| millis * 1000.0);
        self.module_micros.set(micros.map(|micros| Pace::per_second(micros, micros * MODULE_BURST)));
    }

    /// Returns the value in force of a limit; `None` is unlimited.
    pub fn value(&self, limit: TenantLimit) -> Option<u64> {
        let value = self.values[limit.index()].load(Ordering::Relaxed);
        (value != UNLIMITED).then_some(value)
    }

    /// Returns the values in force and the origin of each.
    pub fn in_force(&self) -> (LimitValues, [LimitOrigin; TenantLimit::ALL.len()]) {
        let mut values = LimitValues::default();
        TenantLimit::ALL.into_iter().for_each(|limit| values.set(limit, self.value(limit)));
        (values, *self.origins.lock())
    }

    pub(super) fn amounts(&self) -> &Amounts {
        &self.amounts
    }

    /// Returns the rate of requests at this server.
    pub fn requests(&self) -> &Rate {
        &self.requests
    }

    /// Returns the rate of the microseconds that modules compute.
    pub fn module_micros(&self) -> &Rate {
        &self.module_micros
    }

    /// Returns the rate of the bytes of unstored writes that pass to other servers. It is charged when they are sent,
    /// so the next write waits.
    pub fn transient_bytes(&self) -> &Rate {
        &self.transient_bytes
    }

    /// Counts one more at this server.
    pub fn add(&self, counted: Counted) {
        self.here[counted as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one less at this server.
    pub fn subtract(&self, counted: Counted) {
        self.here[counted as usize].fetch_sub(1, Ordering::Relaxed);
    }

    /// Sets the usage of the tenant at this server.
    pub fn set_here(&self, counted: Counted, count: usize) {
        self.here[counted as usize].store(count as i64, Ordering::Relaxed);
    }

    /// Returns the usage of the tenant at this server.
    pub fn here(&self, counted: Counted) -> i64 {
        self.here[counted as usize].load(Ordering::Relaxed)
    }

    /// Notes that the other servers know this usage at this server.
    pub(super) fn set_noted(&self, counts: [i64; Counted::ALL.len()]) {
        for (place, count) in self.noted.iter().zip(counts) {
            place.store(count, Ordering::Relaxed);
        }
    }

    /// Returns whether this server has to exchange counts with the others before it admits one more. Until then it
    /// admits its part of half of what was left at the last exchange, and one at least. Others
    /// may use up the rest meanwhile, so each server beside the first exceeds the limit by at most that part.
    pub(super) fn must_exchange(&self, counted: Counted) -> bool {
        let servers = self.servers.load(Ordering::Relaxed) as i64;
        let Some(allowed) = self.value(counted.limit()).filter(|_| servers > 1) else { return false };
        let [elsewhere, noted] =
            [&self.elsewhere, &self.noted].map(|counts| counts[counted as usize].load(Ordering::Relaxed));
        let left = i64::try_from(allowed).unwrap_or(i64::MAX).saturating_sub(elsewhere + noted);
        self.here(counted) - noted >= (left / (2 * servers)).max(1)
    }

    pub(super) fn set_elsewhere(&self, counts: [i64; Counted::ALL.len()]) {
        for (place, count) in self.elsewhere.iter().zip(counts) {
            place.store(count, Ordering::Relaxed);
        }
    }

    /// Returns the usage of the tenant at all servers.
    pub fn used(&self, counted: Counted) -> u64 {
        let elsewhere = self.elsewhere[counted as usize].load(Ordering::Relaxed);
        (self.here(counted) + elsewhere).max(0).unsigned_abs()
    }

    /// Checks the limit after one more was counted at this server.
    ///
    /// # Errors
    /// `QuotaExceeded`, which contains the usage without the additional one.
    pub fn check(&self, counted: Counted) -> Result<()> {
        match self.value(counted.limit()) {
            None => Ok(()),
            Some(allowed) => within(counted.limit(), allowed, self.used(counted).saturating_sub(1)),
        }
    }

    /// Checks whether the limit permits one more beside the `here` ones at this server.
    ///
    /// # Errors
    /// `QuotaExceeded`.
    pub fn check_one_more(&self, counted: Counted, here: impl FnOnce() -> usize) -> Result<()> {
        let Some(allowed) = self.value(counted.limit()) else { return Ok(()) };
        let elsewhere = self.elsewhere[counted as usize].load(Ordering::Relaxed).max(0);
        within(counted.limit(), allowed, here() as u64 + elsewhere.unsigned_abs())
    }

    /// Computes the rates of the time since the last call.
    pub(super) fn note_rates(&self, passed: Duration) {
        let rates = [&self.requests, &self.module_micros, &self.transient_bytes];
        let admitted = rates.map(Rate::admitted);
        let mut lately = self.lately.lock();
        for (place, admitted) in admitted.into_iter().enumerate() {
            let more = admitted - std::mem::replace(&mut lately.admitted[place], admitted);
            lately.per_second[place] = (more as f64 / passed.as_secs_f64().max(1e-3)).round() as u64;
        }
    }

    /// Returns the usage of the limits that are known without the database.
    pub fn usage(&self) -> LimitValues {
        let mut usage = LimitValues::default();
        for counted in Counted::ALL {
            usage.set(counted.limit(), Some(self.used(counted)));
        }
        if self.value(TenantLimit::StoredBytes).is_some() {
            usage.set(TenantLimit::StoredBytes, self.stored());
        }
        let lately = self.lately.lock();
        let rates = [
            (TenantLimit::RequestsPerSecond, &self.requests, lately.per_second[0]),
            (TenantLimit::ModuleMillisPerSecond, &self.module_micros, lately.per_second[1] / 1000),
            (TenantLimit::TransientBytesPerSecond, &self.transient_bytes, lately.per_second[2]),
        ];
        for (limit, rate, per_second) in rates {
            usage.set(limit, rate.is_limited().then_some(per_second));
        }
        usage
    }
}

/// Checks whether the limit permits one more.
///
/// # Errors
/// `QuotaExceeded`.
pub(super) fn within(limit: TenantLimit, allowed: u64, used: u64) -> Result<()> {
    if used < allowed { Ok(()) } else { Err(Error::QuotaExceeded { name: limit.as_str(), allowed, used }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers that exchange counts only when they have to.
    #[test]
    fn servers_exceed_a_limit_by_at_most_the_part_that_each_may_admit_unseen() {
        for (servers, allowed) in [(2, 3), (2, 100), (3, 50), (5, 1), (5, 1000)] {
            let mut values = LimitValues::default();
            values.set(TenantLimit::Sessions, Some(allowed));
            let all: Vec<TenantLimits> = (0..servers).map(|_| TenantLimits::unlimited()).collect();
            let origins = [LimitOrigin::Server; TenantLimit::ALL.len()];
            all.iter().for_each(|limits| limits.apply((&values, origins), servers));
            let stored: Vec<_> = (0..servers).map(|_| Mutex::new([0; Counted::ALL.len()])).collect();
            let exchange = |at: usize| {
                let here = Counted::ALL.map(|counted| all[at].here(counted));
                *stored[at].lock() = here;
                all[at].set_noted(here);
                let mut elsewhere = [0; Counted::ALL.len()];
                for other in (0..servers).filter(|other| *other != at) {
                    elsewhere.iter_mut().zip(*stored[other].lock()).for_each(|(sum, count)| *sum += count);
                }
                all[at].set_elsewhere(elsewhere);
            };

            // Each server takes as many as it gets, before the next one does.
            for _ in 0..2 * allowed {
                for (at, limits) in all.iter().enumerate() {
                    if limits.must_exchange(Counted::Sessions) {
                        exchange(at);
                    }
                    let here = limits.here(Counted::Sessions) as usize;
                    if limits.check_one_more(Counted::Sessions, || here).is_ok() {
                        limits.add(Counted::Sessions);
                    }
                }
            }

            let total: i64 = all.iter().map(|limits| limits.here(Counted::Sessions)).sum();
            let others = servers as i64 - 1;
            let most = allowed as i64 + others * (allowed as i64 / (2 * servers as i64)).max(1);
            assert!((allowed as i64..=most).contains(&total), "{total} of {allowed} at {servers} servers");
        }
    }
}
