//! The valid values of the members of an application (W-04, U-03, U-09).

use std::fmt;

use serde_json::value::RawValue;

use super::ApplicationType;
use crate::body::text;
use crate::error::{Error, Result};
use crate::role::{self, Role};

/// The maximum number of characters of a name or a key.
pub(super) const MAX_NAME: usize = 128;
/// The maximum number of characters of a context path or an address.
pub(super) const MAX_PATH: usize = 255;
/// The maximum number of roles that an application may require or define.
const MAX_ROLES: usize = 200;

/// A text that its owner may read and that is never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Checks a name. The name of a microservice is its default context path and a part of user names.
pub(super) fn check_name(name: &str, kind: ApplicationType) -> Result<()> {
    if !(1..=MAX_NAME).contains(&name.chars().count()) || name.contains(char::is_control) {
        return Err(Error::invalid_value(
            "name",
            name.escape_debug(),
            "1 to 128 characters, no control characters",
        ));
    }
    if kind == ApplicationType::Microservice && !is_segment(name) {
        let allowed = "for a microservice 1 to 128 of a-z, A-Z, 0-9, '-', '_' and '.'";
        Err(Error::invalid_value("name", name, allowed))
    } else {
        Ok(())
    }
}

/// Parses the key, which must fit into a header. Errors never contain the value.
pub(super) fn key(raw: &RawValue) -> Result<Secret> {
    let wrong = || {
        let allowed = "1 to 128 printable ASCII characters, no blank at the ends";
        Error::Invalid(format!("Invalid value of 'key'; allowed: {allowed}"))
    };
    let key: String = serde_json::from_str(raw.get()).map_err(|_| wrong())?;
    let printable = key.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if (1..=MAX_NAME).contains(&key.len()) && printable && key.trim() == key {
        Ok(Secret(key))
    } else {
        Err(wrong())
    }
}

/// Parses the password of `resourcesUrl`. Errors never contain the value.
pub(super) fn resources_password(raw: &RawValue) -> Result<Secret> {
    let wrong = || {
        Error::Invalid("Invalid value of 'resourcesPassword'; allowed: a text of 1 to 255 characters".into())
    };
    let password: String = serde_json::from_str(raw.get()).map_err(|_| wrong())?;
    if (1..=MAX_PATH).contains(&password.chars().count()) { Ok(Secret(password)) } else { Err(wrong()) }
}

/// Parses the user name of `resourcesUrl`.
pub(super) fn resources_username(raw: &RawValue) -> Result<String> {
    let name = text("resourcesUsername", raw, 4 * MAX_PATH)?;
    if (1..=MAX_PATH).contains(&name.chars().count()) && !name.contains(char::is_control) {
        Ok(name)
    } else {
        let allowed = "1 to 255 characters, no control characters";
        Err(Error::invalid_value("resourcesUsername", name.escape_debug(), allowed))
    }
}

/// Parses the context path: one segment of a path. A leading slash is removed.
pub(super) fn context_path(raw: &RawValue) -> Result<String> {
    let path = text("contextPath", raw, 1024)?;
    let bare = path.strip_prefix('/').unwrap_or(&path);
    if bare.len() <= MAX_PATH && is_segment(bare) {
        Ok(bare.to_owned())
    } else {
        let allowed = "1 to 255 of a-z, A-Z, 0-9, '-', '_' and '.', not '.' or '..'";
        Err(Error::invalid_value("contextPath", path.escape_debug(), allowed))
    }
}

/// Returns whether a text is a plain segment of a path, which stays within its parent path.
pub(crate) fn is_segment(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed) && !matches!(text, "." | "..")
}

/// Parses an address. It is stored and never called, but a page that shows it must not be tricked into executing it.
pub(super) fn address(name: &str, raw: &RawValue) -> Result<String> {
    let address = text(name, raw, 4 * MAX_PATH)?;
    let lower = address.to_ascii_lowercase();
    let remote = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
    let authority = remote.and_then(|rest| rest.split(['/', '?', '#']).next());
    if authority.is_some_and(|authority| authority.contains('@')) {
        let hint =
            "an address without user and password; those go into resourcesUsername and resourcesPassword";
        return Err(Error::Invalid(format!("Invalid value of '{name}'; allowed: {hint}")));
    }
    let has_shape = match authority {
        Some(authority) => !authority.is_empty() && !authority.starts_with(':'),
        None => address.starts_with('/') && !address.starts_with("//"),
    };
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !"\\\"<>^`{|}".contains(c);
    if has_shape && address.chars().count() <= MAX_PATH && address.chars().all(is_plain) {
        Ok(address)
    } else {
        let allowed = "at most 255 characters: http://… or https://…, or a path that begins with one '/'";
        Err(Error::invalid_value(name, address.escape_debug(), allowed))
    }
}

/// Parses the roles that an application requires (`requiredRoles`) or defines (`roles`): assignable roles of the
/// platform and roles of microservices. Each role is kept once, in the order given.
///
/// # Errors
/// `Invalid` names the member, the role and what is allowed.
pub fn parse_roles(name: &str, raw: &RawValue) -> Result<Vec<String>> {
    let allowed = "an array of at most 200 names of roles";
    let given: Vec<String> =
        serde_json::from_str(raw.get()).map_err(|_| Error::invalid_value(name, raw.get(), allowed))?;
    if given.len() > MAX_ROLES {
        return Err(Error::invalid_value(name, format!("{} roles", given.len()), allowed));
    }
    let mut roles: Vec<String> = Vec::with_capacity(given.len());
    for role in given {
        if !role::may_be_defined(&role) && Role::assignable(&role).is_err() {
            let allowed = "roles of GET /user/roles that may be assigned, and ROLE_<A-Z and _>_READ, …_ADMIN, \
                …_CREATE, …_UPDATE";
            return Err(Error::invalid_value(name, role.escape_debug(), allowed));
        }
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    Ok(roles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).expect("JSON")
    }

    #[test]
    fn addresses_are_web_addresses_or_paths() {
        for good in ["/", "/apps/x", "https://example.com", "HTTP://a:80/b?c=d#e", "http://[::1]/"] {
            assert_eq!(address("externalUrl", &raw(&format!("\"{good}\""))).expect(good), good);
        }
        for wrong in [
            "",
            "x",
            "//example.com",
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://example.com",
            "http://",
            "http:///x",
            "http://:80",
            "http://a b",
            "http://a\\u0009",
            "http://a<b>",
            &format!("http://{}", "x".repeat(249)),
        ] {
            assert!(address("externalUrl", &raw(&format!("\"{wrong}\""))).is_err(), "{wrong}");
        }
    }

    #[test]
    fn address_with_a_password_is_rejected_without_repeating_it() {
        let error =
            address("externalUrl", &raw(r#""https://joe:hush-hush@example.com/""#)).expect_err("a password");
        assert!(!error.to_string().contains("hush"), "{error}");
    }

    #[test]
    fn context_path_is_one_segment() {
        assert_eq!(context_path(&raw(r#""/a-b_c.7""#)).expect("a segment"), "a-b_c.7");
        for wrong in ["", "/", "//a", "a/b", ".", "..", "/..", "a b", "ä", "a%2Fb", &"x".repeat(256)] {
            assert!(context_path(&raw(&format!("\"{wrong}\""))).is_err(), "{wrong}");
        }
    }

    #[test]
    fn roles_are_assignable_ones_of_the_platform_or_of_the_form_of_microservices() {
        let roles = r#"["ROLE_ACCOUNT_ADMIN","ROLE_ALARM_READ","ROLE_MY_OWN_UPDATE","ROLE_ALARM_READ"]"#;
        let expected = ["ROLE_ACCOUNT_ADMIN", "ROLE_ALARM_READ", "ROLE_MY_OWN_UPDATE"];
        assert_eq!(parse_roles("roles", &raw(roles)).expect("roles"), expected);
        for wrong in [
            "ROLE_SYSTEM",
            "ROLE_DEVICE_BOOTSTRAP",
            "ROLE_READ",
            "ROLE__READ",
            "ROLE_a_READ",
            "ROLE_X_DELETE",
            "",
        ] {
            assert!(parse_roles("roles", &raw(&format!("[\"{wrong}\"]"))).is_err(), "{wrong}");
        }
        for wrong in ["7", "\"ROLE_ALARM_READ\"", "[7]", "[null]", "{}"] {
            assert!(parse_roles("roles", &raw(wrong)).is_err(), "{wrong}");
        }
    }
}
