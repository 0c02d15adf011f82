//! The access-token service (docs/rules.md#access-tokens; T-01 to T-08): issuing, bearers, the gateway check, clients.

mod bearers;
mod clients;
pub(crate) mod commands;
mod endings;
mod gateway;
mod issuing;
mod own;
mod refusals;
mod secrets;

use crate::harness::prelude::*;

const TOKENS: &str = "/v1/oauth/accesstokens";
const CLIENTS: &str = "/application/tokenClients";
/// A client with its secret.
#[derive(Debug, Clone)]
struct Client {
    id: String,
    secret: String,
}

impl Client {
    /// Creates a client; `body` names its user.
    async fn create(caller: &Caller, body: Value) -> Self {
        let created = caller.create(CLIENTS, &body).await;
        let text = |name: &str| created[name].as_str().unwrap().to_owned();
        Self { id: text("clientId"), secret: text("clientSecret") }
    }

    /// Returns the body of a request for a token.
    fn request(&self) -> Value {
        json!({"grantType": "client_credentials", "clientId": self.id, "clientSecret": self.secret})
    }

    /// Requests a token.
    async fn ask(&self, server: &TestServer) -> Response {
        server.stranger().request("POST", TOKENS).json(&self.request()).send().await
    }

    /// Returns a new token.
    async fn token(&self, server: &TestServer) -> String {
        let answer = self.ask(server).await.expect(200);
        answer.json()["accessToken"].as_str().unwrap().to_owned()
    }

    /// Returns a caller with a new token.
    async fn bearer(&self, server: &TestServer) -> Caller {
        server.stranger().with_token(&self.token(server).await)
    }
}

/// Creates a client of `admin` with this scope.
async fn client_with(server: &TestServer, scope: &str) -> Client {
    Client::create(&server.admin(), json!({"scope": scope})).await
}

/// Creates a client of `admin` with the full scope.
async fn client(server: &TestServer) -> Client {
    Client::create(&server.admin(), json!({})).await
}
