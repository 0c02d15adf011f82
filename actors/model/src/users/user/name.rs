//! Names and passwords of users, and references to users (U-01, U-06, U-08).

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::percent_decode_str;

use crate::body::Body;
use crate::device_id::DeviceId;
use crate::error::{Error, Noun, Result};
use crate::id::TenantId;
use crate::role::referred;

/// Parses the body of a membership, `{user: {self}}`, `{user: {id}}` or `{user: {userName}}` (U-01), and returns the
/// name.
///
/// # Errors
/// `Invalid` for another form of body, a link into another tenant, or a text that cannot be a user name.
pub fn parse_member(tenant: &TenantId, mut body: Body) -> Result<Arc<str>> {
    let text = referred(&mut body, "user", &["self", "id", "userName"])?;
    let name = match text.rsplit_once("/users/") {
        Some((before, name)) => {
            let path = name.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
            let of_tenant = before.rsplit('/').next() == Some(tenant.as_str());
            let decoded = percent_decode_str(path).decode_utf8();
            decoded.ok().filter(|_| of_tenant).map(Cow::into_owned)
        }
        None => Some(text.clone()),
    };
    let allowed = "a user of this tenant";
    let wrong = || Error::invalid_value("user", &text, allowed);
    parse_user_name(&name.ok_or_else(wrong)?).map_err(|_| wrong())
}

/// Parses the name of a user in a path. Names of device users follow less strict rules (N-05).
///
/// # Errors
/// `NotFound`, because an invalid name names no user.
pub fn parse_user_of_path(text: &str) -> Result<Arc<str>> {
    if DeviceId::of_user(text).is_some() {
        return Ok(text.into());
    }
    parse_user_name(text).map_err(|_| Error::not_found(Noun::User, text.chars().take(64).collect::<String>()))
}

/// Checks a user name: 1 to 1000 characters, no whitespace, `/`, `+`, `$`, `:` or full-width characters (U-08).
///
/// # Errors
/// `Invalid` names the value and what is allowed.
pub fn parse_user_name(text: &str) -> Result<Arc<str>> {
    let forbidden = |c: char| {
        c.is_whitespace() || c.is_control() || "/+$:".contains(c) || ('\u{ff01}'..='\u{ffe6}').contains(&c)
    };
    if !text.is_empty() && text.chars().count() <= 1000 && text.len() <= 2000 && !text.contains(forbidden) {
        Ok(text.into())
    } else {
        Err(Error::invalid_value("userName", text, "1 to 1000 characters, no whitespace, '/', '+', '$', ':'"))
    }
}

/// Checks a password: 6 to 32 Latin-1 characters (U-08). Errors never contain the value.
///
/// # Errors
/// `Invalid` describes what is allowed.
pub fn parse_password(text: &str) -> Result<&str> {
    if (6..=32).contains(&text.chars().count()) && text.chars().all(|c| (' '..='\u{ff}').contains(&c)) {
        Ok(text)
    } else {
        Err(Error::Invalid("Invalid value of 'password'; allowed: 6 to 32 Latin-1 characters".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(json: &str) -> Body {
        Body::parse(json.as_bytes()).expect("an object")
    }

    #[test]
    fn members_are_referred_to_by_self_id_or_user_name() {
        let tenant = TenantId::parse("main").expect("an id");
        for (json, name) in [
            (r#"{"user":{"self":"http://h/user/main/users/joe"}}"#, "joe"),
            (r#"{"user":{"self":"http://h/user/main/users/jo%C3%A9%20?x=1"}}"#, ""),
            (r#"{"user":{"self":"http://h/user/main/users/jo%C3%A9%3F?x=1"}}"#, "joé?"),
            (r#"{"user":{"self":"http://h/user/other/users/joe"}}"#, ""),
            (r#"{"user":{"self":"http://h/user/main/users/%FF"}}"#, ""),
            (r#"{"user":{"self":"http://h/elsewhere"}}"#, ""),
            (r#"{"user":{"id":"joe"}}"#, "joe"),
            (r#"{"user":{"userName":"joe"}}"#, "joe"),
            (r#"{"user":"joe"}"#, ""),
            (r#"{"user":{}}"#, ""),
            ("{}", ""),
        ] {
            match parse_member(&tenant, body(json)) {
                Ok(read) => assert_eq!(&*read, name, "{json}"),
                Err(error) => {
                    assert!(name.is_empty() && matches!(error, Error::Invalid(_)), "{json}: {error}")
                }
            }
        }
    }
}
