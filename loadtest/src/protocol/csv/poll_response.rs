//! The operations in the response to a poll: for each a line of the custom set and one of the static set, in
//! groups (S-40, S-53, H-15).

use super::STATIC;
use super::lines::{Line, lines};
use super::template_set::{LISTED, NOTIFIED};
use crate::protocol::operations::Operation;

/// The response line of an operation `plat_Restart` (H-15).
const RESTART: &str = "510";
/// The response line that names the template set of the lines after it (S-40).
const GROUP: &str = "87";
/// The response line with advice (S-56).
const ADVICE: &str = "86";

/// Returns the operations of the response to a device's poll, in order; none when the poll timed out.
///
/// # Errors
/// The description of the fault: unexpected lines, groups whose size is wrong, or an operation from only one
/// of the sets.
pub(crate) fn notified(answer: &[u8], x_id: &str, serial: &str) -> Result<Vec<Operation>, String> {
    let lines = lines(answer).map_err(|_| "malformed lines".to_owned())?;
    let (mut operations, mut restarts) = (Vec::new(), 0);
    let mut lines = lines.iter();
    while let Some(line) = lines.next() {
        let group = match line.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [ADVICE, _, _, "" | "retry"] => continue,
            [GROUP, count, set] => count.parse::<usize>().map(|count| (count, set)),
            _ => return Err(unexpected(line)),
        };
        let (count, set) = group.map_err(|_| unexpected(line))?;
        for _ in 0..count {
            let line = lines.next().ok_or_else(|| format!("87 promises {count} lines of {set}"))?;
            match set == x_id {
                true => operations.push(operation(line, NOTIFIED).ok_or_else(|| unexpected(line))?),
                false if set == STATIC && *line == [RESTART, serial] => restarts += 1,
                false => return Err(unexpected(line)),
            }
        }
    }
    if restarts == operations.len() {
        Ok(operations)
    } else {
        Err(format!("{} lines {NOTIFIED}, but {restarts} lines {RESTART}", operations.len()))
    }
}

/// Returns the operations of the response to a request for those that are PENDING, oldest first.
///
/// # Errors
/// A line is not an operation.
pub(crate) fn listed(answer: &[u8]) -> Result<Vec<Operation>, String> {
    let lines = lines(answer).map_err(|_| "malformed lines".to_owned())?;
    let operations = lines.iter().map(|line| operation(line, LISTED).ok_or_else(|| unexpected(line)));
    let mut operations: Vec<Operation> = operations.collect::<Result<_, _>>()?;
    // Ids rise with creation (C-13).
    operations.sort_by_key(|operation| operation.id.parse::<u64>().unwrap_or(u64::MAX));
    Ok(operations)
}

/// Parses the line of a template of this id. Both the response to a single row and a poll have line number 1
/// (S-53).
fn operation(line: &Line, template: &str) -> Option<Operation> {
    match line.as_slice() {
        [id, number, operation, device, mark] if id == template && number == "1" => {
            Some(Operation::of_line(operation, device, mark))
        }
        _ => None,
    }
}

fn unexpected(line: &Line) -> String {
    format!("unexpected line {:.200}", line.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(operations: Result<Vec<Operation>, String>) -> Result<Vec<String>, String> {
        operations.map(|operations| operations.into_iter().map(|operation| operation.id).collect())
    }

    fn read(answer: &str) -> Result<Vec<String>, String> {
        ids(notified(answer.as_bytes(), "set", "s-1"))
    }

    #[test]
    fn operation_comes_by_both_sets() {
        let answer = b" 87,1,set\n700,1,5,208,1-2-3-4\n87,1,plat_Static\n510,s-1\n";
        let operations = notified(answer, "set", "s-1").unwrap();
        assert_eq!(operations.len(), 1);
        let mark = operations[0].mark().unwrap();
        assert_eq!((operations[0].id.as_str(), operations[0].device_id.as_str()), ("5", "208"));
        assert_eq!((mark.device, mark.sequence, mark.due), (2, 3, 4));
    }

    #[test]
    fn operations_are_grouped_or_joined_and_a_timed_out_poll_has_none() {
        let one_by_one = "87,1,set\n700,1,5,2,m\n87,1,plat_Static\n510,s-1\n\
                          87,1,set\n700,1,6,2,m\n87,1,plat_Static\n510,s-1\n";
        let together = "87,2,set\n700,1,5,2,m\n700,1,6,2,m\n87,2,plat_Static\n510,s-1\n510,s-1\n";
        for answer in [one_by_one, together] {
            assert_eq!(read(answer).unwrap(), ["5", "6"], "{answer}");
        }
        for answer in ["", " ", "86,5400000,0,retry\n", "86,,1000,\n"] {
            assert!(read(answer).unwrap().is_empty(), "{answer}");
        }
    }

    #[test]
    fn every_other_response_is_an_error() {
        for answer in [
            "40,/meta/connect,402::Unknown client\n86,,0,handshake\n",
            "86,,0,handshake\n",
            // Another set, another device, another number, no group.
            "87,1,other\n700,1,5,2,m\n",
            "87,1,set\n700,1,5,2,m\n87,1,plat_Static\n510,s-2\n",
            "87,1,set\n700,2,5,2,m\n87,1,plat_Static\n510,s-1\n",
            "700,1,5,2,m\n510,s-1\n",
            // A group that is too short, or too long.
            "87,2,set\n700,1,5,2,m\n",
            "87,1,set\n700,1,5,2,m\n700,1,6,2,m\n",
            // An operation from only one set.
            "87,1,set\n700,1,5,2,m\n",
            "87,1,plat_Static\n510,s-1\n",
            "87,x,set\n",
            "cut",
        ] {
            assert!(read(answer).is_err(), "{answer}");
        }
    }

    #[test]
    fn list_is_read_oldest_first() {
        let read = |answer: &str| ids(listed(answer.as_bytes()));
        assert_eq!(read("701,1,10,2,m\n701,1,9,2,m\n").unwrap(), ["9", "10"]);
        assert!(read("").unwrap().is_empty());
        for answer in ["50,1,403\n", "700,1,9,2,m\n", "701,1,9,2\n"] {
            assert!(read(answer).is_err(), "{answer}");
        }
    }
}
