//! Throttling of password guesses: each wrong password slows down further guesses, per account and per
//! source, and never locks out anybody for good.
//!
//! After a few wrong passwords, each further verification is delayed. It passes several queues (lanes) one after the
//! other: first that of its source, if the source has guessed wrong too often; then that of the pair of account and
//! source; then that of the account. Many sources that guess at one account therefore take turns.
//!
//! The owner of an account does not wait behind guessers. A source that has logged in before is *familiar* to the
//! account: it is delayed only by wrong guesses from this source at this account. A source with hardly any wrong
//! guesses at the account is a *newcomer*: it waits for other newcomers only, and these are not delayed unless there
//! are very many. So an owner can log in from a new address, or after a restart, regardless of the number of addresses
//! that guess.
//!
//! Verifications that cost much CPU time also take turns per source, so that a flood from one source does not
//! delay others. A correct secret that this server generated never waits: it is compared before all this.
//!
//! Unknown accounts are treated like existing ones. Accounts are stored as keyed hashes, sources as
//! addresses, and the memory for both is bounded.

mod failures;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use platform_front::secrets::password::{self, SecretKey};
use platform_front::telemetry::{self, Throttled};
use platform_model::id::TenantId;
use platform_model::limits::Limits;
use platform_store::realtime::announcements::Change;
use quick_cache::sync::Cache;
use ring::hmac;
use tokio::sync::{Mutex, mpsc};

use failures::Failures;

use super::lanes::{LaneTurn, Lanes, Width};
use crate::http::error::{ApiError, Result};

/// The number of accounts, of sources and of familiar pairs with state, each.
const REMEMBERED: usize = 100_000;

/// The most guesses that are queued for the other servers.
const UNTOLD: usize = 256;

/// The number of wrong passwords at an account after which a source is no longer a newcomer: people mistype.
const SLIPS: u32 = 3;
/// The number of wrong passwords of newcomers at one account that cause no delay: enough for the typing
/// errors of 40 sources, and few for guessing a password.
const FREE_NEWCOMERS: u32 = 128;
/// The factor by which more newcomers may wait than others.
const MORE_NEWCOMERS: usize = 8;
/// The factor by which wrong passwords of a source at an account are remembered longer.
const REMEMBERED_LONGER: u32 = 20;

/// The origin of a request for counting guesses: an IPv4 address, or an IPv6 network of 64 bits, because one
/// subscriber has all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestSource(IpAddr);

impl fmt::Display for RequestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl RequestSource {
    /// Returns the source of an address.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(v4) => IpAddr::V4(v4),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        })
    }

    /// Returns the address, of IPv6 that of the network of 64 bits.
    pub(crate) fn address(self) -> IpAddr {
        self.0
    }
}

/// The keyed hash of a user of a tenant, whether or not it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Account([u8; 16]);

/// The subject under which wrong passwords at an account are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Subject {
    Everywhere(Account),
    Newcomers(Account),
    Familiar(Account, RequestSource),
}

impl Subject {
    /// Returns the subject of a failure: newcomers count like everybody else.
    fn counted_as(self) -> Self {
        match self {
            Self::Newcomers(account) => Self::Everywhere(account),
            subject => subject,
        }
    }
}

/// The lanes in which verifications wait. They are entered in this order, so that there is no deadlock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// A source that has guessed wrong too often.
    Entrance(RequestSource),
    /// An account, for one source.
    Pair(Account, RequestSource),
    /// An account, for newcomers.
    Newcomers(Account),
    /// An account, for sources that have guessed wrong there.
    Account(Account),
    /// CPU time, for one source.
    Hashing(RequestSource),
}

/// The counters of wrong passwords, and the lanes in which verifications wait.
pub(super) struct Throttle {
    key: hmac::Key,
    /// A unique id of this process. It identifies the server's own guesses, so that they are not counted twice.
    process: Box<str>,
    /// The tenant in messages about guesses. Other servers process these messages for every tenant.
    nobody: TenantId,
    /// The queue of guesses for the other servers. When it is full, a guess is counted at this server only.
    guesses: mpsc::Sender<Change>,
    untold: Mutex<mpsc::Receiver<Change>>,
    accounts: Failures<Subject>,
    newcomers: Failures<Account>,
    pairs: Failures<(Account, RequestSource)>,
    sources: Failures<RequestSource>,
    familiar: Cache<(Account, RequestSource), ()>,
    lanes: Lanes<Lane>,
    at_once: usize,
    waiting_per_account: usize,
    waiting_per_source: usize,
}

impl Throttle {
    /// Creates the counters of a server. The servers of a deployment have the same secret key, and so the same keys of
    /// accounts.
    pub(super) fn new(limits: &Limits, secret_key: &SecretKey) -> Self {
        let key = secret_key.hash("keys of accounts whose passwords are guessed");
        let (guesses, heard) = mpsc::channel(UNTOLD);
        let slips = limits.free_guesses_per_account.clamp(1, SLIPS);
        let longer = Limits { guess_forgiven: limits.guess_forgiven * REMEMBERED_LONGER, ..limits.clone() };
        Self {
            key: hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()),
            process: password::generate().into(),
            nobody: TenantId::parse("management").expect("it is an id"),
            guesses,
            untold: Mutex::new(heard),
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

    /// Returns the key of an account, whether or not it exists.
    pub(super) fn account(&self, tenant: &TenantId, user: &str) -> Account {
        let mut mac = hmac::Context::with_key(&self.key);
        mac.update(tenant.as_str().as_bytes());
        mac.update(b"/");
        mac.update(user.as_bytes());
        Account(mac.sign().as_ref()[..16].try_into().expect("SHA-256 has 32 bytes"))
    }

    /// Waits until a password of this account may be tried from this source. The caller holds nothing else in
    /// the meantime.
    ///
    /// # Errors
    /// `TooManyRequests` when too many are waiting already.
    pub(super) async fn enter(&self, account: Account, source: RequestSource) -> Result<Attempt<'_>> {
        let subject = self.subject(account, source);
        let familiar = matches!(subject, Subject::Familiar(..));
        let refusal = || refuse(Throttled::Account, self.delay(&subject));
        let entrance = if familiar { None } else { self.slow_down(source).await? };
        let one = |inside| Width { at_once: 1, inside };
        // A source takes at most half of the places of an account, and one turn at a time.
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

    fn subject(&self, account: Account, source: RequestSource) -> Subject {
        if self.familiar.get(&(account, source)).is_some() {
            return Subject::Familiar(account, source);
        }
        if self.pairs.delay(&(account, source)).is_zero() {
            Subject::Newcomers(account)
        } else {
            Subject::Everywhere(account)
        }
    }

    fn delay(&self, subject: &Subject) -> Duration {
        match subject {
            Subject::Newcomers(account) => self.newcomers.delay(account),
            subject => self.accounts.delay(subject),
        }
    }

    /// Returns whether a source has recently guessed wrong too often.
    pub(super) fn is_slowed(&self, source: RequestSource) -> bool {
        !self.sources.delay(&source).is_zero()
    }

    /// Delays a source that has guessed wrong too often; returns `None` for others.
    ///
    /// # Errors
    /// `TooManyRequests` when too many of its requests are waiting already.
    pub(super) async fn slow_down(&self, source: RequestSource) -> Result<Option<LaneTurn<Lane>>> {
        let delay = self.sources.delay(&source);
        if delay.is_zero() {
            return Ok(None);
        }
        // Each of those that wait takes the longest delay, so a few exhaust a client's timeout.
        let width = Width { at_once: self.at_once, inside: self.at_once * 4 };
        let turn = self.lanes.turn(Lane::Entrance(source), width).await;
        let turn = turn.ok_or_else(|| refuse(Throttled::Source, delay))?;
        wait(Throttled::Source, self.sources.delay(&source)).await;
        Ok(Some(turn))
    }

    /// Counts a guess without an account.
    pub(super) fn failed_at(&self, source: RequestSource) {
        telemetry::count_failed_login("token");
        tracing::warn!(target: "platform::security", %source, "token refused");
        self.sources.count(source, Instant::now());
        self.tell(None, source);
    }

    /// Counts a wrong password.
    fn failed(&self, account: Account, source: RequestSource, subject: Subject) {
        let now = Instant::now();
        self.accounts.count(subject.counted_as(), now);
        self.pairs.count((account, source), now);
        if let Subject::Newcomers(account) = subject {
            self.newcomers.count(account, now);
        }
        self.sources.count(source, now);
    }

    /// Queues a guess for the other servers. A guess without an account was made at a token.
    fn tell(&self, account: Option<Account>, source: RequestSource) {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let account =
            account.map(|Account(key)| format!("{:032x}", u128::from_be_bytes(key))).unwrap_or_default();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let text = format!("{}/{number}/{account}/{source}", self.process);
        self.guesses.try_send(Change::Guess(self.nobody.clone(), text.into())).ok();
    }

    /// Waits for queued guesses and returns them.
    pub(super) async fn told(&self) -> Vec<Change> {
        let mut guesses = Vec::new();
        self.untold.lock().await.recv_many(&mut guesses, UNTOLD).await;
        guesses
    }

    /// Counts a guess at another server, from the text made by [`tell`](Self::tell).
    pub(super) fn heard(&self, text: &str) {
        let mut parts = text.splitn(4, '/');
        let (Some(process), Some(_), Some(account), Some(source)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return;
        };
        let Ok(source) = source.parse().map(RequestSource::of) else { return };
        if *process == *self.process {
            return;
        }
        match u128::from_str_radix(account, 16) {
            Ok(key) => {
                let account = Account(key.to_be_bytes());
                self.failed(account, source, self.subject(account, source));
            }
            Err(_) => self.sources.count(source, Instant::now()),
        }
    }
}

/// A password that may be tried now.
pub(super) struct Attempt<'t> {
    throttle: &'t Throttle,
    account: Account,
    source: RequestSource,
    subject: Subject,
    /// Whether it holds a turn of its source already, or needs none.
    slowed: bool,
    /// Whether dropping it counts as a wrong password: a client that disconnects must not guess for free.
    counts: bool,
    turns: Vec<LaneTurn<Lane>>,
}

impl Attempt<'_> {
    /// Waits until the source may use CPU time.
    ///
    /// # Errors
    /// `TooManyRequests` when too many of its requests are waiting already, or the source has become a
    /// guesser in the meantime.
    pub(super) async fn hashing(&mut self) -> Result<()> {
        if !self.slowed {
            let width = Width { at_once: self.throttle.at_once, inside: self.throttle.waiting_per_source };
            let turn = self.throttle.lanes.turn(Lane::Hashing(self.source), width).await;
            let delay = self.throttle.sources.delay(&self.source);
            let turn = turn.filter(|_| delay.is_zero());
            self.turns.push(turn.ok_or_else(|| refuse(Throttled::Source, delay))?);
        }
        Ok(())
    }

    /// Notes that a password is compared. From then on the attempt counts as a failure unless it succeeds, even if the
    /// client does not wait for the response.
    pub(super) fn tried(&mut self) {
        self.counts = true;
    }

    /// Marks the attempt as successful: earlier failures are forgotten, and the source becomes familiar at
    /// the account.
    pub(super) fn succeeded(mut self) {
        self.counts = false;
        self.throttle.accounts.forget(&self.subject.counted_as());
        self.throttle.pairs.forget(&(self.account, self.source));
        self.throttle.familiar.insert((self.account, self.source), ());
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.counts {
            self.throttle.failed(self.account, self.source, self.subject);
            self.throttle.tell(Some(self.account), self.source);
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
