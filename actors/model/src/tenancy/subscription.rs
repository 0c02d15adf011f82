//! Subscriptions of tenants to applications (Z-03), and the applications in the representation of a tenant (Z-01,
//! Z-02).

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::applications::application::{Application, ApplicationType, Availability};
use crate::body::{Body, id_text, missing, text};
use crate::error::{Error, Result};
use crate::id::{ApplicationId, TenantId};
use crate::links::{Linked, Links};

/// The maximum number of bytes of a link in a body.
const MAX_LINK: usize = 4096;

/// An application in a reference to it: without its key, its manifest and its roles.
#[derive(Debug, Clone)]
pub struct ReferredApplication {
    /// The fixed id.
    pub id: ApplicationId,
    /// The tenant that may change it.
    pub owner: TenantId,
    /// The name of the application.
    pub name: String,
    /// The type of the application.
    pub kind: ApplicationType,
    /// The tenants that may see it, besides its owner.
    pub availability: Availability,
    /// The path segment at which it is served.
    pub context_path: Option<String>,
    /// The address of an external application.
    pub external_url: Option<String>,
}

impl From<&Application> for ReferredApplication {
    fn from(application: &Application) -> Self {
        Self {
            id: application.id,
            owner: application.owner.clone(),
            name: application.name.clone(),
            kind: application.kind,
            availability: application.availability,
            context_path: application.context_path.clone(),
            external_url: application.external_url.clone(),
        }
    }
}

impl Serialize for Linked<'_, ReferredApplication> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Owner<'a> {
            #[serde(rename = "self")]
            link: String,
            tenant: OwningTenant<'a>,
        }
        #[derive(Serialize)]
        struct OwningTenant<'a> {
            id: &'a str,
        }
        let Linked { value: application, links } = *self;
        let tenant = OwningTenant { id: application.owner.as_str() };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &links.application(application.id))?;
        map.serialize_entry("id", &application.id)?;
        map.serialize_entry("name", &application.name)?;
        map.serialize_entry("type", application.kind.as_str())?;
        map.serialize_entry("availability", application.availability.as_str())?;
        map.serialize_entry("owner", &Owner { link: links.tenant(&application.owner), tenant })?;
        for (name, value) in
            [("contextPath", &application.context_path), ("externalUrl", &application.external_url)]
        {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

/// A reference of a tenant to an application: `{self, application}`.
#[derive(Debug, Clone)]
pub struct ApplicationReference {
    /// The subscriber, for a subscription; otherwise the tenant owns the application.
    pub subscriber: Option<TenantId>,
    /// The application.
    pub application: ReferredApplication,
}

impl ApplicationReference {
    fn link(&self, links: &Links) -> String {
        match &self.subscriber {
            Some(tenant) => links.subscription(tenant, self.application.id),
            None => links.application(self.application.id),
        }
    }
}

impl Serialize for Linked<'_, ApplicationReference> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Linked { value: reference, links } = *self;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("self", &reference.link(links))?;
        map.serialize_entry("application", &Linked { value: &reference.application, links })?;
        map.end()
    }
}

/// The response to a new subscription: `{self, application, tenant}` (Z-03).
#[derive(Debug, Clone)]
pub struct Subscription {
    /// The subscriber.
    pub tenant: TenantId,
    /// The application.
    pub application: ReferredApplication,
}

impl Subscription {
    /// Parses the application in the body of `POST /tenant/tenants/<tenant>/applications`: `{application: {id}}` or
    /// `{application: {self}}`.
    ///
    /// # Errors
    /// `Invalid` names the absent or invalid member; an invalid id counts as an unknown application.
    pub fn parse_application(mut body: Body) -> Result<ApplicationId> {
        let raw = body.take("application").ok_or_else(|| missing(&[("application", true)]))?;
        let mut object = Body::of_member("application", &raw)?;
        let (name, given) = match (object.take("id"), object.take("self")) {
            (Some(id), _) => ("application.id", id_text("application.id", &id)?),
            (None, Some(link)) => {
                let link = text("application.self", &link, MAX_LINK)?;
                let last = link.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                ("application.self", last.to_owned())
            }
            (None, None) => {
                return Err(Error::invalid_value("application", raw.get(), "an object with one of id, self"));
            }
        };
        ApplicationId::parse(&given).map_err(|_| Self::unknown(name, &given))
    }

    /// Returns the error for an application that does not exist or that is not offered to the tenant, which look the
    /// same.
    pub fn unknown(member: &str, given: &str) -> Error {
        Error::invalid_value(member, given, "an application that the tenant can be subscribed to")
    }
}

impl Serialize for Linked<'_, Subscription> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Subscriber<'a> {
            #[serde(rename = "self")]
            link: String,
            id: &'a str,
        }
        let Linked { value: Subscription { tenant, application }, links } = *self;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("self", &links.subscription(tenant, application.id))?;
        map.serialize_entry("application", &Linked { value: application, links })?;
        map.serialize_entry("tenant", &Subscriber { link: links.tenant(tenant), id: tenant.as_str() })?;
        map.end()
    }
}

/// The applications to which a caller may subscribe a tenant, and whose subscriptions it may end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// All applications, for the tenant `management`.
    Everything,
    /// The applications of this tenant and of the market, for a tenant that manages its sub-tenants.
    OwnedByOrMarket(TenantId),
}

impl Offer {
    /// Returns whether an application is among them.
    pub fn includes(&self, owner: &TenantId, availability: Availability) -> bool {
        match self {
            Self::Everything => true,
            Self::OwnedByOrMarket(tenant) => owner == tenant || availability == Availability::Market,
        }
    }
}

/// The references of a tenant to its applications. A tenant may have very many, so these are the first ones with a link
/// to the next.
#[derive(Debug, Clone, Default)]
pub struct ApplicationReferences {
    /// The first references, by id.
    pub references: Vec<ApplicationReference>,
    /// Whether there are more.
    pub has_more: bool,
}

/// References with the path of their collection, shown as `{self, references, next}`.
pub struct ShownReferences<'a> {
    /// The references.
    pub references: &'a ApplicationReferences,
    /// The path of the collection that lists all of them in pages.
    pub collection: String,
    /// Whether the collection is shown as `self`.
    pub with_self: bool,
    /// The address of the links.
    pub links: &'a Links,
}

impl Serialize for ShownReferences<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ApplicationReferences { references, has_more } = self.references;
        let members: Vec<_> = references.iter().map(|value| Linked { value, links: self.links }).collect();
        let mut map = serializer.serialize_map(None)?;
        if self.with_self {
            map.serialize_entry("self", &self.collection)?;
        }
        map.serialize_entry("references", &members)?;
        if *has_more {
            let next = format!("{}?pageSize={}&currentPage=2", self.collection, references.len());
            map.serialize_entry("next", &next)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<ApplicationId> {
        Subscription::parse_application(Body::parse(json.as_bytes()).expect("an object"))
    }

    #[test]
    fn application_is_identified_by_id_or_self() {
        for json in [
            r#"{"application":{"id":"7"}}"#,
            r#"{"application":{"id":7}}"#,
            r#"{"application":{"self":"https://x/application/applications/7"}}"#,
            r#"{"application":{"self":"/application/applications/7/","id":null}}"#,
        ] {
            assert_eq!(read(json).expect(json), ApplicationId(7), "{json}");
        }
    }

    #[test]
    fn invalid_references_are_named_in_the_error() {
        for json in [
            "{}",
            r#"{"application":null}"#,
            r#"{"application":7}"#,
            r#"{"application":{}}"#,
            r#"{"application":{"id":"x"}}"#,
            r#"{"application":{"id":-1}}"#,
            r#"{"application":{"id":{}}}"#,
            r#"{"application":{"self":7}}"#,
            r#"{"application":{"self":"https://x/"}}"#,
        ] {
            let error = read(json).expect_err(json);
            assert!(
                matches!(&error, Error::Invalid(text) if text.contains("application")),
                "{json}: {error}"
            );
        }
    }

    #[test]
    fn parents_offer_their_own_applications_and_the_market() {
        let tenant = |id| TenantId::parse(id).expect("an id");
        let parent = Offer::OwnedByOrMarket(tenant("parent"));
        assert!(parent.includes(&tenant("parent"), Availability::Private));
        assert!(parent.includes(&tenant("other"), Availability::Market));
        assert!(!parent.includes(&tenant("other"), Availability::Private));
        assert!(Offer::Everything.includes(&tenant("other"), Availability::Private));
    }
}
