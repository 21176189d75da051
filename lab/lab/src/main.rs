//! The program `lab`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match lab::cli::main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
