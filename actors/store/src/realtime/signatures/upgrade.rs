//! The agreement of the servers on signatures, so that servers of versions before signatures can run beside this one.
//!
//! A server signs when every registered server does. It ignores unsigned payloads when all servers have had the time to
//! notice that; the database stores this, so that servers that start later ignore them from the beginning. When an
//! older server registers again, everybody goes back.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use platform_model::error::{Error, Result};
use tokio_postgres::Client;

use super::{MessageKey, Signatures};
use crate::Database;

const FIND_STATE: &str = include_str!("../../../../../sql/queries/signatures/find_state.sql");
const REQUIRE: &str = include_str!("../../../../../sql/queries/signatures/require.sql");
const REQUIRE_NO_MORE: &str = include_str!("../../../../../sql/queries/signatures/require_no_more.sql");

/// The time in which every server notices that all others sign, and in which its transactions with unsigned payloads
/// end.
const NOTICED: Duration = Duration::from_secs(30);
/// The time in which every server notices that another one does not sign, and accepts unsigned payloads.
const ACCEPTED: Duration = Duration::from_secs(2);

impl Database {
    /// Signs what this process sends to servers from now on, and verifies what it receives. It is called after
    /// [`migrate`](Self::migrate) and before anything is sent. One statement, and a second one on a new database.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn sign_with(&self, key: MessageKey) -> Result<()> {
        let client = self.loader().await?;
        let row = client.query_one(FIND_STATE, &[]).await?;
        let (all_sign, mut is_required, are_others): (bool, bool, bool) =
            (row.get(0), row.get(1), row.get(2));
        if !is_required && !are_others {
            client.execute(REQUIRE, &[]).await?;
            is_required = true;
        }
        self.signatures.key.set(key).ok();
        self.signatures.all_sign.store(all_sign, Ordering::Release);
        self.signatures.is_strict.store(all_sign && is_required, Ordering::Release);
        Ok(())
    }
}

impl Signatures {
    /// Checks whether every registered server signs. `is_alone` says that there is no other one. One statement, rarely
    /// two.
    ///
    /// # Errors
    /// `Unavailable` when payloads of an older server were ignored before it was known: something was missed.
    pub(crate) async fn keep_agreed(&self, client: &Client, is_alone: bool) -> Result<()> {
        if self.key.get().is_none() {
            return Ok(());
        }
        // A server registers before it sends a payload. So if this check finds no older server, the payloads that were
        // ignored before it came from somebody else.
        let ignored = std::mem::take(&mut *self.ignored.lock());
        let row = client.query_one(FIND_STATE, &[]).await?;
        let (all_sign, is_required): (bool, bool) = (row.get(0), row.get(1));
        if !all_sign {
            self.accept_unsigned();
            if is_required {
                client.execute(REQUIRE_NO_MORE, &[]).await?;
            }
        } else {
            let since = self.start_to_sign();
            let is_due = is_alone || since.elapsed() > NOTICED;
            if is_due && !is_required {
                client.execute(REQUIRE, &[]).await?;
            }
            self.is_strict.store(is_due || is_required, Ordering::Release);
            return Ok(());
        }
        let missed = !ignored.is_empty() || !std::mem::take(&mut *self.ignored.lock()).is_empty();
        if missed {
            Err(Error::unavailable("notifications of a server of an earlier version were missed"))
        } else {
            Ok(())
        }
    }

    /// Signs from now on. Returns since when this is so.
    fn start_to_sign(&self) -> Instant {
        if !self.all_sign.swap(true, Ordering::AcqRel) {
            tracing::info!("every server signs what it sends to the others");
        }
        *self.signs_until.lock() = None;
        *self.all_sign_since.lock().get_or_insert_with(Instant::now)
    }

    /// Accepts unsigned payloads from now on. If this server ignored them until now, the others may still do so, and it
    /// signs for a moment longer: until then an older server ends its sessions, of which it has few yet.
    fn accept_unsigned(&self) {
        let now = Instant::now();
        *self.all_sign_since.lock() = None;
        let mut signs_until = self.signs_until.lock();
        if self.is_strict.swap(false, Ordering::AcqRel) {
            *signs_until = Some(now + ACCEPTED);
        }
        let signs = signs_until.is_some_and(|until| now < until);
        if self.all_sign.swap(signs, Ordering::AcqRel) && !signs {
            tracing::info!(
                "a server of an earlier version runs, so no server signs what it sends to the others"
            );
        }
    }
}
