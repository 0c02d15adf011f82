//! Parts of Markdown documents.

/// A link to a constant: `[2 ms](path/to/file.rs "NAME")`.
#[derive(Debug)]
pub(crate) struct ConstantLink<'a> {
    /// The offsets of the whole link.
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) text: &'a str,
    pub(crate) address: &'a str,
    pub(crate) name: &'a str,
}

/// Returns the text with blanks in place of blocks of code and of code in backticks; all offsets stay.
pub(crate) fn prose(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    let mut in_block = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        let mut in_code = in_block || is_fence;
        for c in line.chars() {
            in_code ^= c == '`' && !in_block && !is_fence;
            if in_code && c != '\n' {
                prose.extend(std::iter::repeat_n(' ', c.len_utf8()));
            } else {
                prose.push(c);
            }
        }
        in_block ^= is_fence;
    }
    prose
}

/// Returns the links to Rust files that have a title.
pub(crate) fn constant_links(text: &str) -> Vec<ConstantLink<'_>> {
    let link = |at: usize| {
        let begin = text[..at].rfind('[')?;
        let target = at + 2;
        let end = target + text[target..].find(')')?;
        let (address, title) = text[target..end].split_once(char::is_whitespace)?;
        let name = title.trim().strip_prefix('"')?.strip_suffix('"')?;
        let link = ConstantLink { begin, end: end + 1, text: &text[begin + 1..at], address, name };
        address.ends_with(".rs").then_some(link)
    };
    text.match_indices("](").filter_map(|(at, _)| link(at)).collect()
}

/// Returns a line without the addresses of its links.
pub(crate) fn without_addresses(line: &str) -> String {
    let mut parts = line.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str("](");
        text.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    text
}
