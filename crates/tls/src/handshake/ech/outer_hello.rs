//! The outer ClientHello: what it has in place of the inner one's secrets. RFC 9849 6.1, 6.1.2

use tercel_crypto::fill_random;
use tercel_wire::{
    CipherSuite, ClientExtensions, ClientHello, Element, EncryptedClientHello, HostName, List,
    OfferedPsks, OuterEncryptedClientHello, ProtocolVersion, PskBinder, PskIdentity,
    ServerNameOffer, Writer,
};

use crate::error::Error;
use crate::handshake::short_list::ShortList;
use crate::keys::suite::{self, Suite};

/// The only version of an inner ClientHello. RFC 9849 6.1
const TLS13: &[ProtocolVersion] = &[ProtocolVersion::TLS1_3];

/// Returns the suites of TLS 1.3.
pub(super) fn tls13_suites(hello: &ClientHello<'_>) -> ShortList<CipherSuite, 16> {
    let suites = hello.cipher_suites.iter();
    let is_tls13 = |code: &CipherSuite| suite::find(*code).is_some_and(Suite::is_tls13);
    ShortList::of(CipherSuite::TLS_AES_128_GCM_SHA256, suites.filter(is_tls13))
}

/// Returns the inner ClientHello for a ClientHello without encryption: without what is only for
/// TLS 1.2, and with the mark. RFC 9849 6.1
pub(super) fn inner<'a>(
    hello: &ClientHello<'a>,
    random: &'a [u8; 32],
    suites: &'a [CipherSuite],
) -> ClientHello<'a> {
    ClientHello {
        random,
        cipher_suites: List::new(suites),
        extensions: ClientExtensions {
            session_ticket: None,
            ec_point_formats: None,
            extended_master_secret: None,
            renegotiation_info: None,
            supported_versions: Some(List::new(TLS13)),
            encrypted_client_hello: Some(EncryptedClientHello::INNER),
            ..hello.extensions
        },
        ..*hello
    }
}

/// Returns the outer ClientHello, with a random of its own, the public name, this extension, and
/// pre-shared keys that no server knows. RFC 9849 6.1
pub(super) fn outer<'a>(
    hello: &ClientHello<'a>,
    random: &'a [u8; 32],
    public_name: &'a str,
    extension: &'a [u8],
    pre_shared_key: Option<OfferedPsks<'a>>,
) -> Result<ClientHello<'a>, Error> {
    let name = HostName::new(public_name.as_bytes())?;
    let extensions = ClientExtensions {
        server_name: Some(ServerNameOffer::HostName(name)),
        encrypted_client_hello: Some(extension),
        pre_shared_key,
        ..hello.extensions
    };
    Ok(ClientHello { random, extensions, ..*hello })
}

/// Encodes the extension of an outer ClientHello.
pub(super) fn extension(outer: &OuterEncryptedClientHello<'_>) -> Vec<u8> {
    let mut body = Vec::new();
    EncryptedClientHello::Outer(*outer).write(&mut Writer::new(&mut body));
    body
}

/// Random bytes for pre-shared keys of the same number and lengths as the real ones. RFC 9849 6.1.2
pub(super) struct GreasePsks(Vec<u8>);

impl GreasePsks {
    pub(super) fn like(real: Option<OfferedPsks<'_>>) -> Result<Self, Error> {
        let identities = real.iter().flat_map(|psks| psks.identities.iter());
        let identities = identities.map(|each| each.identity.len().saturating_add(AGE));
        let binders = real.iter().flat_map(|psks| psks.binders.iter()).map(|each| each.0.len());
        let total = identities.chain(binders).fold(0, usize::saturating_add);
        let mut random = vec![0; total];
        fill_random(&mut random)?;
        Ok(Self(random))
    }

    /// Divides the bytes among identities, ages and binders.
    pub(super) fn parts(
        &self,
        real: Option<OfferedPsks<'_>>,
    ) -> (Vec<PskIdentity<'_>>, Vec<PskBinder<'_>>) {
        let mut rest = self.0.as_slice();
        let mut take = |length: usize| {
            let (taken, after) = rest.split_at_checked(length).unwrap_or_default();
            rest = after;
            taken
        };
        let Some(real) = real else { return Default::default() };
        let identities = real.identities.iter().map(|each| {
            let age = take(AGE).try_into().map_or(0, u32::from_be_bytes);
            PskIdentity { identity: take(each.identity.len()), obfuscated_ticket_age: age }
        });
        let identities = identities.collect();
        let binders = real.binders.iter().map(|each| PskBinder(take(each.0.len()))).collect();
        (identities, binders)
    }
}

const AGE: usize = 4;
