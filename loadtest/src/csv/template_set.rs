//! The template set that a fleet shares: an event from a row, and the members of operations that an agent
//! needs, whether they arrive by a poll or by a request (S-20 to S-34).

use super::lines::{lines, quoted};
use super::{ACCEPT, PATH, x_id};
use crate::error::Error;
use crate::mark;
use crate::operations;
use crate::read_back::PAGE_SIZE;
use crate::target::Target;

/// The row that creates an event, with device and mark.
pub(crate) const CREATE_EVENT: &str = "600";
/// The row that requests the PENDING operations of an agent.
pub(crate) const ASK_PENDING: &str = "601";
/// The response line of an operation from a poll: id, device and mark follow the line number.
pub(crate) const NOTIFIED: &str = "700";
/// The response line of an operation in a list, in the same form.
pub(crate) const LISTED: &str = "701";

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
    pub(crate) async fn register(target: &Target, name: &str) -> Result<Self, Error> {
        let mut connection = target.connect().await?;
        let headers = x_id(name) + ACCEPT;
        let mut objects = Vec::new();
        for (step, body) in [("registering templates", templates()), ("asking for templates", String::new())]
        {
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

fn templates() -> String {
    let event = format!(
        r#"{{"type":"loadtest","text":"Sent by the load test","source":{{"id":"%%"}},"time":"%%","{}":"%%"}}"#,
        mark::FRAGMENT
    );
    let wanted = format!("$.plat_Restart,$.id,$.deviceId,$.{}", mark::FRAGMENT);
    let pending = format!("{}?agentId=%%&status=PENDING&pageSize={PAGE_SIZE}", operations::PATH);
    format!(
        "10,{CREATE_EVENT},POST,/event/events,application/json,,%%,UNSIGNED NOW STRING,{}\n\
         10,{ASK_PENDING},GET,{pending},,application/json,%%,UNSIGNED\n\
         11,{NOTIFIED},,{wanted}\n\
         11,{LISTED},$.operations,{wanted}\n",
        quoted(&event)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_lines_of_as_many_values_as_they_must_have() {
        let lines = lines(templates().as_bytes()).unwrap();
        let shape: Vec<_> =
            lines.iter().map(|line| (line[0].as_str(), line[1].as_str(), line.len())).collect();
        assert_eq!(
            shape,
            [("10", CREATE_EVENT, 9), ("10", ASK_PENDING, 8), ("11", NOTIFIED, 7), ("11", LISTED, 7)]
        );
        // There are as many types as placeholders.
        assert_eq!(lines[0][8].matches("%%").count(), lines[0][7].split(' ').count());
        assert!(serde_json::from_str::<serde_json::Value>(&lines[0][8]).is_ok());
        assert_eq!(lines[1][3].matches("%%").count(), 1);
    }

    #[test]
    fn only_the_line_20_is_a_set() {
        assert_eq!(found(b"20,208\n").as_deref(), Some("208"));
        for answer in ["", "20\n", "41,2,Bad\n", "20,1\n20,2\n", "20,1"] {
            assert_eq!(found(answer.as_bytes()), None, "{answer:?}");
        }
    }
}
