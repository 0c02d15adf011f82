//! The lines of a response: values between commas, quoted if necessary (docs/rules.md#rows-and-responses;
//! S-01).

/// The values of a line, at least one.
pub(crate) type Line = Vec<String>;

/// The error of a response without complete lines, or with unbalanced quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Parses the lines of a response. Spaces before the first line kept a poll alive (S-57); the last line ends
/// like the others.
///
/// # Errors
/// See [`Malformed`].
pub(crate) fn lines(answer: &[u8]) -> Result<Vec<Line>, Malformed> {
    let mut rest = std::str::from_utf8(answer).map_err(|_| Malformed)?.trim_start_matches(' ');
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let mut line = Line::new();
        loop {
            let (value, behind) = value(rest)?;
            line.push(value);
            rest = &behind[1..];
            if behind.starts_with('\n') {
                break;
            }
        }
        lines.push(line);
    }
    Ok(lines)
}

/// Returns the first value, and the text from its comma or line feed on.
fn value(text: &str) -> Result<(String, &str), Malformed> {
    let Some(mut quoted) = text.strip_prefix('"') else {
        let end = text.find([',', '\n']).ok_or(Malformed)?;
        let (value, behind) = text.split_at(end);
        return if value.contains('"') { Err(Malformed) } else { Ok((value.to_owned(), behind)) };
    };
    let mut value = String::new();
    loop {
        let (part, behind) = quoted.split_once('"').ok_or(Malformed)?;
        value.push_str(part);
        match behind.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                quoted = more;
            }
            None if behind.starts_with([',', '\n']) => return Ok((value, behind)),
            None => return Err(Malformed),
        }
    }
}

/// Returns a value in the form of a line, quoted if necessary.
pub(crate) fn quoted(value: &str) -> String {
    let edge = value.starts_with(' ') || value.ends_with(' ');
    if edge || value.contains(['"', ',', '\n', '\r', '\t']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_into_values() {
        for (answer, expected) in [
            ("", vec![]),
            ("   ", vec![]),
            ("abc\n", vec![vec!["abc"]]),
            ("  86,,0,handshake\n", vec![vec!["86", "", "0", "handshake"]]),
            ("50,1,422\n45,2,x\n", vec![vec!["50", "1", "422"], vec!["45", "2", "x"]]),
            ("7,\"a,b\",\"c\"\"d\"\n", vec![vec!["7", "a,b", "c\"d"]]),
            ("7,\"two\nlines\",\"\"\n", vec![vec!["7", "two\nlines", ""]]),
            ("7,\n", vec![vec!["7", ""]]),
            ("\n", vec![vec![""]]),
        ] {
            assert_eq!(lines(answer.as_bytes()).unwrap(), expected, "{answer:?}");
        }
    }

    #[test]
    fn incomplete_lines_are_rejected() {
        for answer in ["50,1,422", "50,1\n45", "7,\"open\n", "7,a\"b\n", "7,\"a\"b\n", "7,\"a\"\"\n"] {
            assert_eq!(lines(answer.as_bytes()), Err(Malformed), "{answer:?}");
        }
        assert_eq!(lines(b"\xff\n"), Err(Malformed));
    }

    #[test]
    fn quoted_values_are_read_back() {
        for value in ["", "a", "a b", " a", "a ", "a,b", "a\"b", "\"", "a\nb", "{\"a\":\"b,c\"}"] {
            let line = format!("{},1\n", quoted(value));
            assert_eq!(lines(line.as_bytes()).unwrap(), [[value, "1"]], "{line:?}");
        }
    }
}
