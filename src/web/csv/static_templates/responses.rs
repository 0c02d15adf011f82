//! Static responses: operations as a device receives them (H-15).

use platform_model::naming::naming;
use serde_json::Value;

use crate::csv::Csv;
use crate::csv::line::Lines;
use crate::csv::value::text_of;

/// A function that returns the values after the serial for a fragment; `None` when another row of the table
/// applies.
type Values = fn(&Value) -> Option<Vec<String>>;

/// The table of H-15 in ascending id: id, fragment, values.
const TABLE: [(u32, &str, Values); 18] = [
    (510, "Restart", |_| Some(Vec::new())),
    (511, "Command", |command| members(command, &["text"])),
    (513, "Configuration", |configuration| members(configuration, &["config"])),
    (515, "Firmware", |firmware| members(firmware, &SOFTWARE).filter(|_| !is_patch(firmware))),
    (516, "SoftwareList", |list| Some(of_each(list, &SOFTWARE).collect())),
    (517, "MeasurementRequestOperation", |request| members(request, &["requestName"])),
    (518, "Relay", |relay| members(relay, &["relayState"])),
    (519, "RelayArray", |states| Some(elements(states).iter().map(owned_text).collect())),
    (520, "UploadConfigFile", |upload| (!has_type(upload)).then(Vec::new)),
    (521, "DownloadConfigFile", |download| members(download, &["url"]).filter(|_| !has_type(download))),
    (522, "LogfileRequest", |log| {
        members(log, &["logFile", "dateFrom", "dateTo", "searchText", "maximumLines"])
    }),
    (523, "CommunicationMode", |mode| members(mode, &["mode"])),
    (524, "DownloadConfigFile", |download| {
        members(download, &["url", "type"]).filter(|_| has_type(download))
    }),
    (525, "Firmware", |firmware| {
        members(firmware, &["name", "version", "url", "dependency"]).filter(|_| is_patch(firmware))
    }),
    (526, "UploadConfigFile", |upload| members(upload, &["type"]).filter(|_| has_type(upload))),
    (527, "DeviceProfile", |profile| Some(profile_values(profile))),
    (528, "SoftwareUpdate", |list| Some(of_each(list, &SOFTWARE_CHANGE).collect())),
    (530, "RemoteAccessConnect", |remote| members(remote, &["hostname", "port", "connectionKey"])),
];

const SOFTWARE: [&str; 3] = ["name", "version", "url"];
const SOFTWARE_CHANGE: [&str; 4] = ["name", "version", "url", "action"];

/// The version of the table that a device knows (H-09).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// The default: 511 is a configuration, a command has no line.
    Documented,
    /// The version of existing clients: 511 is a command, 513 a configuration (C-20).
    Compatible,
}

/// Adds a line for each fragment of an operation that the static set knows, in ascending id (H-11), or none.
/// `serial` is that of the operation's device (H-13).
pub(crate) fn write(operation: &Value, serial: &str, csv: &Csv, lines: &mut Lines) {
    let layout = if csv.compatibility.is_on() { Layout::Compatible } else { Layout::Documented };
    layout.write(operation, serial, lines);
}

impl Layout {
    fn write(self, operation: &Value, serial: &str, lines: &mut Lines) {
        for (id, fragment, values) in TABLE {
            let Some(id) = self.id(id) else { continue };
            let Some(fragment) = operation.get(naming().fragment(fragment)) else { continue };
            let Some(values) = values(fragment).filter(|_| !fragment.is_null()) else { continue };
            lines.push([id.to_string(), serial.to_owned()].into_iter().chain(values));
        }
    }

    /// Returns the id under which a row of the table is sent; the order does not change.
    fn id(self, id: u32) -> Option<u32> {
        match (self, id) {
            (Self::Documented, 511) => None,
            (Self::Documented, 513) => Some(511),
            _ => Some(id),
        }
    }
}

fn owned_text(value: &Value) -> String {
    text_of(value).into_owned()
}

/// Returns a member; `null` if it is missing or the value is not an object.
fn member<'v>(value: &'v Value, name: &str) -> &'v Value {
    value.get(name).unwrap_or(&Value::Null)
}

/// Returns these members; a missing one is empty (H-11).
fn members(value: &Value, names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|name| owned_text(member(value, name))).collect())
}

/// Returns the elements of an array; none of another value.
fn elements(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns these members of each element.
fn of_each<'v>(list: &'v Value, names: &'v [&'v str]) -> impl Iterator<Item = String> + 'v {
    elements(list).iter().flat_map(move |element| names.iter().map(|name| owned_text(member(element, name))))
}

fn has_type(file: &Value) -> bool {
    !text_of(member(file, "type")).is_empty()
}

/// Returns whether firmware is a patch: it says so, or has a dependency.
fn is_patch(firmware: &Value) -> bool {
    text_of(member(firmware, "isPatch")) == "true" || !text_of(member(firmware, "dependency")).is_empty()
}

/// Returns all sections of a profile. The section marks are present even for empty sections, so that a device
/// need not search for them.
fn profile_values(profile: &Value) -> Vec<String> {
    let section = |name: &str| member(profile, name);
    let mark = |mark: &str| std::iter::once(mark.to_owned());
    let firmware = ["name", "version", "url", "isPatch", "dependency"];
    let firmware = firmware.map(|name| owned_text(member(section("firmware"), name)));
    mark("$FW")
        .chain(firmware)
        .chain(mark("$SW"))
        .chain(of_each(section("software"), &SOFTWARE_CHANGE))
        .chain(mark("$CONF"))
        .chain(of_each(section("configuration"), &["url", "type"]))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn written(layout: Layout, operation: &Value) -> String {
        let mut lines = Lines::default();
        layout.write(operation, "s1", &mut lines);
        lines.into_text()
    }

    #[test]
    fn fragments_of_another_shape_have_empty_values() {
        for shape in [json!("text"), json!(7), json!(false), json!([]), json!({}), json!([1, null, "a"])] {
            for (fragment, lines) in [
                ("plat_Restart", "510,s1\n"),
                ("plat_Configuration", "511,s1,\n"),
                ("plat_Firmware", "515,s1,,,\n"),
                ("plat_UploadConfigFile", "520,s1\n"),
                ("plat_DownloadConfigFile", "521,s1,\n"),
                ("plat_LogfileRequest", "522,s1,,,,,\n"),
                ("plat_DeviceProfile", "527,s1,$FW,,,,,,$SW,$CONF\n"),
                ("plat_RemoteAccessConnect", "530,s1,,,\n"),
            ] {
                let operation = json!({fragment: shape});
                assert_eq!(written(Layout::Documented, &operation), lines, "{operation}");
            }
        }
        let odd = json!({"plat_SoftwareList": [1, {"name": {"a": 1}}], "plat_RelayArray": [null, 1, "OPEN"]});
        let lines = "516,s1,,,,\"{\"\"a\"\":1}\",,\n519,s1,,1,OPEN\n";
        assert_eq!(written(Layout::Documented, &odd), lines);
    }

    #[test]
    fn operations_without_a_known_fragment_have_no_lines() {
        for operation in [json!(null), json!([]), json!("plat_Restart"), json!({"plat_Restart": null})] {
            assert_eq!(written(Layout::Compatible, &operation), "", "{operation}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[ -~\n\r\t\"é]{0,6}".prop_map(Value::from),
        ];
        let name = prop_oneof![
            Just("name".to_owned()),
            Just("type".to_owned()),
            Just("isPatch".to_owned()),
            Just("software".to_owned()),
            Just("firmware".to_owned()),
        ];
        leaf.prop_recursive(3, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((name.clone(), inner), 0..4)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_shape_is_one_line_and_a_fragment_of_two_lines_is_one_of_them(shape in any_json()) {
            for (_, fragment, _) in TABLE {
                let name = naming().fragment(fragment);
                let text = written(Layout::Compatible, &json!({ name: shape }));
                let count = crate::csv::line::Records::parse(text.as_bytes()).iter().len();
                prop_assert_eq!(count, usize::from(!shape.is_null()), "{}", text);
            }
        }
    }
}
