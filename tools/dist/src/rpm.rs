//! Packages of RPM, by `rpmbuild`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::architecture::Architecture;
use crate::builder::{Builder, remove_folder, run};
use crate::package::{Item, Kind, Package};

/// Macros by which a package depends on its content alone.
const MACROS: &[(&str, &str)] = &[
    ("_buildhost", "localhost"),
    ("use_source_date_epoch_as_buildtime", "1"),
    ("clamp_mtime_to_source_date_epoch", "1"),
    ("source_date_epoch_from_changelog", "0"),
    ("_binary_payload", "w6.xzdio"),
    // Programs are not changed here: they are stripped, and the same as in other packages.
    ("__os_install_post", "%{nil}"),
    ("debug_package", "%{nil}"),
    ("_build_id_links", "none"),
    ("_unpackaged_files_terminate_build", "1"),
];

/// Scripts of the package with the service. As in Debian's, the service is not enabled, because it
/// needs certificates first.
const SCRIPTS: &str = "\
%pre
getent group ssl-cert >/dev/null || groupadd --system ssl-cert
getent group tercel >/dev/null || groupadd --system tercel
getent passwd tercel >/dev/null || useradd --system --gid tercel --no-create-home \\
    --home-dir /nonexistent --shell /usr/sbin/nologin tercel
exit 0

%post
# Owner and mode are the administrator's choice afterwards.
[ -d /etc/tercel/certs ] || install -d -m 750 -o root -g tercel /etc/tercel/certs
[ ! -d /run/systemd/system ] || systemctl daemon-reload || :

%preun
if [ \"$1\" -eq 0 ] && [ -d /run/systemd/system ]; then
    systemctl disable --now tercel-proxy.socket tercel-proxy.service || :
fi

%postun
# Certificates in this folder are not the package's, so the folder is removed only if it is empty.
[ \"$1\" -ne 0 ] || rmdir /etc/tercel/certs /etc/tercel 2>/dev/null || :
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || :
    [ \"$1\" -eq 0 ] || systemctl try-restart tercel-proxy.service || :
fi
exit 0

";

/// Writes a package to a folder, and returns the name of the file.
pub(crate) fn write(
    builder: &Builder,
    package: &Package,
    architecture: Architecture,
    to: &Path,
) -> Result<String> {
    let folder = builder.target.join("rpm");
    remove_folder(&folder)?;
    let content = folder.join("content");
    package.lay_out(&content)?;
    let spec = folder.join("package.spec");
    fs::write(&spec, spec_file(package, &content)?)?;

    let mut rpmbuild = builder.command("rpmbuild")?;
    // Macros of the caller would be read from this folder.
    let home = folder.join("home");
    fs::create_dir(&home)?;
    rpmbuild.env("HOME", home);
    rpmbuild.args(["-bb", "--quiet", "--target", &format!("{}-linux", architecture.name())]);
    let top = folder.display().to_string();
    for (name, value) in MACROS.iter().chain(&[("_topdir", &*top)]) {
        rpmbuild.arg("--define").arg(format!("{name} {value}"));
    }
    run(rpmbuild.arg(&spec))?;
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("{}-{version}-1.{}.rpm", package.name, architecture.name());
    let built = folder.join("RPMS").join(architecture.name()).join(&name);
    fs::copy(&built, to.join(&name)).with_context(|| built.display().to_string())?;
    Ok(name)
}

fn spec_file(package: &Package, content: &Path) -> Result<String> {
    let mut spec = format!(
        "Name: {}\nVersion: {}\nRelease: 1\nSummary: {}\nLicense: MIT OR Apache-2.0\nURL: {}\n\
         AutoReqProv: no\n",
        package.name,
        env!("CARGO_PKG_VERSION"),
        package.summary,
        crate::release::HOMEPAGE,
    );
    for provided in &package.provides {
        writeln!(spec, "Provides: {provided}")?;
    }
    for required in &package.requires {
        writeln!(spec, "Requires: {required}")?;
    }
    for recommended in package.recommends {
        writeln!(spec, "Recommends: {recommended}")?;
    }
    if package.has_service {
        // By path, because distributions have different packages with these programs.
        spec.push_str(
            "Requires(pre): /usr/bin/getent, /usr/sbin/groupadd, /usr/sbin/useradd\n\
             Requires(post): /usr/bin/install\n",
        );
    }
    write!(spec, "\n%description\n{}\n\n", package.description)?;
    let from = content.display();
    write!(spec, "%install\nmkdir -p %{{buildroot}}\ncp -a \"{from}/.\" %{{buildroot}}/\n")?;
    if package.has_service {
        spec.push('\n');
        spec.push_str(SCRIPTS);
    }
    if package.section == "libs" {
        spec.push_str("\n%post -p /sbin/ldconfig\n\n%postun -p /sbin/ldconfig\n\n");
    }
    spec.push_str("\n%files\n");
    if package.has_service {
        spec.push_str("%dir %attr(755, root, root) /etc/tercel\n");
    }
    for folder in ["usr/share/doc", "usr/share/licenses"] {
        let own = format!("{folder}/{}", package.name);
        if package.items.iter().any(|item| item.path.starts_with(&own)) {
            writeln!(spec, "%dir %attr(755, root, root) /{own}")?;
        }
    }
    for item in &package.items {
        let Item { path, kind, mode } = item;
        match kind {
            Kind::Link(_) => writeln!(spec, "/{path}")?,
            Kind::File(_) if path.starts_with("usr/share/doc/") => {
                writeln!(spec, "%doc %attr({mode:o}, root, root) /{path}")?;
            }
            Kind::File(_) if path.starts_with("usr/share/licenses/") => {
                writeln!(spec, "%license %attr({mode:o}, root, root) /{path}")?;
            }
            Kind::File(_) => writeln!(spec, "%attr({mode:o}, root, root) /{path}")?,
            // The service reads it.
            Kind::Configuration(_) => {
                writeln!(spec, "%config(noreplace) %attr({mode:o}, root, tercel) /{path}")?;
            }
        }
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_reads_its_configuration_and_an_upgrade_keeps_it() {
        let item = |path: &str, kind, mode| Item { path: path.to_owned(), kind, mode };
        let package = Package {
            name: "example".to_owned(),
            summary: "an example",
            description: "first line",
            section: "net",
            requires: vec!["other".to_owned()],
            recommends: &["ca-certificates"],
            provides: vec!["group(tercel)".to_owned()],
            has_service: true,
            items: vec![
                item("etc/tercel/proxy.toml", Kind::Configuration("a".into()), 0o640),
                item("usr/share/licenses/example/LICENSE", Kind::File("c".into()), 0o644),
                item("usr/bin/tercel", Kind::File("b".into()), 0o755),
            ],
        };
        let text = spec_file(&package, Path::new("/content")).unwrap();
        assert!(text.contains("\nRequires: other\nRecommends: ca-certificates\n"), "{text}");
        assert!(text.contains("\nProvides: group(tercel)\n"), "{text}");
        let licence = "\n%license %attr(644, root, root) /usr/share/licenses/example/LICENSE\n";
        assert!(text.contains(licence), "{text}");
        let folder = "\n%dir %attr(755, root, root) /usr/share/licenses/example\n";
        assert!(text.contains(folder), "{text}");
        assert!(text.contains("\n%pre\n") && text.contains("useradd --system"), "{text}");
        let configuration =
            "\n%config(noreplace) %attr(640, root, tercel) /etc/tercel/proxy.toml\n";
        assert!(text.contains(configuration), "{text}");
        assert!(text.ends_with("%attr(755, root, root) /usr/bin/tercel\n"), "{text}");
    }
}
