//! The database of running servers: changes that SQL makes, and statements that wait for each other.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{TestDatabase, until};

impl TestDatabase {
    /// Notifies the servers that a user of tenant `main` was changed by SQL, and waits until they have applied that: a
    /// session that moves between two servers meanwhile may escape both.
    pub async fn notify_user(&self, name: &str) {
        self.announce(&format!("main/{name}")).await;
        self.until_applied().await;
    }

    /// Waits until every running server has applied the changes that were committed before.
    pub async fn until_applied(&self) {
        let store = self.open();
        store.sign_with(self.key().messages().clone()).await.unwrap();
        store.wait_until_applied().await.unwrap();
    }

    /// Notifies the servers of a change that SQL made, as a server does: signed with their common key.
    pub async fn announce(&self, change: &str) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        const CHANNEL: &str = "platform_users";
        let key = self.key();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let payload = key.messages().payload(CHANNEL, "tests", number, change);
        self.execute("SELECT pg_notify($1, $2)", &[&CHANNEL, &payload]).await;
    }

    /// Waits until at least this many statements wait for a lock.
    pub async fn until_statements_wait(&self, least: i64) {
        // Other tests have databases in the same cluster.
        let waiting = "SELECT count(*) FROM pg_stat_activity \
            WHERE wait_event_type = 'Lock' AND datname = current_database()";
        let wait = async || self.query(waiting, &[]).await[0].get::<_, i64>(0) >= least;
        until("statements that wait for a lock", wait).await;
    }
}
