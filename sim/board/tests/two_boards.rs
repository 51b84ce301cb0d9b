//! Two boards on a cable, the driver on each: what the driver does with a card in its shell, over models of the IP that stall and run dry.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stroma_abi::desc::Parameters;
use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::{Psn, Qpn};
use stroma_board::pcie::{Config, Room, Weather};
use stroma_board::{BoardBackend, Pair};
use stroma_device::Backend;
use stroma_party::{address, pattern, target, task};
use stroma_verbs::{
    Access, CompletionChannel, CompletionQueue, Connection, Device, MemoryRegion, ProtectionDomain,
    QueuePair, QueuePairKind, Status, WorkCompletion,
};
use stroma_verilate::effort::is_full;
use stroma_verilate::{Options, Pause, Verilog};

/// Bytes of each end's memory.
const MEMORY: usize = 1 << 16;
/// Looks at a completion queue after which something that should happen has not.
const LIMIT: usize = 20_000;
/// Cycles in which links come up.
const LINK_CYCLES: u64 = 5000;
/// Cycles after which a shell gives up waiting for what cannot end.
const PATIENCE: u32 = 1 << 13;

/// One end: a board, its driver, and an application's objects.
struct End {
    device: Arc<Device>,
    domain: Arc<ProtectionDomain>,
    channel: Arc<CompletionChannel>,
    completions: Arc<CompletionQueue>,
    memory: MemoryRegion,
}

impl End {
    fn open(pair: &Arc<Mutex<Pair>>, index: usize, config: Config) -> Self {
        let backend: Arc<dyn Backend> = Arc::new(BoardBackend::new(pair, index, config));
        let device = Device::builder().timeout(Duration::from_mins(1)).open(backend).expect("a card");
        device.port().set_mac(address(index).mac).expect("a register");
        device.port().set_address(0, address(index).ip).expect("a register");
        let domain = device.protection_domain().expect("a domain");
        let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE | Access::REMOTE_READ | Access::RPC;
        let memory = domain.allocate(MEMORY, rights).expect("memory");
        let channel = device.completion_channel();
        let completions =
            device.build_completion_queue(64).channel(&channel).build().expect("a completion queue");
        Self { device, domain, channel, completions, memory }
    }

    fn queue_pair(&self) -> QueuePair {
        let builder = self.domain.queue_pair(&self.completions).kind(QueuePairKind::Reliable);
        builder.result_bytes(8192).send_units(64).build().expect("a queue pair")
    }

    /// The next completion is of this request, and a success.
    fn expect(&self, wr_id: u64) -> WorkCompletion {
        let mut found = [WorkCompletion::default()];
        let is_there =
            (0..LIMIT).any(|_| self.completions.poll(&mut found).expect("an entry with a sense") == 1);
        assert!(is_there, "no completion of {wr_id}");
        assert_eq!((found[0].wr_id, found[0].status), (wr_id, Status::Success), "{:?}", found[0]);
        found[0]
    }

    fn put(&self, offset: usize, bytes: &[u8]) {
        self.memory.write(offset, bytes).expect("inside the memory");
    }

    fn at(&self, offset: usize) -> u64 {
        self.memory.address(offset).expect("inside the memory")
    }

    fn bytes(&self, offset: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read(offset, &mut bytes).expect("inside the memory");
        bytes
    }
}

/// Weather in which nothing goes smoothly.
fn storm(seed: u64) -> Weather {
    let now_and_then = |seed: u64| Pause::Random { seed, percent: 30 };
    Weather {
        requests: now_and_then(seed),
        answers: now_and_then(seed + 1),
        accesses: now_and_then(seed + 2),
        completions: now_and_then(seed + 3),
        credits: Pause::Burst { go: 200, pause: 1500 },
        room: Room { posted_headers: 8, posted_data: 64, nonposted_headers: 4 },
        messages: now_and_then(seed + 4),
    }
}

/// The shell as it is built, or one that waits for fewer cycles when the function is reset.
fn shell(patience: Option<u32>) -> Verilog {
    let rtl = patience.map_or_else(stroma_top::emit_shell, stroma_top::emit_impatient_shell);
    let rtl = rtl.unwrap_or_else(|error| panic!("{error}"));
    Verilog::new(rtl.text.clone(), &rtl.manifest()).expect("a manifest")
}

fn boards(seed: u64, is_stormy: bool) -> Arc<Mutex<Pair>> {
    boards_with(&shell(None), seed, is_stormy)
}

fn boards_with(shell: &Verilog, seed: u64, is_stormy: bool) -> Arc<Mutex<Pair>> {
    let options = Options { seed, ..Options::default() };
    let mut pair = Pair::new(shell, &options).unwrap_or_else(|error| panic!("{error}"));
    for index in 0..2 {
        if is_stormy {
            pair.board(index).pci.set_weather(storm(seed + 10 * index as u64));
            pair.board(index).mac.stall(Pause::Random { seed, percent: 30 });
        }
    }
    let is_up = |pair: &mut Pair, index| pair.board(index).peek("link_up").expect("a pin") == [1];
    let came_up = pair.run_until(LINK_CYCLES, |pair| is_up(pair, 0) && is_up(pair, 1));
    assert!(came_up, "the link comes up");
    Arc::new(Mutex::new(pair))
}

fn connect(ends: &[End; 2]) -> [QueuePair; 2] {
    let pairs = ends.each_ref().map(End::queue_pair);
    for end in 0..2 {
        let peer = 1 - end;
        let psn = |of: usize| Psn::new(0x10_0000 * u32::try_from(of + 1).expect("small"));
        let number = Qpn::new(pairs[peer].number());
        let mut connection = Connection::new(address(peer), number, psn(end), psn(peer));
        connection.path_mtu = 3;
        connection.rights = connection.rights | Access::RPC;
        pairs[end].connect(&connection).expect("a connection");
    }
    pairs
}

/// A WRITE of several packets, a READ of it back.
fn write_and_read(near: &End, far: &End, caller: &QueuePair, seed: u64) {
    const LENGTH: usize = 7001;
    const FROM: usize = 3;
    const TO: usize = 16 * 1024 + 5;
    const BACK: usize = 48 * 1024;
    let content = pattern(seed, LENGTH);
    near.put(FROM, &content);
    let (rkey, piece) = (far.memory.rkey(), near.memory.piece(FROM, LENGTH).expect("inside"));
    caller.start().wr_id(1).signaled().write(&[piece], far.at(TO), rkey).post().expect("a WRITE");
    near.expect(1);
    let piece = near.memory.piece(BACK, LENGTH).expect("inside");
    caller.start().wr_id(2).signaled().read(&[piece], far.at(TO), rkey).post().expect("a READ");
    near.expect(2);
    // The answer to a READ is behind the writes before it, which a WRITE's completion is not.
    assert!(near.bytes(BACK, LENGTH) == content, "every byte comes back");
    assert!(far.bytes(TO, LENGTH) == content, "every byte is there");
    assert_eq!((far.bytes(TO - 5, 5), far.bytes(TO + LENGTH, 64)), (vec![0; 5], vec![0; 64]), "and no other");
}

/// A kernel walks a list of the other host, and the caller sleeps until an interrupt tells it of the answer.
fn walk(near: &End, far: &End, caller: &QueuePair, seed: u64) {
    const LIST_AT: usize = 32 * 1024;
    const VALUES_AT: usize = 40 * 1024;
    const ANSWER_AT: usize = 60 * 1024;
    let values = pattern(seed + 1, 4 * 1000);
    far.put(VALUES_AT, &values);
    for index in 0..4_usize {
        let next = if index < 3 { far.at(LIST_AT + 64 * (index + 1)) } else { 0 };
        let words = [100 + index as u64, next, far.at(VALUES_AT + 1000 * index)];
        far.put(LIST_AT + 64 * index, &words.map(u64::to_le_bytes).concat());
    }
    near.completions.request_notify(false).expect("a doorbell");
    let task = Traversal { sought: 102, value_length: 1000, ..task(far.at(LIST_AT)) };
    let parameters = Parameters::new(&task.to_bytes()).expect("whole words");
    let (rkey, result) = (far.memory.rkey(), near.memory.piece(ANSWER_AT, 1000).expect("inside"));
    caller.start().wr_id(3).signaled().rpc(result, &target(1000), rkey, parameters).post().expect("a call");
    let told = near.channel.wait(Duration::from_millis(2)).expect("a card that answers");
    assert!(told.is_some_and(|told| Arc::ptr_eq(&told, &near.completions)), "the queue announces it");
    // The entry is visible when the interrupt is: nothing is waited for.
    let mut found = [WorkCompletion::default()];
    assert_eq!(near.completions.poll(&mut found).expect("an entry with a sense"), 1, "it is there by then");
    assert_eq!((found[0].wr_id, found[0].rpc, found[0].length), (3, Some(0), 1000));
    assert!(near.bytes(ANSWER_AT, 1000) == values[2000..3000], "the third value");
}

fn story(pair: &Arc<Mutex<Pair>>, seed: u64, configs: [Config; 2]) {
    let ends = [0, 1].map(|index| End::open(pair, index, configs[index]));
    let [near, far] = &ends;
    let [caller, _called] = connect(&ends);
    write_and_read(near, far, &caller, seed);
    walk(near, far, &caller, seed);
}

fn lock(pair: &Mutex<Pair>) -> MutexGuard<'_, Pair> {
    pair.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_write_and_a_kernel_run_between_two_boards() {
    let pair = boards(1, false);
    story(&pair, 1, [Config::default(); 2]);
    assert_eq!(lock(&pair).lost(), 0);
    assert!(lock(&pair).board(0).pci.iommu().faults().is_empty());
}

#[test]
fn they_run_while_the_mac_stalls_and_credits_run_dry() {
    let pair = boards(2, true);
    story(&pair, 2, [Config::default(); 2]);
    let mut pair = lock(&pair);
    for index in 0..2 {
        let board = pair.board(index);
        let (dry, stalled) = (board.pci.dry_cycles(), board.mac.stalled());
        assert!(dry > 100 && stalled > 10, "board {index}: {dry} cycles without credits, {stalled} stalls");
    }
}

#[test]
fn they_run_in_hosts_with_other_sizes() {
    let small =
        Config { max_payload: 128, max_read: 128, extended_tags: false, boundary: 128, ..Config::default() };
    let large = Config { max_payload: 1024, max_read: 4096, ..Config::default() };
    story(&boards(5, false), 5, [small, large]);
    if is_full() {
        story(&boards(6, true), 6, [large, small]);
    }
}

/// WRITEs begin, the function of the near board is reset behind them when `is_calm`, or while they are under way, and everything is done anew.
fn reset(pair: &Arc<Mutex<Pair>>, seed: u64, is_calm: bool) {
    {
        let ends = [0, 1].map(|index| End::open(pair, index, Config::default()));
        let [near, far] = &ends;
        let [caller, _called] = connect(&ends);
        let piece = near.memory.piece(0, 16 * 1024).expect("inside");
        for wr_id in 0..2 {
            let batch = caller.start().wr_id(wr_id).signaled();
            batch.write(&[piece], far.at(0), far.memory.rkey()).post().expect("a WRITE");
        }
        lock(pair).run(600);
        if is_calm {
            near.expect(0);
            near.expect(1);
            lock(pair).run(5000);
        }
        near.device.card().reset_function(Duration::from_mins(5)).expect("a card that comes back");
    }
    // As the system does when a program has ended whose card forgot what it had.
    lock(pair).board(0).pci.iommu().unmap_between(0, u64::MAX).expect("whole mappings");
    story(pair, seed, [Config::default(); 2]);
}

#[test]
fn a_board_works_after_a_reset_of_its_function() {
    reset(&boards(3, true), 3, true);
}

/// The driver forbids the function to reach memory first, so what is under way never ends.
#[test]
fn a_board_works_after_a_reset_of_its_function_amid_traffic() {
    reset(&boards_with(&shell(Some(PATIENCE)), 4, true), 4, false);
}
