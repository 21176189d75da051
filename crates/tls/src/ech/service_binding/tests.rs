//! Vectors of the RFC, round trips, each truncation, and malformed records.

use proptest::prelude::*;

use super::super::Key;
use super::*;

fn read(text: &str) -> Result<ServiceBinding, ServiceBindingError> {
    text.parse()
}

/// A record with all parameters that have names.
fn full() -> ServiceBinding {
    let ech = Key::generate("cover.example", 64).unwrap().config().to_base64();
    read(&format!(
        "host.example. 300 IN HTTPS 16 svc\\046a.example. mandatory=ipv4hint,alpn \
         alpn=\"h2,h\\\\,3\" no-default-alpn port=8443 ipv4hint=192.0.2.1,192.0.2.2 ech={ech} \
         ipv6hint=2001:db8::1 key667=\"a b\\255\""
    ))
    .unwrap()
}

/// RFC 9460 2, 2.1, 2.2, 2.4.2, 2.5, A, A.1, D
#[test]
fn vectors_are_read_and_written() {
    let foo_com = b"\x03foo\x07example\x03com\0";
    let foo_org = b"\x03foo\x07example\x03org\0";
    let of = |priority: u8, target: &[u8], rest: &[u8]| [&[0, priority], target, rest].concat();
    let two = b"\0\x06\0\x20\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\x53\0\x01";
    let embedded = b"\0\x06\0\x10\x20\x01\x0d\xb8\x01\x22\x03\x44\0\0\0\0\xc0\0\x02\x21";
    let sorted = b"\0\0\0\x04\0\x01\0\x04\0\x01\0\x09\x02h2\x05h3-19\0\x04\0\x04\xc0\0\x02\x01";
    let commas = b"\0\x01\0\x0c\x08f\\oo,bar\x02h2";
    for (text, bytes) in [
        ("example.com. HTTPS 0 foo.example.com.", of(0, foo_com, b"")),
        ("example.com. SVCB 1 .", of(1, b"\0", b"")),
        ("example.com. SVCB 16 foo.example.com. port=53", of(16, foo_com, b"\0\x03\0\x02\0\x35")),
        ("1 foo.example.com. key667=hello", of(1, foo_com, b"\x02\x9b\0\x05hello")),
        (
            "1 foo.example.com. key667=\"hello\\210qoo\"",
            of(1, foo_com, b"\x02\x9b\0\x09hello\xd2qoo"),
        ),
        (
            "1 foo.example.com. (\n ipv6hint=\"2001:db8::1,2001:db8::53:1\" ; two\n )",
            of(1, foo_com, two),
        ),
        ("1 . (ipv6hint=\"2001:db8:122:344::192.0.2.33\")", of(1, b"\0", embedded)),
        (
            "16 foo.example.org. (alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1)",
            of(16, foo_org, sorted),
        ),
        (r#"16 foo.example.org. alpn="f\\\\oo\\,bar,h2""#, of(16, foo_org, commas)),
        (r"16 foo.example.org. alpn=f\\\092oo\092,bar,h2", of(16, foo_org, commas)),
    ] {
        let record = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(record.to_rdata(), bytes, "{text}");
        assert_eq!(ServiceBinding::from_rdata(&bytes), Ok(record.clone()), "{text}");
        assert_eq!(read(&record.to_string()), Ok(record), "{text}");
    }
}

/// RFC 9460 2.1, 2.2, 7, 7.1.1, 7.2, 7.3, 8, D, RFC 1035 5.1
#[test]
fn malformed_text_is_refused() {
    use ServiceBindingError as E;
    use ServiceParameter as P;
    let unknown = |name: &str| E::UnknownParameter(name.to_owned());
    let other = |name: &str| E::OtherType(name.to_owned());
    let name_of_256 = format!("1 {}", "a.".repeat(128));
    for (text, error) in [
        ("", E::Priority),
        ("HTTPS", E::Priority),
        ("65536 .", E::Priority),
        ("+1 .", E::Priority),
        ("1", E::MissingTarget),
        ("1 a..b", E::Target),
        ("1 \"a\"", E::Target),
        (&format!("1 {}", "a".repeat(64)), E::Target),
        (&name_of_256, E::Target),
        ("1 . key123=abc key123=def", E::Order(P(123))),
        ("1 . mandatory", E::Value(P::MANDATORY)),
        ("1 . mandatory=alpn,,port", unknown("")),
        ("1 . alpn", E::Value(P::ALPN)),
        ("1 . alpn=h2,,h3", E::Value(P::ALPN)),
        (r"1 . alpn=a\\b", E::Value(P::ALPN)),
        ("1 . port", E::Value(P::PORT)),
        ("1 . port=+5", E::Value(P::PORT)),
        ("1 . port=65536", E::Value(P::PORT)),
        ("1 . ipv4hint", E::Value(P::IPV4HINT)),
        ("1 . ipv4hint=192.0.2", E::Value(P::IPV4HINT)),
        ("1 . ipv6hint", E::Value(P::IPV6HINT)),
        ("1 . ipv6hint=::1,", E::Value(P::IPV6HINT)),
        ("1 . alpn=h2 no-default-alpn=abc", E::Value(P::NO_DEFAULT_ALPN)),
        ("1 . no-default-alpn", E::NoDefaultAlpn),
        ("1 . mandatory=key123", E::MissingMandatory(P(123))),
        ("1 . mandatory=mandatory", E::Value(P::MANDATORY)),
        ("1 . mandatory=key123,key123 key123=abc", E::Value(P::MANDATORY)),
        ("1 . ech=?", E::Value(P::ECH)),
        ("1 . ech=AAAA", E::Ech(ConfigListError::Malformed(tercel_wire::DecodeError::EmptyList))),
        ("1 . dohpath=/", unknown("dohpath")),
        ("1 . key007=a", unknown("key007")),
        ("1 . key65536=a", unknown("key65536")),
        ("1 . key1=\"a", E::Syntax),
        ("1 . key9=a\\", E::Syntax),
        ("1 . key9=a\\25", E::Syntax),
        ("1 . key9=a\\256", E::Syntax),
        ("1 . key9=a\"b\"", E::Syntax),
        ("(1 .", E::Syntax),
        ("1 .)", E::Syntax),
        ("a.example. 300 IN A 192.0.2.1", other("A")),
        ("\\# 4 0001", E::Truncated),
        ("\\# 1 0001", E::TrailingData),
        ("\\# 2 00+1", E::Syntax),
        ("\\# 2 000", E::Syntax),
        ("\\#", E::Syntax),
    ] {
        assert_eq!(read(text), Err(error), "{text}");
    }
}

/// RFC 9460 2.2
#[test]
fn each_truncation_and_each_bit_is_read_without_a_panic() {
    let record = full();
    let bytes = record.to_rdata();
    let ends: Vec<usize> = record
        .parameters()
        .scan(2 + record.target.len() + 1, |place, (_, value)| {
            *place += 4 + value.len();
            Some(*place)
        })
        .collect();
    for length in 0..bytes.len() {
        let cut = ServiceBinding::from_rdata(&bytes[..length]);
        let expected = if ends.contains(&length) || length == 2 + record.target.len() + 1 {
            // Whole parameters are missing; ipv4hint and alpn are mandatory.
            let mandatory = record.parameters().zip(&ends).filter(|(_, end)| **end > length);
            let keys: Vec<_> = mandatory.map(|((key, _), _)| key).collect();
            let missing = [ServiceParameter::ALPN, ServiceParameter::IPV4HINT]
                .into_iter()
                .find(|key| keys.contains(key) && !keys.contains(&ServiceParameter::MANDATORY));
            missing.map(ServiceBindingError::MissingMandatory)
        } else {
            Some(ServiceBindingError::Truncated)
        };
        assert_eq!(cut.err(), expected, "{length}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        if let Ok(other) = ServiceBinding::from_rdata(&changed) {
            assert_eq!(other.to_rdata(), changed, "{bit}");
            assert_ne!(other, record, "{bit}");
        }
    }
}

/// RFC 9460 2.2, RFC 1035 2.3.4, 3.1
#[test]
fn malformed_bytes_are_refused() {
    use ServiceBindingError as E;
    use ServiceParameter as P;
    let longest = [&[63][..], &[b'a'; 63]].concat().repeat(4);
    let long = [&[0, 1][..], &longest, &[0]].concat();
    for (bytes, error) in [
        (&[0, 1, 0xc0, 0x0c][..], E::Target),
        (&[0, 1, 64, 0], E::Target),
        (&long, E::Target),
        (&[0, 1, 0, 0, 3, 0, 2, 1, 1, 0, 3, 0, 2, 1, 1], E::Order(P::PORT)),
        (&[0, 1, 0, 0, 9, 0, 0, 0, 3, 0, 2, 1, 1], E::Order(P::PORT)),
        (&[0, 1, 0, 0, 0, 0, 3, 0, 1, 0], E::Value(P::MANDATORY)),
        (&[0, 1, 0, 0, 0, 0, 0], E::Value(P::MANDATORY)),
        (&[0, 1, 0, 0, 1, 0, 0], E::Value(P::ALPN)),
        (&[0, 1, 0, 0, 1, 0, 2, 2, b'h'], E::Value(P::ALPN)),
        (&[0, 1, 0, 0, 3, 0, 1, 1], E::Value(P::PORT)),
        (&[0, 1, 0, 0, 4, 0, 5, 1, 1, 1, 1, 1], E::Value(P::IPV4HINT)),
        (&[0, 1, 0, 0, 6, 0, 4, 1, 1, 1, 1], E::Value(P::IPV6HINT)),
        (
            &[0, 1, 0, 0, 5, 0, 2, 0, 0],
            E::Ech(ConfigListError::Malformed(tercel_wire::DecodeError::EmptyList)),
        ),
    ] {
        assert_eq!(ServiceBinding::from_rdata(bytes), Err(error), "{bytes:?}");
    }
    // A name of 255 bytes with the root is the longest. RFC 1035 2.3.4
    let mut name = longest;
    name[192] = 61;
    name.truncate(254);
    let long = [&[0, 1][..], &name, &[0]].concat();
    let record = ServiceBinding::from_rdata(&long).unwrap();
    assert_eq!(read(&record.to_string()), Ok(record));
}

/// RFC 9460 2.4.2, 2.5, 7.1, 7.2, 8, 14.3.2, RFC 9848 3
#[test]
fn the_parameters_are_returned() {
    let record = full();
    assert_eq!((record.priority(), record.is_alias()), (16, false));
    assert_eq!(record.target(), "svc\\.a.example.");
    assert_eq!(record.alpn(), [b"h2".to_vec(), b"h,3".to_vec()]);
    assert_eq!(record.port(), Some(8443));
    assert_eq!(record.ech().unwrap().public_name(), Some("cover.example"));
    assert!(record.is_compatible());
    let unknown = read("1 . mandatory=key667 key667=a").unwrap();
    assert!(!unknown.is_compatible());
    assert_eq!((unknown.port(), unknown.ech(), unknown.alpn().len()), (None, None, 0));
    // An alias has no parameters, whatever follows.
    let bytes = [&[0, 0, 1, b'a', 0][..], &record.to_rdata()[2 + record.target.len() + 1..]];
    let alias = ServiceBinding::from_rdata(&bytes.concat()).unwrap();
    assert!(alias.is_alias() && alias.ech().is_none() && alias.parameters().next().is_none());
    assert_eq!(alias.to_string(), "0 a.");
}

/// RFC 9460 9.1, RFC 9848 3
#[test]
fn a_record_is_written_for_a_key() {
    let configs = Key::generate("cover.example", 64).unwrap().config();
    let record = ServiceBinding::service(&["h2", "http/1.1"], &configs).unwrap();
    let text = format!("1 . alpn=\"h2,http/1.1\" ech=\"{}\"", configs.to_base64());
    assert_eq!(record.to_string(), text);
    assert_eq!(read(&text), Ok(record));
    let record = ServiceBinding::service(&[], &configs).unwrap().with_target("a.example").unwrap();
    assert_eq!(record.to_string(), format!("1 a.example. ech=\"{}\"", configs.to_base64()));
    for wrong in ["", "a..b", "\"a\""] {
        assert_eq!(record.clone().with_target(wrong), Err(ServiceBindingError::Target), "{wrong}");
    }
    let none = ServiceBinding::service(&[], &ConfigList::default()).unwrap();
    assert_eq!(none.to_string(), "1 .");
    let empty = ServiceBinding::service(&[""], &configs);
    assert_eq!(empty, Err(ServiceBindingError::Value(ServiceParameter::ALPN)));
}

/// RFC 3597 5
#[test]
fn the_form_for_unknown_types_is_read() {
    let record = full();
    let bytes = record.to_rdata();
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    let (first, second) = digits.split_at(7);
    let text = format!("a. 5 CLASS1 TYPE65 \\# {} ( {first}\n{second} )", bytes.len());
    assert_eq!(read(&text), Ok(record));
}

#[test]
fn errors_have_texts() {
    use ServiceBindingError as E;
    let all = [
        E::Truncated,
        E::TrailingData,
        E::Target,
        E::Order(ServiceParameter(9)),
        E::Value(ServiceParameter::PORT),
        E::Ech(ConfigListError::Base64),
        E::MissingMandatory(ServiceParameter::ALPN),
        E::NoDefaultAlpn,
        E::Priority,
        E::MissingTarget,
        E::UnknownParameter("\u{1b}".to_owned()),
        E::Syntax,
        E::OtherType("A".to_owned()),
        E::TooLong,
    ];
    let texts: std::collections::HashSet<_> = all.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), all.len());
    assert!(texts.iter().all(|text| !text.contains('\u{1b}')));
    assert_eq!(format!("{:?}", E::Value(ServiceParameter::PORT)), "Value(port)");
    let long = read(&format!("1 . key9={}", "a".repeat(65_529)));
    assert_eq!(long, Err(E::TooLong));
    assert!(read(&format!("1 . key9={}", "a".repeat(65_528))).is_ok());
}

proptest! {
    #[test]
    fn bytes_never_panic_and_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let bytes = [&[0, 1], &bytes[..]].concat();
        if let Ok(record) = ServiceBinding::from_rdata(&bytes) {
            prop_assert_eq!(&record.to_rdata(), &bytes);
            prop_assert_eq!(read(&record.to_string()), Ok(record));
        }
    }

    #[test]
    fn values_of_any_bytes_are_written_and_read(
        label in prop::collection::vec(any::<u8>(), 1..64),
        name in prop::collection::vec(any::<u8>(), 1..255),
        value in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let target = [&[u8::try_from(label.len()).unwrap()][..], &label].concat();
        let alpn = [&[u8::try_from(name.len()).unwrap()][..], &name].concat();
        let record = ServiceBinding { priority: 9, target, parameters: vec![(1, alpn), (300, value)] };
        prop_assert_eq!(read(&record.to_string()), Ok(record.clone()));
        prop_assert_eq!(ServiceBinding::from_rdata(&record.to_rdata()), Ok(record));
    }

    #[test]
    fn text_never_panics(text in "[ -~\n]{0,60}", quoted in "[\\\\\"=,;() a-z0-9.]{0,40}") {
        let _ = read(&text);
        let _ = read(&format!("1 . {quoted}"));
    }
}
