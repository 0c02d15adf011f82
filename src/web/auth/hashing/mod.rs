//! Slow hashes of passwords that people chose, on a few threads of their own, so that they can exhaust neither memory
//! (19 MiB each) nor CPU time. [`turns`] decides which request has the next turn.

mod turns;

use std::sync::Arc;

use actix::prelude::*;
use platform_front::secrets::password::{hash_chosen, verify_chosen};
use platform_front::stop::Stop;
use platform_model::error::Error;
use platform_model::id::TenantId;

use super::{Authenticator, Caller, MACHINE_SECRET};
use crate::http::RequestHead;
use crate::http::error::{ApiError, Result};
use turns::{Purpose, Turn, Turns};

/// The threads, and the turns at them.
pub(super) struct HashingThreads {
    threads: Addr<HashingThread>,
    turns: Turns,
    stop: Arc<Stop>,
}

impl HashingThreads {
    /// Starts half as many threads as there are cores.
    pub(super) fn start(stop: Arc<Stop>) -> Self {
        let count = std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1));
        Self { threads: SyncArbiter::start(count, || HashingThread), turns: Turns::new(count), stop }
    }

    /// Waits for a turn to verify a password. `tenant` is the one that the credentials name.
    ///
    /// # Errors
    /// `Stopping` when the server stops before it is this request's turn.
    pub(super) async fn turn_of_log_in(&self, tenant: &TenantId) -> Result<Turn> {
        self.turn(Purpose::LogIn, tenant).await
    }

    /// Compares a password with a hash.
    ///
    /// # Errors
    /// `Unavailable` when the threads have ended.
    pub(super) async fn verify(&self, turn: Turn, password: String, hash: String) -> Result<bool> {
        Ok(self.threads.send(VerifyChosen { password, hash, turn }).await.map_err(Error::unavailable)?)
    }

    async fn hash(&self, purpose: Purpose, tenant: &TenantId, password: String) -> Result<String> {
        let turn = self.turn(purpose, tenant).await?;
        Ok(self.threads.send(HashChosen { password, turn }).await.map_err(Error::unavailable)?)
    }

    async fn turn(&self, purpose: Purpose, tenant: &TenantId) -> Result<Turn> {
        tokio::select! {
            biased;
            turn = self.turns.turn(purpose, tenant) => Ok(turn),
            () = self.stop.grace_over() => Err(ApiError::Stopping),
        }
    }
}

impl Authenticator {
    /// Hashes a password that a person chose, if there is one, in a turn of the caller's tenant (U-16).
    ///
    /// # Errors
    /// `Unavailable` when the client left before it was this request's turn, `Stopping` when the server is stopping.
    pub async fn hash_chosen(
        &self,
        head: &RequestHead,
        caller: &Caller,
        password: Option<String>,
    ) -> Result<Option<String>> {
        let Some(password) = password else { return Ok(None) };
        tokio::select! {
            biased;
            hash = self.hashing.hash(Purpose::Change, &caller.tenant, password) => hash.map(Some),
            () = head.client_left() => Err(Error::unavailable("the client left").into()),
        }
    }

    /// Hashes a device's password from a file that a user of `uploader` sent (N-12).
    ///
    /// A password of 16 characters or more counts as generated: it cannot be guessed, so its hash need not be slow, and
    /// a fleet of 10 000 such devices can register and reconnect within seconds. A shorter password counts as chosen by
    /// a person (U-16), and is hashed on the threads for slow hashes.
    ///
    /// # Errors
    /// `Stopping` when the server is stopping.
    pub async fn hash_of_device(&self, uploader: &TenantId, password: &str) -> Result<String> {
        if password.chars().count() >= MACHINE_SECRET {
            return Ok(self.secret_key.hash(password));
        }
        self.hashing.hash(Purpose::Registration, uploader, password.to_owned()).await
    }
}

/// One of the threads. A message holds its turn until the hash is computed, even if nobody waits for it any more.
#[derive(Debug)]
struct HashingThread;

impl Actor for HashingThread {
    type Context = SyncContext<Self>;
}

/// Compares a password with a hash. Sent by the authenticator; the reply is whether they match.
#[derive(Message)]
#[rtype(result = "bool")]
struct VerifyChosen {
    password: String,
    hash: String,
    turn: Turn,
}

impl Handler<VerifyChosen> for HashingThread {
    type Result = bool;

    fn handle(&mut self, message: VerifyChosen, _: &mut Self::Context) -> bool {
        let VerifyChosen { password, hash, turn: _turn } = message;
        verify_chosen(&password, &hash)
    }
}

/// Hashes a password that a person chose. Sent by the authenticator; the reply is the hash.
#[derive(Message)]
#[rtype(result = "String")]
struct HashChosen {
    password: String,
    turn: Turn,
}

impl Handler<HashChosen> for HashingThread {
    type Result = String;

    fn handle(&mut self, message: HashChosen, _: &mut Self::Context) -> String {
        let HashChosen { password, turn: _turn } = message;
        hash_chosen(&password)
    }
}
