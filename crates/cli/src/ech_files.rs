//! Configurations and keys of Encrypted ClientHello: in files, in records of DNS, and in Base64.
//! RFC 9849 4, RFC 9848, RFC 9934

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use tercel::ech::{ConfigList, ConfigListError, Key, Keys, Retry, ServiceBinding};
use tercel::pki::{PemSection, pem_sections};
use tercel::{Credential, ech::KeyError};

use crate::credential_files::{display_name, read};
use crate::explain;

/// Configurations, and what they were found in.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) configs: ConfigList,
    pub(crate) record: Option<ServiceBinding>,
    /// Whether the private key of the configuration was there, too.
    pub(crate) has_key: bool,
}

impl Found {
    fn configs(configs: ConfigList) -> Self {
        Self { configs, record: None, has_key: false }
    }
}

/// Reads an argument: the name of a file, or else Base64 or the text of a record.
pub(crate) fn find(argument: &str) -> Result<Found> {
    let file = Path::new(argument);
    if !file.is_file() {
        if file.is_dir() {
            bail!("{} is a directory; name one of its files", display_name(file));
        }
        return of_text(argument).map_err(|why| {
            // A long argument is hardly a path.
            match argument.get(..64).unwrap_or(argument) {
                start if start.len() < argument.len() => why,
                _ => why.context(format!("there is no file `{argument}`, and as text")),
            }
        });
    }
    let content = read(file)?;
    of_file(&content).with_context(|| display_name(file))
}

fn of_file(content: &[u8]) -> Result<Found> {
    if let Ok(configs) = ConfigList::parse(content) {
        return Ok(Found::configs(configs));
    }
    let text = std::str::from_utf8(content);
    let sections = match pem_sections(content) {
        Ok(sections) if sections.is_empty() => match text {
            Ok(text) => return of_text(text),
            Err(_) => bail!(
                "has neither text nor an ECHConfigList; `tercel ech generate` makes a valid file"
            ),
        },
        Ok(sections) => sections,
        Err(error) => bail!(of_key(KeyError::Pem(error))),
    };
    let has = |label| sections.iter().filter(|section| section.label() == label).count();
    if has("PRIVATE KEY") > 0 {
        let key = Key::from_pem(content).map_err(|error| anyhow!(of_key(error)))?;
        return Ok(Found { has_key: true, ..Found::configs(key.config()) });
    }
    let lists = has("ECHCONFIG");
    ensure!(
        lists == 1,
        "has {lists} sections ECHCONFIG, not one; `tercel ech generate` makes a valid file"
    );
    let list = sections.iter().find(|section| section.label() == "ECHCONFIG");
    let list = list.map_or(Ok(Vec::new()), PemSection::decode);
    let list = list.map_err(|error| anyhow!(of_key(KeyError::Pem(error))))?;
    Ok(Found::configs(ConfigList::parse(&list)?))
}

/// What is wrong with a key, and what to do.
fn of_key(error: KeyError) -> String {
    format!("{error}; `tercel ech generate` makes a valid file")
}

/// Reads Base64, or a record.
pub(crate) fn of_text(text: &str) -> Result<Found> {
    match ConfigList::from_base64(text) {
        Ok(configs) => return Ok(Found::configs(configs)),
        // A record has characters that Base64 has not.
        Err(ConfigListError::Base64) => {}
        Err(error) => return Err(error.into()),
    }
    if !text.trim().contains(char::is_whitespace) {
        bail!("it is neither Base64 of an ECHConfigList nor a record such as `1 . ech=BASE64`");
    }
    let record: ServiceBinding = text.parse()?;
    let configs = record.ech().unwrap_or_default();
    Ok(Found { record: Some(record), ..Found::configs(configs) })
}

/// The keys of a server.
#[derive(Debug)]
pub(crate) struct ServerKeys {
    pub(crate) keys: Arc<Keys>,
    /// The names that clients with an outdated configuration verify, each once.
    pub(crate) public_names: Vec<String>,
}

/// Reads the key of a file, or all keys `*.ech` of a directory. All of them decrypt; the
/// configuration of the last by name is sent to clients whose own is outdated.
pub(crate) fn server_keys(path: &Path) -> Result<ServerKeys> {
    let files = files(path)?;
    let Some(last) = files.last() else {
        bail!("{}: there is no file *.ech; `tercel ech generate` makes one", display_name(path));
    };
    let (mut keys, mut public_names) = (Vec::new(), Vec::new());
    for file in &files {
        let key = Key::from_pem(&read(file)?);
        let key = key.map_err(|error| anyhow!("{}: {}", display_name(file), of_key(error)))?;
        if !public_names.iter().any(|name| name == key.public_name()) {
            public_names.push(key.public_name().to_owned());
        }
        keys.push((key, if file == last { Retry::Send } else { Retry::AcceptOnly }));
    }
    let keys = Keys::new(keys).with_context(|| display_name(path))?;
    Ok(ServerKeys { keys: Arc::new(keys), public_names })
}

/// The files of an argument: the file itself, or all files `*.ech` of a directory, by name.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_dir() { files_of(path) } else { Ok(vec![path.to_owned()]) }
}

/// The files `*.ech` of a directory, by name.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| anyhow!("{}: {}", display_name(folder), explain::io_error(&error));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.extension() == Some(OsStr::new("ech")) && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

impl ServerKeys {
    /// Warns if the server has no certificate for a public name: clients whose configuration is
    /// outdated then fail. RFC 9849 6.1.6
    pub(crate) fn warn_without_certificate(&self, credentials: &[Credential]) {
        for name in &self.public_names {
            if !credentials.iter().any(|credential| has_name(credential, name)) {
                explain::warn(format_args!(
                    "no certificate for the public name {name} of --ech: clients whose \
                     configuration is outdated cannot connect"
                ));
            }
        }
    }
}

/// Whether there is a certificate for this DNS name. A raw public key has no name.
fn has_name(credential: &Credential, name: &str) -> bool {
    !credential.chain().is_empty() && credential.covers(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pem_cases::check;

    fn problem(content: &[u8]) -> String {
        format!("{:#}", of_file(content).unwrap_err())
    }

    /// RFC 9934 3
    #[test]
    fn configurations_are_found_in_each_form() {
        let key = Key::generate("cover.example", 64).unwrap();
        let (pem, configs) = (key.to_pem().unwrap(), key.config());
        let public = &pem[pem.find("-----BEGIN ECHCONFIG").unwrap()..];
        let base64 = configs.to_base64();
        let record = format!("a.example. 300 IN HTTPS 1 . alpn=\"h2\" ech=\"{base64}\"\n");
        for (content, has_key, has_record) in [
            (pem.as_bytes(), true, false),
            (public.as_bytes(), false, false),
            (configs.as_bytes(), false, false),
            (base64.as_bytes(), false, false),
            (format!("{base64}\n").as_bytes(), false, false),
            (record.as_bytes(), false, true),
        ] {
            let found = of_file(content).unwrap();
            assert_eq!(found.configs, configs);
            assert_eq!((found.has_key, found.record.is_some()), (has_key, has_record));
        }
        let without = of_file(b"1 . alpn=h2").unwrap();
        assert!(without.configs.is_empty());
    }

    #[test]
    fn each_error_says_what_is_wrong() {
        let pem = Key::generate("cover.example", 64).unwrap().to_pem().unwrap();
        let (private, public) = pem.split_at(pem.find("-----BEGIN ECHCONFIG").unwrap());
        let not_base64 =
            "it is neither Base64 of an ECHConfigList nor a record such as `1 . ech=BASE64`";
        for (content, expected) in [
            (&b"\xff"[..], "has neither text nor an ECHConfigList"),
            (b"", "malformed ECH configurations: "),
            (b"?", not_base64),
            (b"AAAA", "malformed ECH configurations: "),
            (b"1 . ech=?", "the parameter ech has a malformed value"),
            (private.as_bytes(), "does not have exactly one section PRIVATE KEY"),
            (public.repeat(2).as_bytes(), "has 2 sections ECHCONFIG, not one"),
            (public.replace("END", "EMD").as_bytes(), "has no end line of its label"),
        ] {
            let found = problem(content);
            assert!(found.contains(expected), "{found}");
        }
        let found = format!("{:#}", find("missing.ech").unwrap_err());
        assert_eq!(found, format!("there is no file `missing.ech`, and as text: {not_base64}"));
        assert_eq!(
            format!("{:#}", find(".").unwrap_err()),
            ". is a directory; name one of its files"
        );
    }

    /// RFC 7468 2, 3, RFC 9934 3
    #[test]
    fn files_of_odd_forms_are_read_or_refused_with_the_reason() {
        let pem = Key::generate("cover.example", 64).unwrap().to_pem().unwrap();
        let (private, public) = pem.split_at(pem.find("-----BEGIN ECHCONFIG").unwrap());
        check("ECH", private, public, |pem| {
            of_file(pem).map(|found| found.configs).map_err(|error| format!("{error:#}"))
        });
    }

    /// RFC 9525 6.3
    #[test]
    fn names_of_certificates_are_matched() {
        let matches = |pattern: &str, name: &str| {
            let issued = rcgen::generate_simple_self_signed([pattern.to_owned()]).unwrap();
            let key = issued.signing_key.serialize_pem();
            let credential = Credential::from_pem(issued.cert.pem().as_bytes(), key.as_bytes());
            has_name(&credential.unwrap(), name)
        };
        assert!(matches("cover.example", "Cover.example") && matches("*.example", "a.example"));
        assert!(!matches("*.example", "a.b.example") && !matches("*.example", "example"));
        assert!(!matches("cover.example", "other.example"));
    }
}
