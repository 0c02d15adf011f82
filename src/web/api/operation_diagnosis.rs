//! `/devicecontrol/operations/<id>/diagnosis`: explains why an operation is still PENDING or EXECUTING.

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_model::access::Api;
use platform_model::error::Noun;
use platform_model::id::OperationId;
use platform_model::role;

use crate::auth::Caller;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::{RequestHead, reply};

/// `GET /devicecontrol/operations/<id>/diagnosis`: returns the agents of the operation, whether they are
/// connected, since when they are not, and whether they have subscribed to their channel at any server. The
/// member `missingServers` names servers that did not respond within a second, which may have a subscription. The
/// member `causes` is empty unless the operation is PENDING or EXECUTING; then it lists NO_AGENT, AGENT_OFFLINE,
/// NOT_SUBSCRIBED, NOT_SUPPORTED, QUEUED_BEHIND, or AWAITING_AGENT or AWAITING_RESULT when none of the others applies.
///
/// # Errors
/// 403 for a caller who may not read the operation, 404 for an unknown id.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let authority = caller.reads(role::DEVICE_CONTROL_READ, Api::Operation);
    let media_type = head.accepted("operationDiagnosis")?;
    let (database, id) = (platform.database(), OperationId::parse(&path)?);
    let operation = platform_store::data::operations::get_operation(database, &caller.tenant, id).await?;
    caller
        .reaches_data_of(&platform, operation.device, &authority, |name| {
            operation.fragments.get(name).is_some()
        })
        .await?;
    let found = platform.diagnose(&caller.tenant, operation).await;
    let findings = found.map_err(|error| ApiError::gone_with_source(error, Noun::Operation, id))?;
    Ok(reply::found(media_type, &findings, &head.links()))
}
