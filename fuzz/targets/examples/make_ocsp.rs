//! Generates the certificates of the target `ocsp_response`, and responses about one of them as
//! seeds: `cargo run -p tercel-fuzz-targets --example make_ocsp`.

use std::error::Error;
use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};
use tercel_crypto::HashAlgorithm;
use tercel_pki::subject_public_key_info;

#[path = "../../../crates/pki/tests/ocsp_maker/mod.rs"]
mod ocsp_maker;

use ocsp_maker::{Digest, Response, Single};

fn main() -> Result<(), Box<dyn Error>> {
    let mut params = named("ocsp root");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let leaf = named("leaf").signed_by(&KeyPair::generate()?, &root)?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::write(folder.join("material/ocsp-root.der"), root.der())?;
    fs::write(folder.join("material/ocsp-leaf.der"), leaf.der())?;

    let mut params = named("responder");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::OcspSigning];
    let delegate_key = KeyPair::generate()?;
    let delegate = params.signed_by(&delegate_key, &root)?;

    let root_key = root.key().serialize_der();
    let issuer = subject_public_key_info(root.der())?;
    let single = Single::new(leaf.der(), issuer, "20260101000000Z", "20270101000000Z");
    let sound = Response::new(single.clone());
    let corpus = folder.join("../corpus/ocsp_response");
    fs::create_dir_all(&corpus)?;
    let save = |name: &str, bytes: Vec<u8>| fs::write(corpus.join(name), bytes);
    let saying = |single: Single| Response { singles: vec![single], ..sound.clone() };

    save("valid-issuer", sound.sign(&root_key))?;
    let sha256 = Single { digest: Digest::Sha2(HashAlgorithm::Sha256), ..single.clone() };
    let extended = Single { extensions: Some(ocsp_maker::extensions(false)), ..sha256 };
    let mut several = saying(extended);
    several.responder = ocsp_maker::responder_by_key(issuer);
    several.singles.push(Single { serial: vec![7; 9], next_update: None, ..single.clone() });
    several.extensions = Some(ocsp_maker::extensions(false));
    save("valid-several", several.sign(&root_key))?;
    let mut delegated = sound.clone();
    delegated.responder = ocsp_maker::responder_by_key(subject_public_key_info(delegate.der())?);
    delegated.certificates = vec![root.der().to_vec(), delegate.der().to_vec()];
    save("valid-delegate", delegated.sign(&delegate_key.serialize_der()))?;

    let status = |status| saying(Single { status, ..single.clone() }).sign(&root_key);
    save("revoked", status(ocsp_maker::revoked()))?;
    save("unknown", status(ocsp_maker::unknown()))?;
    let old = Single { next_update: Some("20260201000000Z".into()), ..single.clone() };
    save("expired", saying(old).sign(&root_key))?;
    let critical = Response { extensions: Some(ocsp_maker::extensions(true)), ..sound.clone() };
    save("critical", critical.sign(&root_key))?;
    save("try-later", Response { status: 3, ..sound }.sign(&root_key))?;
    Ok(())
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2120, 1, 1);
    params
}
