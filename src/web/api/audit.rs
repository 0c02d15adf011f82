//! `/audit/auditRecords` (docs/rules.md#audit; Y-01 to Y-05).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::access::{Accessor, Api, Authority, Ownership, Permission};
use platform_model::data::audit_record::{AuditRecord, AuditRecordFilter};
use platform_model::error::Error;
use platform_model::id::{AuditRecordId, ManagedObjectId};
use platform_model::page::TimeOrder;
use platform_model::role;
use platform_store::access::SourceObject;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::paging::Listing;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// `POST /audit/auditRecords`: creates a record of something a client did.
///
/// # Errors
/// 403 without ROLE_AUDIT_ADMIN or a device permission for the object of the record (Y-06), 422 for an
/// invalid body.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let authority = right(&caller, role::AUDIT_ADMIN, Permission::Admin)?;
    let mode = head.mode()?;
    let (media_type, body) = body.object(&["auditRecord"]).await?;
    let mut record =
        AuditRecord::parse(body, &caller.tenant, &caller.user, caller.sent_by().map(|name| &**name))?;
    authorize(&platform, &caller, &authority, record.object()).await?;

    if mode.stores() {
        let (database, id) = (platform.database(), platform.next_id()?);
        record = platform_store::data::audit_records::insert_sent_audit_record(database, id, record).await?;
    }

    let links = head.links();
    Ok(reply::created(&head, media_type, links.audit_record(record.id), &Arc::new(record), &links))
}

/// `GET /audit/auditRecords`: returns a page of records, oldest first (X-18, Y-04). A caller without
/// ROLE_AUDIT_READ gets the records of managed objects that its device permissions for AUDIT cover (P-07,
/// Y-06).
///
/// # Errors
/// 403 without the role or any such permission, 422 for an invalid parameter, 413 when the query takes too
/// long.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let authority = right(&caller, role::AUDIT_READ, Permission::Read)?;
    let listing = Listing::of(&head, "auditRecordCollection")?;
    let filter = filter(&listing.query)?;
    let (database, tenant) = (platform.database(), &caller.tenant);
    let page = platform_store::data::audit_records::list_audit_records(
        database,
        tenant,
        &filter,
        &authority,
        &listing.request,
    )
    .await?;
    listing.respond("auditRecords", &page)
}

/// `GET /audit/auditRecords/<id>`: returns a record.
///
/// # Errors
/// 403 without ROLE_AUDIT_READ or a device permission for the object of the record, 404 for an unknown id.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let authority = right(&caller, role::AUDIT_READ, Permission::Read)?;
    let media_type = head.accepted("auditRecord")?;
    let (database, id) = (platform.database(), AuditRecordId::parse(&path)?);
    let record = platform_store::data::audit_records::get_audit_record(database, &caller.tenant, id).await?;
    authorize(&platform, &caller, &authority, record.object()).await?;
    Ok(reply::found(media_type, &record, &head.links()))
}

/// `DELETE /audit/auditRecords`: deletes everything that matches the filters of GET, or all when there are
/// none (Y-04). Returns 204 when all are deleted. If the client disconnects earlier, the rest stays. Without
/// ROLE_AUDIT_ADMIN the parameter `source` must name a managed object that the caller's device permissions
/// for AUDIT cover, and only records of that object are deleted (Y-06).
///
/// # Errors
/// 403 without the role or such a permission, 422 for an invalid or unknown parameter (C-19).
pub async fn remove_many(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let authority = right(&caller, role::AUDIT_ADMIN, Permission::Admin)?;
    let query = Query::parse(head.query_string());
    let source = query.get("source").and_then(|source| ManagedObjectId::parse(source).ok());
    authorize(&platform, &caller, &authority, source).await?;
    let mode = head.mode()?;
    query.only_filters(&FILTERS)?;
    let mut filter = filter(&query)?;
    if matches!(authority, Authority::Limited(_)) {
        filter.except_types = Some(AuditRecord::other_types().map(ToOwned::to_owned).collect());
    }
    if mode.stores() {
        let database = platform.database();
        platform_store::data::audit_records::delete_audit_records(database, &caller.tenant, &filter).await?;
    }
    Ok(HttpResponse::NoContent().finish())
}

/// Returns the authority by which a caller reads or writes records.
///
/// # Errors
/// `Forbidden` without the role or any device permission for AUDIT.
fn right(caller: &Caller, role: &str, permission: Permission) -> Result<Authority> {
    match caller.authority(role, Api::Audit, permission) {
        Authority::Limited(grants) if grants.is_empty() => Err(ApiError::forbidden()),
        authority => Ok(authority),
    }
}

/// Admits callers with the role, and device permissions that cover the managed object of a record. Ownership
/// does not count: nobody owns a record.
async fn authorize(
    platform: &Platform,
    caller: &Caller,
    authority: &Authority,
    object: Option<ManagedObjectId>,
) -> Result<()> {
    if matches!(authority, Authority::Role) {
        return Ok(());
    }
    let object = object.ok_or_else(ApiError::forbidden)?;
    let accessor = Accessor { authority, user: &caller.user, ownership: Ownership::Ignored };
    let database = platform.database();
    let outcome = platform_store::access::authorize(
        database,
        &caller.tenant,
        object,
        accessor,
        SourceObject::has_fragment,
    )
    .await;
    outcome.map_err(|error| match error {
        // The object of a record may be deleted, and with it every permission for it.
        Error::NotFound { .. } => ApiError::forbidden(),
        other => other.into(),
    })
}

/// The filters of Y-04.
const FILTERS: [&str; 6] = ["type", "user", "application", "source", "dateFrom", "dateTo"];

fn filter(query: &Query) -> Result<AuditRecordFilter> {
    let text = |name: &str| query.get(name).map(ToOwned::to_owned);
    let order = query.time_order(TimeOrder::OldestFirst)?;
    Ok(AuditRecordFilter {
        type_: text("type"),
        except_types: None,
        user: text("user"),
        application: text("application"),
        source: text("source"),
        date_from: query.time("dateFrom")?,
        date_to: query.time("dateTo")?,
        order,
    })
}
