//! The other verifiers: `openssl verify`, and Go's crypto/x509 in a program of `peers`.

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

use super::world::World;
use crate::case::Verdict;

/// `openssl verify`, one process for each world.
pub(crate) struct OpenSsl {
    folder: PathBuf,
}

impl OpenSsl {
    /// Uses this folder for files of certificates.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(crate) fn verify(&self, world: &World) -> Result<Vec<Verdict>> {
        let write = |name: &str, certificates: &mut dyn Iterator<Item = &CertificateDer<'_>>| {
            fs::write(self.folder.join(name), pem(certificates))
        };
        write("roots", &mut world.roots.iter().map(|one| &one.der))?;
        write("sent", &mut world.sent.iter().map(|one| &one.der))?;
        let files: Vec<_> = (0..world.leaves.len()).map(|index| format!("leaf{index}")).collect();
        for (file, leaf) in files.iter().zip(&world.leaves) {
            write(file, &mut std::iter::once(&leaf.der))?;
        }
        let mut command = Command::new("openssl");
        command.current_dir(&self.folder);
        command.args(["verify", "-no-CApath", "-no-CAstore", "-partial_chain"]);
        command.args(["-CAfile", "roots", "-attime", &world.time.to_string()]);
        if !world.sent.is_empty() {
            command.args(["-untrusted", "sent"]);
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
        let verdict = |file: &String| {
            if accepted.lines().any(|line| line == format!("{file}: OK")) {
                return None;
            }
            // The reasons precede the line with the file's name.
            let before = errors.split(&format!("error {file}:")).next().unwrap_or_default();
            let reason = before.lines().rev().find(|line| line.starts_with("error "));
            Some(reason.unwrap_or("not read").to_owned())
        };
        Ok(files.iter().map(verdict).collect())
    }
}

fn pem(certificates: &mut dyn Iterator<Item = &CertificateDer<'_>>) -> String {
    let mut text = String::new();
    for certificate in certificates {
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        let encoded = STANDARD.encode(certificate);
        for line in encoded.as_bytes().chunks(64) {
            let _ = writeln!(text, "{}", String::from_utf8_lossy(line));
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
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

    pub(crate) fn verify(&mut self, world: &World) -> Result<Vec<Verdict>> {
        let list = |certificates: &[super::world::Made]| -> Vec<String> {
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
        let errors: Vec<String> = serde_json::from_str(&answer).context("Go's answer")?;
        ensure!(errors.len() == world.leaves.len(), "{answer}");
        Ok(errors.into_iter().map(|error| (!error.is_empty()).then_some(error)).collect())
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
