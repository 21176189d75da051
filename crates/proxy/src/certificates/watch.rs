//! The watch of certificate files: see [`tercel::files::FileWatch`].

use tercel::files::{FileSnapshot, WatchedFiles};

use super::{Certificates, Changes};

impl WatchedFiles for Certificates {
    type Changes = Changes;

    /// The metadata of the files that are named, and of the folder as [`super::layout`] reads it.
    fn snapshot(&self) -> FileSnapshot {
        let mut snapshot = FileSnapshot::new();
        for files in &self.source.files {
            for file in [Some(&files.chain), Some(&files.key), files.ocsp_response.as_ref()] {
                file.into_iter().for_each(|file| snapshot.add_file(file));
            }
        }
        let folder = self.source.folder.as_deref();
        folder.into_iter().for_each(|folder| snapshot.add_folder(folder, true));
        snapshot
    }

    fn reload(&self) -> Option<Changes> {
        let changes = self.reload();
        let reported = !(changes.problems.is_empty()
            && changes.exposed_keys.is_empty()
            && changes.keyless.is_empty());
        (changes.any() || reported).then_some(changes)
    }

    fn has_problems(&self) -> bool {
        self.outstanding() > 0
    }

    fn reload_panicked(&self) {
        tracing::error!("reload of changed files failed; trying again");
    }
}
