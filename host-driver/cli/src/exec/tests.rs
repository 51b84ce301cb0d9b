//! What a program finds.

use clap::Parser;

use super::*;

fn parse(words: &str) -> Result<Arguments, String> {
    Arguments::try_parse_from(words.split(' ')).map_err(|error| error.to_string())
}

#[test]
fn a_program_and_its_arguments_stand_behind_two_dashes() {
    let arguments =
        parse("exec --card stroma1 --address 10.0.0.1,fd00::1 -- ib_write_bw --card 7 -d x").unwrap();
    assert_eq!(arguments.program, ["ib_write_bw", "--card", "7", "-d", "x"]);
    assert_eq!(arguments.card, Some(1));
    assert_eq!(arguments.address, ["10.0.0.1", "fd00::1"].map(|text| text.parse::<IpAddr>().unwrap()));
    assert_eq!(parse("exec --card 1 -- true").unwrap().card, Some(1));
    for (wrong, says) in [
        ("exec", "PROGRAM"),
        ("exec --address here -- true", "invalid IP address"),
        ("exec --card eth0 -- true", "a card's number, or its name such as stroma0"),
    ] {
        let error = parse(wrong).unwrap_err();
        assert!(error.contains(says), "{wrong}: {error}");
    }
}

#[test]
fn the_environment_names_the_fabric_and_our_library_goes_first() {
    let folder = Path::new("/run/stroma");
    let found = environment(folder, None, &[], Path::new("/opt/lib/libibverbs.so.1")).unwrap();
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["STROMA_FABRIC", "LD_LIBRARY_PATH", "LD_PRELOAD"]);
    assert_eq!(found[0].1, "/run/stroma");
    let addresses = ["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()];
    let found = environment(folder, Some(1), &addresses, Path::new("/opt/lib/libibverbs.so.1")).unwrap();
    let more: Vec<_> = found[3..].iter().map(|(name, value)| (*name, value.to_str().unwrap())).collect();
    assert_eq!(more, [("STROMA_CARD", "1"), ("STROMA_ADDRESS", "10.0.0.1,fd00::1")]);
    assert_eq!(in_front("/a".as_ref(), None), "/a");
    assert_eq!(in_front("/a".as_ref(), Some("".into())), "/a");
    assert_eq!(in_front("/a".as_ref(), Some("/b:/c".into())), "/a:/b:/c");
}
