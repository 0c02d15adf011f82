//! Tests of the throttle: which verifications are delayed, and behind which others they wait.

use futures_util::FutureExt;
use futures_util::future::join_all;
use parking_lot::Mutex;

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

fn source(n: u8) -> RequestSource {
    RequestSource::of([192, 0, 2, n].into())
}

fn account(throttle: &Throttle, user: &str) -> Account {
    throttle.account(&TenantId::parse("main").expect("an id"), user)
}

async fn guess_wrong(throttle: &Throttle, user: &str, source: RequestSource) {
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
    let of = |text: &str| RequestSource::of(text.parse().expect("an address"));
    assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
    assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
    assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
}

#[test]
fn accounts_differ_by_tenant_and_user() {
    let throttle = throttle(limits());
    let of = |tenant: &str, user| throttle.account(&TenantId::parse(tenant).expect("an id"), user);
    assert_eq!(of("a", "b"), of("a", "b"));
    assert_ne!(of("a", "b"), of("a", "c"));
    assert_ne!(of("a", "b"), of("c", "b"));
}

#[tokio::test]
async fn success_clears_the_account_and_not_the_source() {
    let throttle = throttle(limits());
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
async fn familiar_pair_is_not_delayed_by_other_guesses() {
    let throttle = throttle(limits());
    let joe = account(&throttle, "joe");
    throttle.enter(joe, source(1)).await.expect("room").succeeded();
    for n in 0..9 {
        guess_wrong(&throttle, "joe", source(2)).await;
        guess_wrong(&throttle, &format!("user {n}"), source(1)).await;
    }

    assert!(throttle.enter(joe, source(1)).now_or_never().is_some());
    assert!(throttle.enter(joe, source(2)).now_or_never().is_none());
}

/// The number of sources that guess in these tests.
const GUESSERS: u8 = 40;

#[tokio::test]
async fn owner_at_a_new_address_is_not_delayed_by_forty_guessers() {
    let throttle = throttle(Limits { waiting_per_account: 16, ..limits() });
    let joe = account(&throttle, "joe");
    for _ in 0..SLIPS {
        for guesser in 0..GUESSERS {
            guess_wrong(&throttle, "joe", source(guesser)).await;
        }
    }
    let mut guesses: Vec<_> = (0..GUESSERS).map(|n| Box::pin(throttle.enter(joe, source(n)))).collect();
    let outcomes: Vec<_> = guesses.iter_mut().map(|guess| guess.as_mut().now_or_never()).collect();
    assert!(outcomes.iter().all(|outcome| !matches!(outcome, Some(Ok(_)))), "all wait or are refused");

    let owner = throttle.enter(joe, source(GUESSERS)).now_or_never();

    assert!(matches!(owner, Some(Ok(_))), "the first turn is the owner's");
    assert_eq!(throttle.delay(&Subject::Newcomers(joe)), Duration::ZERO);
}

#[tokio::test]
async fn owner_waits_for_one_turn_of_each_of_forty_earlier_newcomers() {
    let throttle = throttle(Limits { waiting_per_account: 16, ..limits() });
    let joe = account(&throttle, "joe");
    let turns = Mutex::new(Vec::new());
    let attempt = async |n| match throttle.enter(joe, source(n)).await {
        Ok(mut attempt) => {
            turns.lock().push(n);
            // The task yields as if its password were being hashed.
            tokio::task::yield_now().await;
            if n != GUESSERS {
                attempt.tried();
            }
        }
        Err(_) => assert_ne!(n, GUESSERS, "the owner is refused"),
    };

    // Each guesser has several guesses in flight, all of them before the owner's only attempt.
    let guesses = (0..4).flat_map(|_| 0..GUESSERS).map(&attempt);
    tokio::join!(join_all(guesses), attempt(GUESSERS));

    let waited = turns.lock().iter().position(|n| *n == GUESSERS).expect("the owner's turn");
    assert!(waited <= usize::from(GUESSERS), "{waited}");
}

#[tokio::test]
async fn very_many_newcomers_are_delayed_like_everybody() {
    let throttle = throttle(limits());
    let joe = account(&throttle, "joe");
    for n in 0..=FREE_NEWCOMERS {
        let source = RequestSource::of(std::net::Ipv4Addr::from(n).into());
        guess_wrong(&throttle, "joe", source).await;
    }

    assert!(throttle.delay(&Subject::Newcomers(joe)) > Duration::ZERO);
}

#[tokio::test]
async fn source_stops_being_a_newcomer_for_longer_than_a_wrong_password_counts() {
    let throttle = throttle(limits());
    let joe = account(&throttle, "joe");
    let now = Instant::now();
    (0..SLIPS).for_each(|_| throttle.pairs.count((joe, source(1)), now));

    let forgiven = now + limits().guess_forgiven * 2 * (SLIPS + 1);

    assert!(throttle.pairs.delay_at(&(joe, source(1)), forgiven) > Duration::ZERO);
}

#[tokio::test]
async fn accounts_take_turns_among_sources() {
    let throttle = throttle(limits());
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

    // One attempt of source 1 runs and one waits; a third is too many.
    assert_eq!(*order.lock(), [(1, false), (2, true), (3, true), (1, true)]);
}

#[tokio::test]
async fn source_has_few_in_flight_and_few_that_wait() {
    let throttle = throttle(limits());
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
        Some(Err(ApiError::TooManyRequests { retry_after: 1, .. }))
    ));
    let mut other = throttle.enter(account(&throttle, "d"), source(2)).await.expect("room");
    assert!(matches!(other.hashing().now_or_never(), Some(Ok(()))));
    drop(a);
    assert!(waiting.await.is_ok());
}

#[tokio::test]
async fn burst_of_a_source_is_not_tried_before_its_failures_count() {
    let throttle = throttle(Limits { waiting_per_source: 100, ..limits() });
    let mut attempts = Vec::new();
    for n in 0..20 {
        let account = account(&throttle, &n.to_string());
        attempts.push(throttle.enter(account, source(1)).await.expect("room"));
    }

    let tried = join_all(attempts.into_iter().map(async |mut attempt| {
        let has_turn = attempt.hashing().await.is_ok();
        if has_turn {
            attempt.tried();
        }
        has_turn
    }));

    assert_eq!(tried.await.into_iter().filter(|tried| *tried).count(), 4);
}

#[tokio::test]
async fn client_that_disconnects_while_hashing_has_guessed() {
    let throttle = throttle(limits());
    for _ in 0..2 {
        let mut attempt = throttle.enter(account(&throttle, "joe"), source(1)).await.expect("room");
        attempt.hashing().await.expect("a turn");
        attempt.tried();
    }
    // This one has not waited for the hash.
    let mut early = throttle.enter(account(&throttle, "eve"), source(1)).await.expect("room");
    early.hashing().await.expect("a turn");
    drop(early);
    drop(throttle.enter(account(&throttle, "ann"), source(1)).await.expect("room"));

    let delay = |user| throttle.accounts.delay(&Subject::Everywhere(account(&throttle, user)));
    assert!(delay("joe") > Duration::ZERO && delay("ann").is_zero() && delay("eve").is_zero());
}

/// A throttle of a server with the key of all test servers.
fn throttle(limits: Limits) -> Throttle {
    let directory = tempfile::tempdir().unwrap();
    Throttle::new(&limits, &SecretKey::create(&directory.path().join("key")).unwrap())
}

#[tokio::test]
async fn guess_at_one_server_counts_at_the_others_and_once_at_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let key = SecretKey::create(&directory.path().join("key")).unwrap();
    let [here, there] = [(); 2].map(|()| Throttle::new(&limits(), &key));
    let tenant = TenantId::parse("main").unwrap();
    let account = here.account(&tenant, "mia");
    assert_eq!(account, there.account(&tenant, "mia"));
    let source = RequestSource::of("192.0.2.1".parse().unwrap());
    for _ in 0..40 {
        here.failed(account, source, here.subject(account, source));
        here.tell(Some(account), source);
    }
    let before = here.sources.delay(&source);
    assert!(!here.is_slowed(RequestSource::of("192.0.2.2".parse().unwrap())) && here.is_slowed(source));

    for guess in here.told().await {
        let Change::Guess(_, text) = guess else { panic!("{guess:?}") };
        there.heard(&text);
        here.heard(&text);
    }

    assert!(there.is_slowed(source));
    assert!(!there.accounts.delay(&Subject::Everywhere(account)).is_zero());
    assert!(here.sources.delay(&source) <= before);
    for nonsense in ["", "a/b", "a/1/zz/192.0.2.9", "a/1//nowhere", "a/1/ff/"] {
        there.heard(nonsense);
    }
}
