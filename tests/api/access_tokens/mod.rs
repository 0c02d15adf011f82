//! The access-token service (docs/rules.md#access-tokens; T-01 to T-08): issuing, bearers, the gateway check, clients.

mod bearers;
mod clients;
pub(crate) mod commands;
mod endings;
mod gateway;
mod issuing;
mod refusals;
mod secrets;

use serde_json::{Value, json};

use crate::harness::{Caller, Response, TestServer};

const TOKENS: &str = "/v1/oauth/accesstokens";
const CLIENTS: &str = "/application/tokenClients";
const OBJECTS: &str = "/inventory/managedObjects";

/// A client with its secret.
#[derive(Debug, Clone)]
struct Client {
    id: String,
    secret: String,
}

impl Client {
    /// A new one; `body` says for whom.
    async fn create(caller: &Caller, body: Value) -> Self {
        let created = caller.create(CLIENTS, &body).await;
        let text = |name: &str| created[name].as_str().unwrap().to_owned();
        Self { id: text("clientId"), secret: text("clientSecret") }
    }

    /// The body of a request for a token.
    fn request(&self) -> Value {
        json!({"grantType": "client_credentials", "clientId": self.id, "clientSecret": self.secret})
    }

    /// Asks for a token.
    async fn ask(&self, server: &TestServer) -> Response {
        server.stranger().request("POST", TOKENS).json(&self.request()).send().await
    }

    /// A new token.
    async fn token(&self, server: &TestServer) -> String {
        let answer = self.ask(server).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["accessToken"].as_str().unwrap().to_owned()
    }

    /// Somebody who comes by a new token.
    async fn bearer(&self, server: &TestServer) -> Caller {
        server.stranger().with_token(&self.token(server).await)
    }
}

/// A client of `admin` with this scope.
async fn client_with(server: &TestServer, scope: &str) -> Client {
    Client::create(&server.admin(), json!({"scope": scope})).await
}

/// A client of `admin` with the scope of all.
async fn client(server: &TestServer) -> Client {
    Client::create(&server.admin(), json!({})).await
}
