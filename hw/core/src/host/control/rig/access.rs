//! What the host and the owners do, each held against the model.

use rust_hdl::prelude::Bits;
use stroma_abi::regs::map::events;
use stroma_abi::regs::{Block, Reg};
use stroma_verilate::SinkId;

use super::{Rig, facts};
use crate::host::axi_lite::{LiteAddress, LiteRead, LiteResponse, LiteWrite};
use crate::host::control::model::Effect;
use crate::host::control::moderation::Moderation;
use crate::pack::Packed;
use crate::state::command::ObjectReply;
use crate::testing::{collect, push};
use crate::transport::records::Station;

/// Cycles after which an access counts as stuck.
const LIMIT: u64 = 2_000;

impl Rig {
    /// Steps until the host has as many answers on a channel; how many cycles that took.
    fn wait(&mut self, sink: SinkId, answers: usize) -> u64 {
        for cycles in 0..LIMIT {
            if self.bench[sink].received().len() >= answers {
                return cycles;
            }
            self.step();
        }
        panic!("the access is not answered after {LIMIT} cycles");
    }

    /// Reads without a look at the model.
    pub(in super::super) fn raw_load(&mut self, address: usize) -> u64 {
        push(&mut self.bench, self.ar, &[LiteAddress { addr: (address as u64).into() }]);
        self.wait(self.r, 1);
        let [answer] = collect::<LiteRead>(&mut self.bench, self.r)[..] else { panic!("one answer") };
        assert_eq!(u64::from(answer.resp), 0, "the response is OKAY");
        answer.data.into()
    }

    /// Queues a store.
    pub(in super::super) fn push_store(&mut self, address: usize, data: u64, strb: u8) {
        push(&mut self.bench, self.aw, &[LiteAddress { addr: (address as u64).into() }]);
        push(&mut self.bench, self.w, &[LiteWrite { data: data.into(), strb: u64::from(strb).into() }]);
    }

    /// Stores without a look at the model.
    pub(in super::super) fn raw_store(&mut self, address: usize, data: u64, strb: u8) {
        self.push_store(address, data, strb);
        self.wait(self.b, 1);
        let answers = collect::<LiteResponse>(&mut self.bench, self.b);
        assert_eq!(answers, [LiteResponse { resp: 0.into() }]);
    }

    /// Reads, and expects what the model says.
    pub(in super::super) fn load(&mut self, address: usize) -> u64 {
        let (found, expected) = (self.raw_load(address), self.bars.load(address));
        assert_eq!(found, expected, "read of {address:#x}: {found:#x}, not {expected:#x}");
        found
    }

    /// Stores, and expects what the model says, effect included.
    pub(in super::super) fn store(&mut self, address: usize, data: u64, strb: u8) {
        self.raw_store(address, data, strb);
        let expected = self.bars.store(address, data, strb, self.is_ready);
        // A command or a store to a page may meet back-pressure; pulses come with the answer.
        for _ in 0..LIMIT {
            if self.effects.len() >= usize::from(expected.is_some()) {
                break;
            }
            self.step();
        }
        match &expected {
            Some(Effect::Command(owner, _)) => self.running = Some(*owner),
            Some(Effect::Restart) => self.running = None,
            _ => (),
        }
        assert_eq!(std::mem::take(&mut self.effects), Vec::from_iter(expected), "store to {address:#x}");
    }

    /// Stores to a register of 32 or 64 bits.
    pub(in super::super) fn put(&mut self, block: &Block, reg: &Reg, index: usize, value: u64) {
        let address = block.offset + reg.element(index);
        let strb = 0xff_u8 >> (8 - reg.width / 8) << (address % 8);
        self.store(address, value << (address % 8 * 8), strb);
    }

    /// Reads a register of 32 or 64 bits.
    pub(in super::super) fn fetch(&mut self, block: &Block, reg: &Reg, index: usize) -> u64 {
        let address = block.offset + reg.element(index);
        self.load(address) >> (address % 8 * 8) & u64::MAX >> (64 - reg.width)
    }

    /// An owner answers.
    pub(in super::super) fn answer(&mut self, owner: usize, reply: &ObjectReply) {
        push(&mut self.bench, self.reply[owner], std::slice::from_ref(reply));
        for _ in 0..LIMIT {
            if self.bench[self.reply[owner]].is_empty() {
                return;
            }
            self.step();
        }
        panic!("the reply is not taken");
    }

    /// Holds every port that shows a register against the model.
    pub(in super::super) fn compare_ports(&mut self) {
        let config = self.bars.get(&events::BLOCK, &events::CONFIG, 0);
        let ring = [
            self.port::<Bits<52>>("event_base").into(),
            self.port::<Bits<5>>("event_log").into(),
            self.port::<Bits<5>>("event_vector").into(),
            u64::from(self.port::<bool>("event_enable")),
            self.port::<Bits<32>>("consumer").into(),
        ];
        let base = self.bars.get(&events::BLOCK, &events::BASE, 0) >> 12;
        let consumer = self.bars.get(&events::BLOCK, &events::CONSUMER, 0);
        assert_eq!(ring, [base, config & 0x1f, config >> 8 & 0x1f, config >> 31, consumer]);
        let vector = self.rng.below(32);
        self.drive("vector_index", vector);
        self.bench.model_mut().eval();
        let row = self.bars.vector(usize::try_from(vector).expect("small"));
        assert_eq!(self.port::<Moderation>("vector_moderation"), row, "vector {vector}");
        assert_eq!(u64::from(self.port::<Bits<48>>("mac")), self.bars.mac());
        let raw = (self.port::<Bits<24>>("raw_queue_pair").into(), self.port::<bool>("raw_enable"));
        assert_eq!(raw, self.bars.raw());
        let limits: [u64; 2] =
            ["kernel_limit", "kernel_patience"].map(|port| self.port::<Bits<32>>(port).into());
        assert_eq!(limits, self.bars.kernel_limits());
        for reader in 0..2 {
            let index = self.rng.below(16);
            self.drive(&format!("address_index${reader}"), index);
            self.bench.model_mut().eval();
            let address = self.port::<Bits<128>>(&format!("address${reader}"));
            let expected = self.bars.address(usize::try_from(index).expect("small"));
            assert_eq!(num_bigint::BigUint::from(address), expected.into(), "address {index}");
        }
        // One of the addresses, one of the groups', or one that is nobody's but for a miracle.
        let index = usize::try_from(self.rng.below(16)).expect("small");
        let destination = match self.rng.below(4) {
            0 => self.bars.address(index),
            1 => u128::from(self.rng.next_u64()),
            _ => self.bars.group(index),
        };
        let destination = destination ^ u128::from(self.rng.below(4) == 0) << self.rng.below(128);
        let id = self.bench.model().port("destination").expect("the port exists");
        let bits: Bits<128> = num_bigint::BigUint::from(destination).into();
        self.bench.model_mut().set_wide(id, &bits.to_words());
        // What was stored last is known a cycle after its register shows it, and what is asked a cycle later.
        self.run(2);
        assert_eq!(self.port::<Station>("station"), self.bars.station(destination), "{destination:#x}");
        // A product takes as long.
        self.run(2);
        let interval = u64::from(self.port::<Bits<32>>("cnp_interval"));
        assert_eq!(interval, self.bars.cnp_cycles(facts().clock_khz.into()));
    }
}
