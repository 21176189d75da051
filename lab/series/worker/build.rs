//! Builds the release of OpenSSL that the package's lock file names, from source.
//!
//! Shared by all packages of the series. Nothing of the build is dynamic: no module, no engine, no provider
//! other than those within libcrypto.

fn main() {
    println!("cargo:rerun-if-changed=../worker/build.rs");
    openssl_src::Build::new().build().print_cargo_metadata();
    println!("cargo:rustc-check-cfg=cfg(openssl_1_1_1)");
    if openssl_src::version().starts_with("111.") {
        println!("cargo:rustc-cfg=openssl_1_1_1");
    }
}
