//! The commands `token` and `limits`. Each returns its output; a secret is shown only once and stored as a
//! hash.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

use platform_front::secrets::access_token;
use platform_front::secrets::password::{self, SecretKey};
use platform_model::error::{Error, Result};
use platform_model::id::{MANAGEMENT, TenantId};
use platform_model::page::{PageRequest, TotalPages};
use platform_model::tenancy::account_limits::{AbsoluteLimits, AccountId, RateLimits};
use platform_model::users::token_client::{Scope, TokenHash, parse_client_id};
use platform_model::users::user::parse_user_of_path;
use platform_store::Database;
use platform_store::data::audit_records::insert_operators_record;
use platform_store::users;
use platform_store::users::account_limits;
use platform_store::users::token_clients;
use platform_store::users::token_clients::Draft;

use crate::cli::{ClientCreate, LimitsSet, TokenTask};

/// The largest file of rates in bytes.
const RATE_BYTES: u64 = 1 << 20;
/// The type of audit records of clients.
const TOKEN_CLIENT: &str = "TokenClient";
/// The number of clients per page.
const PAGE: u32 = 1000;

/// Executes a command.
///
/// # Errors
/// `NotFound` for an unknown tenant or client, `Invalid` for values that are not allowed.
pub async fn perform(database: &Database, key: &SecretKey, task: &TokenTask) -> Result<String> {
    match task {
        TokenTask::CreateClient(client) => create_client(database, key, client).await,
        TokenTask::DeleteClient(client) => delete_client(database, &client.key).await,
        TokenTask::ListClients(list) => list_clients(database, &list.tenant).await,
        TokenTask::CreateLimitsToken(token) => {
            let (account, drawn) = (AccountId::parse(&token.account)?, access_token::draw());
            let validity = Duration::from_secs(token.days * 24 * 3600);
            account_limits::insert_token(database, &account, TokenHash::of(&drawn), validity).await?;
            record_account(database, "Limits token created", &account).await?;
            Ok(drawn)
        }
        TokenTask::DeleteLimitsTokens(token) => {
            let account = AccountId::parse(&token.account)?;
            let deleted = account_limits::delete_tokens(database, &account).await?;
            record_account(database, "Limits tokens deleted", &account).await?;
            Ok(format!("{account} {deleted}"))
        }
        TokenTask::SetLimits(limits) => set_limits(database, limits).await,
    }
}

/// Records a change of an account, which belongs to no tenant, in tenant `management` (Y-07).
async fn record_account(database: &Database, activity: &'static str, account: &AccountId) -> Result<()> {
    let tenant = TenantId::parse(MANAGEMENT)?;
    insert_operators_record(database, &tenant, "Account", activity, &account.to_string()).await
}

/// Returns the consumer key and the consumer secret.
async fn create_client(database: &Database, key: &SecretKey, client: &ClientCreate) -> Result<String> {
    let tenant = TenantId::parse(&client.tenant)?;
    users::ensure_tenant(database, &tenant).await?;
    let scope = if client.scope.is_empty() { Scope::ALL } else { Scope::parse(&client.scope.join(" "))? };
    let (id, secret) = (password::generate(), password::generate());
    let draft = Draft {
        tenant: &tenant,
        id: &id,
        name: client.name.as_deref().unwrap_or(&client.user),
        user: &parse_user_of_path(&client.user)?,
        scope,
        secret_hash: &key.hash(&secret),
    };
    token_clients::insert_client(database, draft).await?;
    insert_operators_record(database, &tenant, TOKEN_CLIENT, "Token client created", &id).await?;
    Ok(format!("{id} {secret}"))
}

/// Returns the consumer key.
async fn delete_client(database: &Database, id: &str) -> Result<String> {
    let id = parse_client_id(id)?;
    let tenant = token_clients::get_tenant_of_client(database, id).await?;
    token_clients::delete_client(database, &tenant, id).await?;
    insert_operators_record(database, &tenant, TOKEN_CLIENT, "Token client deleted", id).await?;
    Ok(id.to_owned())
}

/// Returns a line for each client.
async fn list_clients(database: &Database, tenant: &str) -> Result<String> {
    let tenant = TenantId::parse(tenant)?;
    users::ensure_tenant(database, &tenant).await?;
    let mut page = PageRequest { size: PAGE, current: 1, after: None, total: TotalPages::Omitted };
    let mut lines = String::new();
    loop {
        let clients = token_clients::list_clients(database, &tenant, &page).await?;
        for client in &clients.members {
            let separator = if lines.is_empty() { "" } else { "\n" };
            let (id, user, scope) = (&client.id, &client.user, client.scope);
            // Writing to memory does not fail. A name is free text and must not look like a line of its own.
            let name = client.name.replace(char::is_control, " ");
            let _ = write!(lines, "{separator}{id}  {user}  {scope}  {}  {name}", client.creation_time);
        }
        match clients.next {
            Some(next) => page.after = Some(next),
            None => return Ok(lines),
        }
    }
}

/// Returns the current limits of the account, in the form of the limits query.
async fn set_limits(database: &Database, given: &LimitsSet) -> Result<String> {
    let account = AccountId::parse(&given.account)?;
    let absolute = AbsoluteLimits {
        max_personality: given.max_personality.map(i64::from),
        max_personality_size: given.max_personality_size.map(i64::from),
        max_server_meta: given.max_server_meta.map(i64::from),
        max_total_instances: given.max_total_instances.map(i64::from),
        max_total_keypairs: given.max_total_keypairs.map(i64::from),
        total_instance_used: given.total_instance_used.map(i64::from),
    };
    let rate = given.rate.as_deref().map(read_rates).transpose()?;
    let limits = account_limits::set_limits(database, &account, &absolute, rate.as_deref()).await?;
    record_account(database, "Limits of account updated", &account).await?;
    Ok(serde_json::to_string(&limits).expect("writing to memory does not fail and all keys are strings"))
}

fn read_rates(file: &str) -> Result<Vec<RateLimits>> {
    let unreadable = |error: io::Error| Error::Invalid(format!("{file} cannot be read: {error}"));
    let source: Box<dyn Read> = match file {
        "-" => Box::new(io::stdin()),
        path => Box::new(File::open(path).map_err(unreadable)?),
    };
    let mut text = String::new();
    source.take(RATE_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 <= RATE_BYTES {
        RateLimits::parse_all(&text)
    } else {
        Err(Error::invalid_value("rate", format!("more than {RATE_BYTES} bytes"), "1 MiB"))
    }
}
