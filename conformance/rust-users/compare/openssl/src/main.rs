//! The timed programs: see `timed_programs`.

use anyhow::Result;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    timed_programs::run(&arguments, |authority| {
        let authority = reqwest::Certificate::from_pem(authority)?;
        reqwest::Client::builder().tls_certs_only([authority]).build()
    })
}
