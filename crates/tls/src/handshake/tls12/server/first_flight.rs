//! A server's first flight of a full handshake, up to ServerHelloDone. RFC 5246 7.4.1.3 to 7.4.5
//!
//! Must not know: what the client answers. Next: [`super`], which goes on; [`super::super::auth`].

use std::sync::Arc;

use tercel_crypto::KeyExchange;
use tercel_wire::{
    CertificateRequestTls12, CertificateStatus, CertificateType, ClientCertificateType,
    ClientHello, CompressionMethod, DistinguishedName, EcPointFormat, List, ProtocolName,
    ProtocolVersion, ServerEcdhParams, ServerHello, ServerHelloDone, ServerHelloExtensions,
    ServerKeyExchange, SignatureScheme,
};

use super::super::auth::{self, Randoms};
use super::super::resumption::{self, NewSession};
use super::{limits, our_limit, server_random};
use crate::config::credential::Credential;
use crate::config::server::{ClientAuth, ServerConfig};
use crate::connection::facts::Facts;
use crate::error::{Error, Peer};
use crate::handshake::flow::{Flow, Message};
use crate::handshake::hello::certificate_type;
use crate::handshake::hello::negotiate::{self, KnownSuites};
use crate::handshake::identity;
use crate::handshake::record_limits::RecordLimits;
use crate::handshake::signature;
use crate::handshake::transcript::Transcript;
use crate::keys::suite::Suite;

/// What is needed of the first flight of a full handshake once it is sent.
pub(crate) struct FirstFlight {
    pub(super) suite: &'static Suite,
    pub(super) facts: Facts,
    pub(super) transcript: Transcript,
    pub(super) randoms: Randoms,
    pub(super) exchange: Option<KeyExchange>,
    pub(super) session: NewSession,
    /// What was shown.
    pub(super) credential: Arc<Credential>,
    /// What holds behind the handshake.
    pub(super) limits: RecordLimits,
}

/// Up to ServerHelloDone.
pub(super) async fn send(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    message: &Message,
    hello: &ClientHello<'_>,
    secure_renegotiation: bool,
    extended: bool,
) -> Result<FirstFlight, Error> {
    let alpn = negotiate::alpn(hello, config)?;
    let group = negotiate::group12(hello, config)?;
    let (credential, scheme) = select_credential(flow, config, message, hello).await?;
    let authentication = auth::authentication_of(credential.kind());
    let suite = negotiate::suite12(&KnownSuites::of(hello), config, authentication)?;

    let mut facts = Facts::new(ProtocolVersion::TLS1_2, suite.code);
    facts.group = Some(group);
    facts.alpn = alpn.map(<[u8]>::to_vec);
    facts.server_name = negotiate::server_name(hello).map(str::to_owned);
    facts.extended_main_secret = extended;
    facts.secure_renegotiation = secure_renegotiation;
    facts.own_signature_scheme = Some(scheme);
    facts.server_certificate_type = credential.certificate_type();
    facts.client_certificate_type = certificate_type::of_client(hello, config)?;

    let asks = config.client_auth != ClientAuth::None;
    let mut transcript =
        if asks { Transcript::keeping_messages(suite.hash) } else { Transcript::new(suite.hash) };
    transcript.add(message.bytes());
    let randoms = Randoms { client: *hello.random, server: server_random(config)? };
    let staple = credential.staple().filter(|_| hello.extensions.status_request.is_some());
    let certificate_types = certificate_type::answers(hello, config, &facts);
    let session = resumption::plan(config, hello)?;
    let staples = staple.is_some();
    let answers = Answers {
        extended,
        secure_renegotiation,
        alpn,
        staple: staples,
        session: &session,
        certificate_types,
    };
    send_server_hello(
        flow,
        config,
        hello,
        suite,
        &randoms,
        &credential,
        &answers,
        &mut transcript,
    )?;
    auth::send_certificate(flow, &mut transcript, Some(&credential))?;
    if let Some(ocsp_response) = staple {
        flow.send(&CertificateStatus { ocsp_response }, &mut transcript)?;
    }
    let (exchange, share) = auth::generate(group)?;
    let params = ServerEcdhParams { named_curve: group, public: &share };
    send_key_exchange(flow, &randoms, params, &credential, scheme, &mut transcript).await?;
    if asks {
        send_certificate_request(flow, config, &mut transcript)?;
    }
    flow.send(&ServerHelloDone, &mut transcript)?;

    let limits = limits(config, hello);
    Ok(FirstFlight {
        suite,
        facts,
        transcript,
        randoms,
        exchange: Some(exchange),
        session,
        credential,
        limits,
    })
}

/// What the extensions of a ServerHello depend on.
struct Answers<'a> {
    extended: bool,
    secure_renegotiation: bool,
    alpn: Option<&'a [u8]>,
    staple: bool,
    /// The server's and the client's.
    certificate_types: (Option<CertificateType>, Option<CertificateType>),
    session: &'a NewSession,
}

async fn select_credential(
    flow: &mut Flow,
    config: &Arc<ServerConfig>,
    message: &Message,
    hello: &ClientHello<'_>,
) -> Result<(Arc<Credential>, SignatureScheme), Error> {
    // Without the extension a client can verify SHA-1 only, which we do not sign. RFC 5246 7.4.1.4.1
    let request = negotiate::credential_request(hello, ProtocolVersion::TLS1_2, config)
        .ok_or(Peer::NoCommonSignatureScheme)?;
    if request.key_kinds == (false, false) {
        return Err(Peer::NoSharedCipherSuite.into());
    }
    identity::select_for_client(flow, config, message, hello, &request).await
}

#[allow(clippy::too_many_arguments)]
fn send_server_hello(
    flow: &mut Flow,
    config: &ServerConfig,
    hello: &ClientHello<'_>,
    suite: &'static Suite,
    randoms: &Randoms,
    credential: &Credential,
    answers: &Answers<'_>,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let offered = &hello.extensions;
    let timestamps =
        credential.timestamps().filter(|_| offered.signed_certificate_timestamp.is_some());
    let formats = [EcPointFormat::UNCOMPRESSED];
    let message = ServerHello {
        legacy_version: ProtocolVersion::TLS1_2,
        random: &randoms.server,
        // Only what is stored here is named. RFC 5246 7.4.1.3
        session_id_echo: match answers.session {
            NewSession::Stored(id) => id,
            _ => &[],
        },
        cipher_suite: suite.code,
        compression_method: CompressionMethod::NULL,
        extensions: ServerHelloExtensions {
            server_name: negotiate::server_name(hello)
                .filter(|_| config.acknowledge_server_name)
                .map(|_| ()),
            status_request: answers.staple.then_some(()),
            ec_point_formats: offered.ec_point_formats.map(|_| List::of(&formats)),
            alpn: answers.alpn.map(ProtocolName),
            signed_certificate_timestamp: timestamps,
            server_certificate_type: answers.certificate_types.0,
            client_certificate_type: answers.certificate_types.1,
            extended_master_secret: answers.extended.then_some(()),
            record_size_limit: our_limit(config, hello),
            session_ticket: matches!(answers.session, NewSession::Ticket).then_some(()),
            renegotiation_info: answers.secure_renegotiation.then_some(&[]),
            ..Default::default()
        },
    };
    flow.send(&message, transcript)
}

/// Our half of the exchange, signed with both randoms. RFC 8422 5.4
async fn send_key_exchange(
    flow: &mut Flow,
    randoms: &Randoms,
    params: ServerEcdhParams<'_>,
    credential: &Arc<Credential>,
    scheme: SignatureScheme,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let content = auth::signed_params(randoms, &params);
    let signature = signature::sign(flow, credential, scheme, &content).await?;
    flow.send_with(
        |out| ServerKeyExchange::encode_signed(&params, scheme, |out| signature.write(out), out),
        |bytes| transcript.add(bytes),
    )
}

fn send_certificate_request(
    flow: &mut Flow,
    config: &ServerConfig,
    transcript: &mut Transcript,
) -> Result<(), Error> {
    let authorities = config.authorities();
    let names: Vec<_> = authorities.iter().map(|name| DistinguishedName(name)).collect();
    let types = [ClientCertificateType::ECDSA_SIGN, ClientCertificateType::RSA_SIGN];
    let schemes: Vec<_> = config.common.schemes_for(ProtocolVersion::TLS1_2).collect();
    let message = CertificateRequestTls12 {
        certificate_types: List::of(&types),
        supported_signature_algorithms: List::of(&schemes),
        certificate_authorities: List::of(&names),
    };
    flow.send(&message, transcript)
}
