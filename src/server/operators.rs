//! The address for operators (`--admin-listen`): health and metrics, on a thread that serves no clients.

use std::net::{SocketAddr, TcpListener};

use actix_web::dev::Server;
use actix_web::middleware::from_fn;
use actix_web::{App, HttpServer};

use super::components::Components;
use crate::prerequisites::ADMIN_LISTEN;
use crate::start_error::StartError;
use crate::{middleware, routes};

/// Serves health and metrics over HTTP.
///
/// # Errors
/// `Listen` when the listener cannot be used.
pub(super) fn serve(
    address: SocketAddr,
    listener: TcpListener,
    components: Components,
) -> Result<Server, StartError> {
    let app = move || {
        let app = App::new().configure(|app| components.register(app));
        app.configure(routes::table_of_operators).wrap(from_fn(middleware::around))
    };
    let server = HttpServer::new(app).workers(1).disable_signals().listen(listener);
    let server = server.map_err(|cause| StartError::Listen { flag: ADMIN_LISTEN, address, cause })?;
    tracing::info!("health and metrics are at http://{address}");
    Ok(server.run())
}
