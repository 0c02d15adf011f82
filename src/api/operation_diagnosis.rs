//! `/devicecontrol/operations/<id>/diagnosis`: why an operation is still PENDING (beyond the documents).

use actix_web::{HttpResponse, web};
use platform_actors::model::access::{Api, Ownership};
use platform_actors::model::id::OperationId;
use platform_actors::model::role;

use crate::auth::Caller;
use crate::http::error::{ApiError, Result};
use crate::http::{Wire, reply};
use crate::server::Edge;

/// `GET /devicecontrol/operations/<id>/diagnosis`: the agents it is for, whether they are connected, since when not, whether
/// they have subscribed to their channel at this server; and `causes`, empty unless the operation is PENDING: NO_AGENT,
/// AGENT_OFFLINE, NOT_SUBSCRIBED, NOT_SUPPORTED, QUEUED_BEHIND, or AWAITING_AGENT when it is none of these.
///
/// # Errors
/// 403 for a caller who may not read the operation, 404 for an unknown id.
pub async fn get(
    caller: Caller,
    wire: Wire,
    path: web::Path<String>,
    edge: web::Data<Edge>,
) -> Result<HttpResponse> {
    let authority = caller.reads(role::DEVICE_CONTROL_READ, Api::Operation)?;
    let media_type = wire.accepted("operationDiagnosis")?;
    let id = OperationId::parse(&path)?;
    let findings = edge.platform.tenant(&caller.tenant).diagnose(id).await?;
    let operation = &findings.operation;
    let (by, holds) =
        ((&authority, Ownership::Ignored), |name: &str| operation.fragments.get(name).is_some());
    caller.reaches_data_of(&edge, operation.device, by, holds).await.map_err(|error| match error {
        ApiError::Platform(error) => ApiError::gone_with_source(error, platform_actors::Noun::Operation, id),
        other => other,
    })?;
    Ok(reply::found(media_type, &findings, &wire.links()))
}
