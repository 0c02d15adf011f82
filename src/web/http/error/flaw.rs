//! The errors of requests whose head cannot be used (E-01a).

use actix_web::http::StatusCode;
use platform_front::connection::{Flaw, HEAD_BYTES, HEADERS, REQUEST_HEAD, TARGET_BYTES};

use super::ApiError;

impl From<Flaw> for ApiError {
    fn from(flaw: Flaw) -> Self {
        let status = match flaw {
            Flaw::LongTarget => StatusCode::URI_TOO_LONG,
            Flaw::LongHead => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Flaw::Version => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Flaw::Slow => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        };
        Self::Http(status, message(flaw))
    }
}

/// Returns what is wrong and what is allowed. The request is not repeated, because it may contain credentials.
fn message(flaw: Flaw) -> String {
    match flaw {
        Flaw::RequestLine => {
            "The request line is invalid; allowed: METHOD TARGET HTTP/1.1, with one blank between each two"
        }
        Flaw::Target => {
            "The target of the request contains a character that is not allowed there, such as a blank, a quotation \
             mark or an umlaut; percent-encode it (a blank is %20)"
        }
        Flaw::LongTarget => {
            return format!("The address of the request is longer than the {TARGET_BYTES} bytes allowed");
        }
        Flaw::Version => "The version of HTTP is not supported; allowed: HTTP/1.1, HTTP/1.0",
        Flaw::FoldedHeader => "A header continues on the next line; allowed: one line for each header",
        Flaw::Header => "A line of the head is not a header; allowed: 'Name: value', with visible characters",
        Flaw::LongHead => {
            return format!("The head of the request is too large; allowed: {HEADERS} headers, {HEAD_BYTES} bytes");
        }
        Flaw::NoHost => "The request has no header Host, which HTTP/1.1 requires",
        Flaw::SeveralHosts => "The request has more than one header Host",
        Flaw::ContentLength => {
            "The header Content-Length is invalid; allowed: one number of bytes, which a POST of HTTP/1.0 requires"
        }
        Flaw::TransferEncoding => {
            "The header Transfer-Encoding is invalid; allowed: chunked, in HTTP/1.1 and without Content-Length"
        }
        Flaw::PlainHttp => "HTTPS is served here, no HTTP; the address of this server begins with https://",
        Flaw::Slow => {
            let seconds = REQUEST_HEAD.as_secs();
            return format!("The head of the request did not arrive within {seconds} seconds");
        }
    }
    .into()
}
