//! Turns at the threads that hash passwords. Log-ins come first, then changes of single passwords, then files of
//! devices; within each of these, tenants take turns, and each tenant's requests keep their order.
//!
//! A purpose that comes later is not starved: after [`OVERTAKEN`] turns of others it has one.

use std::sync::Arc;

use parking_lot::Mutex;
use platform_model::id::TenantId;
use platform_store::lines::Lines;
use tokio::sync::oneshot;

/// The number of turns after which a waiting purpose has one, whatever else waits.
const OVERTAKEN: usize = 8;

/// The purpose of a hash. The order of the variants is that of their turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A password is verified.
    LogIn,
    /// One user gets a new password.
    Change,
    /// A row of a file gives a device its password (N-12).
    Registration,
}

/// The number of purposes.
const PURPOSES: usize = 3;

/// The turns, and the requests that wait for one.
#[derive(Clone)]
pub(super) struct Turns(Arc<Mutex<Waiting>>);

struct Waiting {
    free: usize,
    /// The requests of each purpose, by tenant.
    lines: [Lines<TenantId, oneshot::Sender<Turn>>; PURPOSES],
    /// The number of turns of earlier purposes since the last one of each.
    overtaken: [usize; PURPOSES],
}

/// A turn, which passes to the next request when it is dropped.
pub(in crate::auth) struct Turn(Option<Turns>);

impl Turns {
    pub(super) fn new(count: usize) -> Self {
        Self(Arc::new(Mutex::new(Waiting {
            free: count,
            lines: Default::default(),
            overtaken: [0; PURPOSES],
        })))
    }

    /// Waits for a turn. A request whose future is dropped no longer waits.
    pub(super) async fn turn(&self, purpose: Purpose, tenant: &TenantId) -> Turn {
        let receiver = {
            let mut waiting = self.0.lock();
            if waiting.free > 0 {
                waiting.free -= 1;
                return Turn(Some(self.clone()));
            }
            let (sender, receiver) = oneshot::channel();
            waiting.lines[purpose as usize].push(tenant, sender);
            receiver
        };
        receiver.await.expect("a waiting request is only removed together with its turn")
    }

    fn pass_on(self) {
        let mut turn = Turn(Some(self.clone()));
        loop {
            let next = {
                let mut waiting = self.0.lock();
                let next = waiting.next();
                if next.is_none() {
                    waiting.free += 1;
                }
                next
            };
            let Some(next) = next else {
                turn.0 = None;
                return;
            };
            match next.send(turn) {
                Ok(()) => return,
                // This request waits no longer.
                Err(back) => turn = back,
            }
        }
    }
}

impl Waiting {
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let waits = |purpose: &usize| !self.lines[*purpose].is_empty();
        let starved = (0..PURPOSES).rev().filter(waits).find(|at| self.overtaken[*at] >= OVERTAKEN);
        let chosen = starved.or_else(|| (0..PURPOSES).find(waits))?;
        let overtaken: Vec<usize> = (chosen + 1..PURPOSES).filter(waits).collect();
        overtaken.into_iter().for_each(|purpose| self.overtaken[purpose] += 1);
        self.overtaken[chosen] = 0;
        self.lines[chosen].pop()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use futures_util::FutureExt;
    use futures_util::future::LocalBoxFuture;
    use futures_util::stream::{FuturesUnordered, StreamExt};

    use super::Purpose::{Change, LogIn, Registration};
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).expect("an id")
    }

    /// Lets requests wait in the given order for a single turn, and returns the order in which they had it.
    async fn order(requests: Vec<(Purpose, &'static str, &'static str)>) -> Vec<&'static str> {
        let (turns, seen) = (Turns::new(1), Rc::new(RefCell::new(Vec::new())));
        let first = turns.turn(LogIn, &tenant("first")).await;
        let waiting: FuturesUnordered<LocalBoxFuture<'static, ()>> = FuturesUnordered::new();
        for (purpose, of, name) in requests {
            let (turns, seen) = (turns.clone(), seen.clone());
            let mut request = async move {
                let turn = turns.turn(purpose, &tenant(of)).await;
                seen.borrow_mut().push(name);
                drop(turn);
            }
            .boxed_local();
            assert!(request.as_mut().now_or_never().is_none(), "{name} waits");
            waiting.push(request);
        }

        drop(first);
        waiting.collect::<()>().await;

        assert_eq!(turns.0.lock().free, 1);
        seen.take()
    }

    #[tokio::test]
    async fn log_ins_come_before_changes_and_these_before_files() {
        let requests = vec![
            (Registration, "a", "file"),
            (Change, "a", "change"),
            (Registration, "b", "other file"),
            (LogIn, "b", "log-in"),
            (LogIn, "b", "second log-in"),
        ];
        assert_eq!(order(requests).await, ["log-in", "second log-in", "change", "file", "other file"]);
    }

    #[tokio::test]
    async fn tenants_have_turns_one_after_the_other() {
        for purpose in [LogIn, Change, Registration] {
            let requests = vec![
                (purpose, "a", "a1"),
                (purpose, "a", "a2"),
                (purpose, "a", "a3"),
                (purpose, "b", "b1"),
                (purpose, "b", "b2"),
                (purpose, "c", "c1"),
            ];
            assert_eq!(order(requests).await, ["a1", "b1", "c1", "a2", "b2", "a3"], "{purpose:?}");
        }
    }

    #[tokio::test]
    async fn files_and_changes_are_not_starved_by_log_ins() {
        let mut requests = vec![(Registration, "a", "file"), (Change, "a", "change")];
        requests.extend([(LogIn, "b", "log-in"); 3 * OVERTAKEN]);

        let order = order(requests).await;

        let place = |name| order.iter().position(|seen| *seen == name).expect("it had a turn");
        assert!(place("file") <= OVERTAKEN + 1 && place("change") <= OVERTAKEN + 1, "{order:?}");
    }

    #[tokio::test]
    async fn request_that_no_longer_waits_costs_no_turn() {
        let (turns, a) = (Turns::new(1), tenant("a"));
        let first = turns.turn(LogIn, &a).await;
        let mut gone = Box::pin(turns.turn(LogIn, &a));
        let mut late = Box::pin(turns.turn(LogIn, &a));
        let mut last = Box::pin(turns.turn(LogIn, &a));
        for request in [&mut gone, &mut late, &mut last] {
            assert!(request.as_mut().now_or_never().is_none());
        }

        drop(gone);
        drop(first);
        // It has the turn already when it is dropped.
        drop(late);

        assert!(last.as_mut().now_or_never().is_some());
    }
}
