//! Settings of a microservice, which its owner and its subscribers store as tenant options of its category (W-12,
//! Z-05).

use std::collections::BTreeMap;

use crate::applications::application::Application;
use crate::applications::manifest::{Manifest, Setting};
use crate::error::Result;
use crate::tenancy::tenant_option::SECRET_KEYS;

/// The settings that a microservice declares, and the category that stores them.
#[derive(Debug, Clone)]
pub struct SettingsPlan {
    /// The category of tenant options: from the manifest, else the context path, else the name.
    pub category: String,
    settings: Vec<Setting>,
}

/// The options of one tenant in the category, with secrets decrypted.
pub type Options = Vec<(String, String)>;

impl SettingsPlan {
    /// Returns the settings plan of an application.
    ///
    /// # Errors
    /// `Invalid` for a stored manifest that can no longer be parsed.
    pub fn of(application: &Application) -> Result<Self> {
        let manifest = Manifest::of(application)?;
        let (category, settings) =
            manifest.map_or((None, Vec::new()), |it| (it.settings_category, it.settings));
        let place = application.context_path.as_ref().unwrap_or(&application.name);
        Ok(Self { category: category.unwrap_or_else(|| place.clone()), settings })
    }

    /// Returns whether a subscriber's settings depend on values of the owner.
    pub fn asks_owner(&self) -> bool {
        self.settings.iter().any(|setting| !setting.editable)
    }

    /// Returns the settings of the owner: its own values, else the defaults of the manifest.
    pub fn of_owner(&self, owned: Options) -> BTreeMap<String, String> {
        let mut settings: BTreeMap<String, String> = self.settings.iter().filter_map(default).collect();
        settings.extend(shown(owned));
        settings
    }

    /// Returns the settings of a subscriber: its own values, else the defaults of the manifest. A setting that is not
    /// editable has the owner's value, whatever the subscriber wrote under either of its two names.
    pub fn of_subscriber(&self, own: Options, owned: Options) -> BTreeMap<String, String> {
        let mut of_owner = self.of_owner(owned);
        let mut settings = self.of_owner(own);
        for setting in self.settings.iter().filter(|setting| !setting.editable) {
            let key = shown_key(&setting.key);
            match of_owner.remove(key) {
                Some(value) => settings.insert(key.to_owned(), value),
                None => settings.remove(key),
            };
        }
        settings
    }
}

fn default(setting: &Setting) -> Option<(String, String)> {
    Some((shown_key(&setting.key).to_owned(), setting.default_value.clone()?))
}

/// Converts options to settings. A secret gets the name of the plain option and takes precedence over it.
fn shown(options: Options) -> impl Iterator<Item = (String, String)> {
    let (secret, plain): (Options, Options) =
        options.into_iter().partition(|(key, _)| key.starts_with(SECRET_KEYS));
    plain.into_iter().chain(secret).map(|(key, value)| (shown_key(&key).to_owned(), value))
}

/// Returns a key without the prefix of secrets.
fn shown_key(key: &str) -> &str {
    key.strip_prefix(SECRET_KEYS).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(settings: &[(&str, Option<&str>, bool)]) -> SettingsPlan {
        let setting = |(key, default, editable): &(&str, Option<&str>, bool)| Setting {
            key: (*key).to_owned(),
            default_value: default.map(ToOwned::to_owned),
            editable: *editable,
        };
        SettingsPlan { category: "meter".into(), settings: settings.iter().map(setting).collect() }
    }

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        options(pairs).into_iter().collect()
    }

    #[test]
    fn stored_settings_override_defaults_and_add_to_them() {
        let plan = plan(&[("limit", Some("5"), true), ("unit", Some("C"), true), ("bare", None, true)]);
        let settings =
            plan.of_subscriber(options(&[("limit", "7"), ("more", "x")]), options(&[("unit", "F")]));
        assert_eq!(settings, map(&[("limit", "7"), ("more", "x"), ("unit", "C")]));
    }

    #[test]
    fn settings_that_are_not_editable_have_the_owners_value_under_both_names() {
        let plan = plan(&[("url", Some("a"), false), ("key", Some("b"), false), ("bare", None, false)]);
        let own = options(&[("url", "x"), ("credentials.key", "x"), ("bare", "x")]);
        assert_eq!(plan.of_subscriber(own.clone(), options(&[])), map(&[("url", "a"), ("key", "b")]));
        let owned = options(&[("credentials.url", "o"), ("other", "not for subscribers")]);
        assert_eq!(plan.of_subscriber(own, owned), map(&[("url", "o"), ("key", "b")]));
    }

    #[test]
    fn secrets_lose_their_prefix_and_override_plain_options() {
        let plan = plan(&[("credentials.pin", Some("0"), true)]);
        assert_eq!(plan.of_owner(options(&[])), map(&[("pin", "0")]));
        let owned = options(&[("credentials.pin", "s"), ("pin", "p")]);
        assert_eq!(plan.of_owner(owned), map(&[("pin", "s")]));
    }
}
