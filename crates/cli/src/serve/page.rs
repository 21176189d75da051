//! The page with the negotiated parameters. All values from the peer are escaped.

use hyper::StatusCode;
use hyper::body::Bytes;
use tercel::{ConnectionInfo, Side};

use super::http::Response;
use crate::negotiated;

/// The page for this connection. `client` is the subject of the certificate with which the client
/// was authenticated after the handshake.
pub(crate) fn render(info: &ConnectionInfo, client: Option<&str>) -> String {
    let mut rows = negotiated::rows(info, Side::Server);
    if let Some(client) = client {
        rows.retain(|(key, _)| *key != "client-certificate");
        rows.push(("client-certificate", client.to_owned()));
    }
    document(&rows)
}

/// The response for a path: `/` is the page, and no other path exists.
pub(crate) fn answer(path: &str, page: Bytes) -> Response {
    match path {
        "/" => Response::text(StatusCode::OK, "text/html; charset=utf-8", page),
        _ => Response::status(StatusCode::NOT_FOUND),
    }
}

fn document(rows: &[(&str, String)]) -> String {
    let mut page = HEAD.to_owned();
    for (key, value) in rows {
        page.push_str("<tr><th>");
        escape(key, &mut page);
        page.push_str("</th><td>");
        escape(value, &mut page);
        page.push_str("</td></tr>\n");
    }
    page.push_str(FOOT);
    page
}

fn escape(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
}

const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Tercel</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 44rem; padding: 0 1rem }
th { font-weight: normal; text-align: left; padding-right: 2rem; opacity: .7 }
td { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
</style>
</head>
<body>
<h1>Tercel</h1>
<p>This connection was negotiated as follows.</p>
<table>
"#;

const FOOT: &str = "</table>\n</body>\n</html>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_cannot_write_markup() {
        let page = document(&[("alpn", "<script>\"&'".to_owned())]);
        assert!(page.contains("<th>alpn</th><td>&lt;script&gt;&quot;&amp;&#39;</td>"), "{page}");
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    }

    #[test]
    fn only_the_root_is_the_page() {
        assert_eq!(answer("/", "x".into()).code(), StatusCode::OK);
        assert_eq!(answer("/favicon.ico", "x".into()).code(), StatusCode::NOT_FOUND);
    }
}
