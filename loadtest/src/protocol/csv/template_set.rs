//! The template set that devices share: objects from rows, the mark of a notification, and the members of operations
//! that an agent needs, whether they arrive by a poll or by a request (S-20 to S-34).

use super::lines::{lines, quoted};
use super::{ACCEPT, PATH, x_id};
use crate::error::Error;
use crate::ledger::mark;
use crate::protocol::operations;
use crate::target::Target;
use crate::target::pages::PAGE_SIZE;

/// The row that creates an event, with device and mark.
pub(crate) const CREATE_EVENT: &str = "600";
/// The row that creates an alarm, with device, type and mark.
pub(crate) const CREATE_ALARM: &str = "602";
/// The row that creates a measurement, with device and mark.
pub(crate) const CREATE_MEASUREMENT: &str = "603";
/// The row that requests the PENDING operations of an agent.
pub(crate) const ASK_PENDING: &str = "601";
/// The response line of an operation from a poll: id, device and mark follow the line number.
pub(crate) const NOTIFIED: &str = "700";
/// The response line of an operation in a list, in the same form.
pub(crate) const LISTED: &str = "701";
/// The response line of an object from a poll: its mark follows the line number.
pub(crate) const OBJECT: &str = "702";

/// A registered set.
#[derive(Debug)]
pub(crate) struct TemplateSet {
    /// The X-Id of the set.
    pub(crate) x_id: String,
    /// The id of its managed object.
    pub(crate) object: String,
}

impl TemplateSet {
    /// Registers the set, and checks that it exists.
    ///
    /// # Errors
    /// The response was not `20,<object>` both times.
    pub(crate) async fn register(target: &Target, name: &str, templates: String) -> Result<Self, Error> {
        let mut connection = target.connect().await?;
        let headers = x_id(name) + ACCEPT;
        let mut objects = Vec::new();
        for (step, body) in [("registering templates", templates), ("asking for templates", String::new())] {
            let response = connection.call(step, &target.post_bare(&headers, PATH, &body)).await?;
            let object = (response.status == 200).then(|| found(response.body)).flatten();
            objects.push(object.ok_or_else(|| Error::status(step, response.status, response.body))?);
        }
        match objects.as_slice() {
            [registered, known] if registered == known => {
                Ok(Self { x_id: name.to_owned(), object: registered.clone() })
            }
            _ => Err(Error::Refused(format!(
                "templates registered as {} and found as {}",
                objects[0], objects[1]
            ))),
        }
    }

    /// Removes the set; returns how many are left.
    pub(crate) async fn remove(&self, target: &Target) -> usize {
        let request = target.delete(&format!("/inventory/managedObjects/{}", self.object));
        let removed = async {
            let mut connection = target.connect().await?;
            Ok::<bool, Error>(connection.call("removing templates", &request).await?.status == 204)
        };
        usize::from(!removed.await.unwrap_or(false))
    }
}

/// Returns the object of the only line of a response, `20,<object>`.
fn found(answer: &[u8]) -> Option<String> {
    match lines(answer).ok()?.as_slice() {
        [line] => match line.as_slice() {
            [id, object] if id == "20" => Some(object.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the templates of rows, and of the operations that agents receive.
pub(crate) fn rows() -> String {
    let object = |row: &str, path: &str, type_: &str, types: &str, members: &str| {
        let body = format!(
            r#"{{"source":{{"id":"%%"}},"time":"%%","type":"{type_}"{members},"{}":"%%"}}"#,
            mark::FRAGMENT
        );
        format!("10,{row},POST,{path},application/json,,%%,{types},{}\n", quoted(&body))
    };
    let wanted = format!("$.plat_Restart,$.id,$.deviceId,$.{}", mark::FRAGMENT);
    let pending = format!("{}?agentId=%%&status=PENDING&pageSize={PAGE_SIZE}", operations::PATH);
    let (one, two) = ("UNSIGNED NOW STRING", "UNSIGNED NOW STRING STRING");
    let text = r#","text":"Sent by the load test""#;
    object(CREATE_ALARM, "/alarm/alarms", "%%", two, &format!(r#"{text},"severity":"MAJOR""#))
        + &object(CREATE_EVENT, "/event/events", "loadtest", one, text)
        + &object(
            CREATE_MEASUREMENT,
            "/measurement/measurements",
            "loadtest",
            one,
            r#","lt_Air":{"T":{"value":21.5,"unit":"C"}}"#,
        )
        + &format!(
            "10,{ASK_PENDING},GET,{pending},,application/json,%%,UNSIGNED\n\
             11,{NOTIFIED},,{wanted}\n\
             11,{LISTED},$.operations,{wanted}\n"
        )
}

/// Returns the template of the objects that devices receive. It belongs to a separate set, because the responses to
/// rows would match it too.
pub(crate) fn objects() -> String {
    format!("11,{OBJECT},,$.{0},$.{0}\n", mark::FRAGMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_lines_of_as_many_values_as_they_must_have() {
        let lines = lines(rows().as_bytes()).unwrap();
        let shape: Vec<_> =
            lines.iter().map(|line| (line[0].as_str(), line[1].as_str(), line.len())).collect();
        assert_eq!(
            shape,
            [
                ("10", CREATE_ALARM, 9),
                ("10", CREATE_EVENT, 9),
                ("10", CREATE_MEASUREMENT, 9),
                ("10", ASK_PENDING, 8),
                ("11", NOTIFIED, 7),
                ("11", LISTED, 7)
            ]
        );
        for line in &lines[..3] {
            // There are as many types as placeholders.
            assert_eq!(line[8].matches("%%").count(), line[7].split(' ').count());
            assert!(serde_json::from_str::<serde_json::Value>(&line[8]).is_ok());
        }
        assert_eq!(lines[3][3].matches("%%").count(), 1);
    }

    #[test]
    fn only_the_line_20_is_a_set() {
        assert_eq!(found(b"20,208\n").as_deref(), Some("208"));
        for answer in ["", "20\n", "41,2,Bad\n", "20,1\n20,2\n", "20,1"] {
            assert_eq!(found(answer.as_bytes()), None, "{answer:?}");
        }
    }
}
