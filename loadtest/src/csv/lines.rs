//! Lines of an answer: values between commas, quoted where they must be (docs/rules.md#rows-and-responses; S-01).

/// The values of a line, at least one.
pub(crate) type Line = Vec<String>;

/// The answer is not made of whole lines, or its quotes do not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The lines of an answer. Spaces before the first one kept a poll alive (S-57); the last one is ended like the others.
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

/// The first value, and the text from the comma or line feed behind it on.
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

/// A value as it stands in a line, quoted if it must be.
pub(crate) fn quoted(value: &str) -> String {
    let edge = value.starts_with(' ') || value.ends_with(' ');
    match edge || value.contains(['"', ',', '\n', '\r', '\t']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value.to_owned(),
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
    fn what_is_not_made_of_whole_lines_is_refused() {
        for answer in ["50,1,422", "50,1\n45", "7,\"open\n", "7,a\"b\n", "7,\"a\"b\n", "7,\"a\"\"\n"] {
            assert_eq!(lines(answer.as_bytes()), Err(Malformed), "{answer:?}");
        }
        assert_eq!(lines(b"\xff\n"), Err(Malformed));
    }

    #[test]
    fn what_is_quoted_is_read_back() {
        for value in ["", "a", "a b", " a", "a ", "a,b", "a\"b", "\"", "a\nb", "{\"a\":\"b,c\"}"] {
            let line = format!("{},1\n", quoted(value));
            assert_eq!(lines(line.as_bytes()).unwrap(), [[value, "1"]], "{line:?}");
        }
    }
}
