//! Pieces of HTML that all pages have.

use super::markdown::{Places, render};

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:66em;margin:0 auto 4em;padding:0 1em}\
nav{display:flex;gap:1em;align-items:center;justify-content:space-between;margin:1em 0;padding-bottom:.5em;\
border-bottom:1px solid #bbb}\
nav input{font:inherit;width:14em;max-width:50vw}table{border-collapse:collapse;max-width:100%;overflow-x:auto}\
th,td{border:1px solid #bbb;padding:.3em .6em;text-align:left;vertical-align:top}\
td+td code,li code,p code{overflow-wrap:anywhere}code,pre{background:#f3f3f3}pre{padding:.6em;overflow-x:auto}\
h2{border-top:1px solid #bbb;padding-top:.6em}.method{font-weight:bold}mark{background:#fe8;color:#000}\
@media(max-width:45em){table{display:block}}\
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}a{color:#8bf}code,pre{background:#2a2a2a}}";

/// Returns a page with a field that searches all pages.
pub(crate) fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
         </head>\n<body>\n<nav><a href=\"/docs\">Documentation</a><form action=\"/docs/search\" role=\"search\">\
         <input type=\"search\" name=\"q\" aria-label=\"Search all pages\" placeholder=\"Search all pages\"> \
         <button>Search</button></form></nav>\n{body}\n</body>\n</html>\n"
    )
}

/// Adds a line to a page.
pub(crate) fn push(page: &mut String, html: &str) {
    page.push_str(html);
    page.push('\n');
}

/// Returns a text with the characters that HTML reserves as entities.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns the HTML of paragraphs without links to other documents.
pub(crate) fn markdown(text: &str) -> String {
    render(text, "", &Places::new())
}

/// Returns the HTML of one paragraph, without its tags.
pub(crate) fn inline(text: &str) -> String {
    let html = markdown(text);
    let html = html.trim();
    html.strip_prefix("<p>").and_then(|html| html.strip_suffix("</p>")).unwrap_or(html).to_owned()
}
