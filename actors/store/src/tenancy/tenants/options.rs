//! Tenant options in PostgreSQL. Secrets arrive here encrypted (Z-05), and the database does not have their key.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::GenericClient;
use platform_model::data::alarm_mapping::{AlarmMapping, AlarmMappings};
use platform_model::data::audit_record::AttributeChange;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::TenantId;
use platform_model::page::{After, Page, PageRequest};
use platform_model::tenancy::tenant_option::{
    ALARM_TYPE_MAPPING, ENCRYPTED, Editable, OptionName, PREDEFINED, TOKEN_PUBLIC_KEY, TenantOption,
    is_remembered,
};
use platform_model::users::user::Administration;
use tokio_postgres::types::ToSql;

use crate::Database;
use crate::query::filter::page_of;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Announcements, Change, change};
use crate::users::audit::record;

const FIND: &str = include_str!("../../../../../sql/queries/options/find.sql");
const LIST: &str = include_str!("../../../../../sql/queries/options/list.sql");
const LIST_STORED: &str = include_str!("../../../../../sql/queries/options/list_stored.sql");
const COUNT: &str = include_str!("../../../../../sql/queries/options/count.sql");
const LOCK: &str = include_str!("../../../../../sql/queries/options/lock.sql");
const UPSERT: &str = include_str!("../../../../../sql/queries/options/upsert.sql");
const DELETE: &str = include_str!("../../../../../sql/queries/options/delete.sql");
const SET_EDITABLE: &str = include_str!("../../../../../sql/queries/options/set_editable.sql");

/// A write to one option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionChange {
    /// Stores this value; for a secret the encrypted one.
    Set(String),
    /// Leaves a secret unchanged, because only its placeholder was written back (Z-05).
    Keep,
    /// Removes the option.
    Remove,
}

/// Looks up the stored value of an option. Returns `None` when the tenant did not set it.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_option(
    database: &Database,
    tenant: &TenantId,
    category: &str,
    key: &str,
) -> Result<Option<String>> {
    let row = database.loader().await?.find(FIND, &[&tenant.as_str(), &category, &key]).await?;
    Ok(row.map(|row| row.get(0)))
}

/// Returns an option as it may be shown, set or predefined.
///
/// # Errors
/// `NotFound`, `Unavailable` or `Database`.
pub async fn get_option(database: &Database, tenant: &TenantId, name: OptionName) -> Result<TenantOption> {
    let stored = find_option(database, tenant, &name.category, &name.key).await?;
    match stored.or_else(|| name.predefined().map(ToOwned::to_owned)) {
        Some(value) => Ok(TenantOption::shown(name, value)),
        None => Err(Error::not_found(Noun::Option, name)),
    }
}

/// The separator between category and key in a combined name. Neither of them contains control characters.
const SEPARATOR: char = '\n';

/// Returns a page of options by category and key.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_options(
    database: &Database,
    tenant: &TenantId,
    page: &PageRequest,
) -> Result<Page<TenantOption>> {
    let client = database.reader().await?;
    let (categories, keys, _) = predefined();
    let row = client.row(COUNT, &[&tenant.as_str(), &categories, &keys]).await?;
    let count = page.count_of(row.get(0));
    drop(client);
    let part = OptionRange {
        category: None,
        after: page.after_name().map(|name| name.split_once(SEPARATOR).unwrap_or((name, ""))),
        limit: Some(i64::from(page.size) + 1),
        offset: page.offset(),
    };
    let name = |option: &TenantOption| format!("{}{SEPARATOR}{}", option.name.category, option.name.key);
    let options = read(database, tenant, part).await?;
    Ok(Page { count, ..page_of(options, page, |last| After::Name(name(last).into())) })
}

/// Returns all options of a category by key.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_category(
    database: &Database,
    tenant: &TenantId,
    category: &str,
) -> Result<Vec<TenantOption>> {
    let part = OptionRange { category: Some(category), after: None, limit: None, offset: 0 };
    read(database, tenant, part).await
}

/// Returns the stored options of a tenant in a category, with encrypted secrets, for callers that may decrypt them
/// (Z-05).
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_stored(
    database: &Database,
    tenant: &TenantId,
    category: &str,
) -> Result<Vec<(String, String)>> {
    let rows = database.reader().await?.rows(LIST_STORED, &[&tenant.as_str(), &category]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Returns the alarm mappings of the tenant. An invalid value, which can only be stored by bypassing the
/// validation, is ignored.
///
/// # Errors
/// `Timeout`, `Unavailable` or `Database`.
pub async fn list_alarm_mappings(database: &Database, tenant: &TenantId) -> Result<AlarmMappings> {
    let options = list_category(database, tenant, ALARM_TYPE_MAPPING).await?;
    let mapping = |TenantOption { name, value }: TenantOption| match AlarmMapping::parse(&name.key, &value) {
        Ok(mapping) => Some((name.key, mapping)),
        Err(error) => {
            tracing::warn!(tenant.id = %tenant, option.name = %name, %error, "an alarm mapping is ignored");
            None
        }
    };
    Ok(options.into_iter().filter_map(mapping).collect())
}

/// The range of options to read.
struct OptionRange<'a> {
    category: Option<&'a str>,
    after: Option<(&'a str, &'a str)>,
    limit: Option<i64>,
    offset: i64,
}

async fn read(database: &Database, tenant: &TenantId, part: OptionRange<'_>) -> Result<Vec<TenantOption>> {
    let client = database.reader().await?;
    let statement = client.prepare_cached(LIST).await?;
    let (categories, keys, values) = predefined();
    let (after_category, after_key) = part.after.unzip();
    let parameters: [&(dyn ToSql + Sync); 9] = [
        &tenant.as_str(),
        &categories,
        &keys,
        &values,
        &part.category,
        &after_category,
        &after_key,
        &part.limit,
        &part.offset,
    ];
    let rows = client.query(&statement, &parameters).await?;
    let option = |row: &tokio_postgres::Row| {
        TenantOption::shown(OptionName { category: row.get(0), key: row.get(1) }, row.get(2))
    };
    Ok(rows.iter().map(option).collect())
}

/// Writes options of a tenant, all or none, and returns the names of those that were set before. Servers that cache one
/// of them are notified. The change is audited (T-09, Y-07). One transaction.
///
/// # Errors
/// `Forbidden` when one of them is not editable (Z-04); `Invalid` when a placeholder stands for a secret that does not
/// exist.
pub async fn write_options(
    database: &Database,
    administration: &Administration,
    changes: &[(OptionName, OptionChange)],
) -> Result<HashSet<OptionName>> {
    let tenant = &administration.tenant;
    change(database, async |transaction, announcements| {
        let (categories, keys) = columns(changes.iter().map(|(name, _)| name));
        let rows = transaction.query(LOCK, &[&tenant.as_str(), &categories, &keys]).await?;
        if rows.iter().any(|row| !row.get::<_, bool>(2)) {
            return Err(Error::Forbidden);
        }
        let before: HashMap<OptionName, String> = rows
            .iter()
            .map(|row| (OptionName { category: row.get(0), key: row.get(1) }, row.get(3)))
            .collect();
        let absent = |(name, change): &&(OptionName, OptionChange)| {
            *change == OptionChange::Keep && !before.contains_key(name)
        };
        if let Some((name, _)) = changes.iter().find(absent) {
            let allowed = "the placeholder only if a secret is stored already";
            return Err(Error::invalid_value(&name.key, ENCRYPTED, allowed));
        }

        let set: Vec<(&OptionName, &str)> = changes.iter().filter_map(set_value).collect();
        if set.iter().any(|(name, _)| !before.contains_key(*name)) {
            database.ensure_stored_quota(tenant)?;
        }
        let (categories, keys) = columns(set.iter().map(|(name, _)| *name));
        let values: Vec<&str> = set.iter().map(|(_, value)| *value).collect();
        let written = transaction.execute(UPSERT, &[&tenant.as_str(), &categories, &keys, &values]).await?;
        if written != set.len() as u64 {
            return Err(Error::Forbidden);
        }
        let removed = changes.iter().filter(|(_, change)| *change == OptionChange::Remove);
        let (categories, keys) = columns(removed.map(|(name, _)| name));
        transaction.execute(DELETE, &[&tenant.as_str(), &categories, &keys]).await?;

        if changes.iter().any(|(name, _)| is_remembered(&name.category)) {
            announcements.add(Change::Options(tenant.clone()));
        }
        audit_options(transaction, announcements, administration, changes, &before).await?;
        Ok(before.into_keys().collect())
    })
    .await
}

/// Inserts an audit record of the options that change, and logs it at the commit. All of them are of one category. Only
/// the keys of tokens are shown with their values, which are public (T-09, Y-07).
async fn audit_options(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    changes: &[(OptionName, OptionChange)],
    before: &HashMap<OptionName, String>,
) -> Result<()> {
    let Some((OptionName { category, .. }, _)) = changes.first() else { return Ok(()) };
    let changed: Vec<_> = changes.iter().filter_map(|change| audited_change(change, before)).collect();
    if changed.is_empty() {
        return Ok(());
    }
    record(client, announcements, administration, ("Option", "Option update", category), changed).await
}

/// Sets whether a tenant may write one of its options, and returns the option. No server caches this, so none is
/// notified. One transaction with its audit record.
///
/// # Errors
/// `NotFound` for an unknown option or tenant.
pub async fn set_editable(
    database: &Database,
    administration: &Administration,
    name: OptionName,
    editable: Editable,
) -> Result<TenantOption> {
    let tenant = &administration.tenant;
    let (predefined, editable) = (name.predefined(), editable == Editable::Yes);
    change(database, async |transaction, announcements| {
        let parameters: [&(dyn ToSql + Sync); 5] =
            [&tenant.as_str(), &name.category, &name.key, &predefined, &editable];
        let row = match transaction.query_opt(SET_EDITABLE, &parameters).await.map_err(Error::from) {
            Ok(Some(row)) => row,
            Ok(None) => return Err(Error::not_found(Noun::Option, &name)),
            Err(error) if error.is_foreign_key_violation() => {
                return Err(Error::not_found(Noun::Tenant, tenant));
            }
            Err(error) => return Err(error),
        };
        let attribute = format!("{} is editable", name.key);
        let changes = vec![AttributeChange::text(&attribute, None, Some(editable.to_string()))];
        let of_option = ("Option", "Option update", &*name.category);
        record(transaction, announcements, administration, of_option, changes).await?;
        Ok(TenantOption::shown(name.clone(), row.get(0)))
    })
    .await
}

fn set_value((name, change): &(OptionName, OptionChange)) -> Option<(&OptionName, &str)> {
    match change {
        OptionChange::Set(value) => Some((name, value)),
        OptionChange::Keep | OptionChange::Remove => None,
    }
}

/// Returns the audited change of an option; `None` when nothing changes.
fn audited_change(
    (name, change): &(OptionName, OptionChange),
    before: &HashMap<OptionName, String>,
) -> Option<AttributeChange> {
    let previous = before.get(name);
    let new = match change {
        OptionChange::Set(value) => Some(value),
        OptionChange::Keep => previous,
        OptionChange::Remove => None,
    };
    let shown = |stored: &String| TenantOption::shown(name.clone(), stored.clone()).value;
    if previous == new {
        None
    } else if name.category == TOKEN_PUBLIC_KEY {
        Some(AttributeChange::text(&name.key, previous.map(shown), new.map(shown)))
    } else {
        Some(AttributeChange::concealed(&name.key, previous.is_some(), new.is_some()))
    }
}

/// Returns names as the arrays that statements take.
fn columns<'a>(names: impl Iterator<Item = &'a OptionName>) -> (Vec<&'a str>, Vec<&'a str>) {
    names.map(|name| (&*name.category, &*name.key)).unzip()
}

/// Returns [`PREDEFINED`] as the arrays that statements take.
fn predefined() -> (Vec<&'static str>, Vec<&'static str>, Vec<&'static str>) {
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for (category, key, value) in PREDEFINED {
        columns.0.push(category);
        columns.1.push(key);
        columns.2.push(value);
    }
    columns
}
