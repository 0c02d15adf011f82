//! Changes of modules in PostgreSQL. A change is decided from all modules of the tenant, because they are planned
//! together. So changes of one tenant run one at a time (`lock.sql`), and every server process is notified at
//! the commit.

use std::sync::Arc;

use deadpool_postgres::{GenericClient, Transaction};
use platform_model::data::audit_record::{AttributeChange, NewAuditRecord};
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{AuditRecordId, IdGenerator, TenantId};
use platform_model::origin::Origin;
use platform_model::realtime::input_stream::InputStreams;
use platform_model::realtime::module::{Module, ModuleStatus, StatementOff};
use platform_model::timestamp::Timestamp;
use tokio::task::spawn_blocking;
use tokio_postgres::Row;
use tokio_postgres::types::{Json, ToSql};

use crate::applications::modules::from_row;
use crate::data::audit_records::insert_audit_record;
use crate::leases::module_leases;
use crate::realtime::announcements::{self, Change};
use crate::{Database, until_uncontended};

const LOCK: &str = include_str!("../../../../../sql/queries/modules/lock.sql");
const LIST_TEXTS: &str = include_str!("../../../../../sql/queries/modules/list_texts.sql");
const LIST_DEPLOYED: &str = include_str!("../../../../../sql/queries/modules/list_deployed.sql");
const INSERT: &str = include_str!("../../../../../sql/queries/modules/insert.sql");
const UPDATE: &str = include_str!("../../../../../sql/queries/modules/update.sql");
const WARN: &str = include_str!("../../../../../sql/queries/modules/warn.sql");
const SWITCH_OFF: &str = include_str!("../../../../../sql/queries/modules/switch_off.sql");
const DELETE: &str = include_str!("../../../../../sql/queries/modules/delete.sql");

/// A module with its text.
#[derive(Debug, Clone)]
pub struct StoredModule {
    /// The module as clients see it.
    pub module: Module,
    /// The number of its deployments. It distinguishes this deployment from earlier ones that still run.
    pub deployment: i64,
    /// The text of the module.
    pub text: Arc<str>,
}

/// One row to change, in its new state, with the data for an audit record.
#[derive(Debug, Clone)]
pub enum ModuleChange {
    /// The module is stored and deployed.
    Insert {
        /// The new module.
        module: Module,
        /// Its text.
        text: Arc<str>,
        /// The streams that it reads.
        inputs: InputStreams,
    },
    /// The module gets another name.
    Rename {
        /// The module with its new name.
        module: Module,
        /// The name that it had.
        before: String,
    },
    /// The module is deployed.
    Deploy(Module),
    /// The module is undeployed. `reason` is `None` when a user requested it.
    Undeploy {
        /// The module, which is no longer deployed.
        module: Module,
        /// The reason why the server undeployed it; `None` if a user did.
        reason: Option<String>,
    },
    /// Some statements of the module were switched off; the others keep running.
    SwitchOff {
        /// The module.
        module: Module,
        /// All statements that are switched off now, including those that were switched off earlier.
        off: Vec<StatementOff>,
    },
    /// The module started anew and may have missed events. Its row stays as it is.
    Restart {
        /// The module.
        module: Module,
        /// The reason for the restart.
        reason: String,
    },
    /// The warnings of the module changed, because another module changed. This leaves no audit record.
    Warn(Module),
    /// The module is deleted.
    Delete(Module),
}

/// The origin of a change of modules, for its audit records.
#[derive(Debug, Clone, Copy)]
pub struct ChangedBy<'a> {
    /// The origin of the change: a request, or the server itself.
    pub origin: &'a Origin,
    /// The generator of ids for audit records.
    pub ids: &'a IdGenerator,
    /// The fencing number: the change succeeds only while the modules of the tenant are held with it.
    pub fence: Option<i64>,
}

/// Changes modules of a tenant as `decide` determines from all of them, and returns its result. One transaction; every
/// server process is notified at its commit. `decide` runs on a thread where it may block.
///
/// # Errors
/// The error of `decide`, and nothing is changed then; `Conflict` when another process holds the modules; `Contended`,
/// `Unavailable` or `Database`.
pub async fn change_modules<T: Send + 'static>(
    database: &Database,
    tenant: &TenantId,
    by: ChangedBy<'_>,
    decide: impl Fn(&[StoredModule]) -> Result<(Vec<ModuleChange>, T)> + Clone + Send + 'static,
) -> Result<T> {
    until_uncontended(async || {
        let mut client = database.reader().await?;
        let transaction = client.transaction().await?;
        transaction.execute(LOCK, &[&tenant.as_str()]).await?;
        module_leases::hold_one(&transaction, tenant, by.fence).await?;
        let rows = transaction.query(LIST_TEXTS, &[&tenant.as_str()]).await?;
        let (stored, decide): (Vec<_>, _) = (rows.iter().map(stored).collect(), decide.clone());
        let decided = spawn_blocking(move || decide(&stored)).await;
        let (changes, outcome) =
            decided.map_err(|_| Error::unavailable("the modules cannot be planned"))??;
        let is_new = |change: &ModuleChange| matches!(change, ModuleChange::Insert { .. });
        if changes.iter().any(is_new) {
            database.ensure_stored_quota(tenant)?;
        }
        for change in &changes {
            make(&transaction, tenant, change, by).await?;
        }
        if !changes.is_empty() {
            let change = Change::Modules(tenant.clone());
            announcements::announce(&transaction, &database.signatures, &change).await?;
        }
        transaction.commit().await?;
        Ok(outcome)
    })
    .await
}

/// Returns the deployed modules of a tenant with their texts, the oldest first, and their
/// [generation](crate::applications::modules::holders::Generation); `None` when nothing is deployed. One statement.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_deployed(
    database: &Database,
    tenant: &TenantId,
) -> Result<(Vec<StoredModule>, Option<i64>)> {
    let client = database.loader().await?;
    let rows = client.query(LIST_DEPLOYED, &[&tenant.as_str()]).await?;
    Ok((rows.iter().map(stored).collect(), rows.first().map(|row| row.get(8))))
}

async fn make(
    transaction: &Transaction<'_>,
    tenant: &TenantId,
    change: &ModuleChange,
    by: ChangedBy<'_>,
) -> Result<()> {
    let tenant_id = tenant.as_str();
    let module = change.module();
    let (id, time) = (module.id.0, module.last_modified.instant());
    match change {
        ModuleChange::Insert { text, inputs, .. } => {
            let inputs = i32::from(inputs.bits());
            let parameters: [&(dyn ToSql + Sync); 7] =
                [&tenant_id, &id, &module.name, &inputs, &time, &text.as_bytes(), &module.warnings];
            let inserted = transaction.execute(INSERT, &parameters).await.map_err(Error::from);
            inserted.map_err(|error| {
                if error.is_foreign_key_violation() { Error::not_found(Noun::Tenant, tenant) } else { error }
            })?;
        }
        ModuleChange::Delete(_) => {
            transaction.execute(DELETE, &[&tenant_id, &id]).await?;
        }
        ModuleChange::Restart { .. } => {}
        ModuleChange::Warn(_) => {
            transaction.execute(WARN, &[&tenant_id, &id, &module.warnings]).await?;
        }
        ModuleChange::SwitchOff { .. } => {
            transaction.execute(SWITCH_OFF, &[&tenant_id, &id, &Json(&module.switched_off)]).await?;
        }
        ModuleChange::Rename { .. } | ModuleChange::Deploy(_) | ModuleChange::Undeploy { .. } => {
            let deployed = module.status == ModuleStatus::Deployed;
            let parameters: [&(dyn ToSql + Sync); 6] =
                [&tenant_id, &id, &module.name, &deployed, &time, &module.warnings];
            transaction.execute(UPDATE, &parameters).await?;
        }
    }
    record(transaction, tenant, change, by).await
}

/// Inserts an audit record of the change of a module.
async fn record(
    client: &impl GenericClient,
    tenant: &TenantId,
    change: &ModuleChange,
    by: ChangedBy<'_>,
) -> Result<()> {
    let module = change.module();
    let [not, deployed] = [ModuleStatus::NotDeployed, ModuleStatus::Deployed].map(ModuleStatus::as_str);
    let (activity, changes) = match change {
        ModuleChange::Insert { .. } => ("Module created", Vec::new()),
        ModuleChange::Rename { before, .. } => {
            ("Module renamed", vec![AttributeChange::replaced("name", before, &module.name)])
        }
        ModuleChange::Deploy(_) => {
            ("Module deployed", vec![AttributeChange::replaced("status", not, deployed)])
        }
        ModuleChange::Undeploy { .. } => {
            ("Module undeployed", vec![AttributeChange::replaced("status", deployed, not)])
        }
        ModuleChange::SwitchOff { .. } => ("Module statements switched off", Vec::new()),
        ModuleChange::Restart { .. } => ("Module restarted", Vec::new()),
        ModuleChange::Warn(_) => return Ok(()),
        ModuleChange::Delete(_) => ("Module deleted", Vec::new()),
    };
    let (text, severity) = match change {
        ModuleChange::Undeploy { reason: Some(reason), .. } => {
            (format!("{activity}: {}: {reason}", module.name), "major")
        }
        ModuleChange::SwitchOff { off, .. } => {
            (format!("{activity}: {}: {}", module.name, StatementOff::shown(off)), "major")
        }
        ModuleChange::Restart { reason, .. } => {
            (format!("{activity}: {}: {reason}; it may have missed events", module.name), "major")
        }
        _ => (format!("{activity}: {}", module.name), "information"),
    };
    let record = NewAuditRecord {
        type_: "CepModule",
        activity,
        time: Timestamp::now(),
        text,
        source: module.id.to_string(),
        user: by.origin.user.to_string(),
        application: by.origin.application.clone(),
        severity: severity.into(),
        changes,
    };
    insert_audit_record(client, tenant, AuditRecordId(by.ids.next()?), &record).await
}

impl ModuleChange {
    /// Returns the new row; for a deletion the old one.
    pub fn module(&self) -> &Module {
        match self {
            Self::Insert { module, .. }
            | Self::Rename { module, .. }
            | Self::Undeploy { module, .. }
            | Self::SwitchOff { module, .. }
            | Self::Restart { module, .. }
            | Self::Warn(module)
            | Self::Deploy(module)
            | Self::Delete(module) => module,
        }
    }
}

/// Reads the columns of `list_texts.sql` and `list_deployed.sql`.
fn stored(row: &Row) -> StoredModule {
    StoredModule {
        module: from_row(row),
        deployment: row.get(6),
        // It was checked when it was uploaded.
        text: String::from_utf8_lossy(row.get(7)).into(),
    }
}
