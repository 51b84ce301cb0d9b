//! What others are told of a card that a program has.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use stroma_control::{
    Error,
    inspect::{Kind, Only, Question, Report, Selection, ask},
};
use stroma_device::{Backing, DmaMemory};
use stroma_verbs::{Access, Device};
use tempfile::TempDir;

use crate::Fake;

const PATIENCE: Duration = Duration::from_secs(20);

/// A card that others find.
fn open() -> (TempDir, Arc<Fake>, Arc<Device>) {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::at(folder.path().join("card0"));
    let device = Device::open(fake.clone()).unwrap();
    (folder, fake, device)
}

fn show(folder: &Path, only: Vec<Only>) -> Result<Report, Error> {
    let question = Question::Show { only: Selection(only) };
    ask(&folder.join("card0.inspect"), &question, PATIENCE).map(|told| told.report)
}

#[test]
fn the_driver_tells_what_is_on_its_card_until_the_card_is_let_go() {
    let (folder, _fake, device) = open();
    let completions = device.completion_queue(16).unwrap();
    let domain = device.protection_domain().unwrap();
    let queue_pair = domain.queue_pair(&completions).build().unwrap();
    queue_pair.activate().unwrap();
    let direct = domain.allocate(5000, Access::LOCAL_WRITE).unwrap();
    let memory = Arc::new(DmaMemory::allocate(6 * 4096, None).unwrap());
    let listed = domain.region(Access::LOCAL_WRITE).page_list(Backing::Small).register(memory).unwrap();

    let shown = show(folder.path(), Vec::new()).unwrap();
    let pairs = shown.qp.unwrap();
    assert_eq!((pairs[0].state.number, pairs[0].state.state.as_str()), (queue_pair.number(), "RTS"));
    assert_eq!((pairs[0].setup.send_queue, pairs[0].setup.domain), (completions.number(), 0));
    assert_eq!(shown.cq.unwrap()[0].entries, 16);
    assert_eq!(shown.srq.unwrap(), []);
    assert!(shown.tlb.is_some() && shown.port.unwrap().counters.contains_key("tx_frames"));
    let regions = shown.mr.unwrap();
    let keys: Vec<_> = regions.iter().map(|shown| shown.region.key.clone()).collect();
    assert_eq!(keys, [&direct, &listed].map(|region| format!("{:#x}", region.rkey())));
    let ways: Vec<_> = regions.iter().map(|shown| shown.translation.way.as_str()).collect();
    assert_eq!(ways, ["direct", "list"]);
    assert_eq!((regions[1].translation.page, regions[1].translation.pages), (4096, 6));
    assert_eq!(regions[1].pages_at.len(), 4, "the first of them");
    assert_ne!(regions[1].translation.list, regions[1].pages_at[0]);

    let number = listed.rkey() >> u8::BITS;
    let one = vec![Only { kind: Kind::Mr, number: Some(number) }, Only { kind: Kind::Tlb, number: None }];
    let shown = show(folder.path(), one).unwrap();
    assert_eq!(shown.mr.unwrap(), regions[1..]);
    assert!(shown.tlb.is_some() && shown.qp.is_none() && shown.cq.is_none() && shown.port.is_none());
    let none = show(folder.path(), vec![Only { kind: Kind::Qp, number: Some(7) }]).unwrap();
    assert_eq!(none.qp.unwrap(), []);

    drop((direct, listed, queue_pair, completions, domain, device));
    assert!(matches!(show(folder.path(), Vec::new()), Err(Error::NoProgram { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_program_works_while_others_ask() {
    let (folder, _fake, device) = open();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut answers = 0;
            while !is_over.load(Ordering::Relaxed) {
                show(folder.path(), Vec::new()).unwrap();
                answers += 1;
            }
            answers
        });
        let started = Instant::now();
        let mut rounds = 0;
        while rounds < 50 || started.elapsed() < Duration::from_millis(300) {
            let domain = device.protection_domain().unwrap();
            drop(domain.allocate(4096, Access::LOCAL_WRITE).unwrap());
            drop(device.completion_queue(16).unwrap());
            rounds += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(asking.join().unwrap() > 1);
    });
}

#[test]
fn what_a_card_refuses_is_told_and_a_place_that_is_taken_ends_nothing() {
    let (folder, fake, device) = open();
    let completions = device.completion_queue(16).unwrap();
    fake.engine().refusal = Some((stroma_verbs::CommandStatus::UnknownVerb, 0));
    let says = show(folder.path(), Vec::new()).unwrap_err().to_string();
    assert!(says.contains("UnknownVerb") || says.contains("no such verb"), "{says}");
    drop((completions, device));

    // A folder stands there, which is nobody's socket.
    fs::create_dir(folder.path().join("card0.inspect")).unwrap();
    let device = Device::open(fake).unwrap();
    device.completion_queue(16).unwrap();
}
