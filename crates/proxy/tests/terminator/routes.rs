//! Routes are selected by server name, and have their own settings.

use rcgen::{CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tercel::Credential;
use tercel::pki_types::PrivateKeyDer;
use tercel::wire::ProtocolVersion;

use crate::support::{
    Folder, VERSIONS, client, config, connect, connect_with, echo, echoed, exchange, greeting_echo,
    identity, metric, quoted,
};

async fn served_by(proxy: &tercel_proxy::Proxy, name: &'static str) -> Option<String> {
    let mut stream = connect(proxy, name, client()).await.ok()?;
    Some(String::from_utf8(exchange(&mut stream, b"").await.unwrap()).unwrap())
}

#[tokio::test]
async fn routes_are_selected_by_server_name() {
    let folder = Folder::new(&["a.example", "*.a.example", "b.example", "c.example"]);
    let [exact, wild, other] = [
        greeting_echo(b"exact").await,
        greeting_echo(b"wild").await,
        greeting_echo(b"other").await,
    ];
    let named = format!(
        "[[listener.route]]\nnames = \"a.example\"\nto = \"{exact}\"\n\
         [[listener.route]]\nnames = [\"*.a.example\", \"B.example\"]\nto = \"{wild}\"\n"
    );
    let proxy = folder.start(&named);
    assert_eq!(served_by(&proxy, "a.example").await.as_deref(), Some("exact"));
    assert_eq!(served_by(&proxy, "x.a.example").await.as_deref(), Some("wild"));
    assert_eq!(served_by(&proxy, "b.example").await.as_deref(), Some("wild"));
    // The name has a certificate but no route.
    assert_eq!(served_by(&proxy, "c.example").await, None);
    let proxy = folder.start(&format!("to = \"{other}\"\n{named}"));
    assert_eq!(served_by(&proxy, "a.example").await.as_deref(), Some("exact"));
    assert_eq!(served_by(&proxy, "c.example").await.as_deref(), Some("other"));
}

#[tokio::test]
async fn route_settings_override_listener_settings() {
    let folder = Folder::new(&["a.example", "b.example"]);
    let to = echo().await;
    let proxy = folder.start(&format!(
        "to = \"{to}\"\nalpn = [\"one\"]\n\
         [[listener.route]]\nnames = \"b.example\"\nalpn = [\"two\"]\nmin_version = \"1.3\"\n"
    ));
    let both = || client().alpn(&["two", "one"]);
    let agreed = connect(&proxy, "a.example", both()).await.unwrap();
    assert_eq!(agreed.info().alpn.as_deref(), Some(b"one".as_slice()));
    let agreed = connect(&proxy, "b.example", both()).await.unwrap();
    assert_eq!(agreed.info().alpn.as_deref(), Some(b"two".as_slice()));
    let old = || client().versions(&[ProtocolVersion::TLS1_2]);
    assert!(connect(&proxy, "a.example", old()).await.is_ok());
    assert!(connect(&proxy, "b.example", old()).await.is_err());
    assert!(connect(&proxy, "a.example", client().alpn(&["three"])).await.is_err());
}

#[tokio::test]
async fn route_can_require_client_certificates() {
    let folder = Folder::new(&["a.example", "b.example"]);
    let authority = quoted(&folder.path("ca.pem"));
    let proxy = folder.start(&format!(
        "to = \"{}\"\n[[listener.route]]\nnames = \"b.example\"\n\
         client_auth = \"required\"\nclient_ca = {authority}\n",
        echo().await
    ));
    assert_eq!(served_by(&proxy, "a.example").await.as_deref(), Some(""));
    let without_certificate = connect(&proxy, "b.example", client()).await;
    // In TLS 1.3 the client completes its handshake before the server refuses it.
    if let Ok(mut stream) = without_certificate {
        assert!(exchange(&mut stream, b"x").await.is_err());
    }
    let alice = client().credential(identity("alice"));
    let mut stream = connect(&proxy, "b.example", alice).await.unwrap();
    assert_eq!(exchange(&mut stream, b"x").await.unwrap(), b"x");
}

/// A certificate that is not an authority's certifies no clients: it is trusted only as itself,
/// with a warning. RFC 5280 4.2.1.9
#[tokio::test]
async fn client_ca_with_a_clients_certificate_certifies_nobody_else() {
    let folder = Folder::new(&["a.example"]);
    let (alice_key, admin_key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let named = |name: &str| {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params
    };
    let mut params = named("alice");
    params.is_ca = IsCa::ExplicitNoCa;
    let alice = params.self_signed(&alice_key).unwrap();
    let issuer = Issuer::new(params, &alice_key);
    let admin = named("admin").signed_by(&admin_key, &issuer).unwrap();
    std::fs::write(folder.path("alice.pem"), alice.pem()).unwrap();
    std::fs::write(folder.path("admin.pem"), admin.pem()).unwrap();
    let text = |file| {
        let file = quoted(&folder.path(file));
        format!("client_auth = \"required\"\nclient_ca = {file}\n")
    };
    let parsed = |settings: &str| config(&format!("{}{settings}", folder.listener()));
    let backend = echo().await;
    let settings = |file| format!("to = \"{}\"\n{}", backend, text(file));
    for (file, subject) in [("admin.pem", "CN=admin"), ("alice.pem", "CN=alice")] {
        let (warnings, contents) = tercel_proxy::check_files(&parsed(&settings(file))).unwrap();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        let expected = format!("\"{subject}\" is trusted only as itself");
        assert!(warning.to_string().contains(&expected), "{warning}");
        let described = format!("{file}: 1 CERTIFICATE");
        assert!(contents.iter().any(|line| line.ends_with(&described)), "{contents:?}");
    }
    let settings = settings("alice.pem");
    let proxy = folder.start(&settings);
    let credential = |certificate: &rcgen::Certificate, key: &KeyPair| {
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        Credential::new(vec![certificate.der().clone()], &key).unwrap()
    };
    for version in VERSIONS {
        let client = |credential| {
            let client = client().versions(&[version]).credential(credential);
            connect(&proxy, "a.example", client)
        };
        let mut accepted = client(credential(&alice, &alice_key)).await.unwrap();
        assert_eq!(echoed(&mut accepted, b"x").await, b"x", "{version:?}");
        // In TLS 1.3 the client completes its handshake before the server refuses it.
        if let Ok(mut refused) = client(credential(&admin, &admin_key)).await {
            assert!(exchange(&mut refused, b"x").await.is_err(), "{version:?}");
        }
    }
}

/// In HTTP, a client of the weaker route can request the names of the stronger one.
#[tokio::test]
async fn a_route_around_the_client_certificates_of_another_is_a_warning() {
    let folder = Folder::new(&["a.example", "b.example"]);
    std::fs::copy(folder.path("ca.pem"), folder.path("other.pem")).unwrap();
    let auth = |demand: &str, file: &str| {
        let file = quoted(&folder.path(file));
        format!("client_auth = \"{demand}\"\nclient_ca = {file}\n")
    };
    let (required, optional) = (auth("required", "ca.pem"), auth("optional", "ca.pem"));
    let others = auth("required", "other.pem");
    let route = |name: &str, to: &str, auth: &str| {
        format!("[[listener.route]]\nnames = \"{name}\"\nto = {to}\n{auth}")
    };
    let warned = |routes: &[String]| {
        let config = config(&format!("{}{}", folder.listener(), routes.concat()));
        let warnings = tercel_proxy::check(&config).unwrap();
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let (one, two) = ("\"127.0.0.1:9\"", "\"127.0.0.1:8\"");
    for (first, second, expected) in [
        ((one, &required), (one, &String::new()), Some((1, "unlike this route"))),
        ((one, &required), (one, &optional), Some((1, "unlike this route"))),
        ((one, &optional), (one, &required), Some((0, "unlike this route"))),
        // Another notation of the address, and one of several backends.
        ((one, &required), ("\"[::ffff:127.0.0.1]:9\"", &optional), Some((1, "127.0.0.1:9 is"))),
        ((one, &required), ("\"0.0.0.0:9\"", &optional), Some((1, "127.0.0.1:9 is"))),
        ((one, &required), (&*format!("[{two}, {one}]"), &optional), Some((1, "127.0.0.1:9 is"))),
        (("\"unix:/x\"", &required), ("\"unix:/x\"", &optional), Some((1, "unix:/x is also"))),
        ((one, &required), (one, &required), None),
        ((one, &required), (two, &optional), None),
        ((one, &optional), (one, &String::new()), None),
    ] {
        let routes = [("a.example", first), ("b.example", second)];
        let routes = routes.map(|(name, (to, auth))| route(name, to, auth));
        let warnings = warned(&routes);
        match expected {
            None => assert!(warnings.is_empty(), "{warnings:?}"),
            Some((weaker, expected)) => {
                let [warning] = &warnings[..] else { panic!("{warnings:?}") };
                let key = format!("test.toml: listener[0].route[{weaker}].to: ");
                assert!(warning.starts_with(&key) && warning.contains(expected), "{warning}");
                let other = format!("a backend of listener[0].route[{}], which", 1 - weaker);
                assert!(warning.contains(&other), "{warning}");
            }
        }
    }
    // Routes with different authorities lead around each other.
    let mutual = [("a.example", &required), ("b.example", &others)];
    let warnings = warned(&mutual.map(|(name, auth)| route(name, one, auth)));
    for (place, warning) in warnings.iter().enumerate() {
        assert!(warning.contains(&format!("listener[0].route[{place}].to: ")), "{warning}");
    }
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    // A route that does not terminate TLS requires no certificate.
    let through = |to| route("b.example", to, "passthrough = true\n");
    let warnings = warned(&[route("a.example", one, &required), through(one)]);
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with("test.toml: listener[0].route[1].to: 127.0.0.1:9 is"), "{warning}");
    assert!(warning.contains("unlike this route: the bytes of its clients"), "{warning}");
    for (auth, relayed_to) in [(&optional, one), (&required, two)] {
        assert!(warned(&[route("a.example", one, auth), through(relayed_to)]).is_empty());
    }
}

/// Such a certificate is in use, so that one of many does not prevent the start.
#[tokio::test]
async fn a_certificate_outside_its_validity_is_a_warning() {
    let folder = Folder::new(&["a.example"]);
    let key = KeyPair::generate().unwrap();
    for (first, last, expected) in [
        (2000, 2001, "expired at 2001-01-01 00:00:00 UTC; the certificate is served nevertheless"),
        (2300, 2301, "not valid before 2300-01-01 00:00:00 UTC; the certificate is served"),
    ] {
        let mut params = CertificateParams::new(["old.example".to_owned()]).unwrap();
        (params.not_before, params.not_after) =
            (rcgen::date_time_ymd(first, 1, 1), rcgen::date_time_ymd(last, 1, 1));
        let old = params.self_signed(&key).unwrap();
        std::fs::write(folder.path("certs/old.pem"), old.pem() + &key.serialize_pem()).unwrap();
        let to = echo().await;
        let config = config(&format!("{}to = \"{to}\"\n", folder.listener()));
        let warnings = tercel_proxy::check(&config).unwrap();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.to_string().contains(expected), "{warning}");
    }
}

#[tokio::test]
async fn sessions_are_resumed() {
    let folder = Folder::new(&["a.example"]);
    let proxy = folder.start(&format!("to = \"{}\"", echo().await));
    for version in VERSIONS {
        let config = client().versions(&[version]).build().unwrap();
        for resumed in [false, true, true] {
            let stream = connect_with(&proxy, "a.example", config.clone()).await;
            let mut stream = stream.unwrap();
            assert_eq!(stream.info().resumed, resumed, "{version:?}");
            assert_eq!(echoed(&mut stream, b"x").await, b"x");
        }
    }
    assert_eq!(metric(&proxy, "tercel_connections_accepted_total"), 6);
}
