//! `tercel ech show`: configurations and records, for people and as JSON.

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;
use tercel::ech::{ConfigList, ServiceBinding};
use tercel_wire::{EchConfig, EchConfigContents, ExtensionType};

use crate::ech_files::{self, Found};
use crate::negotiated::printable;
use crate::output;

/// Show ECH configurations from a file, from Base64, or from the text of a DNS record
///
/// Private keys are not shown. If a file has a private key, it must be that of the configuration.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// File, Base64 of an ECHConfigList, or record, such as `1 . alpn=h2 ech=BASE64`; `-` reads
    /// standard input
    #[arg(value_name = "FILE|BASE64|RECORD", num_args = 1.., required = true)]
    source: Vec<String>,

    /// Print one JSON object on standard output
    #[arg(long)]
    json: bool,
}

/// What was found. The keys are stable: other programs read them.
#[derive(Debug, Serialize)]
struct Description {
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<RecordDescription>,
    private_key: bool,
    /// The public name of the configuration that Tercel would use.
    usable: Option<String>,
    configs: Vec<ConfigDescription>,
}

#[derive(Debug, Serialize)]
struct RecordDescription {
    priority: u16,
    target: String,
    alpn: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    /// All parameters as text.
    text: String,
}

#[derive(Debug, Serialize)]
struct ConfigDescription {
    version: String,
    #[serde(flatten)]
    contents: Option<ContentsDescription>,
}

#[derive(Debug, Serialize)]
struct ContentsDescription {
    id: u8,
    kem: String,
    public_key: String,
    cipher_suites: Vec<String>,
    maximum_name_length: u8,
    public_name: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<String>,
    usable: bool,
}

/// Prints what the argument has.
pub(super) fn run(options: &Options) -> Result<()> {
    // The words of a record need no quotation marks.
    let argument = options.source.join(" ");
    let found = match argument.as_str() {
        "-" => {
            let text = std::io::read_to_string(std::io::stdin().lock());
            ech_files::of_text(&text.context("cannot read standard input")?)?
        }
        argument => ech_files::find(argument)?,
    };
    let description = Description::new(&found)?;
    match options.json {
        true => output::print(serde_json::to_string(&description)? + "\n"),
        false => output::print(output::aligned(&description.rows()) + "\n"),
    }
}

impl Description {
    fn new(found: &Found) -> Result<Self> {
        let Found { configs, record, has_key } = found;
        let list = configs.as_bytes();
        let parsed = match list.is_empty() {
            true => Vec::new(),
            false => EchConfig::parse_list(list)?.iter().collect(),
        };
        ensure!(record.is_some() || !parsed.is_empty(), "it has no ECH configuration");
        Ok(Self {
            record: record.as_ref().map(RecordDescription::new),
            private_key: *has_key,
            usable: configs.public_name().map(str::to_owned),
            configs: parsed.iter().map(ConfigDescription::new).collect(),
        })
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        if let Some(record) = &self.record {
            rows.push(("priority", record.priority.to_string()));
            rows.push(("target", record.target.clone()));
            if !record.alpn.is_empty() {
                rows.push(("alpn", record.alpn.join(", ")));
            }
            rows.extend(record.port.map(|port| ("port", port.to_string())));
        }
        if self.private_key {
            rows.push(("private-key", "yes".to_owned()));
        }
        for (place, config) in self.configs.iter().enumerate() {
            rows.push(("config", format!("{} of {}", place + 1, self.configs.len())));
            rows.push(("version", config.version.clone()));
            match &config.contents {
                Some(contents) => rows.extend(contents.rows()),
                None => rows.push(("usable", "no: unknown version".to_owned())),
            }
        }
        if self.configs.is_empty() {
            rows.push(("ech", "none".to_owned()));
        }
        rows
    }
}

impl RecordDescription {
    fn new(record: &ServiceBinding) -> Self {
        Self {
            priority: record.priority(),
            target: record.target(),
            alpn: record.alpn().iter().map(printable).collect(),
            port: record.port(),
            text: record.to_string(),
        }
    }
}

impl ConfigDescription {
    fn new(config: &EchConfig<'_>) -> Self {
        let version = config.encoded.iter().take(2).map(|byte| format!("{byte:02x}")).collect();
        // A list of this configuration alone is usable if the configuration is.
        let length = u16::try_from(config.encoded.len()).unwrap_or(u16::MAX).to_be_bytes();
        let alone = ConfigList::parse(&[&length, config.encoded].concat());
        let usable = alone.is_ok_and(|list| list.usable());
        let contents = config.contents.map(|contents| ContentsDescription::new(&contents, usable));
        Self { version, contents }
    }
}

impl ContentsDescription {
    fn new(contents: &EchConfigContents<'_>, usable: bool) -> Self {
        let suites = contents.cipher_suites.iter();
        let extensions = contents.extensions.iter();
        Self {
            id: contents.config_id,
            kem: contents.kem_id.to_string(),
            public_key: contents.public_key.iter().map(|byte| format!("{byte:02x}")).collect(),
            cipher_suites: suites
                .map(|suite| format!("{} with {}", suite.kdf_id, suite.aead_id))
                .collect(),
            maximum_name_length: contents.maximum_name_length,
            public_name: printable(contents.public_name),
            extensions: extensions
                .map(|(ExtensionType(kind), value)| format!("{kind:04x}, {} bytes", value.len()))
                .collect(),
            usable,
        }
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![
            ("public-name", self.public_name.clone()),
            ("id", self.id.to_string()),
            ("kem", self.kem.clone()),
            ("public-key", self.public_key.clone()),
            ("cipher-suites", self.cipher_suites.join(", ")),
            ("maximum-name-length", self.maximum_name_length.to_string()),
        ];
        if !self.extensions.is_empty() {
            rows.push(("extensions", self.extensions.join("; ")));
        }
        let usable = match self.usable {
            true => "yes",
            false => "no: unsupported algorithm or extension, or invalid public name",
        };
        rows.push(("usable", usable.to_owned()));
        rows
    }
}
