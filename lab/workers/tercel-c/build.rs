//! Links the worker with the shared library in the folder LIBTERCEL.

use std::env;

fn main() {
    println!("cargo:rerun-if-env-changed=LIBTERCEL");
    // Without the variable, `cargo check` works and linking fails.
    if let Ok(folder) = env::var("LIBTERCEL") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
    println!("cargo:rustc-link-lib=dylib=tercel");
}
