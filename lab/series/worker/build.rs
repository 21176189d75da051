//! Builds the OpenSSL release of the package's lock file from source. All packages of the series
//! share this script. The build is static: no modules, engines or external providers.

fn main() {
    println!("cargo:rerun-if-changed=../worker/build.rs");
    openssl_src::Build::new().build().print_cargo_metadata();
    println!("cargo:rustc-check-cfg=cfg(openssl_1_1_1)");
    if openssl_src::version().starts_with("111.") {
        println!("cargo:rustc-cfg=openssl_1_1_1");
    }
}
