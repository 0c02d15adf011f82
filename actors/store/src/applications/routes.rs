//! The addresses of microservices. The operator sets them (W-14), and every server process uses a new one at once.

use platform_model::applications::application::{Application, ApplicationType};
use platform_model::applications::service_address::ServiceAddress;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::ApplicationId;

use crate::Database;
use crate::applications;
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::{Change, change};

const FIND: &str = include_str!("../../../../sql/queries/application_routes/find.sql");
const UPDATE: &str = include_str!("../../../../sql/queries/application_routes/update.sql");
const LIST: &str = include_str!("../../../../sql/queries/application_routes/list.sql");

/// Sets the address of a microservice; `None` says that it does not run. `named` is its id or its context path. One
/// transaction; every server process is notified at its commit.
///
/// # Errors
/// `NotFound`; `Invalid` for an application that is not a microservice, and for a name that is the id of one
/// application and the context path of another.
pub async fn set_route(
    database: &Database,
    named: &str,
    address: Option<&ServiceAddress>,
) -> Result<Application> {
    change(database, async |transaction, announcements| {
        let id = ApplicationId::parse(named).ok().map(|id| id.0);
        let rows = transaction.query(FIND, &[&id, &named]).await?;
        let application = match &*rows {
            [] => {
                return Err(Error::not_found(Noun::Application, named.chars().take(64).collect::<String>()));
            }
            [row] => applications::from_row(row)?,
            _ => {
                let allowed = "the context path of one of them, or the id of the other";
                return Err(Error::invalid_value(
                    "application",
                    format!("{named}, which names two applications"),
                    allowed,
                ));
            }
        };
        if application.kind != ApplicationType::Microservice {
            return Err(Error::invalid_value("application", application.kind.as_str(), "a MICROSERVICE"));
        }
        let route = address.map(ToString::to_string);
        let tenant = &application.owner;
        transaction.execute(UPDATE, &[&tenant.as_str(), &application.id.0, &route]).await?;
        announcements.add(Change::Applications(tenant.clone()));
        Ok(Application { route, ..application })
    })
    .await
}

/// Returns every microservice that has an address, by id.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn list_routed(database: &Database) -> Result<Vec<Application>> {
    database.loader().await?.rows(LIST, &[]).await?.iter().map(applications::from_row).collect()
}
