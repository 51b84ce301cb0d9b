//! What the copy engine talks to: the MMU, the read engine and the memory that is written.

use stroma_abi::desc::region::rights;

use super::Rig;
use crate::host::dma_read::{ReadCommand, ReadData};
use crate::host::mover::model::{Write, byte, is_broken, translate};
use crate::host::work::HostWrite;
use crate::state::access::XlatRequest;
use crate::state::mmu::XlatResponse;
use crate::stream::{Beat, beats};
use crate::testing::{collect, push};

/// Bursts that the read engine has in flight, and beats that it has room for.
const READS: usize = 32;
const READ_BEATS: usize = 512;

impl<const D: usize, const LOG: usize> Rig<D, LOG> {
    /// The MMU: each client in order, each at its own pace.
    pub(super) fn translate(&mut self, now: u64) {
        for request in collect::<XlatRequest>(&mut self.bench, self.xlat) {
            let client = usize::try_from(u64::from(request.client)).expect("small") - 1;
            self.asked[client] += 1;
            let need = if client == 1 { rights::LOCAL_WRITE } else { 0 };
            assert_eq!(u64::from(request.need), u64::from(need), "{request:?}");
            let (key, va) = (u32::try_from(u64::from(request.key)).expect("32 bits"), u64::from(request.va));
            assert_eq!(u64::from(request.pd), u64::from(key & 0xffff), "a test's keys name their domain");
            let len = u64::from(request.len);
            assert!(len > 0 && va / 4096 == (va + (len - 1)) / 4096, "{request:?} leaves its page");
            let found = translate(key, va);
            let response = XlatResponse {
                client: request.client,
                tag: request.tag,
                ok: found.is_ok(),
                cause: u64::from(found.err().unwrap_or(0)).into(),
                iova: found.unwrap_or(0).into(),
                len: if found.is_ok() { request.len } else { 0.into() },
                more: false,
            };
            let due = now + self.xlat_latency.0 + self.rng.below(self.xlat_latency.1 - self.xlat_latency.0);
            self.answers[client].push_back((due, response));
            assert!(self.answers[client].len() <= 16, "17 answers are due to client {client}");
        }
        for client in 0..2 {
            if self.answers[client].front().is_some_and(|(due, _)| *due <= now) {
                let (_, answer) = self.answers[client].pop_front().expect("there is one");
                push(&mut self.bench, self.answer, &[answer]);
            }
        }
    }

    /// The read engine: 32 commands in flight, answered in order, one beat a cycle.
    pub(super) fn host(&mut self, now: u64) {
        self.reads.extend(collect::<ReadCommand>(&mut self.bench, self.read));
        while let Some(command) = self.reads.front() {
            let (iova, len) = (u64::from(command.iova), u64::from(command.len));
            let in_flight = self.flights.iter().filter(|(_, beat)| beat.eop).count();
            let count = usize::try_from(len).expect("short").div_ceil(D / 8);
            if in_flight == READS || self.flights.len() + count > READ_BEATS.max(4096 * 8 / D) {
                break;
            }
            let bytes: Vec<u8> = (iova..iova + len).map(byte).collect();
            let due = now + self.read_latency.0 + self.rng.below(self.read_latency.1 - self.read_latency.0);
            for beat in beats::<D>(&bytes) {
                let err = if beat.eop { is_broken(iova) } else { self.rng.below(2) == 1 };
                let data = ReadData {
                    data: beat.data,
                    nbytes: beat.nbytes,
                    sop: beat.sop,
                    eop: beat.eop,
                    err,
                    tag: command.tag,
                };
                self.flights.push_back((due, data));
            }
            self.reads.pop_front();
        }
        if self.flights.front().is_some_and(|(due, _)| *due <= now) {
            let (_, beat) = self.flights.pop_front().expect("there is one");
            push(&mut self.bench, self.read_data, &[beat]);
        }
    }

    /// Host memory: each packet belongs to the next command.
    pub(super) fn writes(&mut self, now: u64) {
        self.commands.extend(collect::<HostWrite>(&mut self.bench, self.write));
        for beat in collect::<Beat<D>>(&mut self.bench, self.write_data) {
            self.data_cycles.push(now);
            self.beats.push(beat);
            if beat.eop {
                let Write { iova, qpn, bytes } = &self.expected.writes[self.packets];
                let command = self.commands[self.packets];
                let expected = (*iova, bytes.len() as u64, u64::from(*qpn));
                let is = (u64::from(command.iova), u64::from(command.len), u64::from(command.qpn));
                assert_eq!(is, expected, "command {}", self.packets);
                assert!(self.beats == beats::<D>(bytes), "packet {} differs", self.packets);
                self.beats.clear();
                self.packets += 1;
            }
        }
    }
}
