//! The command line: what `platform` understands, before anything is done.
//!
//! `serve` is the default and takes every setting of [`Settings`]; the other commands take where the data is as
//! flags and everything else from the environment, so that they see what the server sees.

mod applications;
mod tokens;

use std::ffi::OsString;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

pub use applications::{ApplicationRoute, ApplicationTask};
pub use tokens::{
    ClientCreate, ClientDelete, ClientList, LimitsSet, LimitsTokenCreate, LimitsTokenDelete, TokenTask,
};

use crate::config::{self, Environment, Password, Settings, StoreSettings};

/// What the operator asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Run the server until it is told to stop.
    Serve(Box<Settings>),
    /// Create a tenant and its first user.
    TenantCreate {
        /// Of the server; the flags of the command are in them.
        settings: Box<Settings>,
        /// The tenant.
        tenant: TenantCreate,
    },
    /// Create a user of a tenant.
    UserCreate {
        /// Of the server; the flags of the command are in them.
        settings: Box<Settings>,
        /// The user.
        user: UserCreate,
    },
    /// Give a user a new password.
    UserPasswd {
        /// Of the server; the flags of the command are in them.
        settings: Box<Settings>,
        /// The user.
        user: UserPasswd,
    },
    /// Do something with tokens, or with what they are for.
    Tokens {
        /// Of the server; the flags of the command are in them.
        settings: Box<Settings>,
        /// What.
        task: TokenTask,
    },
    /// Do something with applications.
    Applications {
        /// Of the server; the flags of the command are in them.
        settings: Box<Settings>,
        /// What.
        task: ApplicationTask,
    },
}

/// Arguments of `platform tenant create`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct TenantCreate {
    /// Id of the new tenant: 1 to 32 letters, digits, hyphens and underscores; fixed afterwards
    #[arg(value_parser = config::tenant_id)]
    pub id: String,
    /// Domain by which requests find the tenant, such as factory.example.com (C-01)
    #[arg(long)]
    pub domain: String,
    /// Company the tenant belongs to
    #[arg(long)]
    pub company: String,
    /// Name of its first user, who may administer it
    #[arg(long, value_name = "NAME", default_value = "admin", value_parser = config::user_name)]
    pub admin_user: String,
    /// Password of that user, 6 to 32 Latin-1 characters [default: read from a pipe, else generated and printed]
    ///
    /// Other users of this machine can see the arguments of a command; a pipe hides the password from them.
    #[arg(long, value_name = "PASSWORD")]
    pub admin_password: Option<Password>,
}

/// Arguments of `platform user create`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct UserCreate {
    /// Tenant of the user
    #[arg(value_parser = config::tenant_id)]
    pub tenant: String,
    /// Name of the new user, without spaces and / + $ :
    #[arg(value_parser = config::user_name)]
    pub name: String,
    /// Password, 6 to 32 Latin-1 characters [default: read from a pipe, else generated and printed]
    ///
    /// Other users of this machine can see the arguments of a command; a pipe hides the password from them.
    #[arg(long)]
    pub password: Option<Password>,
    /// Role of the user, such as ROLE_ALARM_READ; may be repeated
    #[arg(long = "role", value_name = "ROLE", num_args = 1..)]
    pub roles: Vec<String>,
}

/// Arguments of `platform user passwd`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct UserPasswd {
    /// Tenant of the user
    #[arg(value_parser = config::tenant_id)]
    pub tenant: String,
    /// Name of the user
    #[arg(value_parser = config::user_name)]
    pub name: String,
    /// New password, 6 to 32 Latin-1 characters [default: read from a pipe, else generated and printed]
    ///
    /// Other users of this machine can see the arguments of a command; a pipe hides the password from them.
    #[arg(long)]
    pub password: Option<Password>,
}

const ABOUT: &str =
    "A multi-tenant device-management server: REST, and notifications over long polling and WebSocket";

const EXPLAINED: &str = "\
A multi-tenant device-management server: devices and applications talk REST, and are notified over
Bayeux long polling and WebSocket.

Started without anything it serves on http://127.0.0.1:8080 with a private PostgreSQL of its own below
./platform-data; only the programs of PostgreSQL 14 or newer must be installed, nothing needs to be set
up. The first start creates the tenants `management` and `main`, prints the passwords of their users
once, and ends its output with the line `ready http://<address>`. Ctrl-C or SIGTERM stops it, the
database included.";

const EXAMPLES: &str = "\
Examples:
  platform                               serve on 127.0.0.1:8080, everything in ./platform-data
  platform --listen 0.0.0.0:80 --data-dir /var/lib/platform
  platform --database-url postgres://platform:secret@db/platform
  PLATFORM_LISTEN=127.0.0.1:0 platform   on any free port; the last line names it
  platform tenant create plant7 --domain plant7.example.com --company Acme
  platform user create plant7 mia --role ROLE_ALARM_READ
  echo \"$NEW_PASSWORD\" | platform user passwd main admin
  platform token client create main --user mia --scope READ
  platform application route rules http://10.0.0.7:8080

Every setting is a flag and a variable; a flag goes before its variable, that before the default. What
is unknown or malformed is refused. The unit of a number stands in its name.";

#[derive(Debug, Parser)]
#[command(name = "platform", version, about = ABOUT, long_about = EXPLAINED, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<TopLevel>,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Debug, Subcommand)]
enum TopLevel {
    /// Run the server (the default: its flags are accepted without the word)
    Serve(Box<Settings>),
    /// Create tenants, also beside a running server
    #[command(subcommand)]
    Tenant(TenantCommand),
    /// Create users and change their passwords, also beside a running server
    #[command(subcommand)]
    User(UserCommand),
    /// Manage clients of the access-token service, also beside a running server
    #[command(subcommand)]
    Token(tokens::TokenCommand),
    /// Manage accounts of the limits query and their tokens, also beside a running server
    #[command(subcommand)]
    Limits(tokens::LimitsCommand),
    /// Say where microservices run, also beside a running server
    #[command(subcommand)]
    Application(applications::ApplicationCommand),
}

#[derive(Debug, Subcommand)]
enum TenantCommand {
    /// Create a tenant and its first user
    Create(OnStore<TenantCreate>),
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    /// Create a user of a tenant
    Create(OnStore<UserCreate>),
    /// Give a user a new password; takes effect at once
    Passwd(OnStore<UserPasswd>),
}

/// A command's own arguments and where the data is.
#[derive(Debug, Args)]
struct OnStore<A: Args> {
    #[command(flatten)]
    arguments: A,
    #[command(flatten)]
    store: StoreSettings,
}

/// Reads the command line and the environment of this process; prints clap's message and exits when they ask for
/// help or cannot be understood (exit code 2).
pub fn parse() -> Command {
    let environment =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
    parse_from(std::env::args_os(), &environment).unwrap_or_else(|error| error.exit())
}

/// Understands a command line (`arguments` begins with the program's name) and an environment.
///
/// # Errors
/// clap's error: what is unknown or malformed, by name, and what is allowed. Help and version are such errors too.
pub fn parse_from(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    environment: &Environment,
) -> Result<Command, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let described = CommandLine::command();
    let mut command = config::with_environment(described.clone(), environment);
    let matches = match command.try_get_matches_from_mut(&arguments) {
        Ok(matches) => matches,
        // Help shows the variables and the true defaults, which the command that reads has replaced.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            return Err(described.try_get_matches_from(&arguments).err().unwrap_or(error));
        }
        Err(error) => return Err(config::in_our_words(error, &described, environment, &arguments)),
    };
    config::refuse_unknown(&described, environment)?;
    let line = CommandLine::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    let settings = |store| -> Result<_, clap::Error> {
        Ok(Box::new(Settings { store, ..Settings::from_environment(environment)? }))
    };
    Ok(match line.command {
        None => Command::Serve(Box::new(line.settings)),
        Some(TopLevel::Serve(settings)) => Command::Serve(settings),
        Some(TopLevel::Tenant(TenantCommand::Create(OnStore { arguments, store }))) => {
            Command::TenantCreate { settings: settings(store)?, tenant: arguments }
        }
        Some(TopLevel::User(UserCommand::Create(OnStore { arguments, store }))) => {
            Command::UserCreate { settings: settings(store)?, user: arguments }
        }
        Some(TopLevel::User(UserCommand::Passwd(OnStore { arguments, store }))) => {
            Command::UserPasswd { settings: settings(store)?, user: arguments }
        }
        Some(TopLevel::Token(command)) => {
            let (task, store) = command.task();
            Command::Tokens { settings: settings(store)?, task }
        }
        Some(TopLevel::Limits(command)) => {
            let (task, store) = command.task();
            Command::Tokens { settings: settings(store)?, task }
        }
        Some(TopLevel::Application(command)) => {
            let (task, store) = command.task();
            Command::Applications { settings: settings(store)?, task }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parsed(line: &str, variables: &[(&str, &str)]) -> Result<Command, String> {
        let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        parse_from(line.split_whitespace(), &environment).map_err(|error| error.to_string())
    }

    fn serve(line: &str, variables: &[(&str, &str)]) -> Settings {
        match parsed(line, variables) {
            Ok(Command::Serve(settings)) => *settings,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn definitions_are_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn serve_is_the_default_with_its_flags() {
        assert_eq!(serve("platform", &[]), Settings::default());
        assert_eq!(serve("platform serve", &[]), Settings::default());
        for line in [
            "platform --listen [::1]:0 --client-compatibility",
            "platform serve --listen=[::1]:0 --client-compatibility",
        ] {
            let settings = serve(line, &[]);

            assert_eq!(settings.listen.to_string(), "[::1]:0");
            assert!(settings.client_compatibility);
        }
    }

    #[test]
    fn flag_goes_before_variable_and_variable_before_default() {
        let variables = [("PLATFORM_WORKERS", "3"), ("PLATFORM_DEBUG_ERRORS", "true"), ("HOME", "/")];

        for line in ["platform --workers 5", "platform serve --workers 5"] {
            assert_eq!((serve(line, &variables).workers, serve(line, &variables).debug_errors), (5, true));
        }
        assert_eq!(serve("platform serve", &variables).workers, 3);
        assert!(!serve("platform --debug-errors=false", &variables).debug_errors);
    }

    #[test]
    fn lists_in_variables_are_split_at_commas() {
        let settings = serve("platform", &[("PLATFORM_TRUSTED_PROXIES", "127.0.0.1,10.0.0.0/8")]);

        assert_eq!(settings, serve("platform --trusted-proxies 127.0.0.1,10.0.0.0/8", &[]));
        assert_eq!(settings.trusted_proxies.len(), 2);
    }

    #[test]
    fn tenant_is_created_beside_the_servers_settings() {
        let variables =
            [("PLATFORM_DATA_DIR", "/var/lib/platform"), ("PLATFORM_ADMIN_PASSWORD", "of-the-first-start")];
        let line = "platform tenant create plant7 --domain plant7.example.com --company Acme";

        let Ok(Command::TenantCreate { settings, tenant }) = parsed(line, &variables) else {
            panic!("refused")
        };

        assert_eq!(settings.store.data_dir, Path::new("/var/lib/platform"));
        assert_eq!((tenant.id.as_str(), tenant.admin_user.as_str()), ("plant7", "admin"));
        assert_eq!(tenant.admin_password, None, "that of the first start is another one");
    }

    #[test]
    fn users_are_created_and_given_passwords() {
        let line = "platform user create main mia --role ROLE_ALARM_READ ROLE_EVENT_READ --role ROLE_X --data-dir /d";
        let Ok(Command::UserCreate { settings, user }) = parsed(line, &[]) else { panic!("refused") };
        assert_eq!(user.roles, ["ROLE_ALARM_READ", "ROLE_EVENT_READ", "ROLE_X"]);
        assert_eq!(settings.store.data_dir, Path::new("/d"));

        let line = "platform user passwd main mia --password new-secret";
        let Ok(Command::UserPasswd { user, .. }) = parsed(line, &[]) else { panic!("refused") };
        assert_eq!(user.password, Some("new-secret".parse().unwrap()));
    }

    #[test]
    fn tokens_and_what_they_are_for_are_managed() {
        let task = |line: &str| match parsed(line, &[]) {
            Ok(Command::Tokens { settings, task }) => (settings.store.data_dir.display().to_string(), task),
            other => panic!("{line}: {other:?}"),
        };
        let line = "platform token client create main --user mia --scope READ --scope WRITE --data-dir /d";
        let (tenant, user) = ("main".to_owned(), "mia".to_owned());
        let client = ClientCreate { tenant, user, name: None, scope: vec!["READ".into(), "WRITE".into()] };
        assert_eq!(task(line), ("/d".into(), TokenTask::CreateClient(client)));

        let (_, listed) = task("platform token client list main");
        assert_eq!(listed, TokenTask::ListClients(ClientList { tenant: "main".into() }));
        let (_, deleted) = task("platform token client delete abc");
        assert_eq!(deleted, TokenTask::DeleteClient(ClientDelete { key: "abc".into() }));

        let (_, created) = task("platform limits token create 0123");
        let expected = LimitsTokenCreate { account: "0123".into(), days: 365 };
        assert_eq!(created, TokenTask::CreateLimitsToken(expected));
        let (_, set) = task("platform limits set 0123 --max-server-meta 5 --rate -");
        let TokenTask::SetLimits(set) = set else { panic!("{set:?}") };
        assert_eq!(
            (set.max_server_meta, set.max_personality, set.rate.as_deref()),
            (Some(5), None, Some("-"))
        );

        for line in [
            "platform token client create main",
            "platform token client create main --user mia --scope ALL",
            "platform limits token create 0123 --days 0",
            "platform limits set 0123 --max-server-meta -1",
        ] {
            assert!(parsed(line, &[]).is_err(), "{line}");
        }
    }

    #[test]
    fn an_application_is_routed_to_an_address_or_to_none() {
        let task = |line: &str| match parsed(line, &[]) {
            Ok(Command::Applications { settings, task }) => {
                (settings.store.data_dir.display().to_string(), task)
            }
            other => panic!("{line}: {other:?}"),
        };
        let route = |address: Option<&str>| {
            let (application, address) = ("rules".into(), address.map(Into::into));
            ApplicationTask::Route(ApplicationRoute { none: address.is_none(), application, address })
        };
        let line = "platform application route rules http://h:1 --data-dir /d";
        assert_eq!(task(line), ("/d".into(), route(Some("http://h:1"))));
        assert_eq!(task("platform application route rules --none").1, route(None));
        assert_eq!(task("platform application routes").1, ApplicationTask::Routes);
        for line in ["platform application route rules", "platform application route rules http://h:1 --none"]
        {
            assert!(parsed(line, &[]).is_err(), "{line}");
        }
    }

    #[test]
    fn unknown_and_malformed_settings_are_refused_by_name() {
        for (line, variables, named) in [
            ("platform --lisen x", &[][..], "--listen"),
            ("platform --listen x", &[], "--listen <ADDRESS:PORT>"),
            ("platform serve", &[("PLATFORM_LISEN", "x")], "did you mean PLATFORM_LISTEN?"),
            ("platform user passwd main mia", &[("PLATFORM_BATCH_ROWS", "many")], "PLATFORM_BATCH_ROWS"),
            ("platform user create main a:b", &[], "user name"),
            ("platform tenant create", &[], "--domain"),
            ("platform --data-dir /d user passwd main mia", &[], "cannot be used with"),
        ] {
            let message = parsed(line, variables).unwrap_err();
            assert!(message.contains(named), "{line}: {message}");
        }
    }

    #[test]
    fn refused_password_is_not_repeated() {
        for line in ["platform user passwd main mia --password abc12", "platform --admin-password abc12"] {
            let message = parsed(line, &[]).unwrap_err();
            assert!(message.contains("6 to 32") && !message.contains("abc12"), "{message}");
        }
        let message = parsed("platform", &[("PLATFORM_ADMIN_PASSWORD", "abc12")]).unwrap_err();
        assert!(!message.contains("abc12"), "{message}");
    }

    #[test]
    fn help_explains_the_default_start() {
        let help = parsed("platform --help", &[("PLATFORM_WORKERS", "3")]).unwrap_err();

        for part in ["private PostgreSQL", "127.0.0.1:8080", "Examples:", "tenant", "PLATFORM_BODY_BYTES"] {
            assert!(help.contains(part), "{part} is missing in:\n{help}");
        }
    }
}
