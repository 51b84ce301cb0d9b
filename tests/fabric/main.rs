//! Cards in a process of their own, and clients in others: what one of them does, or how it ends, concerns the others as
//! little as with cards in different machines.

mod hostile;
mod process;

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hostile::{Attacker, pester};
use process::{Process, Stage, become_server, connected, is_root};
use stroma_device::{Backend, Error, VfioUser};
use stroma_fabric::{Fabric, Plan, Report};
use stroma_party::MEMORY;
use stroma_sim::pcap::{self, Direction};
use stroma_tests::effort::share;
use stroma_top::Profile;
use stroma_verbs::scenarios;

/// How long a client that is gone is watched.
const AFTERMATH: Duration = Duration::from_secs(1);

fn send([from, to]: [&mut Process; 2], seed: u64) {
    to.tell(&["receive 400000 5000"]);
    from.tell(&[&format!("fill {seed} 500000 4097"), "send 500000 4097"]);
    to.tell(&["received 4097", &format!("check {seed} 400000 4097")]);
}

/// What two clients do with each other: WRITE, READ, SEND both ways, and a call of a kernel.
fn exchange([near, far]: [&mut Process; 2]) {
    near.tell(&["fill 1 0 20000", "write 0 100000 20000"]);
    far.tell(&["check 1 100000 20000", "fill 2 200000 9000"]);
    near.tell(&["read 200000 300000 9000", "check 2 300000 9000"]);
    send([near, far], 3);
    send([far, near], 4);
    far.tell(&["list 8"]);
    near.tell(&["walk 100 600000 64", "walk 107 600000 1000"]);
}

#[test]
fn two_processes_on_cards_of_a_third_write_read_send_and_call() {
    let stage = Stage::new();
    let cards = stage.serve("cards", &[]);
    let [mut near, mut far] = cards.clients();
    exchange([&mut near, &mut far]);
    near.finish();
    far.finish();
    // The cards are as new for the next two.
    let [mut near, mut far] = cards.clients();
    exchange([&mut near, &mut far]);
}

#[test]
fn cards_of_the_wide_profile_are_served_alike() {
    let stage = Stage::new();
    let cards = stage.serve("cards", &["--profile", Profile::HundredGig.name()]);
    let [mut near, mut far] = cards.clients();
    exchange([&mut near, &mut far]);
    near.kill();
    let (mut near, place) = cards.client(0);
    reconnect(&mut near, &place, &mut far);
    exchange([&mut near, &mut far]);
}

/// Connects a client that has just come to one that was there before.
fn reconnect(new: &mut Process, place: &str, old: &mut Process) {
    let renewed = old.ask("renew");
    new.tell(&[&format!("connect {renewed}")]);
    old.tell(&[&format!("connect {place}")]);
}

/// Has so many WRITEs of 64 KiB on their way, and the first bytes there.
fn flood([from, to]: [&mut Process; 2], count: usize) {
    to.tell(&["clear 65536 65536"]);
    from.tell(&["fill 7 0 65536", &format!("flood 65536 65536 {count}")]);
    to.tell(&["watch 65536"]);
}

#[test]
fn a_client_that_is_killed_while_it_writes_leaves_its_card_to_the_next() {
    let stage = Stage::new();
    let mut cards = stage.serve("cards", &[]);
    let [mut near, mut far] = cards.clients();
    for _ in 0..2 {
        flood([&mut near, &mut far], 100);
        near.kill();
        let (next, place) = cards.client(0);
        near = next;
        reconnect(&mut near, &place, &mut far);
        exchange([&mut near, &mut far]);
        assert!(cards.are_running());
    }
}

#[test]
fn a_client_that_is_killed_while_it_is_written_to_leaves_its_card_to_the_next() {
    let stage = Stage::new();
    let mut cards = stage.serve("cards", &[]);
    let [mut near, mut far] = cards.clients();
    flood([&mut near, &mut far], 100);
    far.kill();
    let (mut far, place) = cards.client(1);
    reconnect(&mut far, &place, &mut near);
    exchange([&mut near, &mut far]);
    assert!(cards.are_running());
}

#[test]
fn memory_that_outlives_a_killed_client_is_not_touched_any_more() {
    let stage = Stage::new();
    let mut cards = stage.serve("cards", &[]);
    let (path, memory) = stage.memory(MEMORY);
    let lent = ["--memory", path.to_str().unwrap()];
    let [mut near, mut far] = connected([cards.client(0), cards.client_as(1, 1, &lent)]);
    flood([&mut near, &mut far], 100);
    near.tell(&["mark 300000"]);
    far.kill();
    let byte = |at| {
        let mut byte = [0];
        memory.read_exact_at(&mut byte, at).unwrap();
        byte[0]
    };
    assert_ne!(byte(65536), 0, "the card wrote to the file");
    assert_eq!(byte(300_000), 0, "the writer is through: there is nothing that could be written any more");
    let blank = vec![0xa5; MEMORY];
    memory.write_all_at(&blank, 0).unwrap();
    thread::sleep(AFTERMATH);
    let mut found = vec![0; MEMORY];
    memory.read_exact_at(&mut found, 0).unwrap();
    assert!(found == blank, "somebody wrote to the memory of a process that was gone");
    assert!(cards.are_running());
}

#[test]
fn a_hostile_client_is_sent_away_and_the_other_card_does_not_notice() {
    let stage = Stage::new();
    let cards = stage.serve("cards", &[]);
    let [near, mut far] = cards.clients();
    near.finish();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &[0; 3]] {
        let mut stream = UnixStream::connect(cards.socket(0)).unwrap();
        stream.write_all(bytes).unwrap();
    }
    let (mut near, place) = cards.client(0);
    reconnect(&mut near, &place, &mut far);
    exchange([&mut near, &mut far]);
}

/// Ends what goes on until then, should the story end before.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Rounds of attacks, each of every kind.
const ROUNDS: usize = 80;

#[test]
fn clients_that_keep_to_no_rule_do_not_disturb_others_at_work() {
    let stage = Stage::new();
    let mut cards = stage.serve("cards", &["--cards", "3", "--wire", "switch"]);
    let [mut near, mut far] = cards.clients();
    let started = Instant::now();
    exchange([&mut near, &mut far]);
    // On a machine whose processors are taken, and for a simulation that has a third card at work.
    let patience = 20 * started.elapsed() + Duration::from_secs(20);
    let over = AtomicBool::new(false);
    let sockets = [0, 1, 2].map(|card| cards.socket(card).to_path_buf());
    let control = stroma_control::control(sockets[0].parent().unwrap());
    thread::scope(|scope| {
        let _end = End(&over);
        let attacking = scope.spawn(|| {
            let mut attacker = Attacker::new(&sockets[2], 1);
            attacker.attack(share(ROUNDS));
            attacker.tally
        });
        // At cards that others have.
        let crowding = scope.spawn(|| {
            let mut attackers = [Attacker::new(&sockets[0], 2), Attacker::new(&sockets[1], 3)];
            while !over.load(Ordering::Relaxed) {
                attackers.iter_mut().for_each(Attacker::crowd);
            }
            attackers.map(|attacker| attacker.tally.connections).iter().sum::<usize>()
        });
        let pestering = scope.spawn(|| pester(&control, 10 * share(ROUNDS)));
        while !attacking.is_finished() || !pestering.is_finished() {
            let started = Instant::now();
            exchange([&mut near, &mut far]);
            assert!(started.elapsed() < patience, "{:?} of {patience:?}", started.elapsed());
        }
        over.store(true, Ordering::Relaxed);
        let tally = attacking.join().unwrap();
        let (crowded, pestered) = (crowding.join().unwrap(), pestering.join().unwrap());
        println!("{tally:?}, {crowded} connections at taken cards, {pestered} questions");
        let rounds = share(ROUNDS);
        assert!(tally.connections >= 10 * rounds && tally.endings > 0, "{tally:?}");
        assert!(tally.answers > 50 * rounds && tally.refusals > 20 * rounds, "{tally:?}");
        assert!(crowded > 200 && pestered > 10 * rounds);
    });
    assert!(cards.are_running());
    near.finish();
    // The card that was attacked serves whoever comes next, as if nothing had been.
    let (mut near, place) = cards.client_as(0, 2, &[]);
    reconnect(&mut near, &place, &mut far);
    exchange([&mut near, &mut far]);
}

#[test]
fn a_card_that_is_taken_is_refused_with_what_to_do() {
    let stage = Stage::new();
    let cards = stage.serve("cards", &[]);
    let (_client, _) = cards.client(0);
    let socket = cards.socket(0).to_path_buf();
    // Root trusts no other user's fabric: who asks is the user who serves.
    let asked = thread::spawn(move || {
        become_server();
        VfioUser::open(&socket).map(drop)
    });
    let Err(refused) = asked.join().unwrap() else { panic!("it is taken") };
    assert!(matches!(refused, Error::Backend { .. }));
    assert!(refused.to_string().contains("one process at a time"), "{refused}");
}

#[test]
fn cards_of_two_processes_reach_each_other_over_datagrams() {
    let stage = Stage::new();
    let [one, other] = ["one", "other"].map(|name| stage.path(name).to_str().unwrap().to_owned());
    let near = stage.serve("near", &["--cards", "1", "--datagram", &format!("{one}={other}")]);
    let far = stage.serve("far", &["--cards", "1", "--datagram", &format!("{other}={one}")]);
    let [mut near, mut far] = connected([near.client_as(0, 0, &[]), far.client_as(1, 0, &[])]);
    exchange([&mut near, &mut far]);
}

#[test]
fn a_plan_with_a_switch_that_loses_frames_records_them_and_nothing_is_missing() {
    let stage = Stage::new();
    let plan = stage.path("plan.toml");
    let capture = stage.path("frames");
    let text = format!(
        "cards = 3\nwire = 'switch'\nseed = 3\ncapture = {capture:?}\n[faults]\nloss = 0.05\n[timing]\nread-ns = 300\n"
    );
    std::fs::write(&plan, text).unwrap();
    let cards = stage.serve("cards", &["--plan", plan.to_str().unwrap()]);
    let [mut near, mut far] = connected([cards.client(0), cards.client_as(1, 2, &[])]);
    for _ in 0..3 {
        exchange([&mut near, &mut far]);
    }
    let count = |name: &str, direction: Direction| {
        let frames = pcap::read(&capture.join(name)).unwrap();
        frames.iter().filter(|frame| frame.direction == Some(direction)).count()
    };
    let (sent, heard) = (count("card0.pcapng", Direction::Out), count("card2.pcapng", Direction::In));
    assert!(sent > heard && heard > 100, "{sent} frames left, {heard} arrived");
}

/// The kernel of this machine is the neighbour: it answers for itself.
#[test]
fn a_card_reaches_the_machine_over_a_tap_interface_in_both_versions_of_ip() {
    if !is_root() {
        eprintln!("left out: only root makes a network of its own, and interfaces in it");
        return;
    }
    let script = "
        ip tuntap add stroma0 mode tap
        ip link set stroma0 mtu 4000 up
        ip address add 10.0.0.99/24 dev stroma0
        ip address add fd00::99/64 dev stroma0 nodad
    ";
    let stage = Stage::new();
    let cards = stage.serve_apart(script, &["--cards", "1", "--tap", "stroma0"]);
    // The client is an ordinary user's.
    std::fs::set_permissions(cards.socket(0), Permissions::from_mode(0o666)).unwrap();
    let (mut client, _) = cards.client(0);
    client.tell(&["ping 10.0.0.99 0", "ping 10.0.0.99 3900", "ping fd00::99 1", "ping fd00::99 3900"]);
    let refused = client.ask("seek 10.0.0.98");
    assert!(refused.contains("no neighbour has 10.0.0.98: no answer to ARP"), "{refused}");
    let refused = client.ask("ping 10.0.0.99 5000");
    assert!(refused.contains("an echo of 5000 bytes: 4034 at most"), "{refused}");
}

/// A card of its own for a story of the verbs crate, served by this very process.
fn card() -> Arc<dyn Backend> {
    // The folder is left to the system: the cards are served until the process ends.
    let folder = tempfile::tempdir().unwrap().keep();
    let plan = Plan { cards: 1, seed: 7, ..Plan::new(&folder) };
    let report: Report = Arc::new(|_| {});
    Fabric::start(&plan, &report).unwrap();
    Arc::new(VfioUser::open(&plan.socket(0)).unwrap())
}

#[test]
fn the_stories_of_the_verbs_crate_hold_over_vfio_user() {
    let told = share(scenarios::ALL.len());
    for (name, story) in scenarios::ALL.iter().step_by(scenarios::ALL.len() / told) {
        println!("{name}");
        story(card());
    }
}
