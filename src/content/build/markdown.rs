//! Turns Markdown into HTML: headings get the anchors that links between documents use, and links to documents lead to
//! their pages.

use std::collections::HashMap;

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// The addresses of documents by their paths below the folder `docs`, such as `guide/csv.md`.
pub(crate) type Places = HashMap<String, String>;

/// Returns the HTML of a document in this folder below `docs`. A link to a file that has no page becomes plain text.
pub(crate) fn render(text: &str, folder: &str, places: &Places) -> String {
    let mut events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    name_headings(&mut events);
    let mut dropped = false;
    events.retain_mut(|event| match event {
        Event::Start(Tag::Link { link_type, dest_url, .. }) => {
            let place = address(dest_url, *link_type, folder, places);
            dropped = place.is_none();
            if let Some(place) = place {
                *dest_url = place.into();
            }
            !dropped
        }
        Event::End(TagEnd::Link) => !std::mem::take(&mut dropped),
        _ => true,
    });
    let mut page = String::new();
    html::push_html(&mut page, events.into_iter());
    page
}

/// Gives each heading the anchor that hosts of repositories give it.
fn name_headings(events: &mut [Event<'_>]) {
    let mut known: HashMap<String, usize> = HashMap::new();
    for at in 0..events.len() {
        if !matches!(&events[at], Event::Start(Tag::Heading { .. })) {
            continue;
        }
        let inside =
            events[at + 1..].iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let title: String = inside
            .filter_map(|event| match event {
                Event::Text(text) | Event::Code(text) => Some(&**text),
                _ => None,
            })
            .collect();
        let mut name = anchor(&title);
        let count = known.entry(name.clone()).or_default();
        if *count > 0 {
            name = format!("{name}-{count}");
        }
        *count += 1;
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[at] {
            *id = Some(CowStr::from(name));
        }
    }
}

/// Returns the anchor of a heading: lower case, hyphens for spaces, and otherwise only letters and digits.
pub(crate) fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the target of a link, or `None` if it leads to a file without a page.
fn address(to: &str, kind: LinkType, folder: &str, places: &Places) -> Option<String> {
    if to.starts_with('#') || to.contains("://") || kind == LinkType::Email || to.starts_with("mailto:") {
        return Some(to.to_owned());
    }
    let (file, anchor) = to.split_once('#').map_or((to, None), |(file, anchor)| (file, Some(anchor)));
    let mut path: Vec<&str> = folder.split('/').filter(|segment| !segment.is_empty()).collect();
    for segment in file.split('/') {
        match segment {
            "." => {}
            ".." => drop(path.pop()),
            segment => path.push(segment),
        }
    }
    let place = places.get(&path.join("/"))?;
    Some(anchor.map_or_else(|| place.clone(), |anchor| format!("{place}#{anchor}")))
}
