//! The output of `platform config show`: every setting with its value and where that comes from.

use platform_front::config::{Settings, ShownSetting};
use platform_front::terminal::print as print_bytes;

use crate::cli::Output;

/// Prints the settings as a table or as JSON.
///
/// # Errors
/// The output is closed or cannot be written.
pub fn print(
    settings: &Settings,
    output: Output,
    mut shown: Vec<ShownSetting>,
) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(reason) = &settings.store.relocated {
        for setting in shown.iter_mut().filter(|setting| setting.name == "data-dir") {
            setting.value = Some(settings.store.data_dir.display().to_string());
            setting.origin = format!("default, because {reason}");
        }
    }
    let text = match output {
        Output::Json => serde_json::to_string_pretty(&shown)? + "\n",
        Output::Table => table(&shown),
    };
    Ok(print_bytes(text.as_bytes())?)
}

/// Returns one line for each setting: name, origin and value. The value is last, because it may be long.
fn table(shown: &[ShownSetting]) -> String {
    let widest = |text: fn(&ShownSetting) -> &str| shown.iter().map(|one| text(one).chars().count()).max();
    let name = widest(|one| &one.name).unwrap_or_default();
    let origin = widest(|one| &one.origin).unwrap_or_default();
    let line = |setting: &ShownSetting| {
        let value = setting.value.as_deref().unwrap_or("-");
        format!("{:name$}  {:origin$}  {value}\n", setting.name, setting.origin)
    };
    shown.iter().map(line).collect()
}
