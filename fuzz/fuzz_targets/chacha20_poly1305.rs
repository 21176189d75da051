#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    tercel_fuzz_targets::chacha20_poly1305(data);
});
