#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| stroma_fuzz::control(bytes));
