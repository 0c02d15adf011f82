//! Retention in PostgreSQL: the rules of a tenant (Z-08), [the rows that they match](matching), and [the daily
//! runs](runs) that delete these. Old [partitions] are dropped as a whole.

pub mod matching;
pub mod partitions;
pub mod runs;

use deadpool_postgres::GenericClient;
use platform_model::data::audit_record::AttributeChange;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ManagedObjectId, RetentionRuleId, TenantId};
use platform_model::page::{Page, PageRequest, Position};
use platform_model::tenancy::retention::{
    AUDIT_TYPE, DataType, Reach, Retention, RetentionPatch, RetentionRule,
};
use platform_model::timestamp::Timestamp;
use platform_model::users::user::Administration;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::query::filter::{Filtered, Order, page_of};
use crate::users::audit::audit;

const INSERT: &str = include_str!("../../../../../sql/queries/retention/insert_rule.sql");
const UPDATE: &str = include_str!("../../../../../sql/queries/retention/update_rule.sql");
const DELETE: &str = include_str!("../../../../../sql/queries/retention/delete_rule.sql");
const FIND: &str = include_str!("../../../../../sql/queries/retention/find_rule.sql");
const LOCK: &str = include_str!("../../../../../sql/queries/retention/lock_rule.sql");
const LIST_IN_FORCE: &str = include_str!("../../../../../sql/queries/retention/list_rules_in_force.sql");

/// The columns of a rule, in the order [`from_row`] reads them.
const COLUMNS: &str = "r.id, r.data_type, r.fragment_type, r.type, r.source, r.maximum_age";
/// The maximum number of rules of a tenant. The rules of the API do not specify one.
const RULES_PER_TENANT: i64 = 1000;

/// Stores a rule and an audit record. One transaction.
///
/// # Errors
/// `Invalid` when the tenant has 1000 rules already; `Refused` for a rule beyond the reach of the caller;
/// `QuotaExceeded`; `Unavailable` or `Database`.
pub async fn insert_rule(
    database: &Database,
    (administration, reach): (&Administration, Reach),
    id: i64,
    retention: Retention,
) -> Result<RetentionRule> {
    reach.admit(&retention)?;
    database.ensure_stored_quota(&administration.tenant)?;
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    let count = "SELECT count(*) FROM retention_rules WHERE tenant = $1";
    let count: i64 = transaction.query_one(count, &[&administration.tenant.as_str()]).await?.get(0);
    if count >= RULES_PER_TENANT {
        return Err(Error::Invalid(format!("the tenant has {count} retention rules, which is the maximum")));
    }
    execute(&transaction, INSERT, administration, id, &retention).await?;
    let rule = RetentionRule { id: RetentionRuleId(id), retention };
    let change = AttributeChange::replaced("rule", "", &shown(&rule.retention));
    record(&transaction, administration, "Retention rule created", rule.id, change).await?;
    transaction.commit().await?;
    Ok(rule)
}

/// Changes a rule and stores an audit record. One transaction.
///
/// # Errors
/// `NotFound`; `Invalid` for a combination of members that is not allowed; `Refused` when the rule was or becomes one
/// beyond the reach of the caller; `Unavailable` or `Database`.
pub async fn update_rule(
    database: &Database,
    (administration, reach): (&Administration, Reach),
    id: RetentionRuleId,
    patch: RetentionPatch,
) -> Result<RetentionRule> {
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    let before = one(&transaction, LOCK, &administration.tenant, id).await?;
    reach.admit(&before.retention)?;
    let retention = patch.apply(&before.retention)?;
    reach.admit(&retention)?;
    if retention != before.retention {
        execute(&transaction, UPDATE, administration, id.0, &retention).await?;
        let [old, new] = [&before.retention, &retention].map(shown);
        let change = AttributeChange::replaced("rule", &old, &new);
        record(&transaction, administration, "Retention rule updated", id, change).await?;
    }
    transaction.commit().await?;
    Ok(RetentionRule { id, retention })
}

/// Deletes a rule and stores an audit record. One transaction.
///
/// # Errors
/// `NotFound`; `Refused` for a rule beyond the reach of the caller; `Unavailable` or `Database`.
pub async fn delete_rule(
    database: &Database,
    (administration, reach): (&Administration, Reach),
    id: RetentionRuleId,
) -> Result<()> {
    let mut client = database.reader().await?;
    let transaction = client.transaction().await?;
    let before = one(&transaction, LOCK, &administration.tenant, id).await?;
    reach.admit(&before.retention)?;
    transaction.execute(DELETE, &[&administration.tenant.as_str(), &id.0]).await?;
    let change = AttributeChange::replaced("rule", &shown(&before.retention), "");
    record(&transaction, administration, "Retention rule deleted", id, change).await?;
    transaction.commit().await?;
    Ok(())
}

/// Returns a rule.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_rule(database: &Database, tenant: &TenantId, id: RetentionRuleId) -> Result<RetentionRule> {
    one(&*database.reader().await?, FIND, tenant, id).await
}

/// Returns a page of the rules of a tenant, ordered by id.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_rules(
    database: &Database,
    tenant: &TenantId,
    page: &PageRequest,
) -> Result<Page<RetentionRule>> {
    let client = database.reader().await?;
    let mut filtered = Filtered::new("retention_rules r", "r.tenant", tenant.as_str());
    let count = filtered.total(&client, page.total).await?;
    let statement = filtered.page(COLUMNS, Order::Id("r.id"), page);
    let rows = client.query(&statement, &filtered.parameters()).await?;
    let rules = rows.iter().map(from_row).collect::<Result<Vec<_>>>()?;
    let position = |rule: &RetentionRule| Position::of_id(rule.id.0);
    Ok(Page { count, ..page_of(rules, page, position) })
}

/// Returns the rules that were last changed before a moment.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_rules_in_force(
    database: &Database,
    tenant: &TenantId,
    due: Timestamp,
) -> Result<Vec<RetentionRule>> {
    let client = database.loader().await?;
    let rows = client.query(LIST_IN_FORCE, &[&tenant.as_str(), &due.instant()]).await?;
    rows.iter().map(from_row).collect()
}

async fn one(
    client: &impl GenericClient,
    statement: &str,
    tenant: &TenantId,
    id: RetentionRuleId,
) -> Result<RetentionRule> {
    let row = client.query_opt(statement, &[&tenant.as_str(), &id.0]).await?;
    from_row(&row.ok_or_else(|| Error::not_found(Noun::RetentionRule, id))?)
}

async fn execute(
    client: &impl GenericClient,
    statement: &str,
    administration: &Administration,
    id: i64,
    retention: &Retention,
) -> Result<()> {
    let data_type = retention.data_type.map(DataType::as_str);
    let (source, days) = (retention.source.map(|source| source.0), retention.maximum_age.cast_signed());
    let parameters: [&(dyn ToSql + Sync); 7] = [
        &administration.tenant.as_str(),
        &id,
        &data_type,
        &retention.fragment_type,
        &retention.type_,
        &source,
        &days,
    ];
    client.execute(statement, &parameters).await?;
    Ok(())
}

async fn record(
    client: &impl GenericClient,
    administration: &Administration,
    activity: &'static str,
    id: RetentionRuleId,
    change: AttributeChange,
) -> Result<()> {
    audit(client, administration, AUDIT_TYPE, activity, id.to_string(), vec![change]).await
}

/// Describes a rule for an audit record.
fn shown(retention: &Retention) -> String {
    let any = |text: Option<String>| text.unwrap_or_else(|| "*".into());
    format!(
        "dataType {}, fragmentType {}, type {}, source {}: {} days",
        retention.data_type.map_or("*", DataType::as_str),
        any(retention.fragment_type.clone()),
        any(retention.type_.clone()),
        any(retention.source.map(|source| source.to_string())),
        retention.maximum_age
    )
}

fn from_row(row: &Row) -> Result<RetentionRule> {
    let days: i32 = row.try_get(5)?;
    Ok(RetentionRule {
        id: RetentionRuleId(row.try_get(0)?),
        retention: Retention {
            data_type: row.try_get::<_, Option<&str>>(1)?.and_then(DataType::find),
            fragment_type: row.try_get(2)?,
            type_: row.try_get(3)?,
            source: row.try_get::<_, Option<i64>>(4)?.map(ManagedObjectId),
            maximum_age: days.unsigned_abs(),
        },
    })
}
