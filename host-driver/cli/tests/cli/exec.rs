//! Programs on a fabric.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use crate::stage::{Stage, until};

/// What `env` says.
fn variables(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once('=')).collect()
}

#[test]
fn a_program_finds_the_fabric_its_card_and_our_library_and_its_exit_code_is_ours() {
    let stage = Stage::new();
    let words = ["exec", "--linger", "2", "--card", "1", "--address", "10.0.0.7,fd00::7"];
    let said = stage.run(&[&words[..], &["--", "sh", "-c", "env; exit 3"]].concat());
    assert_eq!(said.code, Some(3), "{said:?}");
    let found = variables(&said.out);
    assert_eq!(found["STROMA_FABRIC"], stage.fabric().to_str().unwrap());
    assert_eq!((found["STROMA_CARD"], found["STROMA_ADDRESS"]), ("1", "10.0.0.7,fd00::7"));
    assert_eq!(found["LD_LIBRARY_PATH"].split(':').next(), stage.path("lib").to_str());
    assert_eq!(found["LD_PRELOAD"], stage.path("lib/libibverbs.so.1").to_str().unwrap());
    let status = stage.status().expect("it lingers");
    assert!(stage.fabric().join("fabric.log").exists());
    // Nobody comes: it ends by itself, and leaves no socket.
    until("a fabric nobody uses ends", || stage.status().is_none().then_some(()));
    until("its process has gone", || stroma_control::holder(&stage.fabric()).is_none().then_some(()));
    assert!(!status.cards.iter().any(|card| card.socket.exists()));
}

#[test]
fn programs_that_start_at_the_same_time_share_one_fabric() {
    let stage = Stage::new();
    let programs: Vec<_> = (0..4)
        .map(|_| {
            let words = ["exec", "--linger", "2", "--cards", "1", "--", "cat", "fabric/lock"];
            let mut command = stage.command(&words);
            command.current_dir(stage.path("")).stdout(std::process::Stdio::piped());
            command.stderr(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let holders: Vec<String> = programs
        .into_iter()
        .map(|program| {
            let output = program.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        })
        .collect();
    let process = stage.status().expect("it lingers").process;
    assert_eq!(holders, vec![format!("{process}\n"); 4]);
}

#[test]
fn a_fabric_that_runs_is_used_if_it_is_what_is_asked_for() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "1"]);
    stage.done(&["exec", "--", "true"]);
    stage.done(&["exec", "--cards", "1", "--profile", "10g", "--card", "stroma0", "--", "true"]);
    for (flags, says) in [
        (["--cards", "2"], "a fabric runs with cards = 1, and 2 is asked for: end it (process "),
        (["--profile", "100g"], "a fabric runs with profile = \"10g\", and \"100g\" is asked for"),
        (["--card", "1"], "card 1: the fabric has 1, and they are counted from 0"),
    ] {
        let said = stage.run(&[&["exec"], &flags[..], &["--", "true"]].concat());
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.error.contains(says), "{flags:?}: {said:?}");
    }
}

#[test]
fn what_cannot_be_run_has_the_exit_codes_of_shells() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "1"]);
    let script = stage.path("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o644)).unwrap();
    let code = |program: &str| stage.run(&["exec", "--", program]).code;
    assert_eq!(code("no-such-program"), Some(127));
    assert_eq!(code(script.to_str().unwrap()), Some(126));
    assert_eq!(stage.run(&["exec", "--", "sh", "-c", "kill -9 $$"]).code, None, "as the program ended");
}

#[test]
fn without_the_library_no_cards_are_started() {
    let stage = Stage::new();
    std::fs::remove_file(stage.path("lib/libibverbs.so.1")).unwrap();
    let said = stage.run(&["exec", "--", "true"]);
    assert_eq!(said.code, Some(1));
    assert!(said.error.contains("`cargo xtask install --prefix PREFIX` makes it"), "{said:?}");
    assert!(!stage.fabric().exists());
}
