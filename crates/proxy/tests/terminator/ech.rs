//! Encrypted ClientHello: keys from a folder, and both sides of split mode.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tercel::ech::{ConfigList, Key, Keys, Offer, Retry};
use tercel::wire::NamedGroup;
use tercel::{ClientConfig, Ech, Handshake, Next, ReceiveBuffer, ServerConfig};
use tercel_proxy::{Config, Proxy};
use tercel_tokio::{Acceptor, Connector, HandshakeError, TlsStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{
    Folder, backend, client, config, connect, echo, echoed, identity, metric, parse, quoted,
    recording_backend, start, unused_address, wait_until,
};

pub(crate) const PUBLIC: &str = "cover.example";
pub(crate) const SECRET: &str = "secret.example";

/// Certificates for the public name and the other names, and an empty folder for keys.
pub(crate) fn folder(names: &[&str]) -> Folder {
    let folder = Folder::new(&[names, &[PUBLIC]].concat());
    fs::create_dir(folder.path("ech")).unwrap();
    folder
}

fn write_pem(path: &PathBuf, pem: &str) {
    let new = path.with_extension("new");
    fs::write(&new, pem).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(0o640)).unwrap();
    fs::rename(&new, path).unwrap();
}

/// Writes a key file, and returns the configuration of the key.
pub(crate) fn add_key(folder: &Folder, name: &str, public_name: &str) -> ConfigList {
    let key = Key::generate(public_name, 32).unwrap();
    write_pem(&folder.path(&format!("ech/{name}.ech")), &key.to_pem().unwrap());
    key.config()
}

/// TOML of the keys and of a listener that terminates TLS.
fn settings(folder: &Folder, more: &str) -> String {
    let directory = quoted(&folder.path("ech"));
    format!("workers = 1\n[ech]\ndirectory = {directory}\n{more}\n{}", folder.listener())
}

/// One attempt.
pub(crate) async fn attempt(
    proxy: &Proxy,
    config: &Arc<ClientConfig>,
    offer: Offer,
) -> io::Result<TlsStream<TcpStream>> {
    attempt_at(proxy.addresses()[0], config, offer, 1).await
}

/// Connects with at most this number of attempts.
pub(crate) async fn attempt_at(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    offer: Offer,
    attempts: usize,
) -> io::Result<TlsStream<TcpStream>> {
    let left = AtomicUsize::new(attempts);
    let open = || async {
        if left.fetch_sub(1, Ordering::Relaxed) == 0 {
            left.store(0, Ordering::Relaxed);
            return Err(io::ErrorKind::Other.into());
        }
        TcpStream::connect(address).await
    };
    let connector = Connector::new(Arc::clone(config));
    connector.connect_with_ech(SECRET.try_into().unwrap(), offer, open).await
}

pub(crate) async fn connected(
    proxy: &Proxy,
    config: &Arc<ClientConfig>,
    configs: &ConfigList,
) -> TlsStream<TcpStream> {
    attempt(proxy, config, Offer::Configs(configs.clone())).await.unwrap()
}

fn count(proxy: &Proxy, result: &str) -> u64 {
    metric(proxy, &format!("tercel_ech_total{{result=\"{result}\"}}"))
}

/// Connects with an outdated configuration and returns those that the server sends.
async fn rejected(proxy: &Proxy, config: &Arc<ClientConfig>, configs: &ConfigList) -> ConfigList {
    let offer = || Offer::Configs(configs.clone());
    let handshake = Handshake::client(Arc::clone(config), SECRET.try_into().unwrap());
    let mut handshake = handshake.with_ech(offer());
    let mut transport = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    loop {
        let step = handshake.advance(&mut received, &mut out);
        transport.write_all(&out).await.unwrap();
        out.clear();
        match step {
            Ok(Next::Receive) => {
                let count = transport.read(received.spare()).await.unwrap();
                assert!(count > 0);
                received.filled(count);
            }
            Err(tercel::Error::EchRejected) => break,
            other => panic!("{other:?}"),
        }
    }
    // A close with unread data would reset the connection, and the alert could be lost.
    while transport.read(received.spare()).await.is_ok_and(|count| count > 0) {}
    handshake.ech_retry_configs().unwrap().clone()
}

/// RFC 9849 7.1
#[tokio::test]
async fn every_key_opens_and_the_newest_is_sent() {
    let folder = folder(&[SECRET]);
    let old = add_key(&folder, "2026-01", PUBLIC);
    let new = add_key(&folder, "2026-02", PUBLIC);
    fs::write(folder.path("ech/README"), "not a key").unwrap();
    let removed = Key::generate(PUBLIC, 32).unwrap().config();
    let (to, mut events) = recording_backend().await;
    let proxy = start(&settings(&folder, "").replace(
        "[[listener]]",
        &format!("[[listener]]\nto = \"{to}\"\nsend_proxy_protocol = true"),
    ));
    let config = client().build().unwrap();
    for (number, configs) in [&old, &new].into_iter().enumerate() {
        let mut stream = connected(&proxy, &config, configs).await;
        assert_eq!(stream.info().ech, Ech::Accepted);
        stream.shutdown().await.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        let header = parse(&events.recv().await.unwrap());
        assert_eq!(header.value(2), Some(SECRET.as_bytes()), "the inner name");
        assert_eq!(count(&proxy, "accepted"), 1 + u64::try_from(number).unwrap());
    }
    assert_eq!(rejected(&proxy, &config, &removed).await, new);
    wait_until("the rejection is counted", || count(&proxy, "rejected") == 1).await;
    assert_eq!(count(&proxy, "grease_or_unknown"), 1);
    let mut stream = attempt(&proxy, &config, Offer::Grease).await.unwrap();
    assert_eq!(stream.info().ech, Ech::Grease);
    stream.shutdown().await.unwrap();
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(count(&proxy, "grease_or_unknown"), 2);
    assert_eq!(count(&proxy, "rejected"), 1);
    // An attempt with the configuration that the server sent.
    let address = proxy.addresses()[0];
    let offer = Offer::Configs(removed.clone());
    let stream = attempt_at(address, &config, offer, 2).await.unwrap();
    assert_eq!(stream.info().ech, Ech::Accepted);
    wait_until("the second attempt is counted", || count(&proxy, "accepted") == 3).await;
    // Other keys may be sent.
    for (retry, expected) in [("2026-01", &old), ("2026-02", &new)] {
        let more = format!("retry = [\"{retry}.ech\"]");
        let text = settings(&folder, &more);
        let proxy = start(&text.replace("[[listener]]", &format!("[[listener]]\nto = \"{to}\"")));
        assert_eq!(&rejected(&proxy, &config, &removed).await, expected);
    }
}

fn served(folder: &Folder, to: SocketAddr) -> String {
    settings(folder, "").replace("[[listener]]", &format!("[[listener]]\nto = \"{to}\""))
}

#[tokio::test]
async fn keys_are_replaced_as_a_whole() {
    let folder = folder(&[SECRET]);
    let first = add_key(&folder, "1", PUBLIC);
    let mut proxy = start(&served(&folder, echo().await));
    let config = client().build().unwrap();
    assert_eq!(connected(&proxy, &config, &first).await.info().ech, Ech::Accepted);
    assert_eq!(proxy.reload_ech_keys(), Ok(()));
    let second = add_key(&folder, "2", PUBLIC);
    assert_eq!(proxy.reload_ech_keys(), Ok(()));
    for configs in [&first, &second] {
        assert_eq!(connected(&proxy, &config, configs).await.info().ech, Ech::Accepted);
    }
    fs::remove_file(folder.path("ech/1.ech")).unwrap();
    assert_eq!(proxy.reload_ech_keys(), Ok(()));
    assert_eq!(rejected(&proxy, &config, &first).await, second);
    // Each of these files is rejected, and the keys stay in use.
    let path = folder.path("ech/3.ech");
    let other = || Key::generate("other.example", 0).unwrap().to_pem().unwrap();
    let fitting = || Key::generate(PUBLIC, 0).unwrap().to_pem().unwrap();
    let half = fitting();
    for (pem, mode, expected) in [
        ("", 0o640, "does not have exactly one section PRIVATE KEY"),
        (&half[..half.len() / 2], 0o640, "ech/3.ech: ECH key file"),
        (&other(), 0o640, "no listener has a certificate for the public name other.example"),
        (&fitting(), 0o644, "is readable by others"),
    ] {
        write_pem(&path, pem);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = proxy.reload_ech_keys().unwrap_err();
        assert!(error.contains(expected), "{error}");
        assert_eq!(proxy.reload_ech_keys(), Ok(()), "it is reported once");
        assert_eq!(connected(&proxy, &config, &second).await.info().ech, Ech::Accepted);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(proxy.reload_ech_keys().unwrap_err().contains("not a regular file"));
    fs::remove_dir(&path).unwrap();
    write_pem(&path, &"a".repeat(20_000));
    assert!(proxy.reload_ech_keys().unwrap_err().contains("more than 16 KiB"));
    fs::remove_file(&path).unwrap();
    for at in 0..16 {
        add_key(&folder, &format!("many-{at}"), PUBLIC);
    }
    assert!(proxy.reload_ech_keys().unwrap_err().contains("more than 16 ECH keys"));
    for entry in fs::read_dir(folder.path("ech")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert!(proxy.reload_ech_keys().unwrap_err().contains("has no *.ech file"));
    assert_eq!(connected(&proxy, &config, &second).await.info().ech, Ech::Accepted);
    // A reload of the configuration keeps the keys, or refuses listeners without their name.
    proxy.reload(self::config(&served(&folder, echo().await))).unwrap();
    assert_eq!(connected(&proxy, &config, &second).await.info().ech, Ech::Accepted);
    let elsewhere = Folder::new(&[SECRET]);
    let text = served(&folder, echo().await)
        .replace(&quoted(&folder.path("certs")), &quoted(&elsewhere.path("certs")));
    let error = proxy.reload(self::config(&text)).unwrap_err().to_string();
    assert!(error.contains("public name cover.example"), "{error}");
    assert_eq!(connected(&proxy, &config, &second).await.info().ech, Ech::Accepted);
}

#[tokio::test]
async fn check_refuses_keys_that_clients_could_not_recover_from() {
    let keys = folder(&[SECRET]);
    add_key(&keys, "1", PUBLIC);
    let check = |text: &str| {
        tercel_proxy::check(&config(text)).map(|_| ()).map_err(|error| error.to_string())
    };
    let route = |to: &str| {
        format!("[[listener.route]]\nnames = \"{PUBLIC}\"\npassthrough = true\nto = \"{to}\"\n")
    };
    let text = served(&keys, "127.0.0.1:1".parse().unwrap());
    assert_eq!(check(&text), Ok(()));
    // The certificate is on disk, but the listener does not show it.
    let error = check(&format!("{text}{}", route("127.0.0.1:2"))).unwrap_err();
    let expected = "no listener has a certificate for the public name cover.example";
    assert!(error.contains("ech.directory") && error.contains(expected), "{error}");
    // Another listener shows it.
    let second = "[[listener]]\naddress = \"127.0.0.2:0\"\nto = \"127.0.0.1:1\"\n";
    let second = format!("{second}certificates = {}\n", quoted(&keys.path("certs")));
    assert_eq!(check(&format!("{text}{}{second}", route("127.0.0.1:2"))), Ok(()));
    let wildcard = Folder::new(&["*.example"]);
    let wild = text.replace(&quoted(&keys.path("certs")), &quoted(&wildcard.path("certs")));
    assert_eq!(check(&wild), Ok(()));
    add_key(&keys, "2", "a.b.example");
    assert!(check(&wild).unwrap_err().contains("public name a.b.example"));
}

#[test]
fn settings_are_checked() {
    let error = |text: &str| Config::parse("f.toml", text).unwrap_err().to_string();
    let listener = "[[listener]]\naddress = \":1\"\nto = \"127.0.0.1:1\"\ncertificates = \"/x\"\n";
    let front = format!("{listener}[[listener.route]]\nnames = \"a.example\"\nech_front = true\n");
    assert!(error(&front).contains("listener[0].route[0].ech_front: requires keys: see [ech]"));
    let ech = "[ech]\ndirectory = \"/x\"\n";
    let parsed = Config::parse("f.toml", &format!("{ech}{front}")).unwrap();
    let route = &parsed.listeners[0].routes[0];
    assert!(route.ech_front && route.passthrough && !parsed.listeners[0].ech_backend);
    assert!(error(&format!("{ech}{front}passthrough = false\n")).contains("cannot be set with"));
    // A route that only relays does not get `ech_front` from its listener.
    let route = "[[listener.route]]\nnames = ";
    let inherited = format!(
        "{ech}{listener}ech_front = true\n{route}\"a.example\"\n{route}\"b.example\"\n\
         passthrough = true\n{route}\"c.example\"\npassthrough = false\n{route}\"d.example\"\n\
         ech_front = false\n"
    );
    let routes = Config::parse("f.toml", &inherited).unwrap().listeners.remove(0).routes;
    let kinds: Vec<_> = routes.iter().map(|route| (route.passthrough, route.ech_front)).collect();
    assert_eq!(kinds, [(true, true), (true, false), (false, false), (true, false), (true, true)]);
    assert!(error(&format!("{ech}{front}alpn = \"h2\"\n")).contains("alpn: has no effect"));
    assert!(
        error(&format!("[ech]\nretry = \"a.ech\"\n{listener}")).contains("directory: is missing")
    );
    assert!(error(&format!("[ech]\nfolder = \"/x\"\n{listener}")).contains("unknown key in [ech]"));
    let missing = Config::parse("f.toml", &format!("{ech}{listener}")).unwrap();
    let missing = tercel_proxy::check(&missing).unwrap_err().to_string();
    assert!(missing.starts_with("f.toml: ech.directory: /x: No such file"), "{missing}");
    assert!(missing.ends_with("(line 2)"), "{missing}");
}

/// Clients connect all the time while keys are added and removed. Each may need one further
/// attempt.
#[tokio::test]
async fn clients_recover_while_keys_are_removed_under_load() {
    let folder = folder(&[SECRET]);
    let first = add_key(&folder, "0", PUBLIC);
    let proxy = start(&served(&folder, echo().await));
    let (address, config) = (proxy.addresses()[0], client().build().unwrap());
    let done = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (config, done, configs) = (Arc::clone(&config), Arc::clone(&done), first.clone());
            tokio::spawn(async move {
                for _ in 0..40 {
                    // The configuration is outdated from the third round on.
                    let offer = Offer::Configs(configs.clone());
                    let mut stream = attempt_at(address, &config, offer, 2).await.unwrap();
                    assert_eq!(stream.info().ech, Ech::Accepted);
                    assert_eq!(echoed(&mut stream, b"x").await, b"x");
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for round in 1..8 {
        wait_until("clients connect", || done.load(Ordering::Relaxed) >= round * 15).await;
        add_key(&folder, &round.to_string(), PUBLIC);
        assert_eq!(proxy.reload_ech_keys(), Ok(()));
        // The previous key stays, because clients may have just received it.
        if round > 1 {
            fs::remove_file(folder.path(&format!("ech/{}.ech", round - 2))).unwrap();
            assert_eq!(proxy.reload_ech_keys(), Ok(()));
        }
    }
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(done.load(Ordering::Relaxed), 160);
    assert!(count(&proxy, "grease_or_unknown") > 40, "most configurations were outdated");
    assert!(count(&proxy, "rejected") > 0);
    assert_eq!(count(&proxy, "accepted"), 160);
}

/// A backend of split mode: an unmodified server with a certificate for the secret name.
async fn split_backend(
    settings: impl Fn(tercel::server::ServerConfigBuilder) -> Arc<ServerConfig>,
) -> SocketAddr {
    let acceptor = Acceptor::new(settings(
        ServerConfig::builder().credential(identity(SECRET)).ech_backend(true),
    ));
    backend(move |transport| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(transport).await else { return };
            let early = stream.take_early_data();
            let ech = format!("{:?} ", stream.info().ech);
            let _ = stream.write_all(&[ech.as_bytes(), &early].concat()).await;
            let mut buffer = [0; 1000];
            while let Ok(count @ 1..) = stream.read(&mut buffer).await {
                let _ = stream.write_all(&buffer[..count]).await;
            }
            let _ = stream.shutdown().await;
        }
    })
    .await
}

/// A front: terminates TLS for the public name, and forwards the secret one.
pub(crate) fn front(folder: &Folder, to: impl std::fmt::Display, more: &str) -> Proxy {
    let text = settings(folder, "");
    let text = text.replace("[[listener]]", "[[listener]]\nto = \"127.0.0.1:1\"");
    start(&format!(
        "{text}[[listener.route]]\nnames = \"{SECRET}\"\nech_front = true\nto = \"{to}\"\n{more}"
    ))
}

async fn read_text(stream: &mut TlsStream<TcpStream>) -> String {
    let mut buffer = [0; 100];
    let count = stream.read(&mut buffer).await.unwrap();
    String::from_utf8(buffer[..count].to_vec()).unwrap()
}

/// RFC 9849 3.1, 7.1, 7.1.1
#[tokio::test]
async fn front_forwards_to_an_unmodified_backend() {
    let folder = folder(&[]);
    let configs = add_key(&folder, "1", PUBLIC);
    let other = Key::generate(PUBLIC, 32).unwrap().config();
    for groups in [[NamedGroup::X25519MLKEM768], [NamedGroup::SECP384R1]] {
        let to = split_backend(|builder| builder.groups(&groups).build().unwrap()).await;
        let proxy = front(&folder, to, "");
        let config = client().build().unwrap();
        for resumed in [false, true] {
            let mut stream = connected(&proxy, &config, &configs).await;
            let retried = groups[0] == NamedGroup::SECP384R1;
            assert_eq!((stream.info().resumed, stream.info().retried), (resumed, retried));
            assert_eq!(stream.info().ech, Ech::Accepted);
            assert_eq!(read_text(&mut stream).await, "Backend ");
            let data = vec![7; 100_000];
            let (mut read, mut write) = tokio::io::split(&mut stream);
            let mut received = vec![0; data.len()];
            let (sent, read) = tokio::join!(write.write_all(&data), read.read_exact(&mut received));
            assert!(sent.is_ok() && read.is_ok() && received == data);
        }
        // The terminated route of the public name sends the configurations for a second attempt.
        assert_eq!(rejected(&proxy, &config, &other).await, configs);
        let offer = Offer::Configs(other.clone());
        let mut stream = attempt_at(proxy.addresses()[0], &config, offer, 2).await.unwrap();
        assert_eq!(stream.info().ech, Ech::Accepted);
        assert_eq!(read_text(&mut stream).await, "Backend ");
        // A client that asks for the name in the clear is relayed unchanged.
        let mut stream = connect(&proxy, SECRET, client()).await.unwrap();
        assert_eq!(read_text(&mut stream).await, "NotOffered ");
        assert_eq!(count(&proxy, "accepted"), 3);
        // The alert of the second rejection may be lost, because that client closed at once.
        wait_until("rejections are counted", || (1..=2).contains(&count(&proxy, "rejected"))).await;
        assert_eq!(count(&proxy, "grease_or_unknown"), 2);
        assert_eq!(metric(&proxy, "tercel_passthrough_connections_total"), 4);
    }
}

/// The backend is another proxy, which gets the client's address and the inner name.
#[tokio::test]
async fn front_and_backend_are_proxies() {
    let (folder, behind) = (folder(&[]), Folder::new(&[SECRET]));
    let configs = add_key(&folder, "1", PUBLIC);
    let (to, mut events) = recording_backend().await;
    let backend = behind.start(&format!(
        "to = \"{to}\"\nech_backend = true\naccept_proxy_protocol = true\n\
         send_proxy_protocol = true\n"
    ));
    let proxy = front(&folder, backend.addresses()[0], "send_proxy_protocol = true\n");
    let config = client().build().unwrap();
    for resumed in [false, true] {
        let mut stream = connected(&proxy, &config, &configs).await;
        assert_eq!(stream.info().resumed, resumed);
        let own = stream.transport().local_addr().unwrap();
        stream.write_all(b"request").await.unwrap();
        stream.shutdown().await.unwrap();
        // Receives the tickets.
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        let header = parse(&events.recv().await.unwrap());
        assert_eq!((header.source, &header.rest[..]), (own, &b"request"[..]));
        assert_eq!(header.value(2), Some(SECRET.as_bytes()));
    }
    assert_eq!((count(&proxy, "accepted"), count(&backend, "backend")), (2, 2));
    wait_until("connections are closed", || proxy.connections() + backend.connections() == 0).await;
}

/// A front relays what another front has decrypted, and a passthrough route relays what it cannot
/// decrypt for its backend.
#[tokio::test]
async fn inner_hellos_pass_other_routes_unchanged() {
    let (folder, second) = (folder(&[]), folder(&[]));
    let configs = add_key(&folder, "1", PUBLIC);
    add_key(&second, "1", PUBLIC);
    let to = split_backend(|builder| builder.build().unwrap()).await;
    let text = settings(&second, "");
    let text =
        text.replace("[[listener]]", "[[listener]]\nto = \"127.0.0.1:1\"\nech_backend = true");
    let route = |kind: &str, to: SocketAddr| {
        format!("[[listener.route]]\nnames = \"{SECRET}\"\n{kind} = true\nto = \"{to}\"\n")
    };
    let behind = start(&format!("{text}{}", route("ech_front", to)));
    let proxy = front(&folder, behind.addresses()[0], "");
    let config = client().build().unwrap();
    let mut stream = connected(&proxy, &config, &configs).await;
    assert_eq!((stream.info().ech, &*read_text(&mut stream).await), (Ech::Accepted, "Backend "));
    assert_eq!((count(&proxy, "accepted"), count(&behind, "accepted")), (1, 0));

    let shared = Key::from_pem(&fs::read(folder.path("ech/1.ech")).unwrap()).unwrap();
    let keys = Keys::new(vec![(shared, Retry::Send)]).unwrap();
    let keys = Arc::new(keys);
    let to = split_backend(|builder| builder.ech(Arc::clone(&keys)).build().unwrap()).await;
    let text = settings(&folder, "");
    let text = text.replace("[[listener]]", "[[listener]]\nto = \"127.0.0.1:1\"");
    let proxy = start(&format!("{text}{}", route("passthrough", to)));
    let mut stream = connected(&proxy, &config, &configs).await;
    assert_eq!((stream.info().ech, &*read_text(&mut stream).await), (Ech::Accepted, "Accepted "));
    assert_eq!(count(&proxy, "accepted"), 0);
}

/// RFC 9849 7.1.1, RFC 9846 4.3.10
#[tokio::test]
async fn front_forwards_early_data() {
    let folder = folder(&[]);
    let configs = add_key(&folder, "1", PUBLIC);
    let to = split_backend(|builder| {
        let long_ago = tercel::pki_types::UnixTime::since_unix_epoch(Duration::ZERO);
        let guard = tercel::session::ReplayGuard::new(100, long_ago);
        let guard = tercel::Policy::Here(Arc::new(guard) as Arc<_>);
        builder.early_data(1000, guard).build().unwrap()
    })
    .await;
    let proxy = front(&folder, to, "");
    let config = client().early_data(true).build().unwrap();
    let mut stream = connected(&proxy, &config, &configs).await;
    assert_eq!(read_text(&mut stream).await, "Backend ");
    let offer = Offer::Configs(configs);
    let handshake = Handshake::client(config, SECRET.try_into().unwrap()).with_ech(offer);
    let mut handshake = handshake;
    let mut transport = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
    let (mut received, mut out) = (ReceiveBuffer::new(), Vec::new());
    let mut is_first = true;
    let mut connection = loop {
        let step = handshake.advance(&mut received, &mut out).unwrap();
        if std::mem::take(&mut is_first) {
            handshake.early_sender().unwrap().seal_to(b"early", &mut out).unwrap();
        }
        transport.write_all(&out).await.unwrap();
        out.clear();
        match step {
            Next::Connected(connection) => break connection,
            _ => {
                let count = transport.read(received.spare()).await.unwrap();
                received.filled(count);
            }
        }
    };
    assert_eq!(connection.info.early_data, tercel::EarlyData::Accepted);
    assert_eq!(connection.info.ech, Ech::Accepted);
    let text = loop {
        match connection.receiver.open(&mut received).unwrap() {
            tercel::Opened::Data(data) => break String::from_utf8(data.to_vec()).unwrap(),
            _ => {
                let count = transport.read(received.spare()).await.unwrap();
                received.filled(count);
            }
        }
    };
    assert_eq!(text, "Backend early");
}

/// A backend that is away closes its own clients' connections only, and each is counted.
#[tokio::test]
async fn front_serves_other_clients_while_its_backend_is_away() {
    let folder = folder(&["clear.example"]);
    let configs = add_key(&folder, "1", PUBLIC);
    let served = echo().await;
    let more = format!(
        "[[listener.route]]\nnames = \"clear.example\"\nto = \"{served}\"\n[timeouts]\nconnect = 1"
    );
    let proxy = front(&folder, unused_address().await, &more);
    let config = client().build().unwrap();
    for number in 1..=5 {
        let away = attempt(&proxy, &config, Offer::Configs(configs.clone())).await;
        let error = away.map(|_| ()).unwrap_err();
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<HandshakeError>());
        // Neither a rejection, which would make the client connect again, nor an alert.
        assert!(!matches!(inner, Some(HandshakeError::EchRejected { .. })), "{error}");
        let none_left = "tercel_backend_failures_total{reason=\"none_left\"}";
        wait_until("each is counted", || metric(&proxy, none_left) == number).await;
        let mut stream = connect(&proxy, "clear.example", client()).await.unwrap();
        assert_eq!(echoed(&mut stream, b"x").await, b"x");
    }
    assert_eq!(count(&proxy, "accepted"), 5);
    wait_until("connections are closed", || proxy.connections() == 0).await;
}

/// RFC 9849 7.1.1
#[tokio::test]
async fn front_refuses_misplaced_messages_and_limits_the_time() {
    let folder = folder(&[]);
    let configs = add_key(&folder, "1", PUBLIC);
    // A backend that does not answer.
    let to = backend(|mut transport| async move {
        let _ = transport.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let proxy = front(&folder, to, "");
    let hello = {
        let handshake = Handshake::client(client().build().unwrap(), SECRET.try_into().unwrap());
        let mut handshake = handshake.with_ech(Offer::Configs(configs));
        let mut out = Vec::new();
        handshake.advance(&mut ReceiveBuffer::new(), &mut out).unwrap();
        out
    };
    for behind in [true, false] {
        let mut transport = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
        let mut answer = Vec::new();
        if behind {
            transport.write_all(&[&hello[..], &hello].concat()).await.unwrap();
        } else {
            transport.write_all(&hello).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
            transport.write_all(&hello).await.unwrap();
        }
        let _ = transport.read_to_end(&mut answer).await;
        // The alert may be lost in a reset, because the client sent more.
        assert!(answer.is_empty() || answer == [21, 3, 3, 0, 2, 2, 10], "{answer:?}");
    }
    let failures = "tercel_handshake_failures_total";
    let unexpected = format!("{failures}{{reason=\"protocol\",alert=\"unexpected_message\"}}");
    wait_until("both are counted", || metric(&proxy, &unexpected) == 2).await;
    let proxy = front(&folder, to, "[timeouts]\nhandshake = 0.5");
    let mut transport = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
    transport.write_all(&hello).await.unwrap();
    let _ = transport.read(&mut [0]).await;
    let timed_out = format!("{failures}{{reason=\"timed_out\",alert=\"none\"}}");
    wait_until("the timeout is counted", || metric(&proxy, &timed_out) == 1).await;
    wait_until("connections are closed", || proxy.connections() == 0).await;
}
