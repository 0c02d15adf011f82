//! `/notification/consumers`: named consumers of notifications (docs/rules.md#named-consumers; B-26). Their
//! notifications are read in [`consumer_notifications`](super::consumer_notifications).

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_actors::session::Verdict;
use platform_model::error::{Error, Noun};
use platform_model::realtime::consumer::{Consumer, ConsumerPatch, NewConsumer};
use platform_model::role;
use platform_store::consumers;

use crate::auth::Caller;
use crate::auth::channels::{denied, forbidden};
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// The media type of a consumer, without its prefix.
const TYPE: &str = "notificationConsumer";

/// `GET /notification/consumers`: returns a page of the caller's consumers, or of all with ROLE_USER_MANAGEMENT_READ,
/// by name.
///
/// # Errors
/// 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let listing = Listing::of(&head, "notificationConsumerCollection")?;
    let owner = (!caller.roles.has(role::USER_MANAGEMENT_READ)).then_some(&*caller.user);
    let page =
        consumers::list_consumers(platform.database(), &caller.tenant, owner, &listing.request).await?;
    listing.respond("consumers", &page)
}

/// `POST /notification/consumers`: creates a consumer of the caller. Every write that is acknowledged after the
/// response is delivered to it.
///
/// # Errors
/// 403 for a channel that the caller may not receive and when the tenant has as many consumers as it may have, 409 for
/// a name in use, 422 for an invalid body.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    head.check_mode()?;
    let (media_type, new) = body.parse(&[TYPE], NewConsumer::parse).await?;
    match denied(&caller, &platform, &new.channels).await? {
        Some((channel, Verdict::Denied | Verdict::Absent)) => return Err(forbidden(&channel)),
        Some((_, Verdict::Allowed)) | None => {}
    }
    let administration = caller.administers_consumer(&platform)?;
    let consumer =
        consumers::insert_consumer(platform.database(), &administration, &caller.user, &new).await?;
    let links = head.links();
    let location = links.consumer(&consumer.name);
    Ok(reply::created(&head, media_type, location, &Arc::new(consumer), &links))
}

/// `GET /notification/consumers/<name>`: returns a consumer.
///
/// # Errors
/// 404 for an unknown consumer, and for one of another user without ROLE_USER_MANAGEMENT_READ.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let media_type = head.accepted(TYPE)?;
    let consumer = find(&caller, &platform, &path, role::USER_MANAGEMENT_READ).await?;
    Ok(reply::found(media_type, &consumer, &head.links()))
}

/// `PUT /notification/consumers/<name>`: changes the bounds of a consumer or the position at which it continues.
///
/// # Errors
/// 404 for an unknown consumer, and for one of another user without ROLE_USER_MANAGEMENT_ADMIN; 422 for an invalid body
/// and for a position that the journal does not have.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    head.check_mode()?;
    let name = find(&caller, &platform, &path, role::USER_MANAGEMENT_ADMIN).await?.name;
    let (media_type, patch) = body.parse(&[TYPE], ConsumerPatch::parse).await?;
    let administration = caller.administers_consumer(&platform)?;
    let consumer = consumers::update_consumer(platform.database(), &administration, &name, &patch).await?;
    Ok(reply::updated(&head, media_type, &Arc::new(consumer), &head.links()))
}

/// `DELETE /notification/consumers/<name>`: deletes a consumer with its position.
///
/// # Errors
/// 404 for an unknown consumer, and for one of another user without ROLE_USER_MANAGEMENT_ADMIN.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    head.check_mode()?;
    let name = find(&caller, &platform, &path, role::USER_MANAGEMENT_ADMIN).await?.name;
    let administration = caller.administers_consumer(&platform)?;
    consumers::delete_consumer(platform.database(), &administration, &name).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Returns a consumer of the caller, or of anybody if the caller holds the role.
async fn find(caller: &Caller, platform: &Platform, name: &str, role: &str) -> Result<Consumer> {
    let consumer = consumers::get_consumer(platform.database(), &caller.tenant, name).await?;
    if consumer.owner == *caller.user || caller.roles.has(role) {
        return Ok(consumer);
    }
    Err(Error::not_found(Noun::Consumer, consumer.name).into())
}
