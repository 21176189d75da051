//! Loads credentials from the files that a test names.

use std::fs;
use std::sync::Arc;

use tercel::Credential;
use tercel::crypto::SigningKey;
use tercel::pki::{load_certs_pem, load_key_pem};

use crate::application::NumberedCredential;
use crate::choices::signing_schemes;
use crate::config::malformed;
use crate::options::{CredentialOptions, Options, Unsupported};

/// The credentials in BoringSSL's order: first the numbered credentials, then the credential
/// without a number.
pub(crate) fn credentials(options: &Options) -> Result<Vec<NumberedCredential>, Unsupported> {
    let mut loaded = Vec::new();
    // The numbering includes pre-shared keys, which are not credentials here.
    let numbered = (0..).zip(&options.credentials);
    for (number, credential) in numbered.filter(|(_, credential)| credential.psk.is_none()) {
        loaded.push(load(credential, number, options)?);
    }
    if options.credential.cert_file.is_some() {
        loaded.push(load(&options.credential, -1, options)?);
    }
    Ok(loaded)
}

fn load(
    from: &CredentialOptions,
    number: i32,
    options: &Options,
) -> Result<NumberedCredential, Unsupported> {
    let read = |file: &Option<String>, flag: &str| {
        let file = file.as_ref().ok_or_else(|| malformed(flag))?;
        fs::read(file).map_err(|_| malformed(flag))
    };
    let key = load_key_pem(&read(&from.key_file, "-key-file")?);
    let key = key.map_err(|_| malformed("-key-file"))?;
    let key = SigningKey::from_der(key.secret_der()).map_err(unusable_key)?;
    let unusable = |error| Unsupported::Unimplemented(format!("this credential ({error:?})"));
    // The option `fips` does not allow keys outside of the library.
    let is_outside = options.asynchronous && !options.fips;
    let (here, outside) = if is_outside { (None, Some(key)) } else { (Some(key), None) };
    let credential = if from.raw_public_key {
        let keys = here.iter().chain(&outside);
        let public = keys.map(SigningKey::public_key_spki).next().unwrap_or_default().into();
        match here {
            Some(key) => Credential::raw_public_key_with_signer(public, Arc::new(key)),
            None => Credential::remote_raw_public_key(public),
        }
    } else {
        let chain = load_certs_pem(&read(&from.cert_file, "-cert-file")?);
        let chain = chain.map_err(|_| malformed("-cert-file"))?;
        match here {
            Some(key) => Credential::with_signer(chain, Arc::new(key)),
            None => Credential::remote(chain),
        }
    };
    let mut credential = credential.map_err(unusable)?;
    let staples = !(options.server && options.decline_ocsp_callback);
    if !from.ocsp_response.is_empty() && staples {
        credential = credential.ocsp_response(from.ocsp_response.clone());
    }
    if !from.signed_cert_timestamps.is_empty() {
        let timestamps = from.signed_cert_timestamps.clone();
        credential = credential.signed_certificate_timestamps(timestamps).map_err(unusable)?;
    }
    if let Some(schemes) = signing_schemes(from, options) {
        credential = credential.signature_schemes(schemes);
    }
    if from.must_match_issuer {
        credential = credential.must_match_issuer();
    }
    Ok(NumberedCredential { credential: Arc::new(credential), number, key: outside })
}

fn unusable_key(error: tercel::crypto::CryptoError) -> Unsupported {
    Unsupported::Unimplemented(format!("this private key ({error:?})"))
}
