//! Parsing of complete, partial and malformed requests.

use super::*;

fn request(text: &str) -> Result<Option<Request>, Status> {
    parse(text.as_bytes())
}

fn complete(text: &str) -> Request {
    request(text).unwrap().unwrap()
}

#[test]
fn a_head_is_complete_only_at_its_end() {
    let text = "GET /a/b?c=d HTTP/1.1\r\nHost: x\r\n\r\n";
    for end in 1..text.len() {
        assert_eq!(request(&text[..end]), Ok(None), "{end}");
    }
    let expected = Request {
        method: Method::Get,
        path: "/a/b".to_owned(),
        keep_alive: true,
        length: text.len(),
    };
    assert_eq!(complete(text), expected);
    assert_eq!(complete(&format!("{text}GET / HT")), expected);
}

#[test]
fn connections_are_kept_only_when_that_is_safe() {
    let keeps = |head: &str| complete(&format!("{head}\r\n\r\n")).keep_alive;
    assert!(keeps("HEAD / HTTP/1.1\r\nHost: x"));
    assert!(keeps("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0"));
    assert!(!keeps("GET / HTTP/1.1\r\nHost: x\r\nConnection: foo, Close"));
    assert!(!keeps("GET / HTTP/1.0"));
    assert!(!keeps("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5"));
    assert!(!keeps("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked"));
}

/// RFC 9112 3.2
#[test]
fn targets_of_every_form() {
    assert_eq!(path_of("/x?y#z"), Some("/x"));
    assert_eq!(path_of("https://localhost:8443/x?y"), Some("/x"));
    assert_eq!(path_of("HTTP://localhost"), Some("/"));
    assert_eq!(path_of("*"), None);
    assert_eq!(path_of("ftp://x/y"), None);
    assert_eq!(complete("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").method, Method::Other);
    assert_eq!(request("GET * HTTP/1.1\r\nHost: x\r\n\r\n"), Err(Status::BadRequest));
}

#[test]
fn malformed_heads_are_refused() {
    for text in [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: x\r\n\r\n",
        "\u{16}\u{3}\u{1}",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
    ] {
        assert_eq!(request(text), Err(Status::BadRequest), "{text:?}");
    }
}

#[test]
fn heads_are_bounded() {
    let many = "A: b\r\n".repeat(MAX_HEADERS + 1);
    let text = format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n");
    assert_eq!(request(&text), Err(Status::HeadTooLarge));
    let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(MAX_HEAD));
    assert_eq!(request(&long), Err(Status::HeadTooLarge));
    let endless = receive(&mut io::repeat(b'G'), &mut Vec::new()).unwrap();
    assert!(matches!(endless, Received::Refused(Status::HeadTooLarge)));
}

#[test]
fn an_end_within_a_head_is_no_ordinary_end() {
    let mut cut = &b"GET / HTTP/1.1\r\n"[..];
    let received = receive(&mut cut, &mut Vec::new()).unwrap();
    assert!(matches!(received, Received::Refused(Status::BadRequest)));
    assert!(matches!(receive(&mut io::empty(), &mut Vec::new()).unwrap(), Received::End));
}

#[test]
fn responses_carry_their_length_and_head_has_no_body() {
    let sent = |head_only| {
        let mut out = Vec::new();
        let response = Response::text(Status::Ok, "text/plain", "body".to_owned());
        response.send(&mut out, head_only, true).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert!(sent(false).starts_with("HTTP/1.1 200 OK\r\n"));
    assert!(sent(false).ends_with("\r\n\r\nbody"));
    assert!(sent(true).contains("Content-Length: 4\r\n") && sent(true).ends_with("\r\n\r\n"));
    let mut out = Vec::new();
    Response::status(Status::MethodNotAllowed).send(&mut out, false, false).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("Allow: GET, HEAD\r\n") && text.contains("Connection: close\r\n"));
}
