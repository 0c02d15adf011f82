//! Error bodies that deviate from the common one: those of the token endpoint (T-03), the gateway check (T-05) and the
//! limits query (L-04).

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpResponse, HttpResponseBuilder, ResponseError};
use serde_json::{Value, json};

use super::ApiError;

/// An interface whose errors have a body format of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `{ErrorCode, Error}` (T-03).
    TokenRequest,
    /// `{error: {code, title, message}}` (L-04).
    LimitsQuery,
}

/// The reason why the gateway check rejects an access token (T-05).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenFlaw {
    /// There is no token, or it was not issued by this server.
    Invalid,
    /// The token has expired.
    Expired,
}

impl TokenFlaw {
    fn code(self) -> &'static str {
        match self {
            Self::Invalid => "keymanagement.service.invalid_access_token",
            Self::Expired => "keymanagement.service.access_token_expired",
        }
    }

    /// Returns the response `{fault: {faultstring, detail: {errorcode}}}`, the format that clients of such gateways
    /// expect.
    pub(super) fn response(self) -> HttpResponse {
        let detail = json!({"errorcode": self.code()});
        let body = json!({"fault": {"faultstring": self.to_string(), "detail": detail}});
        let mut response = HttpResponse::build(StatusCode::UNAUTHORIZED);
        response.insert_header((header::WWW_AUTHENTICATE, "Bearer"));
        json_of(response, &body)
    }
}

impl fmt::Display for TokenFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "Invalid Access Token",
            Self::Expired => "Access Token expired",
        })
    }
}

/// The reason why a password does not suffice (C-27).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactorFlaw {
    /// The user has a second factor, and the request has no code, or is one for which a token is needed.
    Missing,
    /// The code is wrong or was used before.
    Wrong,
    /// A group of the user requires a second factor, and the user has none yet.
    Owed,
}

impl FactorFlaw {
    /// Returns the member `error`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Missing => "security/Second Factor Required",
            Self::Wrong => "security/Second Factor Wrong",
            Self::Owed => "security/Second Factor Not Set Up",
        }
    }

    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Missing | Self::Wrong => StatusCode::UNAUTHORIZED,
            Self::Owed => StatusCode::FORBIDDEN,
        }
    }
}

impl fmt::Display for FactorFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => {
                "this user has a second factor: exchange the password for a token at POST /user/currentUser/tokens, \
                 with a code in the header TFAToken"
            }
            Self::Wrong => "the code in the header TFAToken is wrong or was used before",
            Self::Owed => {
                "a group of this user requires a second factor: set it up at POST /user/currentUser/totpSecret"
            }
        })
    }
}

impl Shape {
    /// Returns the response of this interface for an error.
    pub(super) fn response(self, error: &ApiError) -> HttpResponse {
        let status = error.status_code();
        let body = match self {
            Self::TokenRequest => {
                json!({"ErrorCode": error_code(status), "Error": self.message(error)})
            }
            Self::LimitsQuery => {
                let title = status.canonical_reason().unwrap_or("Error");
                let (code, message) = (status.as_u16(), self.message(error));
                json!({"error": {"code": code, "title": title, "message": message}})
            }
        };
        let mut response = HttpResponse::build(status);
        error.add_headers(&mut response);
        // Neither interface accepts the credentials that the common challenge requests.
        let mut response = json_of(response, &body);
        response.headers_mut().remove(header::WWW_AUTHENTICATE);
        response
    }

    fn message(self, error: &ApiError) -> String {
        match (self, error) {
            (Self::TokenRequest, ApiError::Unauthorized) => "ClientId is Invalid".into(),
            (_, ApiError::MethodNotAllowed { .. }) => "Method not allowed".into(),
            (Self::LimitsQuery, ApiError::Unauthorized) => {
                "The X-Auth-Token is missing, unknown or expired".into()
            }
            _ => error.to_string(),
        }
    }
}

/// Returns the error code of the token endpoint for a status (T-03). For statuses that T-03 does not name, it is the
/// OAuth 2.0 code.
fn error_code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "invalid_client",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_exceeded",
        StatusCode::SERVICE_UNAVAILABLE => "temporarily_unavailable",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request",
    }
}

fn json_of(mut response: HttpResponseBuilder, body: &Value) -> HttpResponse {
    response
        .insert_header((header::CONTENT_TYPE, HeaderValue::from_static("application/json")))
        .body(body.to_string())
}
