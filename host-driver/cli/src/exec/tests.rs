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
        ("exec --boards --cards 2 -- true", "cannot be used with"),
        ("exec --boards --fabric /x -- true", "cannot be used with"),
        ("exec --boards --loss 0.5 -- true", "cannot be used with"),
        ("exec --boards --delay-ns 5 -- true", "cannot be used with"),
        ("exec --boards --read-ns 5 -- true", "cannot be used with"),
    ] {
        let error = parse(wrong).unwrap_err();
        assert!(error.contains(says), "{wrong}: {error}");
    }
}

#[test]
fn the_environment_names_the_fabric_and_our_library_goes_first() {
    let (folder, library) = (Some(Path::new("/run/stroma")), Path::new("/opt/lib/libibverbs.so.1"));
    let found = environment(folder, None, &[], library).unwrap();
    let names = |found: &[(&'static str, OsString)]| found.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(names(&found), ["LD_LIBRARY_PATH", "LD_PRELOAD", "STROMA_FABRIC"]);
    assert_eq!(found[2].1, "/run/stroma");
    let found = environment(None, None, &[], library).unwrap();
    assert_eq!(names(&found), ["LD_LIBRARY_PATH", "LD_PRELOAD"], "boards are of no fabric");
    let addresses = ["10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()];
    let found = environment(folder, Some(1), &addresses, library).unwrap();
    let more: Vec<_> = found[3..].iter().map(|(name, value)| (*name, value.to_str().unwrap())).collect();
    assert_eq!(more, [("STROMA_CARD", "1"), ("STROMA_ADDRESS", "10.0.0.1,fd00::1")]);
    assert_eq!(in_front("/a".as_ref(), None), "/a");
    assert_eq!(in_front("/a".as_ref(), Some("".into())), "/a");
    assert_eq!(in_front("/a".as_ref(), Some("/b:/c".into())), "/a:/b:/c");
}

#[test]
fn a_card_that_is_not_there_is_missed_before_the_program_is_started() {
    let told = |count, card| check(count, "this machine", card).map_err(|error| error.to_string());
    assert_eq!(told(1, None), Ok(()));
    assert_eq!(told(2, Some(1)), Ok(()));
    assert_eq!(told(1, Some(1)).unwrap_err(), "card 1: this machine has 1, and they are counted from 0");
    let says = "this machine has no card that programs can open: `stroma devices`, `stroma bind`";
    assert_eq!(told(0, None).unwrap_err(), says);
}
