//! The turns of the modules of a thread. Tenants take turns one after the other, however many modules they have, and
//! the modules of a tenant share the turns of their tenant one after the other.

use std::sync::Arc;

use actix::prelude::*;
use parking_lot::Mutex;
use platform_model::id::TenantId;
use platform_store::lines::Lines;

use super::ModuleActor;

/// Gives a module the turn. It is sent when the turn of another module ends.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct TakeTurn(pub(super) ModuleTurn);

/// The turns of the modules of one thread.
#[derive(Clone, Default)]
pub(crate) struct ModuleTurns(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Whether a module has the turn.
    is_taken: bool,
    /// The waiting modules by tenant.
    waiting: Lines<TenantId, Recipient<TakeTurn>>,
}

/// The right to compute. When it is dropped, the next module has the turn.
pub(crate) struct ModuleTurn(ModuleTurns);

impl ModuleTurns {
    /// Takes the turn if it is free. Otherwise the module receives [`TakeTurn`] later.
    pub(super) fn ask(&self, tenant: &TenantId, module: Recipient<TakeTurn>) -> Option<ModuleTurn> {
        let mut state = self.0.lock();
        if !state.is_taken && state.waiting.is_empty() {
            state.is_taken = true;
            return Some(ModuleTurn(self.clone()));
        }
        state.waiting.push(tenant, module);
        None
    }

    /// Returns the module whose turn is next.
    fn next(&self) -> Option<Recipient<TakeTurn>> {
        let mut state = self.0.lock();
        let next = state.waiting.pop();
        state.is_taken = next.is_some();
        next
    }
}

impl Drop for ModuleTurn {
    fn drop(&mut self) {
        if let Some(next) = self.0.next() {
            // A module that has ended drops the message and with it the turn, so the next module gets the turn.
            next.do_send(TakeTurn(Self(self.0.clone())));
        }
    }
}

impl Handler<TakeTurn> for ModuleActor {
    type Result = ();

    fn handle(&mut self, TakeTurn(turn): TakeTurn, ctx: &mut Self::Context) {
        self.waits_for_turn = false;
        self.work_in_turn(turn, ctx);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// A module that records its name when it gets the turn.
    struct Module {
        name: &'static str,
        seen: Rc<RefCell<Vec<&'static str>>>,
    }

    impl Actor for Module {
        type Context = Context<Self>;
    }

    impl Handler<TakeTurn> for Module {
        type Result = ();

        fn handle(&mut self, _: TakeTurn, _: &mut Self::Context) {
            self.seen.borrow_mut().push(self.name);
        }
    }

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).expect("an id")
    }

    #[actix::test]
    async fn tenants_take_turns_regardless_of_their_number_of_modules() {
        let (turns, seen) = (ModuleTurns::default(), Rc::<RefCell<Vec<_>>>::default());
        let module = |name| Module { name, seen: seen.clone() }.start().recipient();
        let first = turns.ask(&tenant("noisy"), module("noisy 0")).expect("the turn is free");
        for name in ["noisy 1", "noisy 2", "noisy 3"] {
            assert!(turns.ask(&tenant("noisy"), module(name)).is_none());
        }
        for name in ["quiet 1", "quiet 2"] {
            assert!(turns.ask(&tenant("quiet"), module(name)).is_none());
        }

        drop(first);
        while seen.borrow().len() < 5 {
            tokio::task::yield_now().await;
        }

        assert_eq!(*seen.borrow(), ["noisy 1", "quiet 1", "noisy 2", "quiet 2", "noisy 3"]);
        assert!(turns.ask(&tenant("quiet"), module("quiet 3")).is_some(), "every module had a turn");
    }

    #[actix::test]
    async fn module_that_has_ended_passes_the_turn_on() {
        let (turns, seen) = (ModuleTurns::default(), Rc::<RefCell<Vec<_>>>::default());
        let first = turns.ask(&tenant("a"), Module { name: "a", seen: seen.clone() }.start().recipient());
        let gone = {
            let arbiter = Arbiter::new();
            let (sender, address) = std::sync::mpsc::channel();
            arbiter.spawn_fn(move || {
                let module = Module { name: "gone", seen: Rc::default() };
                sender.send(module.start().recipient::<TakeTurn>()).expect("the receiver exists");
            });
            let address = address.recv().expect("it starts");
            arbiter.stop();
            arbiter.join().expect("it ends");
            address
        };
        assert!(turns.ask(&tenant("b"), gone).is_none());
        let last = Module { name: "last", seen: seen.clone() }.start().recipient();
        assert!(turns.ask(&tenant("c"), last).is_none());

        drop(first);
        while seen.borrow().is_empty() {
            tokio::task::yield_now().await;
        }

        assert_eq!(*seen.borrow(), ["last"]);
    }
}
