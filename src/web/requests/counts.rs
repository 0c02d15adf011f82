//! The requests that statistics count for a tenant (Z-07): all with valid credentials, even if they fail. A CSV request
//! counts once for each of its rows. Requests of bootstrap users and of the current application are not counted.

use actix_web::HttpMessage;
use actix_web::dev::ServiceResponse;
use actix_web::web::Data;
use platform_actors::Platform;

use crate::auth::{Identity, Requester};
use crate::http::application_key;

/// The number of rows that a request of the CSV protocol executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows(pub(crate) u64);

/// Paths below which requests are not counted as requests of devices.
const OF_PEOPLE: [&str; 3] = ["/user", "/tenant", "/application"];
/// The path that microservices poll.
const CURRENT_APPLICATION: &str = "/application/currentApplication";

/// Counts a completed request.
pub(crate) fn count<B>(response: &ServiceResponse<B>) {
    let request = response.request();
    let (requester, rows) = {
        let extensions = request.extensions();
        let Some(Requester(identity)) = extensions.get::<Requester>() else { return };
        (identity.clone(), extensions.get::<Rows>().map_or(1, |rows| rows.0.max(1)))
    };
    let Some(platform) = request.app_data::<Data<Platform>>() else { return };
    if is_counted(&requester, request.path()) {
        let by_device = application_key(request).is_none() && is_of_devices(request.path());
        platform.database().statistics().add_request(&requester.tenant, rows, by_device);
    }
}

fn is_counted(identity: &Identity, path: &str) -> bool {
    !identity.is_bootstrap_user() && !is_below(path, CURRENT_APPLICATION)
}

fn is_of_devices(path: &str) -> bool {
    !OF_PEOPLE.iter().any(|prefix| is_below(path, prefix))
}

fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_about_users_tenants_and_applications_are_not_those_of_devices() {
        for (path, expected) in [
            ("/alarm/alarms", true),
            ("/s", true),
            ("/users", true),
            ("/user", false),
            ("/user/currentUser", false),
            ("/tenant/options", false),
            ("/application/applications", false),
        ] {
            assert_eq!(is_of_devices(path), expected, "{path}");
        }
    }
}
