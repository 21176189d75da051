//! From options to the library's configurations.
//!
//! Must not know: sockets. Next: [`crate::choices`] for what is offered, [`crate::judge`], which answers what
//! the configurations leave open.

use std::sync::Arc;

use tercel::pki_types::ServerName;
use tercel::wire::{ClientHello, HandshakeMessage};
use tercel::{
    AcceptAnyPeer, AdmitEarlyData, Answer, ClientAuth, ClientConfig, ClientConfigBuilder,
    ClientSessionStore, Clock, ConfigError, FindPreSharedKey, Handshake, Policy, Question,
    Received, SelectCredential, ServerConfig, SessionStore, VerifyPeer,
};

use crate::choices::{
    accepted_types, available_types, groups, key_shares, suites, verified_schemes, versions,
};
use crate::compression::algorithms;
use crate::credentials::credentials;
use crate::host::Host;
use crate::judge::Judge;
use crate::options::Policy::{Cnsa1, Cnsa2, Cnsa202407};
use crate::options::{Options, Unfit};
use crate::psk;
use crate::runner_only;
use crate::sessions::{Sample, Sessions};

/// One connection's configuration, and who answers for it.
pub(crate) struct Setup {
    side: Sided,
    pub(crate) judge: Arc<Judge>,
}

enum Sided {
    Client(Box<ClientConfigBuilder>, ServerName<'static>),
    /// The configuration that greets, and who leads on from it.
    Server(Arc<ServerConfig>, Arc<Host>),
}

impl Setup {
    /// For a connection by `options`; `judged` says how it is to be judged, which differs if its early data
    /// is to be rejected.
    pub(crate) fn new(
        options: &Options,
        judged: &Options,
        sessions: &Arc<Sessions>,
    ) -> Result<Self, Unfit> {
        let (chains, keys) = (credentials(options)?, psk::import(options)?);
        let judge = Arc::new(Judge::new(judged.clone(), chains, keys, Arc::clone(sessions)));
        let side = if options.server { server(options, &judge)? } else { client(options, &judge)? };
        Ok(Self { side, judge })
    }

    pub(crate) fn handshake(&self) -> Result<Handshake, Unfit> {
        Ok(match &self.side {
            Sided::Client(builder, name) => {
                Handshake::client((**builder).clone().build().map_err(unfit)?, name.clone())
            }
            Sided::Server(greeting, _) => Handshake::server(Arc::clone(greeting)),
        })
    }

    /// The answer to a question that was asked instead of decided inside.
    pub(crate) fn answer(&self, question: &Question) -> Option<Answer> {
        match (question, &self.side) {
            (Question::ChooseConfig(question), Sided::Server(_, host)) => {
                Some(question.resolve(&**host))
            }
            _ => self.judge.answer(question),
        }
    }

    /// Whether a client that offers this session may send early data.
    pub(crate) fn admits_early_data(&self, session: Vec<u8>) -> Result<bool, Unfit> {
        let Sided::Client(_, name) = &self.side else { return Ok(false) };
        Ok(self.begin(session, name.clone())?.0.early_sender().is_some())
    }

    /// Whether a client offers this session to a server of another name.
    pub(crate) fn offers_across_names(&self, session: Vec<u8>) -> Result<bool, Unfit> {
        let name = ServerName::try_from("another.test").map_err(|_| malformed("-host-name"))?;
        let (_, sent) = self.begin(session, name)?;
        // In one record, with the headers of record and message ahead.
        let hello = sent.get(9..).and_then(|body| ClientHello::parse(body).ok());
        let hello =
            hello.ok_or_else(|| Unfit::Unimplemented("a hello of two records".to_owned()))?;
        Ok(hello.extensions.pre_shared_key.is_some())
    }

    /// A client's connection that is begun with this session and given up.
    fn begin(
        &self,
        session: Vec<u8>,
        name: ServerName<'static>,
    ) -> Result<(Handshake, Vec<u8>), Unfit> {
        let Sided::Client(builder, _) = &self.side else { return Err(malformed("-server")) };
        let sample: Arc<dyn ClientSessionStore> = Arc::new(Sample(session));
        let config = (**builder).clone().session_store(sample).early_data(true);
        // Whether the server is still trusted is not asked here.
        let config = config.verify_resumed(false).verifier(Policy::Here(Arc::new(AcceptAnyPeer)));
        let mut handshake = Handshake::client(config.build().map_err(unfit)?, name);
        let mut sent = Vec::new();
        // An error leaves nothing sent, and no way to send early.
        let _ = handshake.advance(&mut Received::new(), &mut sent);
        Ok((handshake, sent))
    }
}

/// What both builders are told. A macro, because the two types share these methods by name only.
macro_rules! common {
    ($builder:expr, $options:expr, $sessions:expr, $hello:expr) => {{
        let options = $options;
        let mut builder = $builder
            .versions(&versions(options))
            .clock(Arc::clone(&$sessions.clock) as Arc<dyn Clock>)
            .tolerate_truncation(!options.check_close_notify)
            .certificate_compression(algorithms(options))
            .offer_certificate_compression(true)
            .signature_schemes(&verified_schemes(options));
        if let Some(groups) = groups(options, $hello)? {
            builder = builder.groups(&groups);
        }
        if let Some(bytes) = options.max_send_fragment {
            builder = builder.max_fragment(bytes);
        }
        if let Some(suites) = suites(options, $hello)? {
            builder = builder.cipher_suites(&suites).map_err(unfit)?;
        }
        builder
    }};
}

fn client(options: &Options, judge: &Arc<Judge>) -> Result<Sided, Unfit> {
    let mut builder = common!(ClientConfig::builder(), options, &judge.sessions, None)
        .alpn(&protocols(&options.advertise_alpn)?)
        .pre_shared_keys(psk::for_client(options)?)
        .request_ocsp(options.enable_ocsp_stapling)
        .request_signed_certificate_timestamps(options.enable_signed_cert_timestamps)
        .fallback_scsv(options.fallback_scsv)
        .require_secure_renegotiation(options.require_secure_renegotiation)
        .send_server_name(options.host_name.is_some())
        .session_store(Arc::clone(&judge.sessions.shelf) as Arc<dyn ClientSessionStore>)
        .early_data(options.enable_early_data)
        .verify_resumed(options.reverify_on_resume);
    builder = runner_only::client(builder, options)?;
    // Who has keys takes certificates as well only if told to verify them.
    if judge.pre_shared_keys.is_empty() || options.verify_peer {
        builder = builder.verifier(slot(options, Arc::clone(judge) as Arc<dyn VerifyPeer>));
    }
    if options.no_ticket {
        builder = builder.without_resumption();
    }
    if !judge.credentials.is_empty() || !options.expect.certificate_types.is_empty() {
        builder =
            builder.credentials(slot(options, Arc::clone(judge) as Arc<dyn SelectCredential>));
    }
    if let Some(shares) = key_shares(options)? {
        builder = builder.key_shares(&shares);
    }
    if let Some(types) = accepted_types(options) {
        builder = builder.server_certificate_types(&types);
    }
    if let Some(types) = available_types(options) {
        builder = builder.client_certificate_types(&types);
    }
    let name = options.host_name.clone().unwrap_or_else(|| "unnamed.test".to_owned());
    let name = ServerName::try_from(name).map_err(|_| malformed("-host-name"))?;
    // What cannot be built is not for the connection to find out.
    builder.clone().build().map_err(unfit)?;
    Ok(Sided::Client(Box::new(builder), name))
}

fn server(options: &Options, judge: &Arc<Judge>) -> Result<Sided, Unfit> {
    // What cannot be built is not for the connection to find out.
    for stored in [false, true] {
        server_config(judge, stored, None)?;
    }
    let host = Arc::new(Host { judge: Arc::clone(judge) });
    let choose = slot(options, Arc::clone(&host) as _);
    let greeting = ServerConfig::builder().choose_config(choose).build().map_err(unfit)?;
    Ok(Sided::Server(greeting, host))
}

/// A server's configuration, for the client that said `hello` if there is one already. Its sessions may be
/// `stored` here, or travel in tickets only.
pub(crate) fn server_config(
    judge: &Arc<Judge>,
    stored: bool,
    hello: Option<&ClientHello<'_>>,
) -> Result<Arc<ServerConfig>, Unfit> {
    let (options, sessions) = (&judge.options, &judge.sessions);
    let demand = if options.verify_peer {
        ClientAuth::Optional
    } else if options.require_any_client_certificate {
        ClientAuth::Required
    } else {
        ClientAuth::None
    };
    // With `-reject-alpn` no protocol is good enough; this one is never offered.
    let protocol = if options.reject_alpn { &b"none of yours"[..] } else { &options.select_alpn };
    let protocols: &[&[u8]] = if protocol.is_empty() { &[] } else { &[protocol] };
    // BoringSSL turns to the server's order where it is told of one.
    let own_order = options.server_preference
        || options.cipher.is_some()
        || matches!(options.policy, Some(Cnsa202407 | Cnsa1 | Cnsa2));
    let mut builder = common!(ServerConfig::builder(), options, sessions, hello)
        .alpn(protocols)
        .client_verifier(demand, slot(options, Arc::clone(judge) as Arc<dyn VerifyPeer>))
        .prefer_client_order(!own_order)
        .acknowledge_server_name(!options.no_server_name_ack)
        .verify_resumed(options.reverify_on_resume)
        .keep_only_certificate_digests(options.digests_only)
        .resumption_across_names(options.across_names)
        // One judge stands behind every configuration.
        .session_context(b"bogo")
        .tickets(Arc::clone(&sessions.tickets));
    builder = runner_only::server(builder, options)?;
    // With keys and no certificate there is nothing to choose from.
    if judge.pre_shared_keys.is_empty() || !judge.credentials.is_empty() {
        let select = Arc::clone(judge) as Arc<dyn SelectCredential>;
        builder = builder.credentials(slot(options, select));
    }
    if !judge.pre_shared_keys.is_empty() {
        let find = Arc::clone(judge) as Arc<dyn FindPreSharedKey>;
        builder = builder.find_pre_shared_key(slot(options, find));
    }
    if let Some(types) = accepted_types(options) {
        builder = builder.client_certificate_types(&types);
    }
    if stored {
        let store = Arc::clone(&sessions.store) as Arc<dyn SessionStore>;
        builder = builder.session_store(slot(options, store));
    }
    if options.no_ticket {
        builder = builder.without_tickets();
    }
    if options.enable_early_data {
        let guard = Arc::clone(&sessions.guard) as Arc<dyn AdmitEarlyData>;
        builder = builder.early_data(MAX_EARLY_DATA, slot(options, guard));
    }
    builder.build().map_err(unfit)
}

/// Bytes of early data that the runner takes a server to accept.
const MAX_EARLY_DATA: u32 = 14336;

/// Decided inside the library, or with `-async` outside.
fn slot<T: ?Sized>(options: &Options, object: Arc<T>) -> Policy<T> {
    if options.asynchronous { Policy::Ask } else { Policy::Here(object) }
}

/// Protocol names out of the extension's own format.
fn protocols(mut list: &[u8]) -> Result<Vec<Vec<u8>>, Unfit> {
    let mut names = Vec::new();
    while let Some((length, rest)) = list.split_first() {
        let name = rest.get(..usize::from(*length)).ok_or_else(|| malformed("-advertise-alpn"))?;
        names.push(name.to_vec());
        list = &rest[name.len()..];
    }
    Ok(names)
}

/// What a configuration refuses is something the library does not have, or no configuration at all.
fn unfit(error: ConfigError) -> Unfit {
    match error {
        ConfigError::NoVersion => Unfit::Refused(":NO_SUPPORTED_VERSIONS_ENABLED:"),
        other => Unfit::Unimplemented(other.to_string()),
    }
}

pub(crate) fn malformed(flag: &str) -> Unfit {
    Unfit::Malformed(flag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_list_is_split_at_its_lengths() {
        assert_eq!(protocols(b"\x03foo\x01x").ok(), Some(vec![b"foo".to_vec(), b"x".to_vec()]));
        assert!(protocols(b"\x04foo").is_err());
    }
}
