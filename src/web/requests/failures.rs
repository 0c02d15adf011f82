//! Requests that got an error, for the traces that concern their users (B-37).

use actix_web::HttpResponse;
use actix_web::body::MessageBody;
use platform_actors::{FailedRequest, Platform};

use crate::auth::Identity;
use crate::http::error::ErrorText;
use crate::http::head::Head;

/// Records a completed request if it got an error and a trace concerns its user.
pub(crate) fn trace<B: MessageBody>(
    platform: &Platform,
    identity: Option<&Identity>,
    head: &impl Head,
    response: &HttpResponse<B>,
) {
    let status = response.status();
    let Some(identity) = identity.filter(|_| status.is_client_error() || status.is_server_error()) else {
        return;
    };
    let extensions = response.extensions();
    let error = extensions.get::<ErrorText>().map_or("", |text| &*text.0);
    let (method, path, status) = (head.method().as_str(), head.path(), status.as_u16());
    platform.trace_request(&identity.tenant, &identity.user, FailedRequest { method, path, status, error });
}
