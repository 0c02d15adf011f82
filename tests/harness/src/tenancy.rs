//! The tenant of a test: its users, its data, and what most tests begin with.

use serde_json::{Value, json};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::bayeux::Session;
use super::operations::create_agent;
use super::postgres::TenantData;
use super::rest::Caller;
use super::server::{ADMIN_PASSWORD, TestServer};

impl TestServer {
    /// Returns the tenant of the test.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Returns the link to this path; `<tenant>` in it is the tenant of the test.
    pub fn link(&self, path: &str) -> String {
        format!("{}{}", self.base(), path.replace("<tenant>", &self.tenant))
    }

    /// Returns what the database has of the tenant of the test.
    pub fn data(&self) -> TenantData<'_> {
        TenantData { database: &self.database, tenant: &self.tenant }
    }

    /// Returns the number of rows of a table that belong to the tenant of the test.
    pub async fn count(&self, table: &str) -> i64 {
        self.data().count(table).await
    }

    /// Returns the audit records of the test's tenant: see [`TenantData::audit_records`].
    pub async fn audit_records(&self, source: &str) -> Vec<Value> {
        self.data().audit_records(source).await
    }

    /// Returns the rows of a query whose first parameter is the tenant of the test.
    pub async fn rows(&self, statement: &str, others: &[&(dyn ToSql + Sync)]) -> Vec<Row> {
        self.data().rows(statement, others).await
    }

    /// Returns the number of rows that a statement changed; its first parameter is the tenant of the test.
    pub async fn execute(&self, statement: &str, others: &[&(dyn ToSql + Sync)]) -> u64 {
        self.data().execute(statement, others).await
    }

    /// Returns the user `admin` of the test's tenant.
    pub fn admin(&self) -> Caller {
        self.caller("admin", ADMIN_PASSWORD)
    }

    /// Returns this server and its [`admin`](Self::admin).
    pub fn with_admin(self) -> (Self, Caller) {
        let admin = self.admin();
        (self, admin)
    }

    /// Returns this server, its [`admin`](Self::admin), and the id of a new device with this name.
    pub async fn with_device(self, name: &str) -> (Self, Caller, String) {
        let admin = self.admin();
        let device = admin.create_device(name).await;
        (self, admin, device)
    }

    /// Returns this server and its [`stranger`](Self::stranger).
    pub fn with_stranger(self) -> (Self, Caller) {
        let stranger = self.stranger();
        (self, stranger)
    }

    /// Returns this server, its [`admin`](Self::admin), and the id of a new device with this name that runs an agent.
    pub async fn with_agent(self, name: &str) -> (Self, Caller, String) {
        let admin = self.admin();
        let agent = create_agent(&admin, name).await;
        (self, admin, agent)
    }

    /// Returns this server, its [`admin`](Self::admin), the id of a new device with this name, and a session that
    /// listens to a channel.
    pub async fn with_listener(self, name: &str, channel: &str) -> (Self, Caller, String, Session) {
        let (server, admin, device) = self.with_device(name).await;
        let session = admin.listen(channel).await;
        (server, admin, device, session)
    }

    /// Returns this server, its [`admin`](Self::admin), and a user `owner` that may create objects and nothing else.
    pub async fn with_owner(self) -> (Self, Caller, Caller) {
        let owner = self.user_with("owner", &["ROLE_INVENTORY_CREATE"]).await;
        let admin = self.admin();
        (self, admin, owner)
    }

    /// Returns a client with these credentials; a user name without a tenant belongs to the tenant of the test.
    pub fn caller(&self, user: &str, password: &str) -> Caller {
        let elsewhere = self.tenant != "main" && !user.contains('/');
        let user = if elsewhere { &format!("{}/{user}", self.tenant) } else { user };
        Caller::of(self.servers.clone(), Some((user, password)))
    }

    /// Returns a client without credentials.
    pub fn stranger(&self) -> Caller {
        Caller::of(self.servers.clone(), None)
    }

    /// Creates a user of the test's tenant with exactly these roles.
    pub async fn user_with(&self, name: &str, roles: &[&str]) -> Caller {
        self.database.insert_user_of(&self.tenant, name, roles).await;
        self.caller(name, ADMIN_PASSWORD)
    }

    /// Creates a user of the test's tenant without roles, with these device permissions on this object.
    pub async fn user_permitted(&self, name: &str, object: &str, entries: &[&str]) -> Caller {
        let caller = self.user_with(name, &[]).await;
        let permissions = json!({object: entries}).to_string();
        let update = "UPDATE users SET device_permissions = $3::text::json WHERE tenant = $1 AND name = $2";
        assert_eq!(self.database.execute(update, &[&self.tenant, &name, &permissions]).await, 1);
        caller
    }

    /// Creates a registered device of the test's tenant: a member of the group `devices` with this serial.
    pub async fn device_user(&self, serial: &str) -> Caller {
        let member = "INSERT INTO group_members (tenant, group_id, user_name) \
            SELECT tenant, id, $1 FROM groups WHERE tenant = $2 AND name = 'devices'";
        let user = format!("device_{serial}");
        let caller = self.user_with(&user, &[]).await;
        assert_eq!(self.database.execute(member, &[&user, &self.tenant]).await, 1);
        caller
    }
}

impl<'s> From<&'s TestServer> for TenantData<'s> {
    fn from(server: &'s TestServer) -> Self {
        server.data()
    }
}
