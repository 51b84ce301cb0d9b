//! Plans that make sense, and those that do not.

use clap::Parser;

use super::*;
use crate::cli::Arguments;

fn file(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.toml");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

/// What flags say, behind a file if there is one.
fn told(text: Option<&str>, flags: &[&str]) -> Result<Plan, Error> {
    let file = text.map(file);
    let plan = file.iter().flat_map(|(_, path)| ["--plan", path]);
    let words = ["fabric"].into_iter().chain(plan).chain(flags.iter().copied());
    Arguments::try_parse_from(words).unwrap().plan()
}

#[test]
fn what_nobody_says_is_two_small_cards_on_a_cable() {
    let plan = Plan::new(Path::new("here"));
    assert_eq!(told(None, &["--sockets", "here"]).unwrap(), plan);
    assert_eq!(told(Some("sockets = 'here'"), &[]).unwrap(), plan);
    assert_eq!(told(None, &[]).unwrap().sockets, stroma_control::folder());
    assert_eq!((plan.cards, plan.wire, plan.profile), (2, Wire::Cable, Profile::TenGig));
}

#[test]
fn a_file_says_everything_and_flags_go_before_it() {
    let text = "
        profile = '100g'
        cards = 3
        wire = 'switch'
        seed = 9
        sockets = 'there'
        capture = 'frames'
        linger = 5
        [[end]]
        datagram = { near = 'a', far = 'b' }
        [[end]]
        tap = 'stroma0'
        [link]
        megabits = 25000
        delay-ns = 700
        mark-bytes = 30000
        honours-pause = true
        [faults]
        loss = 0.01
        rules = ['drop the 2nd READ response']
        [timing]
        read-ns = 600
    ";
    let plan = told(Some(text), &[]).unwrap();
    let end = EndPlan::Datagram { near: "a".into(), far: "b".into() };
    let expected = Plan {
        profile: Profile::HundredGig,
        cards: 3,
        wire: Wire::Switch,
        seed: 9,
        ends: vec![end.clone(), EndPlan::Tap("stroma0".to_owned())],
        capture: Some("frames".into()),
        linger: Some(5),
        link: LinkPlan {
            megabits: Some(25_000),
            delay_ns: Some(700),
            queue_bytes: None,
            mark_bytes: Some(30_000),
            honours_pause: Some(true),
        },
        faults: FaultPlan {
            loss: Some(0.01),
            rules: vec!["drop the 2nd READ response".to_owned()],
            ..FaultPlan::default()
        },
        timing: TimingPlan { read_ns: Some(600), ..TimingPlan::default() },
        ..Plan::new(Path::new("there"))
    };
    assert_eq!(plan, expected);
    // Written down and read again it is the same.
    assert_eq!(toml::from_str::<Plan>(&toml::to_string(&plan).unwrap()).unwrap(), plan);

    let flags = "--linger 9 --profile 10g --cards 1 --sockets here --loss 0.5 --read-ns 1000 --write-ns 9 --tap t --datagram c=d";
    let plan = told(Some(text), &flags.split(' ').collect::<Vec<_>>()).unwrap();
    assert_eq!((plan.profile, plan.cards, plan.wire), (Profile::TenGig, 1, Wire::Switch));
    assert_eq!((plan.sockets.as_path(), plan.linger), (Path::new("here"), Some(9)));
    assert_eq!((plan.faults.loss, plan.faults.rules.len()), (Some(0.5), 1));
    assert_eq!(plan.timing, TimingPlan { read_ns: Some(1000), write_ns: Some(9), ..TimingPlan::default() });
    assert_eq!((plan.ends.len(), &plan.ends[0], &plan.ends[3]), (4, &end, &EndPlan::Tap("t".to_owned())));
}

#[test]
fn a_file_that_is_no_plan_is_refused_with_what_is_wrong() {
    for (text, says) in [
        ("sockets = 'x'\ncarts = 2", "unknown field `carts`"),
        ("sockets = 'x'\nprofile = '40g'", "profile \"40g\": it is 10g or 100g"),
        ("sockets = 'x'\nwire = 'string'", "unknown variant `string`"),
        ("sockets = 'x'\n[[end]]\npipe = 'a'", "unknown variant `pipe`"),
        ("sockets = ", "TOML parse error"),
    ] {
        let error = told(Some(text), &[]).unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    let error = Arguments::try_parse_from(["fabric", "--plan", "/nowhere"]).unwrap().plan();
    assert!(error.unwrap_err().to_string().starts_with("reading the plan /nowhere: "));
    let error = Arguments::try_parse_from(["fabric", "--datagram", "a"]).unwrap_err().to_string();
    assert!(error.contains("two paths are needed, NEAR=FAR"), "{error}");
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_before_a_card_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let near = folder.path().join("none/near");
    let socket = format!("{}=far", near.display());
    for (flags, says) in [
        (
            "--cards 3",
            "3 stations, cards and ends, on a cable: a cable has two ends, a loopback one; a switch has as many ports as it needs",
        ),
        (
            "--tap t",
            "3 stations, cards and ends, on a cable: a cable has two ends, a loopback one; a switch has as many ports as it needs",
        ),
        (
            "--wire loopback",
            "2 stations, cards and ends, on a loopback: a cable has two ends, a loopback one; a switch has as many ports as it needs",
        ),
        ("--cards 0", "a fabric of no cards"),
        ("--linger 0", "linger = 0: it has to be 1 or more"),
        ("--loss 1.5", "loss = 1.5: it has to be from 0 to 1"),
        ("--corruption NaN", "corruption = NaN: it has to be from 0 to 1"),
        ("--megabits 0", "megabits = 0: it has to be 1 to 10000, which is what the card of this profile has"),
        ("--delay-ns 2000000000", "delay-ns = 2000000000: it has to be 1000000000 at most"),
        ("--reads 33", "reads = 33: it has to be 1 to 32"),
        ("--writes 0", "writes = 0: it has to be 1 to 32"),
        ("--pcie-megabits 0", "pcie-megabits = 0: it has to be 1 or more"),
        ("--load-ns 4000000000", "load-ns = 4000000000: it has to be 100000000 at most"),
        (&format!("--cards 1 --datagram {socket}"), &format!("opening the socket {}: ", near.display())),
        ("--cards 1 --tap sixteen-letters-", "opening the TAP interface sixteen-letters-: "),
    ] {
        let flags: Vec<&str> = ["--sockets", "x"].into_iter().chain(flags.split(' ')).collect();
        let plan = told(None, &flags).unwrap();
        let error = plan.world().err().unwrap_or_else(|| panic!("{flags:?}")).to_string();
        assert!(error.starts_with(says), "{flags:?}: {error}");
    }
    let plan = told(None, &["--sockets", "x", "--rule", "lose everything"]).unwrap();
    let error = plan.faults.faults(1, 0).err().expect("no rule").to_string();
    assert!(error.starts_with("the rules of faults: "), "{error}");
}

#[test]
fn chance_is_another_on_each_line() {
    let plan = FaultPlan { loss: Some(0.25), ..FaultPlan::default() };
    let [one, other] = [0, 1].map(|station| plan.faults(7, station).unwrap());
    assert_ne!(one.seed, other.seed);
    assert_eq!(one.loss, stroma_sim::link::Chance::percent(25));
}

#[test]
fn what_flags_want_of_a_fabric_that_runs_is_what_it_is_but_for_them() {
    let running = Plan {
        cards: 3,
        wire: Wire::Switch,
        ends: vec![EndPlan::Tap("t".to_owned())],
        linger: Some(3),
        ..Plan::new(Path::new("here"))
    };
    let wanted = |flags: &str| {
        let words = ["fabric"].into_iter().chain(flags.split_whitespace());
        let arguments = Arguments::try_parse_from(words).unwrap();
        let asked = arguments.clone().plan().unwrap();
        arguments.wanted(&asked, &running)
    };
    for same in ["", "--cards 3", "--wire switch --profile 10g", "--tap t", "--sockets there --linger 9"] {
        assert_eq!(wanted(same), running, "{same}");
    }
    assert_eq!(wanted("--cards 2"), Plan { cards: 2, ..running.clone() });
    assert_eq!(wanted("--tap u").ends.len(), 2);
    let (_folder, path) = file("cards = 1");
    assert_eq!(
        wanted(&format!("--plan {path}")),
        Plan { cards: 1, linger: Some(3), ..Plan::new(Path::new("here")) }
    );
}
