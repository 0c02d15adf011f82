//! Guessing passwords gets slower with each wrong one, per account and per source, and is never forbidden for good.
//!
//! After a few wrong passwords each further verification waits before it is tried. It waits in a lane of its own: that of
//! its source while the source guesses wrong, then that of account and source, then that of the account; so many sources
//! that guess at one account take turns, and its owner among them. Who came in from a source before is familiar there
//! and waits for nobody's guesses but those made at this account from this source. What costs much CPU takes turns per
//! source once more, so that a flood does not queue up in front of everybody else.
//!
//! Accounts that do not exist are treated like those that do. An account is remembered as a keyed hash, a source as an
//! address; neither takes more memory than it has bounds.

use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use platform_actors::limits::Limits;
use platform_actors::model::id::TenantId;
use quick_cache::sync::Cache;
use ring::hmac;

use super::lanes::{Lanes, Turn, Width};
use crate::http::error::{ApiError, Result};
use crate::telemetry::{self, Throttled};

/// Accounts, sources and familiar pairs that are remembered, each.
const REMEMBERED: usize = 100_000;

/// Where a request came from, as far as guesses are counted: an IPv4 address, or an IPv6 network of 64 bits, for one
/// subscriber has all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Source(IpAddr);

impl Source {
    /// The source that an address belongs to.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(v4) => IpAddr::V4(v4),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        })
    }
}

/// A user of a tenant, whether or not there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Account([u8; 16]);

/// What an account's wrong passwords are counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Subject {
    Everywhere(Account),
    Familiar(Account, Source),
}

/// Where verifications wait for each other. They are entered in this order, so that no two wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// A source that guessed wrong too often.
    Entrance(Source),
    /// An account, as far as one source tries it.
    Pair(Account, Source),
    /// An account.
    Account(Account),
    /// A source that needs CPU time.
    Hashing(Source),
}

/// Counts wrong passwords and lets verifications wait.
pub(super) struct Throttle {
    key: hmac::Key,
    accounts: Failures<Subject>,
    sources: Failures<Source>,
    familiar: Cache<(Account, Source), ()>,
    lanes: Lanes<Lane>,
    at_once: usize,
    waiting_per_account: usize,
    waiting_per_source: usize,
}

impl Throttle {
    pub(super) fn new(limits: &Limits) -> Self {
        let random = ring::rand::SystemRandom::new();
        Self {
            key: hmac::Key::generate(hmac::HMAC_SHA256, &random).expect("the system's random source works"),
            accounts: Failures::new(limits.free_guesses_per_account, limits, REMEMBERED),
            sources: Failures::new(limits.free_guesses_per_source, limits, REMEMBERED),
            familiar: Cache::new(REMEMBERED),
            lanes: Lanes::new(),
            at_once: limits.verifications_per_source,
            waiting_per_account: limits.waiting_per_account,
            waiting_per_source: limits.waiting_per_source,
        }
    }

    /// What an account is counted under, be there one or not.
    pub(super) fn account(&self, tenant: &TenantId, user: &str) -> Account {
        let mut mac = hmac::Context::with_key(&self.key);
        mac.update(tenant.as_str().as_bytes());
        mac.update(b"/");
        mac.update(user.as_bytes());
        Account(mac.sign().as_ref()[..16].try_into().expect("SHA-256 has 32 bytes"))
    }

    /// Waits until a password of this account may be tried from this source. Nothing else is held meanwhile.
    ///
    /// # Errors
    /// `TooManyRequests` when too many wait already.
    pub(super) async fn enter(&self, account: Account, source: Source) -> Result<Attempt<'_>> {
        let familiar = self.familiar.get(&(account, source)).is_some();
        let subject = match familiar {
            true => Subject::Familiar(account, source),
            false => Subject::Everywhere(account),
        };
        let refusal = || refuse(Throttled::Account, self.accounts.delay(&subject));
        let entrance = if familiar { None } else { self.slow_down(source).await? };
        let one = |inside| Width { at_once: 1, inside };
        // One source takes at most half of what may wait for an account, and one turn at a time.
        let pair = self.lanes.turn(Lane::Pair(account, source), one(self.waiting_per_account / 2)).await;
        let pair = pair.ok_or_else(refusal)?;
        let whole = match familiar {
            true => None,
            false => {
                let turn = self.lanes.turn(Lane::Account(account), one(self.waiting_per_account)).await;
                Some(turn.ok_or_else(refusal)?)
            }
        };
        wait(Throttled::Account, self.accounts.delay(&subject)).await;
        let slowed = familiar || entrance.is_some();
        let turns = [entrance, Some(pair), whole].into_iter().flatten().collect();
        Ok(Attempt { throttle: self, account, source, subject, slowed, counts: false, turns })
    }

    /// Whether a source guessed wrong too often of late.
    pub(super) fn is_slowed(&self, source: Source) -> bool {
        !self.sources.delay(&source).is_zero()
    }

    /// Lets a source that guessed wrong too often wait; `None` for one that did not.
    ///
    /// # Errors
    /// `TooManyRequests` when too many of its requests wait already.
    pub(super) async fn slow_down(&self, source: Source) -> Result<Option<Turn<Lane>>> {
        let delay = self.sources.delay(&source);
        if delay.is_zero() {
            return Ok(None);
        }
        // Those who wait take the longest delay each: few of them fill the patience of a client.
        let width = Width { at_once: self.at_once, inside: self.at_once * 4 };
        let turn = self.lanes.turn(Lane::Entrance(source), width).await;
        let turn = turn.ok_or_else(|| refuse(Throttled::Source, delay))?;
        wait(Throttled::Source, self.sources.delay(&source)).await;
        Ok(Some(turn))
    }

    /// Counts a guess that named no account.
    pub(super) fn failed_at(&self, source: Source) {
        self.sources.count(source, Instant::now());
    }
}

/// A password that may be tried now.
pub(super) struct Attempt<'t> {
    throttle: &'t Throttle,
    account: Account,
    source: Source,
    subject: Subject,
    /// Whether it waits for its source's turns already, or need not.
    slowed: bool,
    /// Whether dropping it counts as a wrong password: who hangs up must not guess for nothing.
    counts: bool,
    turns: Vec<Turn<Lane>>,
}

impl Attempt<'_> {
    /// Waits until the source may use CPU time. From then on the attempt counts as failed unless it succeeds.
    ///
    /// # Errors
    /// `TooManyRequests` when too many of its requests wait already, or the source turned out to be guessing meanwhile.
    pub(super) async fn hashing(&mut self) -> Result<()> {
        if !self.slowed {
            let width = Width { at_once: self.throttle.at_once, inside: self.throttle.waiting_per_source };
            let turn = self.throttle.lanes.turn(Lane::Hashing(self.source), width).await;
            let delay = self.throttle.sources.delay(&self.source);
            let turn = turn.filter(|_| delay.is_zero());
            self.turns.push(turn.ok_or_else(|| refuse(Throttled::Source, delay))?);
        }
        self.counts = true;
        Ok(())
    }

    /// A password was tried and was wrong. Only who is told so is still open.
    pub(super) fn tried(&mut self) {
        self.counts = true;
    }

    /// The password was right: what was wrong before is forgotten, and the account is familiar here.
    pub(super) fn succeeded(mut self) {
        self.counts = false;
        self.throttle.accounts.forget(&self.subject);
        self.throttle.familiar.insert((self.account, self.source), ());
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.counts {
            let now = Instant::now();
            self.throttle.accounts.count(self.subject, now);
            self.throttle.sources.count(self.source, now);
        }
    }
}

fn refuse(by: Throttled, delay: Duration) -> ApiError {
    telemetry::count_throttled(by, "refused");
    ApiError::TooManyRequests { retry_after: delay.as_secs() + 1 }
}

async fn wait(by: Throttled, delay: Duration) {
    if !delay.is_zero() {
        telemetry::count_throttled(by, "delayed");
        tokio::time::sleep(delay).await;
    }
}

/// Wrong passwords by account or by source. Each is forgiven after a while.
struct Failures<K> {
    counts: Cache<K, (u32, Instant)>,
    /// Two at once must count as two.
    counting: Mutex<()>,
    free: u32,
    first: Duration,
    longest: Duration,
    forgiven: Duration,
}

impl<K: Eq + Hash + Copy> Failures<K> {
    fn new(free: u32, limits: &Limits, most: usize) -> Self {
        Self {
            counts: Cache::new(most),
            counting: Mutex::new(()),
            free,
            first: limits.guess_delay,
            longest: limits.longest_guess_delay,
            forgiven: limits.guess_forgiven,
        }
    }

    /// How long the next verification waits.
    fn delay(&self, key: &K) -> Duration {
        self.delay_at(key, Instant::now())
    }

    fn delay_at(&self, key: &K, now: Instant) -> Duration {
        match self.failures(key, now).checked_sub(self.free) {
            Some(beyond) => (self.first * 2_u32.saturating_pow(beyond.min(20))).min(self.longest),
            None => Duration::ZERO,
        }
    }

    fn failures(&self, key: &K, now: Instant) -> u32 {
        let Some((count, last)) = self.counts.get(key) else { return 0 };
        let forgiven = now.saturating_duration_since(last).as_millis() / self.forgiven.as_millis().max(1);
        count.saturating_sub(u32::try_from(forgiven).unwrap_or(u32::MAX))
    }

    /// Counts one; no more than make the longest delay, so that a flood is not paid off for hours.
    fn count(&self, key: K, now: Instant) {
        let _counting = self.counting.lock();
        let longest = self.longest.as_millis() / self.first.as_millis().max(1);
        let most = self.free + longest.max(1).ilog2() + 2;
        self.counts.insert(key, ((self.failures(&key, now) + 1).min(most), now));
    }

    fn forget(&self, key: &K) {
        self.counts.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn limits() -> Limits {
        Limits {
            free_guesses_per_account: 2,
            free_guesses_per_source: 4,
            guess_delay: MILLISECOND,
            longest_guess_delay: 4 * MILLISECOND,
            waiting_per_account: 4,
            verifications_per_source: 1,
            waiting_per_source: 2,
            ..Limits::default()
        }
    }

    fn source(n: u8) -> Source {
        Source::of([192, 0, 2, n].into())
    }

    fn account(throttle: &Throttle, user: &str) -> Account {
        throttle.account(&TenantId::parse("main").expect("an id"), user)
    }

    async fn guess_wrong(throttle: &Throttle, user: &str, source: Source) {
        throttle.enter(account(throttle, user), source).await.expect("room").tried();
    }

    #[test]
    fn delay_doubles_after_the_free_failures_up_to_the_longest() {
        let failures = Failures::new(2, &limits(), 10);
        let now = Instant::now();
        let delays: Vec<_> = (0..7)
            .map(|_| {
                let delay = failures.delay_at(&'a', now);
                failures.count('a', now);
                delay.as_millis()
            })
            .collect();

        assert_eq!(delays, [0, 0, 1, 2, 4, 4, 4]);
        assert_eq!(failures.delay_at(&'b', now), Duration::ZERO);
    }

    #[test]
    fn failures_are_forgiven_one_by_one_and_a_flood_leaves_no_debt() {
        let failures = Failures::new(2, &limits(), 10);
        let (now, minute) = (Instant::now(), limits().guess_forgiven);
        (0..1000).for_each(|_| failures.count('a', now));

        let after = |minutes| failures.delay_at(&'a', now + minute * minutes).as_millis();

        assert_eq!((after(0), after(3), after(4), after(5)), (4, 2, 1, 0));
    }

    #[test]
    fn longest_settings_do_not_overflow() {
        let longest = Duration::from_secs(60);
        let limits = Limits { guess_delay: longest, longest_guess_delay: longest, ..limits() };
        let failures = Failures::new(u32::MAX - 10, &limits, 10);
        failures.count('a', Instant::now());
        let limits = Limits { guess_delay: MILLISECOND, guess_forgiven: Duration::ZERO, ..limits };
        let failures = Failures::new(0, &limits, 10);
        (0..100).for_each(|_| failures.count('a', Instant::now()));
        assert_eq!(failures.delay(&'a'), longest);
    }

    #[test]
    fn memory_of_failures_is_bounded() {
        let failures = Failures::new(2, &limits(), 1000);
        (0..50_000_u32).for_each(|n| failures.count(n, Instant::now()));
        assert!(failures.counts.len() <= 1000, "{}", failures.counts.len());
    }

    #[test]
    fn ipv6_addresses_of_one_network_are_one_source() {
        let of = |text: &str| Source::of(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }

    #[test]
    fn accounts_are_told_apart_by_tenant_and_user() {
        let throttle = Throttle::new(&limits());
        let of = |tenant: &str, user| throttle.account(&TenantId::parse(tenant).expect("an id"), user);
        assert_eq!(of("a", "b"), of("a", "b"));
        assert_ne!(of("a", "b"), of("a", "c"));
        assert_ne!(of("a", "b"), of("c", "b"));
    }

    #[tokio::test]
    async fn success_clears_the_account_and_not_the_source() {
        let throttle = Throttle::new(&limits());
        for _ in 0..5 {
            guess_wrong(&throttle, "joe", source(1)).await;
        }
        let subject = Subject::Everywhere(account(&throttle, "joe"));
        assert!(throttle.accounts.delay(&subject) > Duration::ZERO);

        throttle.enter(account(&throttle, "joe"), source(1)).await.expect("room").succeeded();

        assert_eq!(throttle.accounts.delay(&subject), Duration::ZERO);
        assert!(throttle.sources.delay(&source(1)) > Duration::ZERO);
    }

    #[tokio::test]
    async fn familiar_pair_waits_for_nobody_elses_guesses() {
        let throttle = Throttle::new(&limits());
        let joe = account(&throttle, "joe");
        throttle.enter(joe, source(1)).await.expect("room").succeeded();
        for n in 0..9 {
            guess_wrong(&throttle, "joe", source(2)).await;
            guess_wrong(&throttle, &format!("user {n}"), source(1)).await;
        }

        assert!(throttle.enter(joe, source(1)).now_or_never().is_some());
        assert!(throttle.enter(joe, source(3)).now_or_never().is_none());
    }

    #[tokio::test]
    async fn accounts_take_turns_among_sources() {
        let throttle = Throttle::new(&limits());
        let joe = account(&throttle, "joe");
        let running = throttle.enter(joe, source(1)).await.expect("room");
        let order = Mutex::new(Vec::new());
        let attempt = async |n| {
            let attempt = throttle.enter(joe, source(n)).await;
            order.lock().push((n, attempt.is_ok()));
        };
        let own = join_all([attempt(1), attempt(1)]);
        let waiting = async { tokio::join!(own, attempt(2), attempt(3)) };

        tokio::join!(waiting, async { drop(running) });

        // One of source 1 runs, one waits; a third of it is too many.
        assert_eq!(*order.lock(), [(1, false), (2, true), (3, true), (1, true)]);
    }

    #[tokio::test]
    async fn source_has_few_in_flight_and_few_that_wait() {
        let throttle = Throttle::new(&limits());
        let mut attempts = Vec::new();
        for user in ["a", "b", "c"] {
            attempts.push(throttle.enter(account(&throttle, user), source(1)).await.expect("room"));
        }
        let [mut a, mut b, mut c] = attempts.try_into().ok().expect("three");

        assert!(matches!(a.hashing().now_or_never(), Some(Ok(()))));
        let mut waiting = Box::pin(b.hashing());
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(matches!(
            c.hashing().now_or_never(),
            Some(Err(ApiError::TooManyRequests { retry_after: 1 }))
        ));
        let mut other = throttle.enter(account(&throttle, "d"), source(2)).await.expect("room");
        assert!(matches!(other.hashing().now_or_never(), Some(Ok(()))));
        drop(a);
        assert!(waiting.await.is_ok());
    }

    #[tokio::test]
    async fn burst_of_a_source_is_not_tried_before_its_failures_count() {
        let throttle = Throttle::new(&Limits { waiting_per_source: 100, ..limits() });
        let mut attempts = Vec::new();
        for n in 0..20 {
            let account = account(&throttle, &n.to_string());
            attempts.push(throttle.enter(account, source(1)).await.expect("room"));
        }

        let tried = join_all(attempts.into_iter().map(async |mut attempt| attempt.hashing().await.is_ok()));

        assert_eq!(tried.await.into_iter().filter(|tried| *tried).count(), 4);
    }

    #[tokio::test]
    async fn who_hangs_up_while_hashing_has_guessed() {
        let throttle = Throttle::new(&limits());
        for _ in 0..2 {
            let mut attempt = throttle.enter(account(&throttle, "joe"), source(1)).await.expect("room");
            attempt.hashing().await.expect("a turn");
        }
        drop(throttle.enter(account(&throttle, "ann"), source(1)).await.expect("room"));

        let delay = |user| throttle.accounts.delay(&Subject::Everywhere(account(&throttle, user)));
        assert!(delay("joe") > Duration::ZERO && delay("ann").is_zero());
    }
}
