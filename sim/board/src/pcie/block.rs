//! The block itself: pins on one side, the link to the root on the other.

mod host;

use std::collections::{BTreeSet, VecDeque};

use stroma_sim::host::timing::Timing;
use stroma_verilate::{Pause, SplitMix64};

use super::DWORD;
use super::completion::{Completion, Outcome};
use super::config::Config;
use super::credits::{Cost, Credits, Room};
use super::management::ManagementPort;
use super::messages::{Fate, Messages};
use super::pins::{FromShell, ToShell};
use super::processor::Processor;
use super::request::{Kind, Request};
use super::root::Root;
use super::stream::{CC, CqBeat, Gather, RQ, RcBeat};

/// Packets of the card that wait inside the block.
const PACKETS: usize = 8;
/// Completions that the block has room for: headers, and units of 16 bytes. As alexforencich/cocotbext-pcie has them.
const COMPLETIONS: usize = 256;
const COMPLETION_UNITS: usize = 32768 / 16;
/// Cycles in which the shell may not know yet that it is no master any more.
const MASTER_GRACE: u64 = 32;
/// A sequence number is reported at most so many cycles after its packet has gone.
const REPORT_CYCLES: u64 = 12;

/// When the block and the link hold still; nothing of it is set at first.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    /// `s_axis_rq_tready` is low.
    pub requests: Pause,
    /// `s_axis_cc_tready` is low.
    pub answers: Pause,
    /// No packet begins on `m_axis_cq`.
    pub accesses: Pause,
    /// The root sends no completions.
    pub completions: Pause,
    /// No credits come back, so that they run dry.
    pub credits: Pause,
    /// How many there are. It counts from the next reset of the link on, or from when none is in use.
    pub room: Room,
    /// Messages fail.
    pub messages: Pause,
}

/// The PCIe block, its link and its root.
pub struct PciBlock {
    now: u64,
    config: Config,
    out: ToShell,
    weather: Weather,
    rq: Gather<5>,
    cc: Gather<3>,
    /// Requests on their way to the link, in the order in which they came.
    waiting: VecDeque<Request>,
    /// Tags of reads that are not completed.
    tags: BTreeSet<u8>,
    no_master_since: Option<u64>,
    credits: Credits,
    dry_cycles: u64,
    reports: VecDeque<(u64, u8)>,
    completions: VecDeque<Completion>,
    rc: VecDeque<RcBeat>,
    cq: VecDeque<CqBeat>,
    messages: Messages,
    management: ManagementPort,
    random: SplitMix64,
    root: Root,
    processor: Processor,
}

impl PciBlock {
    /// A block whose link is up, in a host that has set it up as `config` says.
    #[must_use]
    pub fn new(config: Config, timing: &Timing, clock_khz: u32, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut block = Self {
            now: 0,
            config,
            out: ToShell::default(),
            weather: Weather::default(),
            rq: Gather::new(RQ),
            cc: Gather::new(CC),
            waiting: VecDeque::new(),
            tags: BTreeSet::new(),
            no_master_since: None,
            credits: Credits::new(Room::default()),
            dry_cycles: 0,
            reports: VecDeque::new(),
            completions: VecDeque::new(),
            rc: VecDeque::new(),
            cq: VecDeque::new(),
            messages: Messages::new(random.next_u64()),
            management: ManagementPort::new(random.next_u64()),
            root: Root::new(timing, clock_khz, random.next_u64()),
            processor: Processor::new(timing, clock_khz),
            random,
        };
        block.show();
        block
    }

    /// What the block shows in this cycle.
    #[must_use]
    pub fn pins(&self) -> &ToShell {
        &self.out
    }

    /// The edge that ends a cycle in which the shell showed `shell`: what the block shows in the next.
    ///
    /// # Panics
    /// When the shell breaks a rule.
    pub fn edge(&mut self, shell: &FromShell) -> &ToShell {
        let now = self.now;
        if self.config.is_master {
            self.no_master_since = None;
        } else {
            self.no_master_since.get_or_insert(now);
        }
        if let Some(packet) = self.rq.cycle(shell.rq.as_ref(), self.out.rq_ready) {
            let request = Request::parse(&packet, &self.config_of_requests());
            self.accept(request);
        }
        if let Some(packet) = self.cc.cycle(shell.cc.as_ref(), self.out.cc_ready) {
            self.processor.answer(now, &packet, &self.config, self.root.written_by());
        }
        if self.out.cq.is_some() && shell.cq_ready {
            self.cq.pop_front();
        }
        if self.out.rc.is_some() && shell.rc_ready {
            self.rc.pop_front();
        }
        self.out.management_data = self.management.cycle(now, shell.management, &self.config);
        let fate = self.messages.cycle(now, shell.message, &self.config);
        if let Some(Fate::Sent(message)) = fate {
            self.root.take_message(now, message);
        }
        self.out.message_sent = matches!(fate, Some(Fate::Sent(_)));
        self.out.message_failed = fate == Some(Fate::Failed);
        self.end_reset(shell.flr_done);
        self.send();
        self.root.settle(now);
        self.receive();
        self.now += 1;
        self.show();
        &self.out
    }

    /// Sizes that requests are held against: a shell that has not seen a reset yet keeps to those before it.
    fn config_of_requests(&self) -> Config {
        if self.config.is_master {
            self.config
        } else {
            Config { max_payload: 4096, max_read: 4096, extended_tags: true, ..self.config }
        }
    }

    fn accept(&mut self, request: Request) {
        if let Some(since) = self.no_master_since {
            assert!(
                self.now - since < MASTER_GRACE,
                "s_axis_rq: a request at {:#x} of a function that is no bus master",
                request.address
            );
        }
        if let Kind::Read { tag } = request.kind {
            assert!(
                self.tags.insert(tag),
                "s_axis_rq: tag {tag} is in flight already (at {:#x})",
                request.address
            );
        }
        self.waiting.push_back(request);
    }

    /// Requests go out in the order in which they came: a read without credits holds back the writes behind it.
    fn send(&mut self) {
        let now = self.now;
        self.credits.refill(now);
        while let Some(request) = self.waiting.front() {
            let cost = match &request.kind {
                Kind::Write { payload } => Cost::Posted(payload.len() * DWORD),
                Kind::Read { .. } => Cost::Nonposted,
            };
            if !self.root.takes(now) {
                return;
            }
            if !self.credits.spend(now, cost) {
                self.dry_cycles += 1;
                return;
            }
            let request = self.waiting.pop_front().expect("there is one");
            let due = now + self.random.below(REPORT_CYCLES);
            let due = self.reports.back().map_or(0, |(due, _)| *due).max(due);
            self.reports.push_back((due, request.sequence));
            match (&request.kind, self.config.is_master) {
                (_, true) => self.root.take(now, &request),
                (Kind::Read { tag }, false) => self.push_failed(*tag, Outcome::Refused),
                (Kind::Write { .. }, false) => {}
            }
        }
    }

    fn push_failed(&mut self, tag: u8, outcome: Outcome) {
        self.completions.push_back(Completion { tag, address: 0, byte_count: 0, is_last: true, outcome });
    }

    fn receive(&mut self) {
        if !self.weather.completions.at(self.now)
            && let Some(completion) = self.root.completion(self.now, &self.config)
        {
            self.completions.push_back(completion);
        }
        let units: usize = self.completions.iter().map(|completion| completion.len().div_ceil(16)).sum();
        assert!(
            self.completions.len() <= COMPLETIONS && units <= COMPLETION_UNITS,
            "m_axis_rc: completions are not taken, and the block has no room for more"
        );
        if self.rc.is_empty()
            && let Some(completion) = self.completions.pop_front()
        {
            if completion.is_last {
                self.tags.remove(&completion.tag);
            }
            self.rc.extend(completion.beats());
        }
        if self.cq.is_empty()
            && !self.weather.accesses.at(self.now)
            && let Some(access) = self.processor.arrived(self.now)
        {
            self.cq.extend(access.beats());
        }
    }

    fn show(&mut self) {
        let (now, out, config) = (self.now, &mut self.out, &self.config);
        out.cq = self.cq.front().copied();
        out.rc = self.rc.front().copied();
        out.rq_ready = self.waiting.len() < PACKETS && !self.weather.requests.at(now);
        out.cc_ready = !self.weather.answers.at(now);
        out.sequence =
            [(); 2].map(|()| self.reports.pop_front_if(|(due, _)| *due <= now).map(|(_, number)| number));
        let reads = self.waiting.iter().filter(|request| matches!(request.kind, Kind::Read { .. })).count();
        let left = (self.credits.nonposted() as usize).saturating_sub(reads).min(15);
        out.nonposted_credits = u8::try_from(left).expect("at most 15");
        out.max_payload = config.max_payload_code();
        out.max_read = config.max_read_code();
        out.boundary = config.boundary == 128;
        out.function_status = config.function_status();
        out.msix_enable = config.msix_enable;
        out.msix_mask = config.msix_mask;
    }

    fn end_reset(&mut self, done: u8) {
        assert_eq!(
            done & !self.out.flr_in_process,
            0,
            "cfg_flr_done {done:#06b} without a function-level reset"
        );
        self.out.flr_in_process &= !done;
    }
}
