//! The tenant of a demo and its administrators: in the database of the server that the demo starts, or over REST.

use std::io::{BufRead, IsTerminal, stdin};

use platform_front::secrets::password::{self, SecretKey};
use platform_model::error::{Error, Result};
use platform_model::id::TenantId;
use platform_store::Database;
use serde_json::json;

use super::wire::Wire;
use super::world::TENANT;
use crate::administration;
use crate::cli::{TenantCreate, UserPasswd};
use crate::client::failure::{Code, Failure};
use crate::client::second_factor;

/// The user name of the administrator for people, and of the administrator that acts for the simulated people.
const ADMIN: &str = "admin";
const OPERATOR: &str = "fleet";
const COMPANY: &str = "Demo";
const VARIABLE: &str = "PLATFORM_PASSWORD";

/// An administrator of the tenant of the demo at a server that was running before.
pub(super) struct Account {
    pub(super) user: String,
    pub(super) password: String,
    /// Whether the demo has created the tenant and generated this password.
    pub(super) is_new: bool,
    pub(super) is_generated: bool,
}

fn domain() -> String {
    format!("{TENANT}.localhost")
}

/// Creates the tenant of the demo with the user `admin` in the database, unless it exists. `new` is the password of a
/// new `admin`; `chosen` replaces the password of an existing one. Returns the operator, whose password only this
/// process knows, and whether the tenant is new.
///
/// # Errors
/// The database cannot be used, or another tenant has the domain.
pub(super) async fn prepare_in(
    database: &Database,
    key: &SecretKey,
    new: &str,
    chosen: Option<&str>,
) -> Result<((String, String), bool)> {
    let invalid = |why: String| Error::Invalid(why);
    let create = TenantCreate {
        id: TENANT.into(),
        domain: domain(),
        company: COMPANY.into(),
        admin_user: ADMIN.into(),
        admin_password: Some(new.parse().map_err(invalid)?),
    };
    let is_new = match platform_store::tenancy::tenants::get_tenant(database, &TenantId::parse(TENANT)?).await
    {
        Ok(_) => false,
        Err(Error::NotFound { .. }) => {
            administration::create_tenant(database, key, &create).await?;
            true
        }
        Err(error) => return Err(error),
    };
    if let (false, Some(chosen)) = (is_new, chosen) {
        let password = Some(chosen.parse().map_err(invalid)?);
        let change =
            UserPasswd { tenant: TENANT.into(), name: ADMIN.into(), password, remove_second_factor: false };
        administration::change_password(database, key, &change).await?;
    }
    let secret = password::generate();
    administration::ensure_administrator(database, key, TENANT, OPERATOR, &secret).await?;
    Ok(((format!("{TENANT}/{OPERATOR}"), secret), is_new))
}

/// Deletes the tenant of the demo from the database; running servers notice the deletion.
///
/// # Errors
/// There is no such tenant, or the database cannot be used.
pub async fn remove_from(database: &Database) -> Result<String> {
    let by = administration::by_operator(database, &TenantId::parse(platform_model::id::MANAGEMENT)?).await?;
    match platform_store::tenancy::tenants::delete_tenant(database, &by, &TenantId::parse(TENANT)?).await {
        Err(Error::NotFound { .. }) => Err(Error::Invalid(format!("there is no tenant {TENANT} to delete"))),
        done => done.map(|()| format!("deleted the tenant {TENANT} with all its data")),
    }
}

/// Returns an administrator of the tenant at a running server. If `user` is `management/admin`, it creates the tenant.
///
/// # Errors
/// The server rejects the user; or `management/admin` is given, but the tenant exists; or the user belongs to another
/// tenant.
pub(super) async fn prepare_at(
    url: &str,
    user: &str,
    chosen: Option<String>,
) -> std::result::Result<Account, Failure> {
    let admin = format!("{TENANT}/{ADMIN}");
    match user.split_once('/') {
        Some((TENANT, _)) => {
            let password = chosen.map_or_else(|| asked(user), Ok)?;
            Wire::of(url, user, &password)?.read("/user/currentUser").await?;
            Ok(Account { user: user.into(), password, is_new: false, is_generated: false })
        }
        Some((platform_model::id::MANAGEMENT, _)) => {
            let mut management = Box::pin(log_in(url, user)).await?;
            let is_generated = chosen.is_none();
            let password = chosen.unwrap_or_else(password::generate);
            let body = json!({"id": TENANT, "domain": domain(), "company": COMPANY, "adminName": ADMIN,
                "adminPass": password, "adminEmail": "admin@demo.localhost"});
            match management.create("/tenant/tenants", body).await {
                Ok(_) => Ok(Account { user: admin, password, is_new: true, is_generated }),
                Err(failure) if failure.code() == Code::Conflict => {
                    Err(Failure::new(Code::Conflict, format!("{url} has a tenant {TENANT} already"))
                        .hint(format!("continue with `--user {admin}`, or delete it before with `--remove`")))
                }
                Err(failure) => Err(failure),
            }
        }
        _ => Err(Failure::usage(format!(
            "--user {user}: a demo needs management/admin, who creates the tenant {TENANT}, or {admin}"
        ))),
    }
}

/// Deletes the tenant at a server.
///
/// # Errors
/// The server rejects the request, or has no such tenant.
pub(super) async fn remove_at(url: &str, user: &str) -> std::result::Result<(), Failure> {
    let mut management = Box::pin(log_in(url, user)).await?;
    let path = format!("/tenant/tenants/{TENANT}");
    management.server().expect("DELETE", &path, None).await?;
    println!("deleted the tenant {TENANT} with all its data");
    Ok(())
}

/// Returns the client of a user that manages the tenant of the demo, with a token if the user has a second factor.
///
/// # Errors
/// The server rejects the password, or nobody can be asked for a code.
async fn log_in(url: &str, user: &str) -> std::result::Result<Wire, Failure> {
    let mut wire = Wire::of(url, user, &asked(user)?)?;
    if !second_factor::is_required(&wire.server().send("GET", "/user/currentUser", None).await?) {
        return Ok(wire);
    }
    let remedy = "run the command on a terminal, which asks for a code";
    Wire::with(url, user, second_factor::exchange(wire.server(), None, remedy).await?)
}

/// Returns the password of a user from the environment variable, the terminal, or a pipe.
fn asked(user: &str) -> std::result::Result<String, Failure> {
    if let Ok(password) = std::env::var(VARIABLE) {
        return Ok(password);
    }
    if stdin().is_terminal() {
        return Ok(rpassword::prompt_password(format!("Password of {user}: "))?);
    }
    let mut line = String::new();
    stdin().lock().read_line(&mut line)?;
    match line.trim_end_matches(['\r', '\n']) {
        "" => Err(Failure::usage(format!("the password of {user} is needed"))
            .hint(format!("set {VARIABLE}, or pipe it: echo \"…\" | platform demo --url {}", "…"))),
        line => Ok(line.to_owned()),
    }
}
