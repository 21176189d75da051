//! An OCI image with the program and nothing else: a layout in a tar file (OCI image format 1.1).
//!
//! Programs that make images put the time and their own version into them. The format is a few
//! lines of JSON, so it is written here, and read by another program when the image is tried out.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::architecture::Architecture;
use crate::archive::{gzip, sha256, tar};
use crate::builder::{Builder, remove_folder};
use crate::package::{MAINTAINER, ProgramFiles};

/// The user and group of the process: numbers that no system gives to a person or a service.
pub(crate) const USER: u32 = 65532;

/// The path of the program in the image.
pub(crate) const PROGRAM: &str = "usr/bin/tercel";

/// Writes the image of an architecture to a folder, and returns the name of the file.
pub(crate) fn write(
    builder: &Builder,
    files: &ProgramFiles,
    architecture: Architecture,
    to: &Path,
) -> Result<String> {
    let folder = builder.target.join("image");
    remove_folder(&folder)?;
    let (root, layout) = (folder.join("root"), folder.join("layout"));
    let licences = "usr/share/licenses/tercel";
    for (path, mode) in
        [("etc/tercel", 0o755), ("tmp", 0o1777), ("usr/bin", 0o755), (licences, 0o755)]
    {
        fs::create_dir_all(root.join(path))?;
        fs::set_permissions(root.join(path), Permissions::from_mode(mode))?;
    }
    fs::copy(&files.program, root.join(PROGRAM))?;
    fs::set_permissions(root.join(PROGRAM), Permissions::from_mode(0o755))?;
    for (from, name) in [
        (builder.source.join("LICENSE-MIT"), "LICENSE-MIT"),
        (builder.source.join("LICENSE-APACHE"), "LICENSE-APACHE"),
        (files.notices.clone(), "THIRD-PARTY"),
    ] {
        let file = root.join(licences).join(name);
        fs::copy(from, &file)?;
        fs::set_permissions(&file, Permissions::from_mode(0o644))?;
    }

    let blobs = layout.join("blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let layer = folder.join("layer.tar");
    tar(builder, &root, &layer)?;
    let uncompressed = sha256(builder, &layer)?;
    let layer = add_blob(builder, &blobs, &gzip(builder, &layer)?)?;
    let add_json = |value: &Value, kind: &str| {
        let file = folder.join("blob.json");
        fs::write(&file, value.to_string())?;
        let (digest, size) = add_blob(builder, &blobs, &file)?;
        anyhow::Ok(descriptor(&format!("application/vnd.oci.image.{kind}+json"), &digest, size))
    };
    let config =
        add_json(&configuration(&builder.date()?, architecture, &uncompressed), "config.v1")?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", &layer.0, layer.1)],
    });
    let mut manifest = add_json(&manifest, "manifest.v1")?;
    if let Some(fields) = manifest.as_object_mut() {
        let version = env!("CARGO_PKG_VERSION");
        let names = json!({
            "org.opencontainers.image.ref.name": version,
            // The name after `podman load` and `docker load`.
            "io.containerd.image.name": format!("localhost/tercel:{version}"),
        });
        fields.insert("annotations".into(), names);
        let platform = json!({ "architecture": architecture.debian(), "os": "linux" });
        fields.insert("platform".into(), platform);
    }
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    fs::write(layout.join("index.json"), index.to_string())?;
    fs::write(layout.join("oci-layout"), json!({ "imageLayoutVersion": "1.0.0" }).to_string())?;
    let name = format!("tercel-{}-oci-{}.tar", env!("CARGO_PKG_VERSION"), architecture.name());
    tar(builder, &layout, &to.join(&name))?;
    Ok(name)
}

/// Copies a file to the blobs of a layout, and returns its checksum and size.
fn add_blob(builder: &Builder, blobs: &Path, file: &Path) -> Result<(String, u64)> {
    let digest = sha256(builder, file)?;
    let blob = blobs.join(&digest);
    let size = fs::copy(file, &blob)?;
    fs::set_permissions(&blob, Permissions::from_mode(0o644))?;
    Ok((digest, size))
}

fn descriptor(media_type: &str, digest: &str, size: u64) -> Value {
    json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": size })
}

fn configuration(date: &str, architecture: Architecture, layer: &str) -> Value {
    json!({
        "created": date,
        "author": MAINTAINER,
        "architecture": architecture.debian(),
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "ExposedPorts": { "8443/tcp": {} },
            "Env": ["PATH=/usr/bin"],
            "Entrypoint": [format!("/{PROGRAM}")],
            "Cmd": ["proxy", "--config", "/etc/tercel/proxy.toml"],
            "WorkingDir": "/",
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "tercel",
                "org.opencontainers.image.description": "TLS client, test server and terminator",
                "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
                "org.opencontainers.image.source": crate::release::HOMEPAGE,
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
        "history": [{ "created": date, "created_by": "just dist" }],
    })
}
