//! The commands `admin token …` for clients of the access-token service, and `admin limits …` for accounts of the
//! limits query (L-02).

use clap::{Args, Subcommand, builder::PossibleValuesParser, value_parser};
use platform_front::config::{self, StoreSettings};

use super::OnStore;

/// A command for tokens or limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenTask {
    /// Create a client of the access-token service.
    CreateClient(ClientCreate),
    /// Delete a client.
    DeleteClient(ClientDelete),
    /// List the clients of a tenant.
    ListClients(ClientList),
    /// Create a token of the limits query.
    CreateLimitsToken(LimitsTokenCreate),
    /// Delete the tokens of an account.
    DeleteLimitsTokens(LimitsTokenDelete),
    /// Set the limits of an account.
    SetLimits(LimitsSet),
}

/// Arguments of `platform admin token client create`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ClientCreate {
    /// Tenant of the client
    #[arg(value_parser = config::tenant_id)]
    pub tenant: String,
    /// User of the tenant that its tokens act as
    #[arg(long, value_name = "NAME", value_parser = config::user_name)]
    pub user: String,
    /// Name of the client, for people [default: that of the user]
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// READ allows GET and HEAD, WRITE all else; may be repeated [default: both]
    #[arg(long = "scope", value_name = "SCOPE", num_args = 1..,
          value_parser = PossibleValuesParser::new(["READ", "WRITE"]))]
    pub scope: Vec<String>,
}

/// Arguments of `platform admin token client delete`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ClientDelete {
    /// Consumer key of the client
    pub key: String,
}

/// Arguments of `platform admin token client list`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ClientList {
    /// Tenant of the clients
    #[arg(value_parser = config::tenant_id)]
    pub tenant: String,
}

/// Arguments of `platform admin limits token create`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LimitsTokenCreate {
    /// Account that the token is for: a UUID, with hyphens or without
    pub account: String,
    /// Days after which the token expires
    #[arg(long, default_value = "365", value_parser = value_parser!(u64).range(1..=3650))]
    pub days: u64,
}

/// Arguments of `platform admin limits token delete`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LimitsTokenDelete {
    /// Account whose tokens are deleted
    pub account: String,
}

/// Arguments of `platform admin limits set`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LimitsSet {
    /// Account: a UUID, with hyphens or without
    pub account: String,
    /// Limit maxPersonality [default of an account: 10]
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u32))]
    pub max_personality: Option<u32>,
    /// Limit maxPersonalitySize [default of an account: 10240]
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u32))]
    pub max_personality_size: Option<u32>,
    /// Limit maxServerMeta [default of an account: 128]
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u32))]
    pub max_server_meta: Option<u32>,
    /// Limit maxTotalInstances [default of an account: 128]
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u32))]
    pub max_total_instances: Option<u32>,
    /// Limit maxTotalKeypairs [default of an account: 100]
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u32))]
    pub max_total_keypairs: Option<u32>,
    /// Figure totalInstanceUsed [default of an account: 0]
    #[arg(long, value_name = "COUNT", value_parser = value_parser!(u32))]
    pub total_instance_used: Option<u32>,
    /// File with the rates, a JSON array of {uri, regex, limit: [{value, verb, remaining, unit, next-available}]}; -
    /// reads a pipe
    ///
    /// If remaining is absent, it is the value; if next-available is absent, it is now. An empty array removes the
    /// rates.
    #[arg(long, value_name = "FILE")]
    pub rate: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Create, list and delete clients of the access-token service
    #[command(subcommand)]
    Client(ClientCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum ClientCommand {
    /// Create a client; prints its consumer key and its consumer secret, which is not shown again
    Create(OnStore<ClientCreate>),
    /// List the clients of a tenant: key, user, scope, time of creation, name
    List(OnStore<ClientList>),
    /// Delete a client; its tokens become invalid at once
    Delete(OnStore<ClientDelete>),
}

#[derive(Debug, Subcommand)]
pub(super) enum LimitsCommand {
    /// Create and delete tokens of the limits query
    #[command(subcommand)]
    Token(LimitsTokenCommand),
    /// Set limits of an account and print all of them; limits that are not given do not change
    Set(OnStore<LimitsSet>),
}

#[derive(Debug, Subcommand)]
pub(super) enum LimitsTokenCommand {
    /// Create a token for the header X-Auth-Token; it is printed only once
    Create(OnStore<LimitsTokenCreate>),
    /// Delete all tokens of an account
    Delete(OnStore<LimitsTokenDelete>),
}

impl TokenCommand {
    /// Returns the command, and the location of the data.
    pub(super) fn task(self) -> (TokenTask, StoreSettings) {
        let Self::Client(command) = self;
        match command {
            ClientCommand::Create(given) => (TokenTask::CreateClient(given.arguments), given.store),
            ClientCommand::List(given) => (TokenTask::ListClients(given.arguments), given.store),
            ClientCommand::Delete(given) => (TokenTask::DeleteClient(given.arguments), given.store),
        }
    }
}

impl LimitsCommand {
    /// Returns the command, and the location of the data.
    pub(super) fn task(self) -> (TokenTask, StoreSettings) {
        match self {
            Self::Set(given) => (TokenTask::SetLimits(given.arguments), given.store),
            Self::Token(LimitsTokenCommand::Create(given)) => {
                (TokenTask::CreateLimitsToken(given.arguments), given.store)
            }
            Self::Token(LimitsTokenCommand::Delete(given)) => {
                (TokenTask::DeleteLimitsTokens(given.arguments), given.store)
            }
        }
    }
}
