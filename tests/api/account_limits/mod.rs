//! The limits query (docs/rules.md#limits-query; L-01 to L-05; X-21).

mod commands;
mod query;

use crate::harness::{Response, TestServer};

const ACCOUNT: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210";

/// Adds an account without limits of its own, and a token for it that is valid for this many seconds.
async fn enter(server: &TestServer, account: &str, seconds: f64) -> String {
    let statement = "INSERT INTO limit_accounts (id) VALUES ($1) ON CONFLICT DO NOTHING";
    server.database().execute(statement, &[&account]).await;
    let token = platform_front::secrets::access_token::draw();
    let hash = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
    let statement = "INSERT INTO limit_tokens VALUES ($1, $2, now() + make_interval(secs => $3))";
    server.database().execute(statement, &[&hash.as_ref(), &account, &seconds]).await;
    token
}

/// Requests the limits of an account.
async fn ask(server: &TestServer, account: &str, token: &str) -> Response {
    let request = server.stranger().request("GET", &format!("/v2/{account}/limits"));
    request.header("X-Auth-Token", token).send().await
}
