//! The address for operators (`--admin-listen`): health and metrics, on a thread that serves no clients.

use std::net::{SocketAddr, TcpListener};

use actix_web::dev::Server;
use platform_front::prerequisites::ADMIN_LISTEN;
use platform_front::start_error::StartError;

use super::components::Components;
use super::workers::{self, Table};

/// Serves health and metrics over HTTP.
///
/// # Errors
/// `Listen` when the listener cannot be used.
pub(super) fn serve(
    address: SocketAddr,
    listener: TcpListener,
    components: Components,
) -> Result<Server, StartError> {
    let builder = actix_server::Server::build().workers(1).disable_signals();
    let server = workers::listen(builder, listener, components, None, Table::Operators);
    let server = server.map_err(|cause| StartError::Listen { flag: ADMIN_LISTEN, address, cause })?;
    tracing::info!("health and metrics are at http://{address}");
    Ok(server.run())
}
