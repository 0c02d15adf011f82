//! Guessing passwords gets slower with each wrong one, per account and per source, and is never forbidden for good.
//!
//! After a few wrong passwords each further verification waits before it is tried. It waits in a lane of its own: that of
//! its source while the source guesses wrong, then that of account and source, then that of the account; so many sources
//! that guess at one account take turns. Its owner does not stand in their line: who came in from a source before is familiar there
//! and waits for nobody's guesses but those made at this account from this source; and a source that was hardly ever wrong at
//! an account is a newcomer there and waits for newcomers alone, of whom very many are free of delay, so that an owner comes in
//! from a new address, or after a restart, however many addresses guess. Verifications that cost much CPU take turns per
//! source once more, so that a flood does not queue up in front of everybody else. A right secret that this server made waits for
//! nobody: it is compared before all this.
//!
//! Accounts that do not exist are treated like those that do. An account is remembered as a keyed hash, a source as an
//! address; neither takes more memory than it has bounds.

mod failures;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use platform_actors::limits::Limits;
use platform_actors::model::id::TenantId;
use quick_cache::sync::Cache;
use ring::hmac;

use failures::Failures;

use super::lanes::{Lanes, Turn, Width};
use crate::http::error::{ApiError, Result};
use crate::telemetry::{self, Throttled};

/// Accounts, sources and familiar pairs that are remembered, each.
const REMEMBERED: usize = 100_000;

/// Wrong passwords from one source that leave it a newcomer at an account, at most: people mistype.
const SLIPS: u32 = 3;
/// Wrong passwords of newcomers at one account that cost no delay: enough for the slips of 40 sources, and few for somebody who
/// wants to guess a password.
const FREE_NEWCOMERS: u32 = 128;
/// As many times more newcomers may wait for each other.
const MORE_NEWCOMERS: usize = 8;
/// So many times longer it is remembered which source was wrong at which account.
const REMEMBERED_LONGER: u32 = 20;

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
    Newcomers(Account),
    Familiar(Account, Source),
}

/// Where verifications wait for each other. They are entered in this order, so that no two wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// A source that has accounts looked up. It is left before the others are entered.
    LookUp(Source),
    /// A source that guessed wrong too often.
    Entrance(Source),
    /// An account, as far as one source tries it.
    Pair(Account, Source),
    /// An account, for newcomers.
    Newcomers(Account),
    /// An account, for those that were wrong there.
    Account(Account),
    /// A source that needs CPU time.
    Hashing(Source),
}

/// Counts wrong passwords and lets verifications wait.
pub(super) struct Throttle {
    key: hmac::Key,
    accounts: Failures<Subject>,
    newcomers: Failures<Account>,
    pairs: Failures<(Account, Source)>,
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
        let slips = limits.free_guesses_per_account.clamp(1, SLIPS);
        let longer = Limits { guess_forgiven: limits.guess_forgiven * REMEMBERED_LONGER, ..limits.clone() };
        Self {
            key: hmac::Key::generate(hmac::HMAC_SHA256, &random).expect("the system's random source works"),
            accounts: Failures::new(limits.free_guesses_per_account, limits, REMEMBERED),
            newcomers: Failures::new(FREE_NEWCOMERS, limits, REMEMBERED),
            pairs: Failures::new(slips, &longer, REMEMBERED),
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
        let subject = self.subject(account, source);
        let familiar = matches!(subject, Subject::Familiar(..));
        let refusal = || refuse(Throttled::Account, self.delay(&subject));
        let entrance = if familiar { None } else { self.slow_down(source).await? };
        let one = |inside| Width { at_once: 1, inside };
        // One source takes at most half of what may wait for an account, and one turn at a time.
        let pair = self.lanes.turn(Lane::Pair(account, source), one(self.waiting_per_account / 2)).await;
        let pair = pair.ok_or_else(refusal)?;
        let lane = match subject {
            Subject::Familiar(..) => None,
            Subject::Newcomers(_) => {
                Some((Lane::Newcomers(account), one(self.waiting_per_account * MORE_NEWCOMERS)))
            }
            Subject::Everywhere(_) => Some((Lane::Account(account), one(self.waiting_per_account))),
        };
        let whole = match lane {
            Some((lane, width)) => Some(self.lanes.turn(lane, width).await.ok_or_else(refusal)?),
            None => None,
        };
        wait(Throttled::Account, self.delay(&subject)).await;
        let slowed = familiar || entrance.is_some();
        let turns = [entrance, Some(pair), whole].into_iter().flatten().collect();
        Ok(Attempt { throttle: self, account, source, subject, slowed, counts: false, turns })
    }

    fn subject(&self, account: Account, source: Source) -> Subject {
        if self.familiar.get(&(account, source)).is_some() {
            return Subject::Familiar(account, source);
        }
        match self.pairs.delay(&(account, source)).is_zero() {
            true => Subject::Newcomers(account),
            false => Subject::Everywhere(account),
        }
    }

    fn delay(&self, subject: &Subject) -> Duration {
        match subject {
            Subject::Newcomers(account) => self.newcomers.delay(account),
            subject => self.accounts.delay(subject),
        }
    }

    /// Lets a source have an account looked up, before it waits for anything; `None` when too many of its requests wait for
    /// that, so that a flood costs the database no more than a few look-ups at once.
    pub(super) async fn look_up(&self, source: Source) -> Option<Turn<Lane>> {
        let width = Width { at_once: self.at_once, inside: self.waiting_per_source };
        self.lanes.turn(Lane::LookUp(source), width).await
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

    /// Newcomers are wrong at the account like everybody else.
    fn counted_as(&self) -> Subject {
        match self.subject {
            Subject::Newcomers(account) => Subject::Everywhere(account),
            subject => subject,
        }
    }

    /// The password was right: what was wrong before is forgotten, and the account is familiar here.
    pub(super) fn succeeded(mut self) {
        self.counts = false;
        self.throttle.accounts.forget(&self.counted_as());
        self.throttle.pairs.forget(&(self.account, self.source));
        self.throttle.familiar.insert((self.account, self.source), ());
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.counts {
            let now = Instant::now();
            self.throttle.accounts.count(self.counted_as(), now);
            self.throttle.pairs.count((self.account, self.source), now);
            if let Subject::Newcomers(account) = self.subject {
                self.throttle.newcomers.count(account, now);
            }
            self.throttle.sources.count(self.source, now);
        }
    }
}

fn refuse(by: Throttled, delay: Duration) -> ApiError {
    telemetry::count_throttled(by, "refused");
    ApiError::TooManyRequests { of: "attempts to log in", retry_after: delay.as_secs() + 1 }
}

async fn wait(by: Throttled, delay: Duration) {
    if !delay.is_zero() {
        telemetry::count_throttled(by, "delayed");
        tokio::time::sleep(delay).await;
    }
}
