mod faults;
mod rates;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use stroma_hw::host::axi::{ReadAddress, ReadBeat, WriteResponse};
use stroma_hw::pack::Packed;
use stroma_hw::testing::{collect, push, read, stalls_of, verilated};
use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::Requester;
use super::host::{FAULTS, Fault, Host};
use super::model::{Completion, Request, encode, reads, writes};
use super::rig::{Burst, Far, any_burst, below, burst, send};

/// Cycles after which the requester counts as stuck.
const LIMIT: u64 = 400_000;
/// Cycles after which it gives up on a read here; longer than any stall.
const PATIENCE: u32 = 30_000;
/// Completions that the block has room for.
const COMPLETIONS: usize = 256;

/// A request that is to come, and what became of it.
struct Piece {
    burst: usize,
    address: u64,
    length: usize,
    fault: Option<Fault>,
    /// What the host will answer, once it was asked.
    data: Option<Vec<u8>>,
}

struct Read {
    id: u64,
    /// Write bursts that were accepted before.
    behind: Option<usize>,
    length: usize,
}

struct Rig {
    bench: Bench,
    aw: SourceId,
    w: SourceId,
    b: SinkId,
    ar: SourceId,
    r: SinkId,
    rc: SourceId,
    far: Far,
    host: Host,
    max_payload: u64,
    max_read: u64,
    tags: usize,
    /// Writes that are still to be seen on `rq`, each with its burst; where the beats of each burst end.
    expected: VecDeque<(usize, Request)>,
    ends: Vec<u64>,
    sent: Vec<Burst>,
    open: BTreeMap<usize, usize>,
    numbers: BTreeMap<u64, usize>,
    answered: usize,
    reads: Vec<Read>,
    pieces: Vec<Piece>,
    /// Pieces asked for, and those that have come back, with the bytes of the next one.
    asked: usize,
    back: usize,
    back_bytes: usize,
    reads_back: usize,
    /// The most requests that were under way, and beats of theirs.
    most: usize,
    most_beats: usize,
    /// Tags of reads that were never answered.
    lost: BTreeSet<u8>,
    strays: u64,
    pushed: u64,
    /// Of all sources, when this run began.
    before: [u64; 3],
    r_cycles: Vec<u64>,
}

impl Rig {
    fn new<const LOG: usize, const PLACES: usize>(patience: u32, seed: u64) -> Self {
        let name = format!("requester_{LOG}");
        let mut bench = verilated(&name, move || Requester::<LOG, PLACES>::new(patience));
        let [aw, w, ar, rc] =
            ["aw", "w", "ar", "rc"].map(|name| bench.source(name).expect("the stream exists"));
        let [b, r, rq] = ["b", "r", "rq"].map(|name| bench.sink(name).expect("the stream exists"));
        let far = Far::new(rq, seed);
        let mut rig = Self {
            bench,
            aw,
            w,
            b,
            ar,
            r,
            rc,
            far,
            host: Host::new(seed),
            max_payload: 0,
            max_read: 0,
            tags: 0,
            expected: VecDeque::new(),
            ends: Vec::new(),
            sent: Vec::new(),
            open: BTreeMap::new(),
            numbers: BTreeMap::new(),
            answered: 0,
            reads: Vec::new(),
            pieces: Vec::new(),
            asked: 0,
            back: 0,
            back_bytes: 0,
            reads_back: 0,
            most: 0,
            most_beats: 0,
            lost: BTreeSet::new(),
            strays: 0,
            pushed: 0,
            before: [0; 3],
            r_cycles: Vec::new(),
        };
        rig.set("stops", 0);
        rig.set("is_master", 1);
        rig.set("pcie_tfc_nph_av", 0);
        rig.settings(8, 9, true, LOG);
        rig.far.report(&mut rig.bench);
        rig.bench.reset(2);
        rig
    }

    fn set(&mut self, name: &str, value: u64) {
        let port = self.bench.model().port(name).expect("the port exists");
        self.bench.model_mut().set(port, value);
    }

    fn count(&self, port: &str) -> u64 {
        self.bench.model().get(self.bench.model().port(port).expect("the port exists"))
    }

    fn settings(&mut self, payload_log: u64, read_log: u64, extended: bool, tags_log: usize) {
        self.set("max_payload_log", payload_log);
        self.set("max_read_log", read_log);
        self.set("extended_tags", extended.into());
        self.max_payload = 1 << payload_log.clamp(7, 10);
        self.max_read = 1 << read_log.max(7);
        self.tags = if extended { 1 << tags_log } else { 32.min(1 << tags_log) };
        self.bench.rest(2);
    }

    /// Pauses of `aw`, `w`, `b`, `ar`, `r`, `rc`, `rq`.
    fn pause(&mut self, [aw, w, b, ar, r, rc, rq]: [Pause; 7]) {
        self.bench[self.aw].pause(aw);
        self.bench[self.w].pause(w);
        self.bench[self.b].pause(b);
        self.bench[self.ar].pause(ar);
        self.bench[self.r].pause(r);
        self.bench[self.rc].pause(rc);
        let sink = self.far.sink();
        self.bench[sink].pause(rq);
    }

    fn write(&mut self, burst: Burst) {
        send(&mut self.bench, self.aw, self.w, &burst);
        let requests = writes(burst.0, &burst.1, self.max_payload);
        let number = self.sent.len();
        self.open.insert(number, requests.len());
        self.expected.extend(requests.into_iter().map(|request| (number, request)));
        self.ends.push(self.ends.last().copied().unwrap_or(0) + burst.1.len() as u64);
        self.sent.push(burst);
    }

    fn read(&mut self, address: u64, beats: u64, faults: &[Option<Fault>]) {
        let id = self.reads.len() as u64 % 64;
        let len = beats - 1;
        push(
            &mut self.bench,
            self.ar,
            &[ReadAddress { addr: address.into(), len: len.into(), id: id.into() }],
        );
        for (at, (address, length)) in reads(address, 64 * beats, self.max_read).into_iter().enumerate() {
            let fault = faults.get(at).copied().flatten();
            self.pieces.push(Piece { burst: self.reads.len(), address, length, fault, data: None });
        }
        let length = usize::try_from(64 * beats).expect("small");
        self.reads.push(Read { id, behind: None, length });
    }

    /// A completion that nobody waits for.
    fn stray(&mut self, tag: u8, error: u64) {
        let head = Completion {
            tag,
            byte_count: 64,
            dword_count: 16,
            error,
            status: 0,
            poisoned: false,
            completed: true,
        };
        let packet = encode(head, &[0xee; 64]);
        self.pushed += packet.len() as u64;
        push(&mut self.bench, self.rc, &packet);
        self.strays += 1;
    }

    fn accepted(&self) -> usize {
        let beats = self.bench[self.w].sent() - self.before[0];
        self.ends.partition_point(|end| *end <= beats)
    }

    fn step(&mut self) {
        self.far.report(&mut self.bench);
        let now = self.bench.cycle();
        let credits = self.host.credit_pin(now);
        self.set("pcie_tfc_nph_av", credits);
        while self.pushed - (self.bench[self.rc].sent() - self.before[2]) < 12 {
            let Some(packet) = self.host.packet(now) else { break };
            self.pushed += packet.len() as u64;
            push(&mut self.bench, self.rc, &packet);
        }
        let (accepted, taken) = (self.accepted(), self.bench[self.ar].sent());
        self.bench.step();
        if self.bench[self.ar].sent() > taken {
            let at = usize::try_from(taken - self.before[1]).expect("small");
            self.reads[at].behind = Some(accepted);
        }
        for number in &self.far.reported {
            let Some(burst) = self.numbers.remove(number) else { continue };
            *self.open.get_mut(&burst).expect("it is open") -= 1;
        }
        for (request, number) in self.far.take(&mut self.bench) {
            self.meet(&request, number);
        }
        for response in collect::<WriteResponse>(&mut self.bench, self.b) {
            assert_eq!(response.resp, 0_u64);
            let left = self.open.remove(&self.answered);
            assert_eq!(left, Some(0), "burst {} is answered before its time", self.answered);
            self.answered += 1;
        }
        for beat in collect::<ReadBeat<512>>(&mut self.bench, self.r) {
            self.check(&beat);
        }
    }

    /// The block has taken a transaction.
    fn meet(&mut self, request: &Request, number: u64) {
        match *request {
            Request::Read { address, length, tag } => {
                let gone = self.expected.front().map_or(self.sent.len(), |(burst, _)| *burst);
                let piece = &mut self.pieces[self.asked];
                assert_eq!((address, length), (piece.address, piece.length), "read {}", self.asked);
                let behind = self.reads[piece.burst].behind.expect("its address was taken");
                // Bursts without bytes at the end are never seen.
                let rest = self.sent[gone.min(self.sent.len())..behind.max(gone)].iter();
                assert!(
                    rest.flat_map(|burst| &burst.1).all(|beat| beat.1 == 0),
                    "a read has overtaken a write"
                );
                assert!(usize::from(tag) < self.tags, "tag {tag}");
                if self.lost.contains(&tag) {
                    assert_eq!(self.lost.len(), self.tags, "tag {tag} was lost, and others were not");
                    self.lost.clear();
                }
                if piece.fault == Some(Fault::Lost) {
                    self.lost.insert(tag);
                }
                self.host.forget();
                piece.data = Some(self.host.read(self.bench.cycle(), address, length, tag, piece.fault));
                self.asked += 1;
                self.most = self.most.max(self.asked - self.back);
                let beats = self.host.held();
                assert!(beats <= COMPLETIONS, "{beats} beats are under way: the block has no room for that");
                self.most_beats = self.most_beats.max(beats);
            }
            Request::Write { address, ref bytes } => {
                let (burst, expected) = self.expected.pop_front().expect("nothing more is to come");
                assert_eq!(*request, expected);
                self.numbers.insert(number, burst);
                self.host.write(address, bytes);
            }
        }
    }

    /// Read data have come.
    fn check(&mut self, beat: &ReadBeat<512>) {
        self.r_cycles.push(self.bench.cycle());
        let piece = &self.pieces[self.back];
        let burst = &self.reads[piece.burst];
        assert_eq!(u64::from(beat.id), burst.id, "reads are answered in order");
        let data = piece.data.as_ref().expect("it was asked for");
        assert_eq!(u64::from(beat.resp), if piece.fault.is_some() { 2 } else { 0 }, "{:?}", piece.fault);
        if piece.fault.is_none() {
            let bytes: Vec<u8> = beat.data.to_words().iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(bytes, data[self.back_bytes..self.back_bytes + 64]);
        }
        self.back_bytes += 64;
        let is_piece_done = self.back_bytes == piece.length;
        let is_last =
            is_piece_done && self.pieces.get(self.back + 1).is_none_or(|next| next.burst != piece.burst);
        assert_eq!(beat.last, is_last);
        assert!(burst.length.is_multiple_of(64));
        if is_piece_done {
            (self.back, self.back_bytes) = (self.back + 1, 0);
        }
        self.reads_back += usize::from(is_last);
    }

    fn is_done(&self) -> bool {
        self.answered == self.sent.len() && self.reads_back == self.reads.len()
    }

    /// Runs until everything is answered, and holds memory and counters against the model. Then forgets all that.
    fn finish(&mut self) {
        let start = self.bench.cycle();
        while !self.is_done() || !self.bench.is_sent() || self.host.under_way() > 0 {
            assert!(
                self.bench.cycle() - start < LIMIT,
                "{} of {} writes, {} of {} reads, {} asked\n{}",
                self.answered,
                self.sent.len(),
                self.reads_back,
                self.reads.len(),
                self.asked,
                self.bench.stuck(LIMIT)
            );
            self.step();
        }
        (0..10).for_each(|_| self.step());
        assert!(read::<bool>(&self.bench, "is_drained"));
        let mut image = Host::new(0);
        for (address, beats) in &self.sent {
            for (place, (bytes, strobes)) in (*address..).step_by(64).zip(beats) {
                for at in (0..64).filter(|at| strobes >> at & 1 == 1) {
                    image.write(place + at as u64, &bytes[at..=at]);
                }
            }
        }
        for address in 0x0012_3456_7000..0x0012_3456_7000 + 3 * 4096 {
            assert_eq!(self.host.byte(address), image.byte(address), "{address:#x}");
        }
        let writes: usize =
            self.sent.iter().map(|burst| writes(burst.0, &burst.1, self.max_payload).len()).sum();
        let failed = self.pieces.iter().filter(|piece| piece.fault.is_some()).count();
        let lost = self.pieces.iter().filter(|piece| piece.fault == Some(Fault::Lost)).count();
        let counts = [writes, self.pieces.len(), failed, lost].map(|count| count as u64);
        let names = ["writes_sent", "reads_sent", "failed", "timeouts"];
        assert_eq!(names.map(|name| self.count(name)), counts, "{names:?}");
        self.strays_are_counted();
        self.reset();
    }

    fn strays_are_counted(&self) {
        assert_eq!(self.count("unexpected"), self.strays);
    }

    fn reset(&mut self) {
        self.bench.clear();
        self.far.reset(&mut self.bench);
        for sink in [self.b, self.r] {
            self.bench[sink].take();
        }
        self.bench.reset(2);
        self.host = Host::new(self.host.random.next_u64());
        self.expected.clear();
        self.ends.clear();
        self.sent.clear();
        self.open.clear();
        self.numbers.clear();
        self.reads.clear();
        self.pieces.clear();
        self.r_cycles.clear();
        self.lost.clear();
        (self.answered, self.asked, self.back, self.back_bytes, self.reads_back) = (0, 0, 0, 0, 0);
        (self.most, self.most_beats, self.strays, self.pushed) = (0, 0, 0, 0);
        self.before = [self.w, self.ar, self.rc].map(|source| self.bench[source].sent());
    }
}

/// Reads and writes in the same few pages.
fn mix(rig: &mut Rig, random: &mut SplitMix64, count: usize, percent: u64) {
    for _ in 0..count {
        if random.below(2) == 0 {
            rig.write(any_burst(random));
            continue;
        }
        let first = random.below(64);
        let longest = [1, 8, 64][below(random, 3)];
        let beats = 1 + random.below(longest.min(64 - first));
        let address = 0x0012_3456_7000 + 4096 * random.below(3) + 64 * first;
        let faults: Vec<_> = (0..32)
            .map(|_| (random.below(100) < percent).then(|| FAULTS[below(random, FAULTS.len())]))
            .collect();
        rig.read(address, beats, &faults);
    }
}

#[test]
fn survives_stalls_at_all_settings() {
    let mut rig = Rig::new::<7, 10>(PATIENCE, 1);
    let mut random = SplitMix64::new(2);
    let settings = [(7, 7), (8, 8), (9, 9), (10, 12), (6, 5), (15, 15), (8, 12), (10, 7)];
    for (at, stall) in stalls_of::<7>().into_iter().enumerate() {
        let (payload, read) = settings[at % settings.len()];
        rig.settings(payload, read, at % 3 != 0, 7);
        rig.pause(stall);
        rig.far.delay = [0, 20, 200][at % 3];
        rig.far.reports_reads = at % 2 == 0;
        rig.host.boundary = [64, 128][at / 2 % 2];
        rig.host.delay = [0, 300, 1000][at % 3];
        (rig.host.credits, rig.host.credit_delay) = [(64, 10), (2, 5), (3, 50), (5, 200)][at % 4];
        mix(&mut rig, &mut random, 60, [0, 10][at / 3 % 2]);
        rig.finish();
    }
}

#[test]
fn uses_all_tags_and_no_others() {
    let mut rig = Rig::new::<7, 10>(PATIENCE, 3);
    for (extended, tags) in [(true, 128), (false, 32), (true, 128)] {
        rig.settings(8, 9, extended, 7);
        rig.host.delay = 0;
        rig.host.credits = 1000;
        rig.bench[rig.rc].pause(Pause::Always);
        (0..200).for_each(|at| rig.read(4096 * at, 1, &[]));
        (0..1000).for_each(|_| rig.step());
        assert_eq!(rig.most, tags);
        rig.bench[rig.rc].pause(Pause::None);
        rig.finish();
    }
}

/// Hosts may cut answers into pieces of 64 bytes and send all of them at once: what is asked for has to have room in the block.
#[test]
fn asks_for_no_more_than_the_block_can_hold() {
    let mut rig = Rig::new::<7, 10>(PATIENCE, 31);
    for (read_log, beats) in [(7, 2), (8, 4), (9, 8)] {
        rig.settings(8, read_log, true, 7);
        rig.host.delay = 0;
        rig.host.credits = 1000;
        rig.host.holds = true;
        (0..40).for_each(|at| rig.read(4096 * at, 64, &[]));
        (0..1000).for_each(|_| rig.step());
        assert!(rig.most_beats > COMPLETIONS - 2 * 8, "{} beats of {beats} a read", rig.most_beats);
        assert_eq!(rig.most, rig.most_beats / beats);
        rig.host.holds = false;
        rig.finish();
    }
}

#[test]
fn requests_wait_for_the_master_bit() {
    let mut rig = Rig::new::<7, 10>(PATIENCE, 4);
    let mut random = SplitMix64::new(5);
    rig.set("is_master", 0);
    mix(&mut rig, &mut random, 30, 0);
    // Longer than the patience: a read that was not sent is not late.
    (0..PATIENCE + 5000).for_each(|_| rig.step());
    assert_eq!((rig.far.beats, rig.count("timeouts")), (0, 0));
    rig.set("is_master", 1);
    rig.finish();
    // It may fall at any time; what has begun ends.
    mix(&mut rig, &mut random, 100, 0);
    for at in 0..400 {
        rig.set("is_master", u64::from(at % 4 != 0));
        (0..=random.below(40)).for_each(|_| rig.step());
    }
    rig.set("is_master", 1);
    rig.finish();
}

#[test]
fn stops_between_bursts() {
    let mut rig = Rig::new::<7, 10>(PATIENCE, 6);
    let mut random = SplitMix64::new(7);
    mix(&mut rig, &mut random, 120, 0);
    (0..300).for_each(|_| rig.step());
    assert!(!read::<bool>(&rig.bench, "is_drained"));
    rig.set("stops", 1);
    (0..5000).for_each(|_| rig.step());
    assert!(read::<bool>(&rig.bench, "is_drained"));
    let taken = [rig.aw, rig.ar].map(|source| rig.bench[source].sent());
    assert_eq!(taken, [rig.answered as u64, rig.reads_back as u64]);
    assert!(!rig.is_done(), "some were not taken");
    rig.set("stops", 0);
    rig.finish();
}

#[test]
fn recovers_from_reset() {
    let mut rig = Rig::new::<7, 10>(PATIENCE, 8);
    let mut random = SplitMix64::new(9);
    for cycles in [5, 30, 31, 32, 33, 100, 400] {
        mix(&mut rig, &mut random, 60, 10);
        (0..cycles).for_each(|_| rig.step());
        rig.reset();
        mix(&mut rig, &mut random, 30, 10);
        rig.finish();
    }
}
