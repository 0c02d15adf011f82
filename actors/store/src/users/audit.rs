//! Audit records of changes of users, groups, options and tenants, each in the transaction of its change (Y-05, Y-07).
//! A change of rights is also logged at its commit, whatever the path to it is.

use deadpool_postgres::GenericClient;
use platform_model::access::DevicePermissions;
use platform_model::data::audit_record::{AttributeChange, NewAuditRecord};
use platform_model::error::Result;
use platform_model::id::{AuditRecordId, TenantId};
use platform_model::role::RoleSet;
use platform_model::timestamp::Timestamp;
use platform_model::users::user::{Administration, User, UserAuthority};
use serde::Serialize;

use crate::Database;
use crate::access;
use crate::data::audit_records;
use crate::realtime::announcements::Announcements;

/// Returns the change of an attribute, or `None` when it did not change.
pub(crate) fn changed<T: Serialize + PartialEq>(
    attribute: &str,
    before: &T,
    after: &T,
) -> Option<AttributeChange> {
    let value = |of: &T| serde_json::to_value(of).expect("all keys are strings");
    (before != after).then(|| AttributeChange::replaced_value(attribute, value(before), value(after)))
}

/// Returns the change of an attribute that is a text or nothing, or `None` when it did not change.
pub(crate) fn changed_text<T: ToString + PartialEq>(
    attribute: &str,
    before: Option<T>,
    after: Option<T>,
) -> Option<AttributeChange> {
    let text = |of: &Option<T>| of.as_ref().map(ToString::to_string);
    (before != after).then(|| AttributeChange::text(attribute, text(&before), text(&after)))
}

/// Returns the author of an audit record about a user who logs in.
pub(crate) fn by_oneself(database: &Database, tenant: &TenantId, user: &str) -> Result<Administration> {
    Ok(Administration {
        tenant: tenant.clone(),
        by: user.to_owned(),
        application: None,
        authority: UserAuthority::Everyone,
        audit_record: database.membership().ids().next()?,
        client: None,
    })
}

/// Inserts an audit record of the rights of a user, as part of the caller's transaction (Y-05, X-24), and logs the
/// change at the commit, if anything changed.
pub(crate) async fn audit_user(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    name: &str,
    changes: Vec<AttributeChange>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    record(client, announcements, administration, ("User", "User update", name), changes).await
}

/// Inserts an audit record of a change of rights with its type, activity and source, as part of the caller's
/// transaction, and logs the change at the commit.
pub(crate) async fn record(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: &Administration,
    (type_, activity, source): (&'static str, &'static str, &str),
    changes: Vec<AttributeChange>,
) -> Result<()> {
    announcements.log_change(administration, activity, source);
    insert_record(client, administration, type_, activity, source.to_owned(), changes).await
}

/// Inserts an audit record of a change that is not a change of rights, if anything changed.
pub(crate) async fn audit(
    client: &impl GenericClient,
    administration: &Administration,
    type_: &'static str,
    activity: &'static str,
    source: String,
    changes: Vec<AttributeChange>,
) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    insert_record(client, administration, type_, activity, source, changes).await
}

/// Inserts an audit record, as part of the caller's transaction.
pub(crate) async fn insert_record(
    client: &impl GenericClient,
    administration: &Administration,
    type_: &'static str,
    activity: &'static str,
    source: String,
    changes: Vec<AttributeChange>,
) -> Result<()> {
    let record = NewAuditRecord {
        type_,
        activity,
        time: Timestamp::now(),
        text: format!("{activity}: {source}"),
        source,
        user: administration.by.clone(),
        application: administration.application.clone(),
        severity: "warning".into(),
        changes,
    };
    let id = AuditRecordId(administration.audit_record);
    audit_records::insert_audit_record(client, &administration.tenant, id, &record).await
}

/// Inserts the audit record of a new user. A name that was in use before owns the objects of the earlier user, so the
/// record has their number (U-12a).
pub(crate) async fn audit_created(
    client: &impl GenericClient,
    announcements: &Announcements,
    administration: Option<&Administration>,
    user: &User,
) -> Result<()> {
    let Some(administration) = administration else { return Ok(()) };
    let owned = access::count_owned(client, &user.tenant, &user.name).await?;
    let changes = [
        (owned > 0).then(|| AttributeChange::text("ownedObjects", None, Some(owned.to_string()))),
        changed("roles", &RoleSet::default(), &user.roles),
        changed("devicePermissions", &DevicePermissions::default(), &user.permissions),
    ];
    let of_user = ("User", "User created", &*user.name);
    record(client, announcements, administration, of_user, changes.into_iter().flatten().collect()).await
}
