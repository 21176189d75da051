//! Wycheproof's vectors, if a user has them.
//!
//! They are not part of this repository. `TERCEL_WYCHEPROOF` names the folder that has them, which
//! is `testvectors_v1` in a checkout of <https://github.com/C2SP/wycheproof>.

mod aead;
mod json;
#[cfg(kernel_rsa)]
mod rsa;

use std::path::PathBuf;
use std::{env, fs};

use json::Json;

/// The folder of the vectors, if there is one.
fn folder() -> Option<PathBuf> {
    let folder = env::var_os("TERCEL_WYCHEPROOF").map(PathBuf::from);
    if folder.is_none() {
        println!("absent: TERCEL_WYCHEPROOF does not name a folder");
    }
    folder
}

/// Calls `check` with each vector of the file and the group that it belongs to. Returns for how
/// many vectors `check` returned true.
fn each_vector(file: &str, mut check: impl FnMut(&Json, &Json) -> bool) -> usize {
    let Some(folder) = folder() else { return usize::MAX };
    let json = Json::parse(&fs::read_to_string(folder.join(file)).unwrap());
    let mut checked = 0;
    for group in json.list("testGroups") {
        for vector in group.list("tests") {
            checked += usize::from(check(group, vector));
        }
    }
    println!("{file}: {checked} of {} vectors", json.text("numberOfTests"));
    checked
}
