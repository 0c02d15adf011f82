//! `/v1/oauth/accesstokens`: the access-token service (docs/rules.md#access-tokens; T-01 to T-04, T-07, T-08).

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use platform_actors::Platform;
use platform_model::body::without_mark;
use platform_model::error::Error;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::auth::access_token::TokenRequests;
use crate::auth::{Authenticator, RequestSource};
use crate::http;
use crate::http::body::UnreadBody;
use crate::http::client_address;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result, Shape};

/// The largest request body in bytes. The three members need less than a thousandth of it.
const BODY_BYTES: usize = 64 << 10;
/// The only grant type that is supported.
const GRANT_TYPE: &str = "client_credentials";

/// `POST /v1/oauth/accesstokens`: issues a new token to a client that knows its secret. Older tokens stay
/// valid. The endpoint needs no credentials (C-03).
///
/// # Errors
/// 400 for a malformed request, 401 for an unknown client or a wrong secret, 415 unless the body is JSON, 429
/// when an address sends too many requests a minute; each with a body of T-03.
pub async fn create(
    request: HttpRequest,
    body: UnreadBody,
    platform: Component<Platform>,
    authenticator: Component<Authenticator>,
    requests: Component<TokenRequests>,
) -> Result<HttpResponse> {
    let issued = issue(&request, body, &platform, &authenticator, &requests).await;
    issued.map_err(|error| error.shaped(Shape::TokenRequest))
}

async fn issue(
    request: &HttpRequest,
    body: UnreadBody,
    platform: &Platform,
    authenticator: &Authenticator,
    requests: &TokenRequests,
) -> Result<HttpResponse> {
    let source = RequestSource::of(client_address(request));
    requests.0.admit(source)?;
    check_content_type(request)?;
    let TokenRequest { client_id, client_secret } = TokenRequest::parse(&body.read(BODY_BYTES).await?)?;
    let (token, issued) = authenticator.issue_token(&client_id, &client_secret, source).await?;
    let valid = platform.limits().access_token.as_secs();
    let response = TokenResponse {
        access_token: &token,
        token_type: "BearerToken",
        // The remaining lifetime when the response arrives (T-01).
        expires_in: valid.saturating_sub(1).to_string(),
        scope: issued.scope.to_string(),
        issued_at: (issued.at.instant().unix_timestamp_nanos() / 1_000_000).to_string(),
    };
    let json =
        serde_json::to_vec(&response).expect("writing to memory does not fail and all keys are strings");
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/json"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(json))
}

/// Unlike other endpoints, this one requires a `Content-Type` (T-03).
fn check_content_type(request: &HttpRequest) -> Result<()> {
    if http::essence(request).eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(ApiError::UnsupportedMediaType("Content-Type must be application/json".into()))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TokenResponse<'t> {
    access_token: &'t str,
    token_type: &'static str,
    expires_in: String,
    scope: String,
    issued_at: String,
}

/// A parsed token request. It grants nothing until its secret is verified.
#[derive(PartialEq, Eq)]
struct TokenRequest {
    client_id: String,
    client_secret: String,
}

impl TokenRequest {
    /// Parses a request (T-02). A member that is not a string counts as missing. In a body that is not a JSON
    /// object all members are missing.
    fn parse(body: &[u8]) -> Result<Self, Error> {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Members<'b> {
            #[serde(borrow)]
            grant_type: Option<&'b RawValue>,
            #[serde(borrow)]
            client_id: Option<&'b RawValue>,
            #[serde(borrow)]
            client_secret: Option<&'b RawValue>,
        }
        let body = without_mark(body);
        let members: Members<'_> = match body.trim_ascii_start().first() {
            Some(b'{') => serde_json::from_slice(body).unwrap_or_default(),
            _ => Members::default(),
        };
        let text = |name: &str, raw: Option<&RawValue>| {
            let text = raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
            let missing = || format!("The request is missing a required parameter : {name}");
            text.ok_or_else(|| Error::Malformed(missing()))
        };
        let grant_type = text("grantType", members.grant_type)?;
        let client_id = text("clientId", members.client_id)?;
        let client_secret = text("clientSecret", members.client_secret)?;
        if grant_type == GRANT_TYPE {
            Ok(Self { client_id, client_secret })
        } else {
            let shown: String = grant_type.chars().take(100).collect();
            Err(Error::Malformed(format!("Unsupported grant type : {shown}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(body: &[u8]) -> String {
        TokenRequest::parse(body).err().expect("a refusal").to_string()
    }

    #[test]
    fn unknown_members_of_a_request_are_ignored() {
        let body = br#" {"x":{"grantType":1},"clientSecret":"s\u00e9","grantType":"client_credentials","clientId":"k","n":1e999}"#;

        let request = TokenRequest::parse(body).expect("a request");

        assert!(request == TokenRequest { client_id: "k".into(), client_secret: "s\u{e9}".into() });
    }

    #[test]
    fn refusal_names_what_is_missing_first() {
        let missing = |name: &str| format!("The request is missing a required parameter : {name}");
        for (body, name) in [
            (&b""[..], "grantType"),
            (b"{", "grantType"),
            (b"[]", "grantType"),
            (b"[\"client_credentials\",\"k\",\"s\"]", "grantType"),
            (b"\xff", "grantType"),
            (b"grantType=client_credentials&clientId=k&clientSecret=s", "grantType"),
            (br#"{"grant_type":"client_credentials","client_id":"k"}"#, "grantType"),
            (br#"{"grantType":null,"clientId":"k","clientSecret":"s"}"#, "grantType"),
            (br#"{"grantType":"client_credentials","clientId":7,"clientSecret":"s"}"#, "clientId"),
            (br#"{"grantType":"x","clientSecret":"s"}"#, "clientId"),
            (br#"{"grantType":"client_credentials","clientId":"k","clientSecret":["s"]}"#, "clientSecret"),
            (br#"{"grantType":"client_credentials","clientId":"k"}"#, "clientSecret"),
        ] {
            assert_eq!(refusal(body), missing(name), "{}", String::from_utf8_lossy(body));
        }
        let password = br#"{"grantType":"password","clientId":"k","clientSecret":"s3cret"}"#;
        assert_eq!(refusal(password), "Unsupported grant type : password");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_request_or_refused(bytes in proptest::collection::vec(0_u8.., 0..200)) {
            let _ = TokenRequest::parse(&bytes);
        }
    }
}
