//! What happens in a cycle: beats move, DMA is served, answers are held against the model's.

use stroma_hw::slot::SlotResponse;
use stroma_hw::stream::{Beat, beats, bytes};
use stroma_hw::testing::collect;
use stroma_verilate::SplitMix64;

use super::Rig;

impl<const D: usize> Rig<D> {
    /// One cycle.
    pub fn step(&mut self) {
        let now = self.bench.cycle();
        if let Some(writes) = &mut self.writes {
            writes.hold(&mut self.bench, self.outstanding);
        }
        let before = self.sent();
        self.bench.step();
        let after = self.sent();
        let has_moved: [bool; 4] = std::array::from_fn(|at| after[at] > before[at]);
        let [command, data_in, read_data, write_done] = has_moved;
        if command {
            self.moves.commands.push(now);
        }
        if data_in {
            self.moves.payload.push(now);
        }
        if read_data {
            self.moves.beats_in.push(now);
            if self.reads.as_mut().expect("it reads").note_beat() {
                self.moves.read_ends.push(now);
            }
        }
        if write_done {
            self.moves.writes_done.push(now);
            self.writes.as_mut().expect("it writes").note_done();
        }
        // Before data of the same cycle: a response comes after its last beat.
        for response in collect::<SlotResponse>(&mut self.bench, self.response) {
            self.moves.responses.push(now);
            self.conclude(&response);
        }
        for beat in collect::<Beat<D>>(&mut self.bench, self.data_out) {
            self.moves.beats_out.push(now);
            self.packet.push(beat);
            if beat.eop {
                let packet = std::mem::take(&mut self.packet);
                let bytes = bytes(&packet);
                assert_eq!(packet, beats::<D>(&bytes), "beats of an answer");
                self.packets.push_back(bytes);
            }
        }
        self.serve(now);
    }

    /// Beats that the kernel has taken: of `command`, `data_in`, `read_data`, `write_done`.
    fn sent(&self) -> [u64; 4] {
        let done = self.writes.as_ref().map_or(0, |writes| writes.sent(&self.bench));
        let [command, data_in] = [self.command, self.data_in].map(|source| self.bench[source].sent());
        let read = self.reads.as_ref().map_or(0, |reads| reads.sent(&self.bench));
        [command, data_in, read, done]
    }

    /// The DMA of a cycle.
    fn serve(&mut self, now: u64) {
        let open = &self.open;
        let head =
            |ticket: u64| open.iter().map(|(head, _)| *head).find(|head| u64::from(head.ticket) == ticket);
        let (least, below) = self.latency;
        let latency = |rng: &mut SplitMix64| least + rng.below(below - least);
        let (bench, host, rng, own_keys) =
            (&mut self.bench, &mut self.host, &mut self.rng, self.has_own_keys);
        if let Some(reads) = &mut self.reads {
            let moved = reads.step(bench, host, rng, head, own_keys, latency);
            self.moves.reads.extend(std::iter::repeat_n(now, moved));
        }
        if let Some(writes) = &mut self.writes {
            let moved = writes.step(bench, host, rng, head, own_keys, latency);
            self.moves.writes.extend(moved.sizes.iter().map(|size| (now, *size)));
            self.moves.write_beats.extend(std::iter::repeat_n(now, moved.beats));
        }
    }

    fn conclude(&mut self, response: &SlotResponse) {
        let place = self.open.iter().position(|(head, _)| response.ticket == u64::from(head.ticket));
        let place = place.unwrap_or_else(|| panic!("nobody has the ticket of {response:?}"));
        let (head, outcome) = self.open.remove(place).expect("it was found");
        assert!(self.packet.is_empty(), "an answer before the end of its data");
        let ticket = u64::from(head.ticket);
        let reads = self.reads.as_ref();
        assert!(reads.is_none_or(|reads| !reads.has(ticket)), "an answer before the end of its reads");
        let writes = self.writes.as_ref();
        assert!(writes.is_none_or(|writes| !writes.has(ticket)), "an answer before the end of its writes");
        let len = u64::from(response.len);
        assert!(len <= u64::from(head.response_max), "{len} bytes are more than allowed");
        let data = if len > 0 { self.packets.pop_front().expect("data of the answer") } else { Vec::new() };
        assert!(self.packets.is_empty(), "a packet that no answer tells of");
        assert_eq!(data.len() as u64, len, "length that the answer tells");
        assert_eq!(response.status, u64::from(outcome.status), "status, expected of {outcome:x?}");
        if outcome.status == 0 {
            assert!(data == outcome.data, "data of {len} bytes, expected {}", outcome.data.len());
        }
        self.told.push(outcome.status);
        if self.open.is_empty() && self.writes.is_some() {
            self.foresight.compare(&self.host);
        }
    }
}
