//! What is measured when nobody says.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    perf: Arguments,
}

fn parse(words: &str) -> Result<Arguments, String> {
    let words = ["perf"].into_iter().chain(words.split(' '));
    Line::try_parse_from(words).map(|line| line.perf).map_err(|error| error.to_string())
}

#[test]
fn sizes_are_one_or_powers_of_two() {
    let sizes = |words| parse(words).unwrap().sizes().map_err(|error| error.to_string());
    assert_eq!(sizes("write"), Ok(vec![65536]));
    assert_eq!(sizes("write --latency"), Ok(vec![2]));
    assert_eq!(sizes("read --size 1000"), Ok(vec![1000]));
    assert_eq!(sizes("send --sizes 2..16"), Ok(vec![2, 4, 8, 16]));
    assert_eq!(sizes("atomic"), Ok(vec![8]));
    assert_eq!(sizes("atomic --size 16"), Err("an atomic has 8 bytes".to_owned()));
    for wrong in ["write --sizes 3..16", "write --sizes 16..2", "write --sizes 4", "write --size 0"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
    assert!(parse("write --latency --qps 2").is_err(), "one request at a time is on one queue pair");
    assert!(parse("write --mtu 1500").is_err());
}

#[test]
fn a_size_moves_a_megabyte_unless_somebody_says() {
    let arguments = parse("write").unwrap();
    assert_eq!([2, 4096, 65536, 1 << 24].map(|size| arguments.iterations(size)), [1000, 256, 20, 20]);
    assert_eq!(parse("write -n 7").unwrap().iterations(2), 7);
    assert_eq!(Mtu::M4096.bytes(), 4096);
    assert_eq!((Mtu::M256.code(), Mtu::M1024.code()), (1, 3));
}
