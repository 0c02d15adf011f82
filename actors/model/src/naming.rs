//! The vendor names of a deployment.
//!
//! The rules of the API contain `platform` and `plat_` in place of a vendor's name. A fleet that uses another vendor's
//! names works unchanged if they are configured at the start (`PLATFORM_NAMING_…`, C-20).
//!
//! Three more words contain the vendor's name: enumerations of modules, the file name of a manifest and the issuer of
//! JWTs. No setting lists them. They are derived from the header prefix, and both spellings are understood
//! (G-09a).

use std::sync::OnceLock;

/// The vendor names in media types, headers, fragments and extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// The prefix of fragments that the server knows, `plat_`.
    pub fragment_prefix: String,
    /// The prefix of model markers, `com_platform_`.
    pub model_prefix: String,
    /// The prefix of every media type, `application/vnd.example.platform.`.
    pub media_type_prefix: String,
    /// The prefix of the platform's own request headers, `X-Platform-`.
    pub header_prefix: String,
    /// The member of the Bayeux handshake's `ext` with the credentials, `com.platform.authn`.
    pub authentication_extension: String,
}

impl Default for Naming {
    fn default() -> Self {
        Self {
            fragment_prefix: "plat_".into(),
            model_prefix: "com_platform_".into(),
            media_type_prefix: "application/vnd.example.platform.".into(),
            header_prefix: "X-Platform-".into(),
            authentication_extension: "com.platform.authn".into(),
        }
    }
}

static NAMING: OnceLock<Naming> = OnceLock::new();

/// Returns the installed names, or else those of the rules.
pub fn naming() -> &'static Naming {
    NAMING.get_or_init(Naming::default)
}

/// Installs the configured names. `main` calls it once, before their first use.
///
/// # Errors
/// Returns the names when other ones are in use already: they are set once per process.
pub fn install(naming: Naming) -> Result<(), Naming> {
    match NAMING.set(naming) {
        Err(refused) if NAMING.get() != Some(&refused) => Err(refused),
        _ => Ok(()),
    }
}

/// Returns a word in the spelling of the rules and in the vendor's, which are equal if no names are configured.
pub fn spellings(spelled: impl Fn(&Naming) -> String) -> [String; 2] {
    [spelled(&Naming::default()), spelled(naming())]
}

impl Naming {
    /// Returns the vendor's name as headers spell it, `Platform` of `X-Platform-`; only its letters and digits. A
    /// prefix without any names nobody, so the name of the rules is returned.
    fn vendor(&self) -> String {
        let prefix = self.header_prefix.as_str();
        let name = match prefix.split_at_checked(2) {
            Some((first, rest)) if first.eq_ignore_ascii_case("X-") => rest,
            _ => prefix,
        };
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        if name.is_empty() { "Platform".into() } else { name }
    }

    /// Returns the name of an enumeration in modules, such as `PlatformSeverities` (G-09a).
    pub fn enumeration(&self, words: &str) -> String {
        format!("{}{words}", self.vendor())
    }

    /// Returns the name of the manifest in the archive of an application, `platform.json` (G-09a).
    pub fn manifest_file(&self) -> String {
        format!("{}.json", self.issuer())
    }

    /// Returns the issuer of JWTs, `platform` (G-09a).
    pub fn issuer(&self) -> String {
        self.vendor().to_ascii_lowercase()
    }

    /// Returns a media type such as `application/vnd.example.platform.alarm+json`.
    pub fn media_type(&self, name: &str) -> String {
        format!("{}{name}+json", self.media_type_prefix)
    }

    /// Returns a header name such as `X-Platform-Processing-Mode`.
    pub fn header(&self, name: &str) -> String {
        format!("{}{name}", self.header_prefix)
    }

    /// Returns a model marker such as `com_platform_model_Agent`.
    pub fn model(&self, name: &str) -> String {
        format!("{}model_{name}", self.model_prefix)
    }

    /// Returns a fragment name such as `plat_IsDevice`.
    pub fn fragment(&self, name: &str) -> String {
        format!("{}{name}", self.fragment_prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_the_name_of_the_vendor_follow_from_the_header_prefix() {
        for (header_prefix, enumeration, file, issuer) in [
            ("X-Platform-", "PlatformSeverities", "platform.json", "platform"),
            ("X-Acme-", "AcmeSeverities", "acme.json", "acme"),
            ("x-AcmeCloud-", "AcmeCloudSeverities", "acmecloud.json", "acmecloud"),
            ("X-", "PlatformSeverities", "platform.json", "platform"),
            ("Acme-Cloud-", "AcmeCloudSeverities", "acmecloud.json", "acmecloud"),
        ] {
            let naming = Naming { header_prefix: header_prefix.into(), ..Naming::default() };
            let words = (naming.enumeration("Severities"), naming.manifest_file(), naming.issuer());
            assert_eq!(words, (enumeration.into(), file.into(), issuer.into()), "{header_prefix}");
        }
    }
}
