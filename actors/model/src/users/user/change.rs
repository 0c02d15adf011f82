//! The bodies that create and change users, and their validation (U-05, U-07, U-08, U-13).

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{User, parse_password, parse_user_name};
use crate::access::DevicePermissions;
use crate::body::{Body, MAX_SHORT_TEXT};
use crate::error::{Error, Result};
use crate::fragments::Fragments;

/// The body of `POST /user/<tenant>/users`.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// See [`User::name`].
    pub name: Arc<str>,
    /// The password in plain text; `None` for an account that cannot be used yet (U-07).
    pub password: Option<String>,
    /// All members that a PUT can change as well.
    pub rest: UserPatch,
}

impl NewUser {
    /// Parses the body of a POST.
    ///
    /// # Errors
    /// `Invalid` names the invalid member or all absent ones (E-05).
    pub fn parse(mut body: Body) -> Result<Self> {
        let without_password = flag("sendPasswordResetEmail", &mut body)?.unwrap_or(false);
        let mut rest = UserPatch::parse(body)?;
        let (name, password) = (rest.name.take(), rest.password.take());
        let missing: Vec<&str> =
            [("userName", name.is_none()), ("password", password.is_none() && !without_password)]
                .into_iter()
                .filter_map(|(name, missing)| missing.then_some(name))
                .collect();
        match name {
            Some(name) if missing.is_empty() => Ok(Self { name: parse_user_name(&name)?, password, rest }),
            _ => {
                let missing = missing.join(",");
                Err(Error::Invalid(format!("Following mandatory fields should be included: {missing}")))
            }
        }
    }
}

/// The body of `PUT /user/<tenant>/users/<id>`: it changes only the members it contains; `null` removes (C-10).
///
/// `groups` and `roles` have endpoints of their own and are ignored, like the members the server sets, because clients
/// may send back what they read.
#[derive(Debug, Clone, Default)]
pub struct UserPatch {
    /// The name of the user, which must not differ from the stored one (U-08).
    pub name: Option<String>,
    /// The new password in plain text.
    pub password: Option<String>,
    /// Whether the user may log in.
    pub enabled: Option<bool>,
    /// See [`Profile::first_name`]; `Some(None)` removes it.
    pub first_name: Option<Option<String>>,
    /// See [`Profile::last_name`].
    pub last_name: Option<Option<String>>,
    /// See [`Profile::display_name`].
    pub display_name: Option<Option<String>>,
    /// See [`Profile::phone`].
    pub phone: Option<Option<String>>,
    /// See [`Profile::email`].
    pub email: Option<Option<String>>,
    /// See [`User::owner`].
    pub owner: Option<Option<String>>,
    /// See [`User::custom_properties`].
    pub custom_properties: Option<Fragments>,
    /// See [`User::permissions`].
    pub permissions: Option<DevicePermissions>,
}

impl UserPatch {
    /// Parses the body of a PUT.
    ///
    /// # Errors
    /// `Invalid` names the invalid member; for a password it contains only what is allowed.
    pub fn parse(mut body: Body) -> Result<Self> {
        let body = &mut body;
        let password = body.take("password").map(|raw| {
            let text: String = serde_json::from_str(raw.get()).unwrap_or_default();
            parse_password(&text).map(ToOwned::to_owned)
        });
        let permissions = body.take_nullable("devicePermissions").map(|raw| match raw {
            Some(raw) => DevicePermissions::parse(&raw),
            None => Ok(DevicePermissions::default()),
        });
        let custom_properties = body.take_nullable("customProperties").map(|raw| match raw {
            Some(raw) => parse_custom_properties(&raw),
            None => Ok(Fragments::default()),
        });
        Ok(Self {
            name: body.take_text("userName", 4 * MAX_SHORT_TEXT)?,
            password: password.transpose()?,
            enabled: flag("enabled", body)?,
            first_name: nullable("firstName", body, Ok)?,
            last_name: nullable("lastName", body, Ok)?,
            display_name: nullable("displayName", body, Ok)?,
            phone: nullable("phone", body, parse_phone)?,
            email: nullable("email", body, parse_email)?,
            owner: nullable("owner", body, |name| Ok(parse_user_name(&name)?.to_string()))?,
            custom_properties: custom_properties.transpose()?,
            permissions: permissions.transpose()?,
        })
    }

    /// Checks that a body does not change the name of the user, which it may repeat (U-08).
    ///
    /// # Errors
    /// `Invalid` when it has another name.
    pub fn check_name(&self, name: &str) -> Result<()> {
        match &self.name {
            Some(given) if given != name => {
                Err(Error::invalid_value("userName", given, "the name the user has"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the part of the patch that users may apply to themselves (U-13).
    pub fn of_oneself(self) -> Self {
        let Self { name, password, first_name, last_name, phone, email, .. } = self;
        Self { name, password, first_name, last_name, phone, email, ..Self::default() }
    }

    /// Applies the patch to a user, except for the password.
    pub fn apply(&self, user: &mut User) {
        fn set<T: Clone>(stored: &mut T, new: Option<&T>) {
            if let Some(new) = new {
                stored.clone_from(new);
            }
        }
        let profile = &mut user.profile;
        set(&mut user.enabled, self.enabled.as_ref());
        set(&mut profile.first_name, self.first_name.as_ref());
        set(&mut profile.last_name, self.last_name.as_ref());
        set(&mut profile.display_name, self.display_name.as_ref());
        set(&mut profile.phone, self.phone.as_ref());
        set(&mut profile.email, self.email.as_ref());
        set(&mut user.owner, self.owner.as_ref());
        set(&mut user.custom_properties, self.custom_properties.as_ref());
        set(&mut user.permissions, self.permissions.as_ref());
    }
}

fn flag(name: &str, body: &mut Body) -> Result<Option<bool>> {
    let read = |raw: Box<RawValue>| {
        serde_json::from_str(raw.get()).map_err(|_| Error::invalid_value(name, raw.get(), "true, false"))
    };
    body.take(name).map(read).transpose()
}

/// Takes a text member and distinguishes `null` from an absent member.
fn nullable(
    name: &str,
    body: &mut Body,
    check: impl Fn(String) -> Result<String>,
) -> Result<Option<Option<String>>> {
    let read = |raw: Box<RawValue>| crate::body::text(name, &raw, 2 * MAX_SHORT_TEXT).and_then(&check);
    body.take_nullable(name).map(|raw| raw.map(read).transpose()).transpose()
}

fn parse_custom_properties(raw: &RawValue) -> Result<Fragments> {
    let allowed = "a JSON object";
    serde_json::from_str(raw.get()).map_err(|_| Error::invalid_value("customProperties", raw.get(), allowed))
}

/// Parses a mobile number with its country code: `+`, then 7 to 15 digits, the first not 0 (U-08).
fn parse_phone(text: String) -> Result<String> {
    let digits = text.strip_prefix('+').unwrap_or_default().as_bytes();
    let valid =
        (7..=15).contains(&digits.len()) && digits[0] != b'0' && digits.iter().all(u8::is_ascii_digit);
    if valid {
        Ok(text)
    } else {
        Err(Error::invalid_value("phone", text, "'+', country code and number: 7 to 15 digits"))
    }
}

/// Parses an e-mail address: one `@` with text on both sides, no blanks (U-08).
fn parse_email(text: String) -> Result<String> {
    let valid = text.len() <= 320
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
        && matches!(text.split('@').collect::<Vec<_>>()[..], [name, host] if !name.is_empty() && !host.is_empty());
    if valid { Ok(text) } else { Err(Error::invalid_value("email", text, "an address with one '@'")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(json: &str) -> Body {
        Body::parse(json.as_bytes()).expect("an object")
    }

    fn created(more: &str) -> Result<NewUser> {
        NewUser::parse(body(&format!(r#"{{"userName":"joe","password":"secret-1"{more}}}"#)))
    }

    #[test]
    fn all_missing_members_are_listed_at_once() {
        let missing = |json| NewUser::parse(body(json)).expect_err(json).to_string();
        let said = "Following mandatory fields should be included: ";
        assert_eq!(missing("{}"), format!("{said}userName,password"));
        assert_eq!(missing(r#"{"sendPasswordResetEmail":true}"#), format!("{said}userName"));
        assert_eq!(missing(r#"{"userName":"joe"}"#), format!("{said}password"));
    }

    #[test]
    fn names_with_blanks_separators_and_full_width_characters_are_rejected() {
        for name in
            ["", "a b", "a/b", "a+b", "a$b", "a:b", "a\\u00a0b", "\\uff21", "a\\u0009b", &"x".repeat(1001)]
        {
            let json = format!(r#"{{"userName":"{name}","password":"secret-1"}}"#);
            assert!(matches!(NewUser::parse(body(&json)), Err(Error::Invalid(_))), "{name}");
        }
        for name in ["joe", "Joe@example.com", "jo\\u00e9", "device_1.2-3", &"x".repeat(1000)] {
            let json = format!(r#"{{"userName":"{name}","password":"secret-1"}}"#);
            assert!(NewUser::parse(body(&json)).is_ok(), "{name}");
        }
    }

    #[test]
    fn passwords_are_6_to_32_latin_1_characters_and_never_repeated() {
        for password in ["12345", &"x".repeat(33), "sécret-€uro", "日本語日本語"] {
            let json = format!(r#"{{"userName":"joe","password":"{password}"}}"#);
            let error = NewUser::parse(body(&json)).expect_err(password).to_string();
            assert!(error.contains("6 to 32") && !error.contains(password), "{error}");
        }
        for password in ["1234567", r#"["secret-1"]"#, "true"] {
            let error = UserPatch::parse(body(&format!(r#"{{"password":{password}}}"#))).expect_err(password);
            assert!(
                error.to_string().contains("password") && !error.to_string().contains(password),
                "{error}"
            );
        }
        assert!(UserPatch::parse(body(r#"{"password":"sécret-ÿ"}"#)).is_ok());
    }

    #[test]
    fn phones_mails_flags_and_objects_are_checked() {
        for wrong in [
            r#","phone":"0151123456""#,
            r#","phone":"+0151123456""#,
            r#","phone":"+49 151""#,
            r#","phone":"+4915112345678901""#,
            r#","phone":"""#,
            r#","email":"joe""#,
            r#","email":"a@b@c""#,
            r#","email":"@b""#,
            r#","email":"a b@c""#,
            r#","enabled":"true""#,
            r#","enabled":1"#,
            r#","sendPasswordResetEmail":"yes""#,
            r#","customProperties":[]"#,
            r#","devicePermissions":{"1":["x"]}"#,
            r#","firstName":7"#,
            r#","owner":"a b""#,
        ] {
            assert!(matches!(created(wrong), Err(Error::Invalid(_))), "{wrong}");
        }
        for right in [
            r#","phone":"+4915112345678","email":"joe@example.com","enabled":false"#,
            r#","phone":null,"email":null,"enabled":null,"customProperties":null,"devicePermissions":null"#,
            r#","groups":{},"roles":7,"id":"x","self":"y","newsletter":true,"applications":[]"#,
        ] {
            assert!(created(right).is_ok(), "{right}");
        }
    }
}
