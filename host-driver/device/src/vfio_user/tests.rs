//! The backend against a server with a function of arrays behind it.

use std::{
    collections::BTreeMap,
    fs::{Permissions, set_permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use stroma_vfio_user::{
    Function, Server,
    server::{Beyond, Ending, Faults, Range},
};

use super::*;

#[derive(Default)]
struct State {
    bars: BTreeMap<(usize, u64), Vec<u8>>,
    ranges: BTreeMap<u64, Range>,
    events: Vec<Option<OwnedFd>>,
}

/// Keeps what was written, access by access.
#[derive(Default)]
struct Fake {
    state: Mutex<State>,
    bar2: u64,
    /// Bytes of a mapping, at most; 0 for as many as anybody likes.
    longest: u64,
    resets: AtomicUsize,
}

impl Function for Fake {
    fn region_len(&self, index: usize) -> u64 {
        match index {
            0 => BarId::Bar0.layout().len as u64,
            2 => self.bar2,
            region::CONFIG => 4096,
            _ => 0,
        }
    }

    fn interrupts(&self, index: usize) -> usize {
        if index == interrupt::MSIX { VECTORS } else { 0 }
    }

    fn attach(&self, _process: Option<u32>, _faults: Faults) {}

    fn read(&self, region: usize, offset: u64, bytes: &mut [u8]) -> std::result::Result<(), Errno> {
        if let Some(found) = self.state.lock().unwrap().bars.get(&(region, offset)) {
            bytes.copy_from_slice(&found[..bytes.len()]);
        }
        Ok(())
    }

    fn write(&self, region: usize, offset: u64, bytes: &[u8]) -> std::result::Result<(), Errno> {
        self.state.lock().unwrap().bars.insert((region, offset), bytes.to_vec());
        Ok(())
    }

    fn map(&self, range: Range) -> std::result::Result<(), Errno> {
        if (1..range.size).contains(&self.longest) {
            return Err(Errno::NOMEM);
        }
        let ranges = &mut self.state.lock().unwrap().ranges;
        if ranges.contains_key(&range.address) {
            return Err(Errno::EXIST);
        }
        ranges.insert(range.address, range);
        Ok(())
    }

    fn unmap(&self, first: u64, last: u64) -> std::result::Result<(), Errno> {
        self.state.lock().unwrap().ranges.retain(|start, _| !(first..=last).contains(start));
        Ok(())
    }

    fn connect(
        &self,
        _index: usize,
        start: usize,
        events: Vec<Option<OwnedFd>>,
    ) -> std::result::Result<(), Errno> {
        let state = &mut self.state.lock().unwrap();
        state.events.truncate(start);
        state.events.extend(events);
        Ok(())
    }

    fn reset(&self) -> std::result::Result<(), Errno> {
        self.state.lock().unwrap().bars.clear();
        self.resets.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn refused(&self, _beyond: Beyond) {}

    fn delayed(&self, _error: &io::Error) {}

    fn detach(&self, _ending: &Ending) {
        *self.state.lock().unwrap() = State::default();
    }
}

fn served(fake: Fake) -> (PathBuf, Arc<Fake>) {
    // The folder is left to the system: the server outlives the test.
    let path = tempfile::tempdir().unwrap().keep().join("card");
    let fake = Arc::new(fake);
    let server = Server::bind(&path, fake.clone()).unwrap();
    thread::spawn(move || server.run());
    (path, fake)
}

fn card() -> Fake {
    Fake { bar2: 0x1_0000, ..Fake::default() }
}

#[test]
fn registers_are_read_and_written_in_their_width_and_within_their_bar() {
    let (path, fake) = served(card());
    let card = VfioUser::open(&path).unwrap();
    assert_eq!((card.bar_len(BarId::Bar2), card.vectors()), (0x1_0000, VECTORS));
    card.write64(BarId::Bar2, 0x8, 0x1122_3344_5566_7788).unwrap();
    card.write32(BarId::Bar0, 0x20, 1).unwrap();
    assert_eq!(card.read64(BarId::Bar2, 0x8).unwrap(), 0x1122_3344_5566_7788);
    assert_eq!(card.read32(BarId::Bar0, 0x20).unwrap(), 1);
    let state = fake.state.lock().unwrap();
    assert_eq!(state.bars[&(2, 8)], [0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
    assert_eq!(state.bars[&(region::CONFIG, COMMAND_AT)], [6, 0], "it answers, and may do DMA");
    drop(state);
    assert!(matches!(card.read32(BarId::Bar0, 2), Err(Error::Unaligned { .. })));
    assert!(matches!(card.write64(BarId::Bar2, 0x1_0000, 0), Err(Error::OutsideBar { .. })));
    card.reset().unwrap();
    assert_eq!((fake.resets.load(Ordering::Relaxed), card.read32(BarId::Bar0, 0x20).unwrap()), (1, 0));
}

#[test]
fn the_card_reads_and_writes_the_memory_of_this_process_while_it_is_mapped() {
    let (path, fake) = served(card());
    let card = VfioUser::open(&path).unwrap();
    let memory = Arc::new(DmaMemory::allocate(8192, None).unwrap());
    memory.write(4090, b"from the driver").unwrap();
    card.map(Iova(0x10_0000), &memory).unwrap();
    assert!(matches!(card.map(Iova(0x10_0000), &memory), Err(Error::RangeTaken { len: 8192, .. })));
    {
        let state = fake.state.lock().unwrap();
        let window = state.ranges[&0x10_0000].window.as_ref().expect("it can be reached");
        let mut bytes = [0; 15];
        window.read(4090, &mut bytes).unwrap();
        assert_eq!(&bytes, b"from the driver");
        window.write(100, b"from the card").unwrap();
    }
    let mut bytes = [0; 13];
    memory.read(100, &mut bytes).unwrap();
    assert_eq!(&bytes, b"from the card");
    card.unmap(Iova(0x10_0000)).unwrap();
    assert!(fake.state.lock().unwrap().ranges.is_empty());
    assert!(matches!(card.unmap(Iova(0x10_0000)), Err(Error::NotMapped { .. })));
    assert_eq!(Arc::strong_count(&memory), 1);
}

#[test]
fn memory_beyond_what_the_server_keeps_for_a_client_is_refused_with_what_to_do() {
    let (path, _fake) = served(Fake { longest: 4096, ..card() });
    let card = VfioUser::open(&path).unwrap();
    let [small, large] = [4096, 8192].map(|len| Arc::new(DmaMemory::allocate(len, None).unwrap()));
    card.map(Iova(0x1000), &small).unwrap();
    let refused = card.map(Iova(0x10_0000), &large).unwrap_err();
    assert!(matches!(refused, Error::Backend { advice: Some(Advice::Budget), .. }), "{refused}");
    assert!(refused.to_string().contains("map less at a time"), "{refused}");
    card.unmap(Iova(0x1000)).expect("it has stayed");
}

#[test]
fn dropping_the_backend_takes_its_memory_back_first() {
    let (path, _fake) = served(card());
    let card = VfioUser::open(&path).unwrap();
    let memory = Arc::new(DmaMemory::allocate(4096, None).unwrap());
    card.map(Iova(0x1000), &memory).unwrap();
    assert_eq!(Arc::strong_count(&memory), 2);
    drop(card);
    assert_eq!(Arc::strong_count(&memory), 1);
    VfioUser::open(&path).expect("the next one finds it free");
}

#[test]
fn an_interrupt_is_kept_until_somebody_waits_and_taken_once() {
    let (path, fake) = served(card());
    let card = VfioUser::open(&path).unwrap();
    let fire = |vector: usize| {
        let state = fake.state.lock().unwrap();
        rustix::io::write(state.events[vector].as_ref().unwrap(), &1_u64.to_ne_bytes()).unwrap();
    };
    fire(31);
    fire(31);
    assert_eq!(card.wait(30, Duration::ZERO).unwrap(), Wake::TimedOut);
    assert_eq!(card.wait(31, Duration::from_mins(1)).unwrap(), Wake::Fired);
    assert_eq!(card.wait(31, Duration::ZERO).unwrap(), Wake::TimedOut);
    assert!(matches!(card.wait(VECTORS, Duration::ZERO), Err(Error::NoVector { .. })));
    assert!(card.event_fd(31).is_some() && card.event_fd(VECTORS).is_none());
}

#[test]
fn a_card_on_a_path_that_another_user_may_change_is_not_opened() {
    let (path, _fake) = served(card());
    let folder = path.parent().unwrap();
    set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    let refused = VfioUser::open(&path).err().expect("others may put another socket there");
    let says = refused.to_string();
    let owner = folder.metadata().unwrap().uid();
    let expected = format!("others may write to {} (user {owner}'s, mode 777)", folder.display());
    assert!(says.starts_with("opening the card at") && says.contains(&expected), "{says}");
    set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
    VfioUser::open(&path).unwrap();
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    let nobody = VfioUser::open(Path::new("/nowhere/card0")).err().expect("nobody is there");
    assert!(
        nobody.to_string().contains("/nowhere/card0") && nobody.to_string().contains("stroma fabric"),
        "{nobody}"
    );
    let (path, _fake) = served(card());
    let _first = VfioUser::open(&path).unwrap();
    let busy = VfioUser::open(&path).err().expect("somebody has it");
    assert!(matches!(busy, Error::Backend { advice: Some(Advice::Busy), .. }), "{busy}");
    let (path, _fake) = served(Fake::default());
    let short = VfioUser::open(&path).err().expect("BAR2 is missing");
    assert!(matches!(short, Error::BarTooShort { bar: BarId::Bar2, len: 0, .. }), "{short}");
}
