//! `/retention`: rules by which old data is deleted, their preview, and the daily runs (Z-08).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::id::RetentionRuleId;
use platform_model::role;
use platform_model::tenancy::retention::{Retention, RetentionPatch};
use platform_store::tenancy::retention::{self, matching, runs};

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// `GET /retention/retentions`: returns a page of the tenant's rules, by id.
///
/// # Errors
/// 403 without ROLE_RETENTION_RULE_READ, 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::RETENTION_RULE_READ)?;
    let listing = Listing::of(&head, "retentionRuleCollection")?;
    let page = retention::list_rules(platform.database(), &caller.tenant, &listing.request).await?;
    listing.respond("retentionRules", &page)
}

/// `POST /retention/retentions`: creates a rule. It applies from the first run that is due after its creation.
///
/// # Errors
/// 403 without ROLE_RETENTION_RULE_ADMIN, and for audit records without ROLE_AUDIT_ADMIN (Z-08a), 422 for an invalid
/// body.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_retention(&platform)?;
    head.check_mode()?;
    let (media_type, new) = body.parse(&["retentionRule"], Retention::parse).await?;
    let id = platform.next_id()?;
    let by = (&administration, caller.reach_of_retention());
    let rule = Arc::new(retention::insert_rule(platform.database(), by, id, new).await?);
    let links = head.links();
    Ok(reply::created(&head, media_type, links.retention_rule(rule.id), &rule, &links))
}

/// `GET /retention/retentions/<id>`: returns a rule.
///
/// # Errors
/// 403 without ROLE_RETENTION_RULE_READ, 404 for an unknown rule.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::RETENTION_RULE_READ)?;
    let media_type = head.accepted("retentionRule")?;
    let id = RetentionRuleId::parse(&path)?;
    let rule = retention::get_rule(platform.database(), &caller.tenant, id).await?;
    Ok(reply::found(media_type, &rule, &head.links()))
}

/// `PUT /retention/retentions/<id>`: changes members of a rule. The changed rule applies from the next run that is due.
///
/// # Errors
/// 403 without ROLE_RETENTION_RULE_ADMIN, and for audit records without ROLE_AUDIT_ADMIN (Z-08a), 404 for an unknown
/// rule, 422 for an invalid body.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_retention(&platform)?;
    head.check_mode()?;
    let id = RetentionRuleId::parse(&path)?;
    let (media_type, patch) = body.parse(&["retentionRule"], RetentionPatch::parse).await?;
    let by = (&administration, caller.reach_of_retention());
    let rule = Arc::new(retention::update_rule(platform.database(), by, id, patch).await?);
    Ok(reply::updated(&head, media_type, &rule, &head.links()))
}

/// `DELETE /retention/retentions/<id>`: deletes a rule.
///
/// # Errors
/// 403 without ROLE_RETENTION_RULE_ADMIN, and for audit records without ROLE_AUDIT_ADMIN (Z-08a), 404 for an unknown
/// rule.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let administration = caller.administers_retention(&platform)?;
    head.check_mode()?;
    let id = RetentionRuleId::parse(&path)?;
    let by = (&administration, caller.reach_of_retention());
    retention::delete_rule(platform.database(), by, id).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// `GET /retention/retentions/<id>/preview`: counts what a rule would delete now.
///
/// # Errors
/// 403 without ROLE_RETENTION_RULE_READ, 404 for an unknown rule, 413 when counting takes too long.
pub async fn preview(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::RETENTION_RULE_READ)?;
    let media_type = head.accepted("retentionPreview")?;
    let (database, id) = (platform.database(), RetentionRuleId::parse(&path)?);
    let rule = retention::get_rule(database, &caller.tenant, id).await?;
    let preview = matching::preview(database, &caller.tenant, rule.retention).await?;
    Ok(reply::found(media_type, &preview, &head.links()))
}

/// `POST /retention/preview`: counts what a rule with this body would delete now, and stores nothing.
///
/// # Errors
/// 403 without ROLE_RETENTION_RULE_READ, 413 when counting takes too long, 422 for an invalid body.
pub async fn preview_of_body(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::RETENTION_RULE_READ)?;
    let media_type = head.accepted("retentionPreview")?;
    let (_, new) = body.parse(&["retentionRule"], Retention::parse).await?;
    let preview = matching::preview(platform.database(), &caller.tenant, new).await?;
    Ok(reply::found(media_type, &preview, &head.links()))
}

/// `GET /retention/runs`: returns a page of the tenant's runs of the last 90 days, newest first.
///
/// # Errors
/// 403 without ROLE_RETENTION_RULE_READ, 422 for an invalid parameter.
pub async fn list_runs(
    caller: Caller,
    head: RequestHead,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::RETENTION_RULE_READ)?;
    let listing = Listing::of(&head, "retentionRunCollection")?;
    let page = runs::list_runs(platform.database(), &caller.tenant, &listing.request).await?;
    listing.respond("retentionRuns", &page)
}
