//! Parts shared by all pages: document frame, escaping, colours of peers.

use std::fmt::{self, Write};

use crate::report::Report;

const STYLE: &str = concat!(include_str!("page.css"), include_str!("profile.css"));

/// A document with this title. `body` writes its content.
pub(crate) fn document(title: &str, body: impl FnOnce(&mut String) -> fmt::Result) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        Escaped(title)
    );
    let written = body(&mut page);
    debug_assert!(written.is_ok(), "a string takes everything");
    page.push_str("</body>\n</html>\n");
    page
}

/// The number of peer colours in `page.css`.
const COLOURS: usize = 12;

/// The suffix of a peer's colour classes: `p` for areas, `l` for lines. The floor is grey.
pub(crate) fn colour(report: &Report, peer: &str) -> String {
    match report.peers.iter().position(|each| each.name == peer) {
        Some(place) if !report.peers[place].floor => (place % COLOURS).to_string(),
        _ => "floor".to_owned(),
    }
}

/// A square in the colour of a peer.
pub(crate) struct ColourKey<'r>(pub(crate) &'r Report, pub(crate) &'r str);

impl fmt::Display for ColourKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<span class=\"key p{}\"></span>", colour(self.0, self.1))
    }
}

/// Text escaped for HTML.
pub(crate) struct Escaped<'t>(pub(crate) &'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for each in self.0.chars() {
            match each {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_says_is_text() {
        assert_eq!(Escaped("<a href=\"x\">&").to_string(), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
