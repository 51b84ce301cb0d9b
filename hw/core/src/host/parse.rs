//! Parse: the units of a send queue become work, or a reason why not.

pub mod intake;
pub mod judge;
pub mod known;
pub mod model;
pub mod operations;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;
pub mod walk;

use rust_hdl::prelude::*;

use intake::{Expected, Intake};
use walk::Walk;

use super::work::{JOB_UNITS, Job, Unit, Work};
use crate::prim::fifo::Fifo;
use crate::prim::ram::LutRam;
use crate::stream::{StreamSink, StreamSource};

/// `2^LOG` jobs are inside at most.
const JOBS_LOG: usize = 4;
/// `2^LOG` units are held: those of two of the longest jobs.
pub const HELD_LOG: usize = 6;
/// Bits of a place among them, with one more to tell full from empty.
pub const PLACE_BITS: usize = HELD_LOG + 1;

const _: () = assert!(1 << HELD_LOG == 2 * JOB_UNITS, "one job is parsed while the next arrives");

/// What is wrong with a WQE: the `vendor` of its completion. The first that applies, in the order of
/// [`Judge`](judge::Judge), is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The op-code is unknown, or nothing that this card carries out on such a queue pair. Status `LocalQueuePair`, as up
    /// to `SgeCount`.
    OpCode = 1,
    /// It has another index than its place: the slot is stale.
    Index = 2,
    /// It has no units, more than eight, or more than there are; pushed, it has not as many as were pushed.
    Units = 3,
    /// It asks for a kernel, or for inline data where there can be none.
    Flags = 4,
    /// Its inline data do not fit its units.
    InlineLength = 5,
    /// Its scatter/gather entries do not fit its units; or it is an atomic that has not one entry and eight bytes, an RPC with
    /// parameters alone that has not one entry, or work on a key that has entries or bytes.
    SgeCount = 6,
    /// It could not be read. Status `General`.
    Fetch = 7,
    /// Its scatter/gather entries have not as many bytes as it says. Status `LocalQueuePair`.
    Sum = 8,
    /// It is no Ethernet frame: shorter than a header, or longer than 4096 bytes; or a datagram that is longer than these. Status `LocalLength`.
    FrameLength = 9,
    /// It is an RPC that has more parameters than 64 bytes or than its payload; or with parameters alone, other bytes than these,
    /// or more than fit its units. Status `LocalQueuePair`.
    Parameters = 10,
    /// It is an RPC that may be answered with more than 65,536 bytes, or with more than its result entry has. Status
    /// `LocalLength`.
    Response = 11,
}

block! {
    /// Makes work of jobs, one job after the other.
    ///
    /// ```text
    ///   job ─┬─ FIFO ──────────────────────┐
    ///        └─ FIFO ─ Intake ─ FIFO ───── Walk ─┬─ FIFO ─ work
    ///   fetched ─────────┤ └── held units ──▲│   └─ FIFO ─ units
    ///   pushed ──────────┘                   Judge
    /// ```
    ///
    /// A job that is fetched is parsed when its last unit has arrived, because only then it is known whether all could be
    /// read; one that is pushed, when its first has, because nothing of it can fail any more. Its WQEs give one [`Work`]
    /// each, up to the first bad one. Those behind it are left alone, as is one that goes on behind the job's end, unless it
    /// is the first: they have to be fetched again. A job that is flushed is walked to its end. A job that could not be read
    /// gives a single `Work` with status `General` and counts as a whole, even if it is to be flushed. Behind its works, each
    /// job gives a `Work` with `ends`, which says how far it came; it may come before the units of the last of them.
    ///
    /// NOP, GATHER and SCATTER are for every queue pair; SEND, WRITE, READ, and atomics for reliable ones, SEND and WRITE with
    /// immediate data or without, SEND also with a key to invalidate. GATHER, SEND and WRITE of all kinds may have their
    /// data inline. An atomic has eight bytes and one entry, behind its operands. Those for datagrams know SEND, with immediate data
    /// or without, of up to 4096 bytes, which is what fits a packet; raw ones SEND alone, of 14 bytes at least: an Ethernet header. `BIND_MW` and `LOCAL_INV` are for reliable queue pairs, too, and
    /// have neither bytes nor entries. So are RPCs: behind the head they name the place of the result, which has room for the
    /// longest answer that they allow; RPC has its parameters behind that and one entry, which is that place, `RPC_WRITE` the
    /// entries of its payload.
    ///
    /// - **Ports** `job`: jobs; `fetched`: the units of those that are fetched, in their order, those of one job in one or
    ///   more read commands; `pushed`: the units of those that are pushed; `work`, `units`: for each WQE its work, and for
    ///   all but NOP and `LOCAL_INV` without a status their units; when other works wait, units may be offered before their
    ///   work is; `busy`: something is inside.
    /// - **Work** has `index` from the WQE's place. NOP has length 0 and no entries, inline data have no entries, and so has
    ///   RPC, whose parameters are inline. With a status the other fields are as the WQE says, and zero if it could not be read. With `ends`, `index` is the one behind
    ///   the last WQE that gave a work, and `length` the bytes of all works without a status, or all ones when there are
    ///   more; other fields that WQEs have are zero.
    /// - **Latency** 2 cycles from the last unit of a job that is fetched, and from the first of one that is pushed, to its
    ///   first work and unit, if it is the only job.
    ///   **Rate** a cycle for each unit that goes on and for each WQE of which none do; one for each job, unless its last WQE
    ///   has more than one unit that goes on, and one for a tail that goes on behind the job's end.
    /// - **Backpressure** stalls `job` at 16 jobs that wait, `fetched` and `pushed` while the job that is due takes none
    ///   of theirs, or 64 units are held. No combinational path from port to port.
    /// - **Reset** forgets everything; units of jobs from before must not come any more.
    /// - **Limits** a job has 1 to [`JOB_UNITS`] units and one that is pushed, 1 to 8; Parse waits for ever for the units of
    ///   any other.
    pub struct Parse {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub job: StreamSink<Job>,
        pub fetched: StreamSink<Unit>,
        pub pushed: StreamSink<Bits<512>>,
        pub work: StreamSource<Work>,
        pub units: StreamSource<Bits<512>>,
        pub busy: Signal<Out, Bit>,
        jobs: Fifo<Job, JOBS_LOG>,
        expected: Fifo<Expected, JOBS_LOG>,
        intake: Intake,
        /// Jobs that may be looked at, and whether they failed.
        arrived: Fifo<Bit, JOBS_LOG>,
        held: LutRam<Bits<512>, HELD_LOG>,
        walk: Walk,
        works: Fifo<Work, 2>,
        /// So that Walk does not wait for `units.ready` within a cycle.
        sent: Fifo<Bits<512>, 1>,
    }
}

impl Logic for Parse {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, jobs, expected, intake, arrived, held, walk, works, sent);
        self.jobs.reset.next = self.reset.val();
        self.expected.reset.next = self.reset.val();
        self.intake.reset.next = self.reset.val();
        self.arrived.reset.next = self.reset.val();
        self.walk.reset.next = self.reset.val();
        self.works.reset.next = self.reset.val();
        self.sent.reset.next = self.reset.val();

        self.job.ready.next = self.jobs.sink.ready.val() & self.expected.sink.ready.val();
        self.jobs.sink.valid.next = self.job.valid.val() & self.expected.sink.ready.val();
        self.jobs.sink.payload.next = self.job.payload.val();
        self.expected.sink.valid.next = self.job.valid.val() & self.jobs.sink.ready.val();
        self.expected.sink.payload.next.units = self.job.payload.val().units;
        self.expected.sink.payload.next.pushed = self.job.payload.val().pushed;
        StreamSource::<Expected>::join(&mut self.expected.source, &mut self.intake.expected);
        StreamSink::<Unit>::link(&mut self.fetched, &mut self.intake.fetched);
        StreamSink::<Bits<512>>::link(&mut self.pushed, &mut self.intake.pushed);
        StreamSource::<Bit>::join(&mut self.intake.arrived, &mut self.arrived.sink);

        self.held.write_enable.next = self.intake.write.val();
        self.held.write_address.next = self.intake.write_at.val();
        self.held.write_data.next = self.intake.unit.val();
        self.held.read_address.next = bit_cast::<HELD_LOG, PLACE_BITS>(self.walk.at.val());
        self.walk.found.next = self.held.read_data.val();
        self.intake.free_from.next = self.walk.at.val();
        self.walk.written.next = self.intake.written.val();

        StreamSource::<Job>::join(&mut self.jobs.source, &mut self.walk.job);
        StreamSource::<Bit>::join(&mut self.arrived.source, &mut self.walk.arrived);
        StreamSource::<Work>::join(&mut self.walk.work, &mut self.works.sink);
        StreamSource::<Work>::link(&mut self.work, &mut self.works.source);
        StreamSource::<Bits<512>>::join(&mut self.walk.units, &mut self.sent.sink);
        StreamSource::<Bits<512>>::link(&mut self.units, &mut self.sent.source);
        // The end of a push may have gone while units that nobody wants are on their way.
        self.busy.next = self.jobs.source.valid.val()
            | self.expected.source.valid.val()
            | self.walk.busy.val()
            | self.works.source.valid.val()
            | self.sent.source.valid.val();
    }
}
