//! XMPP, from client to server: RFC 6120 4.2 and 5.4.
//!
//! Only tags are read: their local names and where elements end. XMPP has no comments, CDATA
//! sections or processing instructions (RFC 6120 11.1), so a tag ends with the first `>` outside of
//! quotes.

use std::io::{Read, Write};

use super::dialogue::Dialogue;
use super::error::StarttlsError;

pub(super) fn begin<S: Read + Write>(
    dialogue: &mut Dialogue<'_, S>,
    host: &str,
) -> Result<(), StarttlsError> {
    dialogue.send(format!(
        "<?xml version='1.0'?><stream:stream to='{}' version='1.0' xmlns='jabber:client' \
         xmlns:stream='http://etherx.jabber.org/streams'>",
        escape(host)
    ))?;
    // Text before the header is another protocol's greeting, which would never end with a tag.
    let greeting = dialogue.take_until(|bytes| match bytes.trim_ascii_start().first() {
        None => None,
        Some(b'<') => Some(0),
        Some(_) => Some(bytes.len()),
    })?;
    if !greeting.is_empty() {
        return Err(StarttlsError::not(XMPP, greeting));
    }
    let mut header = Tag::read(dialogue)?;
    if header.text.trim_start().starts_with("<?xml ") {
        header = Tag::read(dialogue)?;
    }
    if !header.is(Kind::Start, "stream") {
        return Err(StarttlsError::not(XMPP, header.text));
    }
    read_features(dialogue)?;
    dialogue.send(format!("<starttls xmlns='{NAMESPACE}'/>"))?;
    let answer = Tag::read(dialogue)?;
    if answer.name != "proceed" || !answer.text.contains(NAMESPACE) {
        return Err(StarttlsError::refused(answer.text));
    }
    match answer.kind {
        Kind::Empty => Ok(()),
        Kind::Start if Tag::read(dialogue)?.is(Kind::End, "proceed") => Ok(()),
        _ => Err(StarttlsError::not(XMPP, answer.text)),
    }
}

/// Reads the features of the server up to their end. STARTTLS has to be among them.
fn read_features<S: Read + Write>(dialogue: &mut Dialogue<'_, S>) -> Result<(), StarttlsError> {
    let features = Tag::read(dialogue)?;
    match (features.kind, features.name.as_str()) {
        (Kind::Start, "features") => {}
        (Kind::Empty, "features") => return Err(StarttlsError::not_offered(features.text)),
        // The first child of an error is its condition. RFC 6120 4.9.2
        (Kind::Start, "error") => return Err(StarttlsError::refused(Tag::read(dialogue)?.text)),
        _ => return Err(StarttlsError::not(XMPP, features.text)),
    }
    let (mut is_offered, mut offers) = (false, String::new());
    loop {
        let tag = Tag::read(dialogue)?;
        if tag.is(Kind::End, "features") {
            return if is_offered { Ok(()) } else { Err(StarttlsError::not_offered(offers)) };
        }
        is_offered |= tag.name == "starttls" && tag.text.contains(NAMESPACE);
        offers.push_str(&tag.text);
    }
}

/// A tag.
#[derive(Debug)]
struct Tag {
    kind: Kind,
    /// The name without its prefix.
    name: String,
    /// The text before the tag, then the tag with its brackets.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Start,
    End,
    Empty,
}

impl Tag {
    fn read<S: Read + Write>(dialogue: &mut Dialogue<'_, S>) -> Result<Self, StarttlsError> {
        let bytes = dialogue.take_until(tag_length)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let tag = text.split_once('<').map_or("", |(_, tag)| tag);
        let (kind, tag) = match (tag.strip_prefix('/'), tag.strip_suffix("/>")) {
            (Some(rest), _) => (Kind::End, rest),
            (None, Some(rest)) => (Kind::Empty, rest),
            (None, None) => (Kind::Start, tag),
        };
        let name = tag.split(|c: char| c.is_ascii_whitespace() || c == '>').next();
        let name = name.unwrap_or_default();
        let name = name.split_once(':').map_or(name, |(_prefix, local)| local).to_owned();
        Ok(Self { kind, name, text })
    }

    fn is(&self, kind: Kind, name: &str) -> bool {
        self.kind == kind && self.name == name
    }
}

/// The length up to the end of the first tag. A value in quotes may contain `>`.
fn tag_length(bytes: &[u8]) -> Option<usize> {
    let (mut in_tag, mut quote) = (false, None);
    for (position, &byte) in bytes.iter().enumerate() {
        match (byte, quote) {
            (b'<', None) => in_tag = true,
            (b'>', None) if in_tag => return Some(position + 1),
            (b'\'' | b'"', None) if in_tag => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// A value for an attribute in single quotes.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('\'', "&apos;")
}

const XMPP: &str = "XMPP";

const NAMESPACE: &str = "urn:ietf:params:xml:ns:xmpp-tls";

#[cfg(test)]
mod tests {
    use super::super::Protocol::Xmpp;
    use super::super::script::Step::{self, Expect, Send};
    use super::super::script::{check, run};
    use super::escape;

    const HEADER: Step<'_> = Expect(
        b"<?xml version='1.0'?><stream:stream to='a.example' version='1.0' xmlns='jabber:client' \
          xmlns:stream='http://etherx.jabber.org/streams'>",
    );
    const ANSWER: &str = "<?xml version='1.0'?><stream:stream from='a>.example' id=\"'\" \
        xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>";
    const COMMAND: Step<'_> = Expect(b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>");
    const OFFER: &str = "<stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'>\
        <required/></starttls><mechanisms xmlns='x'><mechanism>PLAIN</mechanism></mechanisms>\
        </stream:features>";

    fn answers(features: &str) -> Vec<u8> {
        [ANSWER, features].concat().into_bytes()
    }

    /// RFC 6120 4.2, 5.4, 11.1
    #[test]
    fn tls_begins_after_proceed() {
        let offer = answers(OFFER);
        for proceed in [
            &b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"[..],
            b"<proceed xmlns=\"urn:ietf:params:xml:ns:xmpp-tls\"></proceed>",
        ] {
            check(Xmpp, &[HEADER, Send(&offer), COMMAND, Send(proceed)]);
        }
        let other = [HEADER, Send(&offer), COMMAND, Send(b"<proceed xmlns='other'/>")];
        assert!(run(Xmpp, &other).unwrap_err().to_string().contains("refused STARTTLS"));
    }

    /// RFC 6120 4.9.2, 5.4
    #[test]
    fn refusals_are_quoted() {
        let failure = Send(b"<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/></stream:stream>");
        let refused = run(Xmpp, &[HEADER, Send(&answers(OFFER)), COMMAND, failure]);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.starts_with("the server refused STARTTLS; it answered `<failure "));
        for features in ["<stream:features/>", "<stream:features><x/></stream:features>"] {
            let absent = run(Xmpp, &[HEADER, Send(&answers(features))]).unwrap_err();
            assert!(absent.to_string().contains("does not offer STARTTLS"), "{absent}");
        }
        let error = answers("<stream:error><host-unknown xmlns='x'/></stream:error>");
        let refused = run(Xmpp, &[HEADER, Send(&error)]).unwrap_err().to_string();
        assert!(refused.contains("refused") && refused.contains("host-unknown"), "{refused}");
        let other = [(&b"220 mx ESMTP\r\n"[..], "220 mx"), (b"<html>", "<html>")];
        for (greeting, quoted) in other {
            let other = run(Xmpp, &[HEADER, Send(greeting)]).unwrap_err().to_string();
            assert!(other.contains("does not speak XMPP") && other.contains(quoted), "{other}");
        }
    }

    #[test]
    fn the_host_cannot_add_attributes() {
        assert_eq!(escape("a' b='<&"), "a&apos; b=&apos;&lt;&amp;");
    }
}
