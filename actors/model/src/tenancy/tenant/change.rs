//! Creating and changing tenants: the bodies of POST and PUT (Z-01).

use serde_json::value::RawValue;

use super::{TenantStatus, parse_domain};
use crate::body::{Body, missing, text};
use crate::error::{Error, Result};
use crate::id::TenantId;
use crate::users::user::{parse_password, parse_user_name};

/// The maximum number of bytes of `customProperties`.
const MAX_CUSTOM_PROPERTIES: usize = 64 << 10;
/// The members that only the server sets; they are ignored in bodies.
const SERVER_MEMBERS: [&str; 5] = ["self", "parent", "creationTime", "applications", "ownedApplications"];

/// The body of `POST /tenant/tenants`, or a tenant that the installation creates.
#[derive(Debug, Clone)]
pub struct NewTenant {
    /// The id of the tenant.
    pub id: TenantId,
    /// All other properties.
    pub members: TenantPatch,
    /// The name of the first user.
    pub admin_name: Option<String>,
    /// The tenant that created it; `None` for tenants of the installation.
    pub parent: Option<TenantId>,
}

impl NewTenant {
    /// Parses the body of a POST. It also returns the password of the first user, or `None` if the user sets it later
    /// (U-07). `made` is the id of a tenant for which the body names none.
    ///
    /// # Errors
    /// `Invalid` lists all missing members (E-05) or names the invalid one.
    pub fn parse(mut body: Body, made: TenantId, parent: TenantId) -> Result<(Self, Option<String>)> {
        let id = body.take_text("id", 64)?.map(|id| TenantId::parse(&id)).transpose()?.unwrap_or(made);
        let admin_name = take_short(&mut body, "adminName", 50)?;
        if let Some(name) = admin_name.as_ref().filter(|name| parse_user_name(name).is_err()) {
            let allowed = "1 to 50 characters, no whitespace, '/', '+', '$', ':'";
            return Err(Error::invalid_value("adminName", name, allowed));
        }
        let sets_password_later = flag(&mut body, "sendPasswordResetEmail")? == Some(true);
        let mut members = TenantPatch::parse_members(body)?;
        let password = members.admin_password.take();
        let absent = [
            ("domain", members.domain.is_none()),
            ("company", members.company.is_none()),
            ("adminName", admin_name.is_none()),
            ("adminPass", password.is_none() && !sets_password_later),
            ("adminEmail", members.admin_email.iter().flatten().next().is_none()),
        ];
        if absent.iter().any(|(_, absent)| *absent) {
            Err(missing(&absent))
        } else {
            Ok((Self { id, members, admin_name, parent: Some(parent) }, password))
        }
    }

    /// Returns a tenant that an operator creates without the API.
    pub fn of_installation(id: TenantId, domain: String, company: String) -> Self {
        let members = TenantPatch { domain: Some(domain), company: Some(company), ..TenantPatch::default() };
        Self { id, members, admin_name: None, parent: None }
    }
}

/// The body of `PUT /tenant/tenants/<id>`: it changes only the members it contains; an inner `None` removes a member.
#[derive(Debug, Clone, Default)]
pub struct TenantPatch {
    /// The new domain.
    pub domain: Option<String>,
    /// The new company.
    pub company: Option<String>,
    /// The new contact.
    pub contact_name: Option<Option<String>>,
    /// The new phone number.
    pub contact_phone: Option<Option<String>>,
    /// The new e-mail address of the first user.
    pub admin_email: Option<Option<String>>,
    /// The new password of the first user.
    pub admin_password: Option<String>,
    /// The new status.
    pub status: Option<TenantStatus>,
    /// Whether the tenant may have sub-tenants.
    pub allow_create_tenants: Option<bool>,
    /// The number of bytes that each device may store.
    pub storage_limit_per_device: Option<i64>,
    /// The new custom properties, as a whole.
    pub custom_properties: Option<Box<RawValue>>,
}

impl TenantPatch {
    /// Parses the body of a PUT of this tenant.
    ///
    /// # Errors
    /// `Invalid` names the invalid member, for example another `id`, which is fixed, or a mandatory member that is
    /// `null`.
    pub fn parse(id: &str, mut body: Body) -> Result<Self> {
        if let Some(other) = body.take_text("id", 64)?.filter(|other| other != id) {
            return Err(Error::invalid_value("id", other, &format!("{id}, which cannot be changed")));
        }
        // The first user cannot change any more (Z-01).
        body.ignore(&["adminName", "sendPasswordResetEmail"]);
        Self::parse_members(body)
    }

    fn parse_members(mut body: Body) -> Result<Self> {
        body.ignore(&SERVER_MEMBERS);
        let old_name = body.take("adminPassword");
        let admin_password = body.take("adminPass").or(old_name).map(|raw| password(&raw)).transpose()?;
        let status = take_required(&mut body, "status")?.map(|raw| text("status", &raw, 64)).transpose()?;
        Ok(Self {
            domain: take_required(&mut body, "domain")?
                .map(|raw| parse_domain(&text("domain", &raw, 1024)?))
                .transpose()?,
            company: take_required(&mut body, "company")?
                .map(|raw| short("company", text("company", &raw, 4 * 256)?, 256))
                .transpose()?,
            contact_name: take_removable(&mut body, "contactName", 30)?,
            contact_phone: take_removable(&mut body, "contactPhone", 20)?,
            admin_email: email(take_removable(&mut body, "adminEmail", 254)?)?,
            admin_password,
            status: status.map(|word| TenantStatus::parse(&word)).transpose()?,
            allow_create_tenants: flag(&mut body, "allowCreateTenants")?,
            storage_limit_per_device: body
                .take("storageLimitPerDevice")
                .map(|raw| bytes(&raw))
                .transpose()?,
            custom_properties: custom_properties(&mut body)?,
        })
    }
}

/// Takes a text of 1 to `max` characters.
fn take_short(body: &mut Body, name: &str, max: usize) -> Result<Option<String>> {
    body.take_text(name, 4 * max)?.map(|value| short(name, value, max)).transpose()
}

/// Does the same as [`take_short`], and distinguishes an explicit `null`, which removes, from an absent member.
fn take_removable(body: &mut Body, name: &str, max: usize) -> Result<Option<Option<String>>> {
    let Some(raw) = body.take_nullable(name) else { return Ok(None) };
    Ok(Some(raw.map(|raw| short(name, text(name, &raw, 4 * max)?, max)).transpose()?))
}

/// Takes a member that may be absent, but not `null`.
fn take_required(body: &mut Body, name: &str) -> Result<Option<Box<RawValue>>> {
    match body.take_nullable(name) {
        None => Ok(None),
        Some(Some(raw)) => Ok(Some(raw)),
        Some(None) => Err(Error::invalid_value(name, "null", "a string")),
    }
}

fn short(name: &str, value: String, max: usize) -> Result<String> {
    if (1..=max).contains(&value.chars().count()) && !value.contains(char::is_control) {
        Ok(value)
    } else {
        let allowed = format!("1 to {max} characters, no control characters");
        Err(Error::invalid_value(name, value.escape_debug(), &allowed))
    }
}

/// Takes `true` or `false`; `null` counts as absent.
fn flag(body: &mut Body, name: &str) -> Result<Option<bool>> {
    body.take(name)
        .map(|raw| match raw.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(Error::invalid_value(name, other, "true, false")),
        })
        .transpose()
}

fn bytes(raw: &RawValue) -> Result<i64> {
    match raw.get().parse() {
        Ok(bytes @ 0..) => Ok(bytes),
        _ => {
            let allowed = "bytes as a whole number from 0, which is no limit";
            Err(Error::invalid_value("storageLimitPerDevice", raw.get(), allowed))
        }
    }
}

/// Parses a password. Errors never contain the value.
fn password(raw: &RawValue) -> Result<String> {
    let wrong =
        |_| Error::Invalid("Invalid value of 'adminPass'; allowed: 6 to 32 Latin-1 characters".into());
    let text: String = serde_json::from_str(raw.get()).map_err(|_| wrong(()))?;
    Ok(parse_password(&text).map_err(|_| wrong(()))?.to_owned())
}

/// Checks an e-mail address: one `@` with text on both sides (U-08).
fn email(value: Option<Option<String>>) -> Result<Option<Option<String>>> {
    if let Some(Some(address)) = &value {
        let parts: Vec<&str> = address.split('@').collect();
        if parts.len() != 2 || parts.contains(&"") || address.contains(char::is_whitespace) {
            return Err(Error::invalid_value("adminEmail", address, "an address with one '@'"));
        }
    }
    Ok(value)
}

/// Takes a JSON object; `null` replaces it with an empty one.
fn custom_properties(body: &mut Body) -> Result<Option<Box<RawValue>>> {
    let name = "customProperties";
    let empty = || RawValue::from_string("{}".into()).expect("an empty object is JSON");
    let Some(raw) = body.take_nullable(name) else { return Ok(None) };
    match raw {
        None => Ok(Some(empty())),
        Some(raw) if !raw.get().starts_with('{') => {
            Err(Error::invalid_value(name, raw.get(), "a JSON object"))
        }
        Some(raw) if raw.get().len() > MAX_CUSTOM_PROPERTIES => {
            let size = format!("{} bytes", raw.get().len());
            Err(Error::invalid_value(name, size, &format!("at most {MAX_CUSTOM_PROPERTIES} bytes")))
        }
        Some(raw) => Ok(Some(raw)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::MANAGEMENT;

    const COMPLETE: &str = r#"{"domain":"plant7.example.com","company":"Acme","adminName":"admin",
        "adminPass":"secret-7","adminEmail":"a@example.com","self":"x","parent":"other"}"#;

    fn new_tenant(json: &str) -> Result<(NewTenant, Option<String>)> {
        NewTenant::parse(Body::parse(json.as_bytes())?, TenantId::numbered(7), TenantId::parse(MANAGEMENT)?)
    }

    #[test]
    fn complete_body_makes_a_tenant_below_its_creator() {
        let (tenant, password) = new_tenant(COMPLETE).expect("complete");
        assert_eq!(tenant.parent.expect("a parent").as_str(), MANAGEMENT);
        assert_eq!(tenant.id.as_str(), "t7");
        assert_eq!(password.as_deref(), Some("secret-7"));
        assert!(tenant.members.admin_password.is_none());
    }

    #[test]
    fn all_missing_members_are_listed_at_once() {
        let error = new_tenant(r#"{"company":"Acme"}"#).expect_err("incomplete").to_string();
        let members = "domain,adminName,adminPass,adminEmail";
        assert_eq!(error, format!("Following mandatory fields should be included: {members}"));
    }

    #[test]
    fn password_may_be_absent_when_the_user_sets_it_later() {
        let json = COMPLETE.replace(r#""adminPass":"secret-7""#, r#""sendPasswordResetEmail":true"#);
        assert_eq!(new_tenant(&json).expect("complete").1, None);
    }

    #[test]
    fn wrong_password_is_not_repeated() {
        for wrong in [r#""short""#, "5", r#"["secret-7"]"#] {
            let error = new_tenant(&COMPLETE.replace(r#""secret-7""#, wrong)).expect_err(wrong).to_string();
            assert!(error.contains("'adminPass'") && !error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn put_distinguishes_null_from_absent_and_rejects_another_id() {
        let parse = |json: &str| TenantPatch::parse("t7", Body::parse(json.as_bytes()).expect("an object"));
        let patch = parse(r#"{"id":"t7","contactName":null,"customProperties":null}"#).expect("valid");
        assert_eq!((patch.contact_name, patch.contact_phone), (Some(None), None));
        assert_eq!(patch.custom_properties.expect("set").get(), "{}");
        for wrong in [r#"{"id":"t8"}"#, r#"{"domain":null}"#, r#"{"company":null}"#, r#"{"status":"GONE"}"#] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
