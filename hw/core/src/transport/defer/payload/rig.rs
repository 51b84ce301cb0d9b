//! Errands with their packets, and what must come of both.

use std::collections::BTreeMap;

use stroma_verilate::{Bench, Pause, SinkId, SourceId, SplitMix64};

use super::DeferPayload;
use crate::pack::Packed;
use crate::stream::{Beat, beats};
use crate::testing::{collect, noise, push, read, verilated};
use crate::transport::records::Errand;

/// Cycles after which the block counts as stuck.
const LIMIT: u64 = 400_000;

pub(super) struct Rig<const D: usize> {
    pub(super) bench: Bench,
    pub(super) errand: SourceId,
    pub(super) payload: SourceId,
    pub(super) source: SinkId,
    pub(super) passed: SinkId,
    /// What is in the store.
    kept: BTreeMap<u64, Vec<u8>>,
    expected_errands: Vec<Errand>,
    expected_beats: Vec<Beat<D>>,
    pub(super) rng: SplitMix64,
}

impl<const D: usize> Rig<D> {
    pub(super) fn new<const LOG: usize>(name: &str, seed: u64) -> Self {
        let mut bench = verilated(name, DeferPayload::<D, LOG>::default);
        let [errand, payload] =
            ["errand", "payload"].map(|name| bench.source(name).expect("the stream exists"));
        let [source, passed] = ["source", "passed"].map(|name| bench.sink(name).expect("the stream exists"));
        bench.reset(2);
        let rng = SplitMix64::new(seed);
        Self {
            bench,
            errand,
            payload,
            source,
            passed,
            kept: BTreeMap::new(),
            expected_errands: Vec::new(),
            expected_beats: Vec::new(),
            rng,
        }
    }

    /// Bytes from 1 to 4096: often few, sometimes all.
    fn bytes(&mut self) -> Vec<u8> {
        let count = match self.rng.below(4) {
            0 => 4096,
            1 => 1 + self.rng.below(4096),
            _ => 1 + self.rng.below(200),
        };
        (0..count).map(|_| u8::try_from(self.rng.below(256)).expect("a byte")).collect()
    }

    /// An errand of which all but its payload is noise.
    fn errand(&mut self, length: usize) -> Errand {
        Errand {
            has_value: false,
            stores: false,
            loads: false,
            payload_len: (length as u64).into(),
            ..noise(&mut self.rng)
        }
    }

    fn send(&mut self, errand: &Errand, packet: Option<&[u8]>) {
        push(&mut self.bench, self.errand, std::slice::from_ref(errand));
        if let Some(packet) = packet {
            push(&mut self.bench, self.payload, &beats::<D>(packet));
        }
    }

    /// One whose payload goes straight through.
    pub(super) fn pass(&mut self) {
        let bytes = self.bytes();
        let errand = self.errand(bytes.len());
        self.send(&errand, Some(&bytes));
        self.expected_errands.push(errand);
        self.expected_beats.extend(beats::<D>(&bytes));
    }

    /// One without payload on the stream, or with a value.
    pub(super) fn plain(&mut self) {
        let has_value = self.rng.below(2) == 0;
        let errand = Errand { has_value, ..self.errand(if has_value { 8 } else { 0 }) };
        self.send(&errand, None);
        self.expected_errands.push(errand);
    }

    /// One whose payload goes to this place.
    pub(super) fn store(&mut self, slot: u64) {
        let bytes = self.bytes();
        let errand = Errand { stores: true, slot: slot.into(), ..self.errand(bytes.len()) };
        self.send(&errand, Some(&bytes));
        self.expected_errands.push(Errand { payload_len: 0_u64.into(), ..errand });
        self.kept.insert(slot, bytes);
    }

    /// One whose payload comes from it.
    pub(super) fn load(&mut self, slot: u64) {
        let bytes = self.kept.remove(&slot).expect("something is there");
        let errand = Errand { loads: true, slot: slot.into(), ..self.errand(bytes.len()) };
        self.send(&errand, None);
        self.expected_errands.push(errand);
        self.expected_beats.extend(beats::<D>(&bytes));
    }

    /// Any of these, with places below this.
    pub(super) fn any(&mut self, places: u64) {
        let slot = self.rng.below(places);
        match self.rng.below(6) {
            0 | 1 => self.pass(),
            2 => self.plain(),
            _ if self.kept.contains_key(&slot) => self.load(slot),
            _ => self.store(slot),
        }
    }

    pub(super) fn pause(&mut self, [errand, payload, source, passed]: [Pause; 4]) {
        self.bench[self.errand].pause(errand);
        self.bench[self.payload].pause(payload);
        self.bench[self.source].pause(source);
        self.bench[self.passed].pause(passed);
    }

    pub(super) fn set<T: Packed>(&mut self, port: &str, value: &T) {
        let port = self.bench.model().port(port).expect("the port exists");
        self.bench.model_mut().set_wide(port, &value.to_words());
    }

    pub(super) fn settle(&mut self) {
        let start = self.bench.cycle();
        while !self.bench.is_sent() || read::<bool>(&self.bench, "busy") {
            assert!(self.bench.cycle() - start < LIMIT, "the store is stuck");
            let is_request = self.bench.cycle().is_multiple_of(2);
            self.set("is_request", &is_request);
            self.bench.step();
            assert_eq!(read::<bool>(&self.bench, "source_is_request"), is_request);
        }
    }

    /// After a reset: nothing of the past is awaited.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
        self.expected_errands.clear();
        self.expected_beats.clear();
        for sink in [self.source, self.passed] {
            self.bench[sink].take();
        }
    }

    /// Holds what came out against what must.
    pub(super) fn compare(&mut self) {
        let errands: Vec<Errand> = collect(&mut self.bench, self.source);
        assert_eq!(errands, std::mem::take(&mut self.expected_errands));
        let found: Vec<Beat<D>> = collect(&mut self.bench, self.passed);
        assert_eq!(found, std::mem::take(&mut self.expected_beats));
    }
}
