//! Requests that take effect once, however often a client sends them (C-24).

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::http::header::HeaderName;
use platform_actors::Platform;
use platform_model::body::Body;
use platform_model::id::TenantId;
use platform_model::idempotency::IdempotencyKey;
use platform_model::origin::Origin;
use platform_store::idempotency_keys::{find_response, is_repetition};

use super::error::{ApiError, Result};
use super::head::Head;
use super::reply;

static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Creates what a request describes, unless it has the key of an earlier request: then it returns the response of that
/// one. `create` stores the key that `origin` has then with its first write. `media_type` is the accepted type.
///
/// # Errors
/// 422 for an invalid key and for the key of another request, 503 when the key cannot be looked up now; the errors of
/// `create`, after which the key is not used.
pub(crate) async fn once(
    head: &impl Head,
    tenant: &TenantId,
    media_type: String,
    (origin, body): (Origin, Body),
    create: impl AsyncFnOnce(Origin, Body, String) -> Result<HttpResponse>,
) -> Result<HttpResponse> {
    let request = (&origin.user, head.path(), &body);
    let key = IdempotencyKey::parse(head.values(&IDEMPOTENCY_KEY), request, &origin.links)?;
    let Some(key) = key.map(Arc::new) else { return create(origin, body, media_type).await };
    let database = head.state::<Platform>().database();
    if let Some(first) = find_response(database, tenant, &key).await? {
        return Ok(reply::repeated(head, media_type, first));
    }
    let origin = Origin { key: Some(key.clone()), ..origin };
    let error = match create(origin, body, media_type.clone()).await {
        Err(ApiError::Platform(error)) if is_repetition(&error) => error,
        outcome => return outcome,
    };
    // The same request was running when this one began, and has been committed first.
    let first = find_response(database, tenant, &key).await?;
    Ok(reply::repeated(head, media_type, first.ok_or(error)?))
}
