//! The timeouts of requests to microservices.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpRequest;
use platform_front::connection::{ConnectionHandle, FOR_A_SILENT_PEER};
use platform_front::stop::Stop;

use super::services::Services;

/// The timeout for the next part of a response while the server stops. Responses that never end, such as server-sent
/// events, must not delay the stop.
const WHILE_STOPPING: Duration = Duration::from_secs(1);

/// The timeouts of one request to a microservice.
#[derive(Clone)]
pub(super) struct Patience {
    usual: Duration,
    connection: Option<ConnectionHandle>,
    stop: Arc<Stop>,
}

impl Patience {
    pub(super) fn of(request: &HttpRequest, services: &Services) -> Self {
        let connection = request.conn_data::<ConnectionHandle>().cloned();
        Self { usual: services.platform.limits().service_timeout, connection, stop: services.stop.clone() }
    }

    /// Returns the timeout for the head of the response.
    pub(super) fn with_head(&self) -> Duration {
        if self.client_is_silent() { self.usual.min(FOR_A_SILENT_PEER) } else { self.usual }
    }

    /// Returns the timeout for the next part of the response.
    pub(super) fn with_part(&self) -> Duration {
        if self.stop.has_begun() { self.with_head().min(WHILE_STOPPING) } else { self.with_head() }
    }

    /// Waits until the client sends nothing more. The handler itself awaits this, so its task is woken.
    pub(super) async fn client_falls_silent(&self) {
        match &self.connection {
            Some(connection) => connection.peer_ends().await,
            None => pending().await,
        }
    }

    fn client_is_silent(&self) -> bool {
        self.connection.as_ref().is_some_and(ConnectionHandle::peer_has_ended)
    }
}
