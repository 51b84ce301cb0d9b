//! One fabric a folder.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use stroma_device::VfioUser;

use crate::stage::{Stage, until};

#[test]
fn a_second_fabric_in_the_same_folder_is_refused() {
    let stage = Stage::new();
    let _cards = stage.serve(&["--cards", "1"]);
    let process = stage.status().unwrap().process;
    let folder = stage.fabric();
    let says = format!("error: a fabric runs at {} already, process {process}: end it", folder.display());
    for words in [&["fabric"][..], &["fabric", "--detach"]] {
        let said = stage.run(words);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.error.starts_with(&says), "{said:?}");
    }
    assert_eq!(stage.status().unwrap().process, process, "the first has not noticed");
}

#[test]
fn what_a_fabric_that_was_killed_has_left_is_replaced() {
    let stage = Stage::new();
    drop(stage.serve(&["--cards", "2"]));
    let sockets = || -> Vec<bool> {
        ["card0", "card1", "control"].map(|name| stage.fabric().join(name).exists()).to_vec()
    };
    assert_eq!(sockets(), [true; 3], "it could not clear up");
    assert!(stage.status().is_none());
    let _cards = stage.serve(&["--cards", "1"]);
    assert_eq!(sockets(), [true, false, true], "there is one card now");
    VfioUser::open(&stage.fabric().join("card0")).unwrap();
}

#[test]
fn a_fabric_lingers_while_somebody_has_a_card_and_for_a_while_after_that() {
    let stage = Stage::new();
    let started = Instant::now();
    let cards = stage.serve(&["--cards", "1", "--linger", "1"]);
    let card = VfioUser::open(&stage.fabric().join("card0")).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(stage.status().unwrap().cards[0].is_taken);
    drop(card);
    assert_eq!(cards.end(), Some(0));
    assert!(started.elapsed() > Duration::from_millis(2500));
    assert!(!stage.fabric().join("control").exists());
}

#[test]
fn a_fabric_in_the_background_is_served_when_the_command_returns() {
    let stage = Stage::new();
    let told = stage.done(&["fabric", "--cards", "1", "--linger", "1", "--detach"]);
    let socket: PathBuf = stage.fabric().join("card0");
    assert_eq!(told, format!("card0 {}\n\n", socket.display()));
    VfioUser::open(&socket).unwrap();
    let log = stage.fabric().join("fabric.log");
    until("its log tells of the client", || {
        fs::read_to_string(&log).unwrap().contains("has come").then_some(())
    });
}

#[test]
fn a_fabric_that_does_not_start_in_the_background_says_why() {
    let stage = Stage::new();
    let said = stage.run(&["fabric", "--cards", "3", "--detach"]);
    assert_eq!(said.code, Some(1));
    assert!(said.error.contains("3 stations, cards and ends, on a cable"), "{said:?}");
}

#[test]
fn a_link_in_the_place_of_the_log_or_the_lock_leaves_its_target_as_it_is() {
    let stage = Stage::new();
    let (folder, target) = (stage.fabric(), stage.path("precious"));
    fs::create_dir(&folder).unwrap();
    fs::write(&target, "mine").unwrap();
    for name in ["fabric.log", "lock"] {
        let link = folder.join(name);
        symlink(&target, &link).unwrap();
        let said = stage.run(&["fabric", "--cards", "1", "--detach", "--linger", "1"]);
        assert_eq!(said.code, Some(1), "{name}: {said:?}");
        assert!(said.error.contains("it is a symbolic link: remove it"), "{name}: {said:?}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "mine", "{name}");
        fs::remove_file(&link).unwrap();
    }
}

#[test]
fn a_folder_that_others_may_write_to_is_not_used() {
    let stage = Stage::new();
    let folder = stage.fabric();
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    for words in [&["fabric", "--cards", "1", "--linger", "1"][..], &["devices"], &["exec", "--", "true"]] {
        let said = stage.run(words);
        assert_eq!(said.code, Some(1), "{words:?}: {said:?}");
        let says = format!("others may write to {} (user", folder.display());
        assert!(said.error.contains(&says) && said.error.contains("mode 777"), "{words:?}: {said:?}");
    }
}

#[test]
fn a_fabric_has_as_many_descriptors_as_it_may_and_goes_on_when_nobody_reads_what_it_tells() {
    let stage = Stage::new();
    // As a shell of an ordinary user has it: fewer than there may be.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -S -n 512 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_stroma")]);
    command.args(["fabric", "--cards", "1"]).env("STROMA_FABRIC", stage.fabric()).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Before a line is told.
    drop((child.stdout.take(), child.stderr.take()));
    let status = until("a fabric serves", || stage.status());
    for _ in 0..3 {
        VfioUser::open(&stage.fabric().join("card0")).unwrap();
    }
    let limits = fs::read_to_string(format!("/proc/{}/limits", status.process)).unwrap();
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let [soft, hard] = [0, 1].map(|place| files.split_whitespace().nth(place).unwrap().to_owned());
    assert!(soft == hard && soft != "512", "{files}");
    assert!(child.try_wait().unwrap().is_none(), "it runs");
    child.kill().unwrap();
    child.wait().unwrap();
}
