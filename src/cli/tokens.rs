//! The commands `token` and `limits`: clients of the access-token service, and accounts of the limits query (L-02).

use clap::{Args, Subcommand, builder::PossibleValuesParser, value_parser};

use super::OnStore;
use crate::config::{self, StoreSettings};

/// What is to be done with tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenTask {
    /// Create a client of the access-token service.
    CreateClient(ClientCreate),
    /// Delete one.
    DeleteClient(ClientDelete),
    /// List those of a tenant.
    ListClients(ClientList),
    /// Draw a token of the limits query.
    CreateLimitsToken(LimitsTokenCreate),
    /// End the tokens of an account.
    DeleteLimitsTokens(LimitsTokenDelete),
    /// Set the limits of an account.
    SetLimits(LimitsSet),
}

/// Arguments of `platform token client create`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ClientCreate {
    /// Tenant of the client
    #[arg(value_parser = config::tenant_id)]
    pub tenant: String,
    /// User of the tenant that its tokens speak for
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

/// Arguments of `platform token client delete`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ClientDelete {
    /// Consumer key of the client
    pub key: String,
}

/// Arguments of `platform token client list`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ClientList {
    /// Tenant of the clients
    #[arg(value_parser = config::tenant_id)]
    pub tenant: String,
}

/// Arguments of `platform limits token create`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LimitsTokenCreate {
    /// Account that the token is for: a UUID, with hyphens or without
    pub account: String,
    /// Days after which the token expires
    #[arg(long, default_value = "365", value_parser = value_parser!(u64).range(1..=3650))]
    pub days: u64,
}

/// Arguments of `platform limits token delete`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct LimitsTokenDelete {
    /// Account whose tokens end
    pub account: String,
}

/// Arguments of `platform limits set`.
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
    /// File with the rates, a JSON array of {uri, regex, limit: [{value, verb, remaining, unit, next-available}]}; - reads a pipe
    ///
    /// Without remaining all of the value remains, without next-available it is now. An empty array removes the rates.
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
    /// Create a client; prints its consumer key and, this once, its consumer secret
    Create(OnStore<ClientCreate>),
    /// List the clients of a tenant: key, user, scope, time of creation, name
    List(OnStore<ClientList>),
    /// Delete a client; its tokens end at once
    Delete(OnStore<ClientDelete>),
}

#[derive(Debug, Subcommand)]
pub(super) enum LimitsCommand {
    /// Create and end tokens of the limits query
    #[command(subcommand)]
    Token(LimitsTokenCommand),
    /// Set limits of an account, those that are not given stay; prints what holds now
    Set(OnStore<LimitsSet>),
}

#[derive(Debug, Subcommand)]
pub(super) enum LimitsTokenCommand {
    /// Create a token for the header X-Auth-Token; printed this once
    Create(OnStore<LimitsTokenCreate>),
    /// End all tokens of an account
    Delete(OnStore<LimitsTokenDelete>),
}

impl TokenCommand {
    /// What is to be done, and where the data is.
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
    /// What is to be done, and where the data is.
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
