//! The identity provider of a tenant (C-25): an OpenID Connect provider that signs tokens for the tenant's people.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::applications::application::UserPurpose;
use crate::error::{Error, Result};
use crate::origin::is_device_user;
use crate::users::user::{Profile, parse_user_name};

/// The category of the options that describe the provider.
pub const IDENTITY_PROVIDER: &str = "identityProvider";

const ISSUER: &str = "issuer";
const AUDIENCE: &str = "audience";
const USER_CLAIM: &str = "userClaim";
const GROUPS_CLAIM: &str = "groupsClaim";
const GROUPS: &str = "groups";
const CLIENT_ID: &str = "clientId";
const COMMAND_CLIENT_ID: &str = "commandClientId";
const SCOPE: &str = "scope";
const PASSWORD_USER: &str = "passwordUser";
/// The key of the option with the secret of the client, which is stored encrypted (Z-05).
pub const CLIENT_SECRET: &str = "credentials.clientSecret";
/// The keys of the options.
const KEYS: [&str; 10] = [
    ISSUER,
    AUDIENCE,
    USER_CLAIM,
    GROUPS_CLAIM,
    GROUPS,
    CLIENT_ID,
    CLIENT_SECRET,
    COMMAND_CLIENT_ID,
    SCOPE,
    PASSWORD_USER,
];

/// The times of issue that are valid, in seconds: those before the year 10000.
const TIMES: std::ops::Range<f64> = 0.0..253_402_300_800.0;
/// The maximum number of characters of a value other than the mapping of groups.
const MAX_TEXT: usize = 2000;

/// The identity provider of a tenant, as its options describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityProvider {
    /// The URL of the provider, which its tokens contain as `iss`.
    pub issuer: String,
    /// The value that the access tokens for this tenant have in `aud`; `None` if the tenant accepts none.
    pub audience: Option<String>,
    /// The client with which people log in to the console.
    pub client: Option<Client>,
    /// The client with which people log in to the commands (C-34); it is public.
    pub command_client: Option<Client>,
    /// The only person who may use a password; `None` if everybody may.
    password_user: Option<String>,
    user_claim: String,
    groups_claim: String,
    /// The groups of the tenant by the values of the claim.
    groups: BTreeMap<String, String>,
}

/// A client at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The id, which the provider's ID tokens have in `aud`.
    pub id: String,
    /// The secret; a client without one is identified by the address of the console alone.
    pub secret: Option<String>,
    /// The scopes that are requested.
    pub scope: String,
}

/// A person whom the provider has identified.
#[derive(Debug, Clone, PartialEq)]
pub struct IdentifiedUser {
    /// The name of the user in the tenant.
    pub name: Arc<str>,
    /// The names of the groups that the claims entitle to.
    pub groups: BTreeSet<String>,
    /// The personal data in the claims.
    pub profile: Profile,
    /// The time at which the token was issued, in seconds since 1970.
    pub issued: f64,
}

impl IdentityProvider {
    /// Checks the value of an option of this category.
    ///
    /// # Errors
    /// `Invalid` names the key, the value and what is allowed.
    pub fn check(key: &str, value: &str) -> Result<()> {
        let is_text = !value.is_empty() && value.chars().count() <= MAX_TEXT;
        let (is_valid, allowed) = match key {
            ISSUER => {
                let is_url = ["https://", "http://"].iter().any(|scheme| value.starts_with(scheme));
                (is_text && is_url && !value.contains(['?', '#', ' ']), "an https URL without a query")
            }
            AUDIENCE | USER_CLAIM | GROUPS_CLAIM | CLIENT_ID | CLIENT_SECRET | COMMAND_CLIENT_ID | SCOPE => {
                (is_text, "1 to 2000 characters")
            }
            PASSWORD_USER => (parse_user_name(value).is_ok(), "the name of a user"),
            GROUPS => (groups_of(value).is_some(), "a JSON object with names of groups as text"),
            _ => return Err(Error::invalid_value("key", key, &KEYS.join(", "))),
        };
        if is_valid {
            Ok(())
        } else {
            Err(Error::invalid_value(key, if key == CLIENT_SECRET { "the text" } else { value }, allowed))
        }
    }

    /// Returns the provider that options describe; `None` unless they contain the issuer. The secret of the client is
    /// given in plain text.
    pub fn of_options(options: impl IntoIterator<Item = (String, String)>) -> Option<Self> {
        let mut options: BTreeMap<String, String> = options.into_iter().collect();
        let scope = options.remove(SCOPE).unwrap_or_else(|| "openid profile email".into());
        let secret = options.remove(CLIENT_SECRET);
        Some(Self {
            issuer: options.remove(ISSUER)?,
            audience: options.remove(AUDIENCE),
            client: options.remove(CLIENT_ID).map(|id| Client { id, secret, scope: scope.clone() }),
            command_client: options.remove(COMMAND_CLIENT_ID).map(|id| Client { id, secret: None, scope }),
            password_user: options.remove(PASSWORD_USER),
            user_claim: options.remove(USER_CLAIM).unwrap_or_else(|| "sub".into()),
            groups_claim: options.remove(GROUPS_CLAIM).unwrap_or_else(|| "groups".into()),
            groups: options.remove(GROUPS).and_then(|text| groups_of(&text)).unwrap_or_default(),
        })
    }

    /// Returns the address of the provider's description (OpenID Connect Discovery 1.0, section 4).
    pub fn discovery_url(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'))
    }

    /// Returns whether a person may use a password. Without a client of the console everybody may, because nobody could
    /// log in otherwise.
    pub fn permits_password(&self, name: &str) -> bool {
        self.client.is_none() || self.password_user.as_deref().is_none_or(|only| only == name)
    }

    /// Returns the user whom the claims of a verified token name. `None` for a text that cannot be a user name, for
    /// the names of users of devices and microservices, and without the time of issue.
    pub fn identify(&self, claims: &Map<String, Value>) -> Option<IdentifiedUser> {
        let name = parse_user_name(claim(claims, &self.user_claim)?.as_str()?).ok()?;
        let of_service = [UserPurpose::Service, UserPurpose::Bootstrap].map(UserPurpose::user_prefix);
        if is_device_user(&name) || of_service.iter().any(|prefix| name.starts_with(prefix)) {
            return None;
        }
        let values = match claim(claims, &self.groups_claim) {
            Some(Value::Array(values)) => &values[..],
            Some(value) => std::slice::from_ref(value),
            None => &[],
        };
        let groups = values.iter().filter_map(|value| self.groups.get(value.as_str()?).cloned()).collect();
        let text = |name: &str| Some(claims.get(name)?.as_str()?.chars().take(254).collect::<String>());
        let profile = Profile {
            first_name: text("given_name"),
            last_name: text("family_name"),
            email: text("email"),
            ..Profile::default()
        };
        let issued = claims.get("iat")?.as_f64().filter(|seconds| TIMES.contains(seconds))?;
        Some(IdentifiedUser { name, groups, profile, issued })
    }
}

/// Returns a claim by its name, or by a path with dots, as providers nest claims.
fn claim<'c>(claims: &'c Map<String, Value>, name: &str) -> Option<&'c Value> {
    claims.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        claim(claims.get(first)?.as_object()?, rest)
    })
}

fn groups_of(text: &str) -> Option<BTreeMap<String, String>> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(options: &[(&str, &str)]) -> Option<IdentityProvider> {
        let given = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        IdentityProvider::of_options(given)
    }

    fn identified(provider: &IdentityProvider, claims: &str) -> Option<IdentifiedUser> {
        provider.identify(&serde_json::from_str(claims).expect("an object"))
    }

    #[test]
    fn options_are_checked() {
        for (key, value) in [
            ("issuer", "https://login.example.com/realms/acme"),
            ("audience", "platform"),
            ("userClaim", "preferred_username"),
            ("groupsClaim", "realm_access.roles"),
            ("groups", r#"{"ops":"admins"}"#),
            ("passwordUser", "rescue"),
        ] {
            assert!(IdentityProvider::check(key, value).is_ok(), "{key}");
            assert!(IdentityProvider::check(key, "").is_err(), "{key}");
        }
        for (key, value) in [
            ("issuer", "platform"),
            ("issuer", "https://h/?tenant=1"),
            ("groups", "ops=admins"),
            ("groups", r#"{"ops":7}"#),
            ("Issuer", "https://h"),
            ("passwordUser", "a/b"),
        ] {
            let error = IdentityProvider::check(key, value).expect_err(value).to_string();
            assert!(error.contains("allowed: "), "{error}");
        }
    }

    #[test]
    fn provider_needs_an_issuer() {
        assert_eq!(provider(&[("audience", "a"), ("clientId", "c")]), None);
        let provider = provider(&[("issuer", "https://h/")]).expect("a provider");
        assert_eq!(provider.discovery_url(), "https://h/.well-known/openid-configuration");
    }

    #[test]
    fn claims_name_user_and_groups() {
        let of = |groups_claim| {
            let groups = ("groups", r#"{"ops":"admins","dev":"business"}"#);
            let named = ("groupsClaim", groups_claim);
            provider(&[("issuer", "https://h"), ("audience", "a"), named, groups]).expect("a provider")
        };
        for (name, claims) in [
            ("groups", r#"{"sub":"mia","iat":1,"groups":["ops","dev","x",7]}"#),
            ("a.b", r#"{"sub":"mia","iat":1,"a":{"b":["dev","ops"]}}"#),
            ("https://h/groups", r#"{"sub":"mia","iat":1,"https://h/groups":["ops","dev"]}"#),
        ] {
            let user = identified(&of(name), claims).expect(claims);
            assert_eq!((&*user.name, user.groups.len()), ("mia", 2), "{claims}");
        }
        let one = identified(&of("groups"), r#"{"sub":"mia","iat":1,"groups":"dev","email":"m@h"}"#)
            .expect("a user");
        assert_eq!(one.groups, BTreeSet::from(["business".to_owned()]));
        assert_eq!(one.profile.email.as_deref(), Some("m@h"));
    }

    #[test]
    fn names_that_belong_to_others_are_refused() {
        let provider = provider(&[("issuer", "https://h"), ("audience", "a")]).expect("a provider");
        for name in ["device_1", "service_x", "servicebootstrap_x", "a/b", "a b", ""] {
            assert_eq!(identified(&provider, &format!(r#"{{"iat":1,"sub":"{name}"}}"#)), None, "{name}");
        }
        assert_eq!(identified(&provider, r#"{"sub":7,"iat":1}"#), None);
        assert_eq!(identified(&provider, r#"{"iat":1}"#), None);
        for time in ["", r#","iat":"1""#, r#","iat":-1"#, r#","iat":1e300"#] {
            assert_eq!(identified(&provider, &format!(r#"{{"sub":"mia"{time}}}"#)), None, "{time}");
        }
    }
}
