//! Rows of the CSV protocol, for tests of several nouns.

use super::{Caller, Request, Response};

/// Sends rows of the static set and returns the text of the response.
pub async fn send(caller: &Caller, rows: &str) -> String {
    text_of(request(caller, rows).send().await)
}

/// Returns a request to `/s`.
pub fn request(caller: &Caller, rows: &str) -> Request {
    caller.request("POST", "/s").header("Accept", "text/plain").body(rows)
}

/// Returns the text of a response. Every response is 200 and CSV (S-01, S-04); an empty one may have no type.
pub fn text_of(answer: Response) -> String {
    assert_eq!(answer.status, 200, "{}", answer.text);
    match answer.header("Content-Type") {
        None => assert_eq!(answer.text, ""),
        Some(type_) => assert_eq!(type_, "text/plain;charset=UTF-8"),
    }
    answer.text
}
