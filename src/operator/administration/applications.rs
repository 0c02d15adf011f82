//! The routes of microservices, which only the operator can set (W-14).

use platform_model::applications::application::Application;
use platform_model::applications::service_address::ServiceAddress;
use platform_model::error::Result;
use platform_store::Database;
use platform_store::applications::routes;
use platform_store::data::audit_records::insert_operators_record;

use crate::cli::{ApplicationRoute, ApplicationTask};

/// Executes `platform application …` and returns the lines to print.
///
/// # Errors
/// `Invalid` for a malformed address, or an application that is not a microservice; `NotFound` for an unknown
/// one.
pub async fn perform(database: &Database, task: &ApplicationTask) -> Result<String> {
    match task {
        ApplicationTask::Route(ApplicationRoute { application, address, .. }) => {
            let address = address.as_deref().map(ServiceAddress::parse).transpose()?;
            let set = routes::set_route(database, application, address.as_ref()).await?;
            let (owner, id) = (&set.owner, set.id.to_string());
            insert_operators_record(database, owner, "Application", "Application routed", &id).await?;
            Ok(line(&set))
        }
        ApplicationTask::Routes => {
            let routed = routes::list_routed(database).await?;
            Ok(routed.iter().map(line).collect::<Vec<_>>().join("\n"))
        }
    }
}

fn line(application: &Application) -> String {
    let context_path = application.context_path.as_deref().unwrap_or("-");
    let route = application.route.as_deref().unwrap_or("-");
    format!("{} {context_path} {} {route}", application.id, application.owner)
}
