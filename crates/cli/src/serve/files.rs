//! Maps the path of a request to a file within one directory, and never outside of it.
//!
//! There are two independent checks: each segment, decoded once, must be one plain name; and the
//! file, with all symbolic links resolved, must be inside the directory.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};
use hyper::StatusCode;

use super::http::Response;

/// The directory that is served.
#[derive(Debug)]
pub(crate) struct DocumentRoot {
    /// The path of the directory, absolute and without symbolic links.
    folder: PathBuf,
}

/// The result of resolving a path.
#[derive(Debug, PartialEq, Eq)]
enum Resolved {
    File(PathBuf),
    /// A directory named without a trailing slash. Relative links in its index would not work.
    FolderWithoutSlash,
}

impl DocumentRoot {
    /// Opens a directory to be served.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let resolved = fs::canonicalize(folder).with_context(|| folder.display().to_string())?;
        ensure!(resolved.is_dir(), "{} is not a directory", folder.display());
        Ok(Self { folder: resolved })
    }

    /// The response to a request for a percent-encoded path.
    pub(crate) fn answer(&self, path: &str) -> Response {
        self.respond(path).unwrap_or_else(Response::status)
    }

    fn respond(&self, path: &str) -> Result<Response, StatusCode> {
        let file = match self.resolve(path)? {
            Resolved::File(file) => file,
            Resolved::FolderWithoutSlash => {
                // With several leading slashes the target would name another host.
                return Ok(Response::redirect(&format!("/{}/", path.trim_start_matches('/'))));
            }
        };
        let opened = File::open(&file).map_err(|error| status_of(&error))?;
        let length = opened.metadata().map_err(|error| status_of(&error))?.len();
        Ok(Response::file(content_type(&file), opened, length))
    }

    fn resolve(&self, path: &str) -> Result<Resolved, StatusCode> {
        let mut wanted = self.folder.clone();
        for segment in path.split('/').filter(|segment| !segment.is_empty()) {
            let name = decode(segment)?;
            wanted.push(plain_name(&name)?);
        }
        let mut found = self.within(&wanted)?;
        if found.is_dir() {
            if !path.ends_with('/') {
                return Ok(Resolved::FolderWithoutSlash);
            }
            found = self.within(&found.join("index.html"))?;
        } else if path.ends_with('/') {
            return Err(StatusCode::NOT_FOUND);
        }
        // Only files are served: opening a pipe would block, and devices must not be read.
        if found.is_file() { Ok(Resolved::File(found)) } else { Err(StatusCode::FORBIDDEN) }
    }

    /// Resolves symbolic links, and refuses paths outside of the directory.
    fn within(&self, wanted: &Path) -> Result<PathBuf, StatusCode> {
        let resolved = fs::canonicalize(wanted).map_err(|error| status_of(&error))?;
        if resolved.starts_with(&self.folder) { Ok(resolved) } else { Err(StatusCode::FORBIDDEN) }
    }
}

/// Refuses names with a special meaning for the file system: `..`, separators, drive letters.
fn plain_name(name: &str) -> Result<&str, StatusCode> {
    if name.contains(['/', '\\', ':']) {
        return Err(StatusCode::FORBIDDEN);
    }
    // File systems have no longer names. They are refused here, because the error of a file system
    // has no stable kind.
    if name.len() > 255 {
        return Err(StatusCode::NOT_FOUND);
    }
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(StatusCode::FORBIDDEN),
    }
}

/// Decodes percent-encoding exactly once. RFC 3986 2.1
fn decode(segment: &str) -> Result<String, StatusCode> {
    let mut decoded = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(StatusCode::BAD_REQUEST);
        };
        decoded.push(u8::try_from(high << 4 | low).map_err(|_| StatusCode::BAD_REQUEST)?);
    }
    match String::from_utf8(decoded) {
        Ok(name) if !name.contains('\0') => Ok(name),
        _ => Err(StatusCode::BAD_REQUEST),
    }
}

fn status_of(error: &io::Error) -> StatusCode {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => StatusCode::NOT_FOUND,
        io::ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn content_type(file: &Path) -> &'static str {
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let known = TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    known.map_or("application/octet-stream", |(_, content_type)| content_type)
}

const TYPES: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("htm", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("txt", "text/plain; charset=utf-8"),
    ("md", "text/markdown; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("xml", "text/xml; charset=utf-8"),
    ("json", "application/json"),
    ("wasm", "application/wasm"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/x-icon"),
    ("woff2", "font/woff2"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
    ("mp3", "audio/mpeg"),
    ("pem", "application/x-pem-file"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory `root` next to a file `secret`, removed at the end.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> (Self, DocumentRoot) {
            let base =
                std::env::temp_dir().join(format!("tercel-files-{}-{name}", std::process::id()));
            let root = base.join("root");
            fs::create_dir_all(root.join("folder")).unwrap();
            fs::create_dir_all(root.join("empty")).unwrap();
            for (file, text) in [
                ("index.html", "index"),
                ("a b.txt", "space"),
                ("%2e%2e", "literal"),
                ("folder/index.html", "inner"),
                ("../secret", "secret"),
            ] {
                fs::write(root.join(file), text).unwrap();
            }
            let opened = DocumentRoot::open(&root).unwrap();
            (Self(base), opened)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn file(root: &DocumentRoot, name: &str) -> Result<Resolved, StatusCode> {
        Ok(Resolved::File(root.folder.join(name)))
    }

    /// RFC 3986 2.1
    #[test]
    fn paths_lead_to_files() {
        let (_tree, root) = Tree::new("lead");
        assert_eq!(root.resolve("/"), file(&root, "index.html"));
        assert_eq!(root.resolve("/index.html"), file(&root, "index.html"));
        assert_eq!(root.resolve("/a%20b.txt"), file(&root, "a b.txt"));
        assert_eq!(root.resolve("//folder//"), file(&root, "folder/index.html"));
        // The path is decoded only once.
        assert_eq!(root.resolve("/%252e%252e"), file(&root, "%2e%2e"));
        assert_eq!(root.resolve("/folder"), Ok(Resolved::FolderWithoutSlash));
    }

    #[test]
    fn no_path_leads_outside() {
        let (_tree, root) = Tree::new("out");
        for path in [
            "/../secret",
            "/folder/../../secret",
            "/%2e%2e/secret",
            "/%2E./secret",
            "/..%2fsecret",
            "/..%5csecret",
            "/..\\secret",
            "/folder/..",
            "/.",
            "/c:/secret",
        ] {
            assert_eq!(root.resolve(path), Err(StatusCode::FORBIDDEN), "{path}");
        }
        let absolute = format!("/{}", root.folder.with_file_name("secret").display());
        assert_eq!(root.resolve(&absolute), Err(StatusCode::NOT_FOUND));
    }

    #[cfg(unix)]
    #[test]
    fn no_symbolic_link_leads_outside() {
        use std::os::unix::fs::symlink;
        let (_tree, root) = Tree::new("links");
        symlink("../secret", root.folder.join("link")).unwrap();
        symlink("..", root.folder.join("up")).unwrap();
        symlink("index.html", root.folder.join("inside")).unwrap();
        symlink("../../secret", root.folder.join("empty/index.html")).unwrap();
        assert_eq!(root.resolve("/link"), Err(StatusCode::FORBIDDEN));
        assert_eq!(root.resolve("/up/secret"), Err(StatusCode::FORBIDDEN));
        assert_eq!(root.resolve("/empty/"), Err(StatusCode::FORBIDDEN));
        assert_eq!(root.resolve("/inside"), file(&root, "index.html"));
    }

    #[test]
    fn missing_files_and_malformed_paths() {
        let (_tree, root) = Tree::new("missing");
        let long = format!("/{}", "x".repeat(300));
        for path in [long.as_str(), "/none", "/empty/", "/index.html/", "/index.html/x", "/secret"]
        {
            assert_eq!(root.resolve(path), Err(StatusCode::NOT_FOUND), "{path}");
        }
        for path in ["/%", "/%4", "/%zz", "/%+1", "/%00", "/%ff"] {
            assert_eq!(root.resolve(path), Err(StatusCode::BAD_REQUEST), "{path}");
        }
    }

    #[test]
    fn content_types_go_by_extension() {
        assert_eq!(content_type(Path::new("x.HTML")), "text/html; charset=utf-8");
        assert_eq!(content_type(Path::new("x.tar.gz")), "application/gzip");
        assert_eq!(content_type(Path::new("html")), "application/octet-stream");
    }
}
