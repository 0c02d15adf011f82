//! Settings of a microservice: what its owner and its subscribers tuned, as tenant options of its category (W-12, Z-05).

use std::collections::BTreeMap;

use crate::error::Result;
use crate::model::application::Application;
use crate::model::manifest::{Manifest, Setting};
use crate::model::tenant_option::SECRET_KEYS;

/// What a microservice says can be tuned, and where that is kept.
#[derive(Debug, Clone)]
pub struct SettingsPlan {
    /// The category of tenant options: that of the manifest, else the context path, else the name.
    pub category: String,
    settings: Vec<Setting>,
}

/// Options of one tenant in the category: keys, and values that are no secrets any more.
pub type Options = Vec<(String, String)>;

impl SettingsPlan {
    /// That of an application.
    ///
    /// # Errors
    /// `Invalid` for a manifest that cannot be read any more.
    pub fn of(application: &Application) -> Result<Self> {
        let manifest = Manifest::of(application)?;
        let (category, settings) =
            manifest.map_or((None, Vec::new()), |it| (it.settings_category, it.settings));
        let place = application.context_path.as_ref().unwrap_or(&application.name);
        Ok(Self { category: category.unwrap_or_else(|| place.clone()), settings })
    }

    /// Whether subscribers need to know what the owner tuned.
    pub fn asks_owner(&self) -> bool {
        self.settings.iter().any(|setting| !setting.editable)
    }

    /// The settings as the owner has them: what it set, else what the manifest says.
    pub fn of_owner(&self, owned: Options) -> BTreeMap<String, String> {
        let mut settings: BTreeMap<String, String> = self.settings.iter().filter_map(default).collect();
        settings.extend(shown(owned));
        settings
    }

    /// The settings as a subscriber has them: what it set, else what the manifest says. What is not editable is as the owner
    /// has it, whatever the subscriber wrote, and by whichever of its two names.
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

/// Options as settings: a secret is called as if it were none, and counts more than a plain option of that name.
fn shown(options: Options) -> impl Iterator<Item = (String, String)> {
    let (secret, plain): (Options, Options) =
        options.into_iter().partition(|(key, _)| key.starts_with(SECRET_KEYS));
    plain.into_iter().chain(secret).map(|(key, value)| (shown_key(&key).to_owned(), value))
}

/// A key without the mark of secrets.
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
    fn what_a_tenant_set_replaces_the_default_and_stands_beside_it() {
        let plan = plan(&[("limit", Some("5"), true), ("unit", Some("C"), true), ("bare", None, true)]);
        let settings =
            plan.of_subscriber(options(&[("limit", "7"), ("more", "x")]), options(&[("unit", "F")]));
        assert_eq!(settings, map(&[("limit", "7"), ("more", "x"), ("unit", "C")]));
    }

    #[test]
    fn what_is_not_editable_is_as_the_owner_has_it_by_whichever_name() {
        let plan = plan(&[("url", Some("a"), false), ("key", Some("b"), false), ("bare", None, false)]);
        let own = options(&[("url", "x"), ("credentials.key", "x"), ("bare", "x")]);
        assert_eq!(plan.of_subscriber(own.clone(), options(&[])), map(&[("url", "a"), ("key", "b")]));
        let owned = options(&[("credentials.url", "o"), ("other", "not for subscribers")]);
        assert_eq!(plan.of_subscriber(own, owned), map(&[("url", "o"), ("key", "b")]));
    }

    #[test]
    fn secrets_lose_their_mark_and_count_more_than_plain_options() {
        let plan = plan(&[("credentials.pin", Some("0"), true)]);
        assert_eq!(plan.of_owner(options(&[])), map(&[("pin", "0")]));
        let owned = options(&[("credentials.pin", "s"), ("pin", "p")]);
        assert_eq!(plan.of_owner(owned), map(&[("pin", "s")]));
    }
}
