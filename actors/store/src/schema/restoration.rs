//! The SQL statements of backups and restores. The programs pg_dump and pg_restore copy the rows themselves.

use platform_model::error::Result;

use crate::schema::migrations;
use crate::{Connection, Database};

pub use migrations::SET_ASIDE;

const LEAVE_ROOM: &str = include_str!("../../../../sql/queries/journals/leave_room.sql");

/// Returns the newest version of the schema that this program knows.
pub fn newest_schema() -> i64 {
    migrations::newest_version()
}

impl Database {
    /// Returns the version of the schema in the database; `None` if no server has used the database.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn schema_version(&self) -> Result<Option<i64>> {
        let client = self.loader().await?;
        migrations::version(&client).await
    }

    /// Returns whether an interrupted restore left the previous content in the schema [`SET_ASIDE`].
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn restore_was_interrupted(&self) -> Result<bool> {
        migrations::restore_was_interrupted(&*self.loader().await?).await
    }

    /// Returns the major version of PostgreSQL.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn postgres_version(&self) -> Result<u32> {
        let version = "SELECT current_setting('server_version_num')::int / 10000";
        let major: i32 = self.loader().await?.query_one(version, &[]).await?.get(0);
        Ok(major.try_into().unwrap_or_default())
    }
}

/// A database that is about to be restored. Servers that start on it wait, because it holds the lock of migrations.
pub struct Restoration {
    client: Connection,
}

impl Restoration {
    /// Takes the lock of migrations; `None` if a starting server or another restore holds it.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn begin(database: &Database) -> Result<Option<Self>> {
        let client = database.patient_loader().await?;
        let lock = "SELECT pg_try_advisory_lock($1)";
        let locked: bool = client.query_one(lock, &[&migrations::ADVISORY_LOCK]).await?.get(0);
        Ok(locked.then_some(Self { client }))
    }

    /// Returns the number of other connections to the database, such as those of servers.
    ///
    /// # Errors
    /// `Database`.
    pub async fn count_others(&self) -> Result<i64> {
        // Roles without rights on monitoring see the kind of other roles' connections as NULL; PostgreSQL's own workers
        // have no role.
        let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
            AND pid <> pg_backend_pid() AND usesysid IS NOT NULL \
            AND coalesce(backend_type, 'client backend') = 'client backend'";
        Ok(self.client.query_one(others, &[]).await?.get(0))
    }

    /// Returns whether the database has no tables, apart from those of extensions.
    ///
    /// # Errors
    /// `Database`.
    pub async fn is_empty(&self) -> Result<bool> {
        let empty = "SELECT NOT EXISTS (SELECT FROM pg_class c WHERE relnamespace = to_regnamespace('public') AND \
            NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND \
            d.deptype = 'e'))";
        Ok(self.client.query_one(empty, &[]).await?.get(0))
    }

    /// Returns whether an interrupted restore left the previous content in the schema [`SET_ASIDE`].
    ///
    /// # Errors
    /// `Database`.
    pub async fn was_interrupted(&self) -> Result<bool> {
        migrations::restore_was_interrupted(&self.client).await
    }

    /// Deletes the partial content that an interrupted restore has created; the previous content stays in the schema
    /// [`SET_ASIDE`].
    ///
    /// # Errors
    /// `Database`.
    pub async fn begin_again(&self) -> Result<()> {
        self.run("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public").await
    }

    /// Moves the content of the database to the schema [`SET_ASIDE`].
    ///
    /// # Errors
    /// `Database`, for example for a role that does not own the schema; nothing has changed then.
    pub async fn set_aside(&self) -> Result<()> {
        self.run("ALTER SCHEMA public RENAME TO before_restore; CREATE SCHEMA public").await
    }

    /// Leaves room in journals for the positions that were used after the backup, so that none is used again (B-28).
    ///
    /// # Errors
    /// `Database`.
    pub async fn leave_room_in_journals(&self) -> Result<()> {
        // A schema of an earlier version has no journals.
        let has_journals = "SELECT to_regclass('journals') IS NOT NULL";
        if self.client.query_one(has_journals, &[]).await?.get(0) {
            self.client.execute(LEAVE_ROOM, &[&None::<&str>]).await?;
        }
        Ok(())
    }

    /// Puts the content that was set aside back in its place.
    ///
    /// # Errors
    /// `Database`; the content is still in the schema [`SET_ASIDE`] then.
    pub async fn put_back(&self) -> Result<()> {
        self.run("DROP SCHEMA IF EXISTS public CASCADE; ALTER SCHEMA before_restore RENAME TO public").await
    }

    /// Deletes the content that was set aside.
    ///
    /// # Errors
    /// `Database`.
    pub async fn drop_previous(&self) -> Result<()> {
        self.run("DROP SCHEMA before_restore CASCADE").await
    }

    /// Runs statements in one transaction.
    async fn run(&self, statements: &str) -> Result<()> {
        Ok(self.client.batch_execute(statements).await?)
    }
}
