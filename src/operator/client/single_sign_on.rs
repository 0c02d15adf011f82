//! The log-in of a person with the identity provider of the tenant (C-34), by the device authorization grant (RFC
//! 8628): the command shows a code, and the person enters it at the provider, in any browser.
//!
//! The server says where the provider is, and only the provider learns how the person logs in. The command exchanges
//! the ID token of the provider for an access token of the server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use form_urlencoded::Serializer;
use hyper::Uri;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use platform_front::terminal::say;
use platform_front::tls::Roots;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::content::Content;
use super::failure::{Code, Failure};
use super::http::Server;
use super::login::{issued_token, token_name};

/// The grant type (RFC 8628, section 3.4).
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// The timeout of a response of the provider.
const RESPONSE: Duration = Duration::from_secs(30);
/// The pause between two requests for the token if the provider names none, and by which it becomes longer when the
/// provider wants that (RFC 8628, section 3.5).
const PAUSE: Duration = Duration::from_secs(5);
/// The longest time that a person has, whatever the provider says.
const PATIENCE: Duration = Duration::from_secs(1800);

/// The error of RFC 6749 (section 4.1.2.1) that stands for all by which the provider is not available for now.
const UNAVAILABLE: &str = "temporarily_unavailable";

/// The log-in of commands, as the server describes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommandLogin {
    issuer: String,
    command_client_id: String,
    scope: String,
}

/// The members of the provider's description that are used (RFC 8414, section 2).
#[derive(Deserialize)]
struct Description {
    issuer: String,
    device_authorization_endpoint: Option<String>,
    token_endpoint: String,
}

/// The response of the provider that begins a log-in (RFC 8628, section 3.2).
#[derive(Deserialize)]
struct Begun {
    device_code: String,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: u64,
    interval: Option<u64>,
}

/// The response of the token endpoint.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Polled {
    id_token: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

impl Polled {
    fn of_error(error: &str) -> Self {
        Self { error: Some(error.to_owned()), ..Self::default() }
    }
}

/// An identity provider.
struct Provider {
    issuer: String,
    roots: Arc<Roots>,
}

/// Lets a person log in, and returns an access token of the server.
///
/// # Errors
/// The tenant offers no such log-in, server or provider cannot be reached, the person refuses or is too late, or the
/// server does not accept the person.
pub(super) async fn log_in(url: &str, authorities: Option<PathBuf>) -> Result<String, Failure> {
    let roots = Arc::new(authorities.map_or_else(Roots::of_machine, Roots::of_file));
    let mut server = Server::at(url, roots.clone())?.responding_within(super::RESPONSE);
    let CommandLogin { issuer, command_client_id, scope } = offered(&mut server).await?;
    let provider = Provider { issuer, roots };
    let description = provider.description().await?;
    let Some(endpoint) = description.device_authorization_endpoint else {
        return Err(provider.refuses("it does not support the log-in of commands (device authorization)"));
    };
    let begin = [("client_id", &*command_client_id), ("scope", &scope)];
    let begun: Begun = provider.expect(&endpoint, &begin).await?;
    let Begun { user_code, verification_uri, .. } = &begun;
    say(format_args!("Open {verification_uri} in any browser and enter the code {user_code}"));
    if let Some(complete) = &begun.verification_uri_complete {
        say(format_args!("or open {complete}"));
    }
    let id_token = provider.token(&description.token_endpoint, &command_client_id, &begun).await?;
    let exchange = Content::Json(json!({"idToken": id_token, "name": token_name()}));
    issued_token(&server.expect("POST", "/tenant/loginOptions/oauth2/tokens", Some(&exchange)).await?)
}

/// Returns how people log in at a server.
async fn offered(server: &mut Server) -> Result<CommandLogin, Failure> {
    let options = server.expect("GET", "/tenant/loginOptions", None).await?.json()?;
    let options = options["loginOptions"].as_array().into_iter().flatten();
    let mut offered = options.filter_map(|option| CommandLogin::deserialize(option).ok());
    offered.next().ok_or_else(|| {
        let why = format!("the tenant of {} offers commands no log-in with an identity provider", server.url);
        let remedy = "an administrator sets the option `commandClientId`: /docs/guide/tokens";
        Failure::new(Code::Denied, why).hint(remedy)
    })
}

impl Provider {
    /// Reads the description of the provider.
    async fn description(&self) -> Result<Description, Failure> {
        let url = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let response = self.send(&url, None).await?;
        let description: Description = self.parsed(&url, response)?;
        if description.issuer != self.issuer {
            return Err(self.refuses(&format!("{url} describes the issuer {:?}", description.issuer)));
        }
        Ok(description)
    }

    /// Waits until the person has entered the code, and returns the ID token.
    ///
    /// # Errors
    /// The person refuses or is too late, or the provider refuses.
    async fn token(&self, endpoint: &str, client: &str, begun: &Begun) -> Result<String, Failure> {
        let form = [("grant_type", GRANT), ("device_code", &*begun.device_code), ("client_id", client)];
        let patience = Duration::from_secs(begun.expires_in).min(PATIENCE);
        let mut pause = begun.interval.map_or(PAUSE, |seconds| Duration::from_secs(seconds.max(1)));
        let since = Instant::now();
        while since.elapsed() + pause <= patience {
            sleep(pause).await;
            let polled = match self.send(endpoint, Some(&form)).await {
                Ok((..500, body)) => Polled::deserialize(body).unwrap_or_default(),
                // The provider may be reachable again later (RFC 8628, section 3.5).
                Ok(_) => Polled::of_error(UNAVAILABLE),
                Err(failure) if failure.code() == Code::Unavailable => Polled::of_error(UNAVAILABLE),
                Err(failure) => return Err(failure),
            };
            match polled.error.as_deref() {
                Some("authorization_pending") => {}
                Some("slow_down") => pause += PAUSE,
                Some(UNAVAILABLE) => pause *= 2,
                Some("expired_token") => break,
                _ => return self.outcome(polled),
            }
        }
        Err(Failure::new(Code::Denied, "nobody has entered the code in time; log in again"))
    }

    /// Returns the ID token of the response that ends the wait.
    fn outcome(&self, polled: Polled) -> Result<String, Failure> {
        match polled.error.as_deref() {
            Some("access_denied") => Err(self.refuses("the log-in was refused there")),
            Some(error) => Err(self.refuses(polled.error_description.as_deref().unwrap_or(error))),
            None => {
                let none = || self.refuses("it issued no ID token; its client needs the scope `openid`");
                polled.id_token.ok_or_else(none)
            }
        }
    }

    /// Sends a form that must succeed.
    async fn expect<T: DeserializeOwned>(&self, url: &str, form: &[(&str, &str)]) -> Result<T, Failure> {
        let response = self.send(url, Some(form)).await?;
        self.parsed(url, response)
    }

    /// Sends a form, or requests a document, and returns status and JSON. The JSON is null if there is none.
    async fn send(&self, url: &str, form: Option<&[(&str, &str)]>) -> Result<(u16, Value), Failure> {
        let refused = || self.refuses(&format!("it names the address {url:?}"));
        let uri: Uri = url.parse().map_err(|_| refused())?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(refused());
        };
        // A provider with encryption does not send a secret without.
        if !matches!(scheme, "http" | "https") || scheme == "http" && self.issuer.starts_with("https:") {
            return Err(refused());
        }
        let mut server = Server::at(&format!("{scheme}://{authority}"), self.roots.clone())?;
        server = server.responding_within(RESPONSE);
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let response = match form {
            None => server.send("GET", path, None).await?,
            Some(form) => {
                let content = Serializer::new(String::new()).extend_pairs(form).finish();
                let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
                let headers = HeaderMap::from_iter([(CONTENT_TYPE, form_type)]);
                server.send_with("POST", path, &headers, Some(&Content::Text(content))).await?
            }
        };
        Ok((response.status, response.json().unwrap_or_default()))
    }

    /// Parses a response that must be a success.
    fn parsed<T: DeserializeOwned>(&self, url: &str, (status, body): (u16, Value)) -> Result<T, Failure> {
        if status == 200 {
            return T::deserialize(body).map_err(|error| self.refuses(&format!("{url}: {error}")));
        }
        let why = ["error_description", "error"].into_iter().find_map(|member| body[member].as_str());
        Err(self
            .refuses(&format!("{url}: the response has the status {status}, {}", why.unwrap_or("no reason"))))
    }

    fn refuses(&self, why: &str) -> Failure {
        Failure::new(Code::Denied, format!("the identity provider {}: {why}", self.issuer))
    }
}
