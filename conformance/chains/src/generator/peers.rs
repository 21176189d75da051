//! The other judges: `openssl verify`, and Go's crypto/x509 in a program of `peers`.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pki_types::CertificateDer;
use tercel_pki::Usage;

use super::oracle::Path as CertificatePath;
use super::world::{LookedUp, Made, World};

/// The judgement of one judge about one chain.
#[derive(Default)]
pub(crate) struct Judgement {
    /// Each is a reason to refuse. The chain is accepted if there is none.
    pub(crate) errors: Vec<Error>,
    /// The accepted paths, the leaf first.
    pub(crate) taken: Vec<Taken>,
}

pub(crate) struct Error {
    pub(crate) text: String,
    /// The certificate at fault: its position in the path, and its subject as OpenSSL prints it.
    pub(crate) at: Option<(usize, String)>,
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self { text, at: None }
    }
}

/// A path that a judge took.
pub(crate) enum Taken {
    /// The subjects, as OpenSSL prints them.
    Subjects(Vec<String>),
    Certificates(Vec<CertificateDer<'static>>),
}

impl Judgement {
    pub(crate) fn accepts(&self) -> bool {
        self.errors.is_empty()
    }

    /// All errors, or `accepted`.
    pub(crate) fn text(&self) -> String {
        if self.accepts() {
            return "accepted".to_owned();
        }
        let text = |error: &Error| match &error.at {
            Some((_, subject)) => format!("{} [{subject}]", error.text),
            None => error.text.clone(),
        };
        self.errors.iter().map(text).collect::<Vec<_>>().join(", ")
    }
}

impl Taken {
    /// Whether this is the path. Several may have the same subjects, and OpenSSL prints the issuers
    /// of a trust anchor, too.
    pub(crate) fn is(&self, path: &CertificatePath<'_>) -> bool {
        match self {
            Self::Subjects(subjects) => {
                let length = path.all().count();
                path.anchor.is_some()
                    && subjects.len() >= length
                    && path.all().zip(subjects).all(|(one, subject)| printed(one) == *subject)
            }
            Self::Certificates(certificates) => path.all().map(|one| &one.der).eq(certificates),
        }
    }
}

/// A subject as OpenSSL prints it, in UTF-8 with escapes.
pub(crate) fn printed(certificate: &Made) -> String {
    let text = &certificate.content.subject.text;
    if text.is_empty() {
        return String::new();
    }
    let mut printed = "CN = ".to_owned();
    for byte in text.bytes() {
        match byte.is_ascii() {
            true => printed.push(byte.into()),
            false => write!(printed, "\\{byte:02X}").expect("text"),
        }
    }
    printed
}

/// `openssl verify`, one process for each world.
pub(crate) struct OpenSsl {
    folder: PathBuf,
}

impl OpenSsl {
    /// Uses this folder for files of certificates.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(crate) fn verify(&self, world: &World) -> Result<Vec<Judgement>> {
        let write = |name: &str, certificates: &mut dyn Iterator<Item = &CertificateDer<'_>>| {
            let pem: String =
                certificates.map(|certificate| section("CERTIFICATE", certificate)).collect();
            fs::write(self.folder.join(name), pem)
        };
        write("roots", &mut world.roots.iter().map(|one| &one.der))?;
        write("sent", &mut world.sent.iter().map(|one| &one.der))?;
        let files: Vec<_> = (0..world.leaves.len()).map(|index| format!("leaf{index}")).collect();
        for (file, leaf) in files.iter().zip(&world.leaves) {
            write(file, &mut std::iter::once(&leaf.der))?;
        }
        let mut command = Command::new("openssl");
        command.current_dir(&self.folder);
        command.args(["verify", "-show_chain", "-no-CApath", "-no-CAstore", "-partial_chain"]);
        command.args(["-CAfile", "roots", "-attime", &world.time.to_string()]);
        // Policies are processed, and each is acceptable. RFC 5280 6.1.1 (c)
        command.args(["-policy", "2.5.29.32.0"]);
        if !world.sent.is_empty() {
            command.args(["-untrusted", "sent"]);
        }
        if world.looked_up != LookedUp::None {
            let lists: String =
                world.lists.iter().map(|list| section("X509 CRL", &list.der)).collect();
            fs::write(self.folder.join("lists"), lists)?;
            command.args(["-CRLfile", "lists"]);
            let is_for_all = world.looked_up == LookedUp::All;
            command.arg(if is_for_all { "-crl_check_all" } else { "-crl_check" });
        }
        let purpose = match world.usage {
            Usage::Server => "sslserver",
            Usage::Client => "sslclient",
        };
        command.args(["-purpose", purpose]);
        if let Some(name) = &world.name {
            let is_address = name.parse::<std::net::IpAddr>().is_ok();
            command.args([if is_address { "-verify_ip" } else { "-verify_hostname" }, name]);
        }
        let output = command.args(&files).output().context("openssl")?;
        let accepted = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(!errors.contains("Error loading file"), "{errors}");
        let of_leaf = |(file, leaf): (&String, &Made)| match accepted_by_openssl(&accepted, file) {
            Some(subjects) => {
                Judgement { taken: vec![Taken::Subjects(subjects)], ..Judgement::default() }
            }
            None => refused_by_openssl(&errors, file, &printed(leaf)),
        };
        Ok(files.iter().zip(&world.leaves).map(of_leaf).collect())
    }
}

/// The subjects of the path that `openssl verify` prints after `FILE: OK`.
fn accepted_by_openssl(output: &str, file: &str) -> Option<Vec<String>> {
    let mut lines = output.lines().skip_while(|line| *line != format!("{file}: OK"));
    lines.next()?;
    let lines = lines.skip_while(|line| *line == "Chain:");
    let subject = |line: &str| {
        let (_, subject) = line.strip_prefix("depth=")?.split_once(": ")?;
        Some(subject.strip_suffix(" (untrusted)").unwrap_or(subject).to_owned())
    };
    Some(lines.map_while(subject).collect())
}

/// The errors that precede the line with the file's name, each after the subject of a certificate.
/// An error of the whole path is without one, and taken for the leaf's.
fn refused_by_openssl(output: &str, file: &str, leaf: &str) -> Judgement {
    let mut judgement = Judgement::default();
    let mut previous = leaf;
    for line in output.lines() {
        if line.starts_with("error ") && line.ends_with(": verification failed") {
            if line == format!("error {file}: verification failed") {
                return judgement;
            }
            judgement = Judgement::default();
        } else if let Some(depth) = depth_of(line) {
            let at = Some((depth, previous.to_owned()));
            judgement.errors.push(Error { text: line.to_owned(), at });
        }
        previous = if line.starts_with("error ") { leaf } else { line };
    }
    Judgement { errors: vec!["not read".to_owned().into()], ..Judgement::default() }
}

/// The position in `error 20 at 1 depth lookup: reason`.
fn depth_of(line: &str) -> Option<usize> {
    let (_, rest) = line.strip_prefix("error ")?.split_once(" at ")?;
    rest.split_once(" depth lookup: ")?.0.parse().ok()
}

/// A section of PEM.
fn section(label: &str, content: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in STANDARD.encode(content).as_bytes().chunks(64) {
        let _ = writeln!(text, "{}", String::from_utf8_lossy(line));
    }
    let _ = writeln!(text, "-----END {label}-----");
    text
}

/// The program of `peers/verify.go`, one process for all worlds.
pub(crate) struct Go {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Go {
    /// Compiles the program into this folder, and starts it.
    pub(crate) fn start(folder: &Path) -> Result<Self> {
        let source = folder.join("verify.go");
        fs::write(&source, include_str!("../../peers/verify.go"))?;
        let program = folder.join("verify");
        let status = Command::new("go")
            .args(["build", "-o"])
            .args([&program, &source])
            .status()
            .context("go")?;
        ensure!(status.success(), "go build: {status}");
        let mut process = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the program in Go")?;
        let input = process.stdin.take().context("no input")?;
        let output = BufReader::new(process.stdout.take().context("no output")?);
        Ok(Self { process, input, output })
    }

    pub(crate) fn verify(&mut self, world: &World) -> Result<GoJudgements> {
        let list = |certificates: &[Made]| -> Vec<String> {
            certificates.iter().map(|one| STANDARD.encode(&one.der)).collect()
        };
        let line = serde_json::json!({
            "Roots": list(&world.roots),
            "Sent": list(&world.sent),
            "Leaves": list(&world.leaves),
            "Name": world.name.clone().unwrap_or_default(),
            "Client": world.usage == Usage::Client,
            "Time": world.time,
        });
        writeln!(self.input, "{line}")?;
        self.input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        let answer: serde_json::Value = serde_json::from_str(&answer).context("Go's answer")?;
        let certificates = world.roots.iter().chain(&world.sent).map(|one| &one.der);
        let unread = certificates.zip(array(&answer["Unread"])).filter_map(|(der, error)| {
            let error = error.as_str().filter(|error| !error.is_empty())?;
            Some((der.clone(), error.to_owned()))
        });
        let unread = unread.collect();
        let of_leaf = array(&answer["Leaves"]).iter().map(go_judgement).collect::<Result<_>>()?;
        let judgements = GoJudgements { of_leaf, unread };
        ensure!(judgements.of_leaf.len() == world.leaves.len(), "{answer}");
        Ok(judgements)
    }
}

/// The judgements of Go about the chains of a world.
pub(crate) struct GoJudgements {
    pub(crate) of_leaf: Vec<Judgement>,
    /// The certificates that Go cannot parse, with its errors.
    pub(crate) unread: Vec<(CertificateDer<'static>, String)>,
}

fn array(value: &serde_json::Value) -> &[serde_json::Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn go_judgement(answer: &serde_json::Value) -> Result<Judgement> {
    let error = answer["Error"].as_str().context("no error in Go's answer")?;
    let certificate = |der: &serde_json::Value| {
        let der = der.as_str().context("a certificate in Go's answer")?;
        Ok(CertificateDer::from(STANDARD.decode(der)?))
    };
    let path = |path: &serde_json::Value| {
        Ok(Taken::Certificates(array(path).iter().map(certificate).collect::<Result<_>>()?))
    };
    let error = Some(error).filter(|error| !error.is_empty());
    Ok(Judgement {
        errors: error.map(|error| error.to_owned().into()).into_iter().collect(),
        taken: array(&answer["Paths"]).iter().map(path).collect::<Result<_>>()?,
    })
}

impl Drop for Go {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_errors_of_openssl_are_read() {
        let output = "a: OK\nChain:\ndepth=0:  (untrusted)\ndepth=1: CN = Root\n\
                      b: OK\nChain:\ndepth=0: CN = Leaf\n";
        assert_eq!(accepted_by_openssl(output, "a").unwrap(), ["", "CN = Root"]);
        assert_eq!(accepted_by_openssl(output, "b").unwrap(), ["CN = Leaf"]);
        assert!(accepted_by_openssl(output, "c").is_none());
        let output = "CN = Root\nerror 9 at 1 depth lookup: early\nerror a: verification failed\n\
                      CN = Leaf\nerror 18 at 0 depth lookup: self\n\
                      CN = Leaf\nerror 9 at 0 depth lookup: early\nerror b: verification failed\n\
                      error 43 at 0 depth lookup: policy\nerror d: verification failed\n";
        let text = |file| refused_by_openssl(output, file, "CN = Own").text();
        assert_eq!(text("a"), "error 9 at 1 depth lookup: early [CN = Root]");
        let both = "error 18 at 0 depth lookup: self [CN = Leaf], \
                    error 9 at 0 depth lookup: early [CN = Leaf]";
        assert_eq!(text("b"), both);
        assert_eq!(text("c"), "not read");
        assert_eq!(text("d"), "error 43 at 0 depth lookup: policy [CN = Own]");
    }
}
