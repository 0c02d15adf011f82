//! `/notification/diagnosis`: why a change arrived at a receiver, or why it did not
//! (docs/rules.md#traces-and-diagnosis; B-38).

use actix_web::HttpResponse;
use platform_actors::{DiagnosisRequest, Platform};
use platform_model::error::Error;
use platform_model::id::ManagedObjectId;
use platform_model::realtime::consumer;
use platform_model::realtime::trace;
use platform_model::realtime::trace::diagnosis::AskedReceiver;
use platform_model::role;
use platform_model::timestamp::Timestamp;
use time::Duration;

use crate::auth::Caller;
use crate::http::component::Component;
use crate::http::error::Result;
use crate::http::query::Query;
use crate::http::{RequestHead, reply};

/// The time that a diagnosis looks back by default.
const LOOKS_BACK: Duration = Duration::minutes(10);

/// `GET /notification/diagnosis`: explains what became of the changes of an object (`id`) on their way to a user, a
/// session or a consumer, since `dateFrom` or in the last ten minutes.
///
/// # Errors
/// 403 without ROLE_NOTIFICATION_ADMIN, 404 for an unknown consumer, 422 for an invalid or missing parameter.
pub async fn get(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::NOTIFICATION_ADMIN)?;
    let media_type = head.accepted("notificationDiagnosis")?;
    let request = request(&Query::parse(head.query_string()))?;
    let diagnosis = Box::pin(platform.diagnose_notifications(&caller.tenant, request)).await?;
    Ok(reply::found(media_type, &diagnosis, &head.links()))
}

fn request(query: &Query) -> Result<DiagnosisRequest> {
    let id = query
        .get("id")
        .ok_or_else(|| missing("id", "the id of a device, or of its alarm, event or operation"))?;
    let parsed = ManagedObjectId::parse(id);
    let id = parsed.map_err(|_| Error::invalid_value("id", id, "the id of an object"))?.0;
    let receiver = match (query.get("user"), query.get("session"), query.get("consumer")) {
        (Some(user), None, None) => AskedReceiver::User(user.to_owned()),
        (None, Some(session), None) => AskedReceiver::Session(trace::session(session)?),
        (None, None, Some(name)) => AskedReceiver::Consumer(consumer::parse_name(name)?),
        _ => return Err(missing("user, session or consumer", "exactly one of them").into()),
    };
    let ago = || Timestamp::stored(Timestamp::now().instant() - LOOKS_BACK, 0);
    Ok(DiagnosisRequest { id, receiver, since: query.time("dateFrom")?.unwrap_or_else(ago) })
}

fn missing(name: &str, allowed: &str) -> Error {
    Error::Invalid(format!("The parameter {name} is required: {allowed}"))
}
