//! The owner of the address handles: the ways of datagrams.

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::desc::{AddressHandle, CommandStatus, Verb};

use super::command::{ObjectCommand, ObjectReply};
use crate::constant::number;
use crate::prim::ram::{BlockRam, LutRam};
use crate::prim::reg::Reg;
use crate::prim::reverse::Reverse;
use crate::stream::{StreamSink, StreamSource};
use crate::transport::records::HandleRow;

block! {
    /// Makes and ends `2^LOG` address handles, one command at a time.
    ///
    /// A refused command has changed nothing. No field of a body can be wrong. Nothing is waited for when a handle ends: a datagram under way
    /// that names it goes astray, or takes the next handle of its number.
    ///
    /// - **Ports** `command`, `reply`: as the mailbox has them, one reply for each command. `row_enable`, `row_index`, `row`: a handle, there
    ///   a cycle later until the next is read; beyond the table none exists. `ready`: the table is clean. `busy`: a command is inside, or the
    ///   table is not clean.
    /// - **Latency** from the command to the reply's offer 1 cycle; a row read in the cycle of that offer, or later, is the new one.
    ///   **Rate** one command at a time.
    /// - **Backpressure** commands wait for the reply before them. No path from port to port.
    /// - **Reset** forgets the command and all handles, which takes `2^LOG` cycles; `ready` is low meanwhile, and commands wait.
    /// - **Limits** `LOG` to 24. A number beyond is `OutOfRange` for create, and `NoObject` for destroy.
    pub struct AddressHandles<const LOG: usize> {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub command: StreamSink<ObjectCommand>,
        pub reply: StreamSource<ObjectReply>,
        pub row_enable: Signal<In, Bit>,
        pub row_index: Signal<In, Bits<24>>,
        pub row: Signal<Out, HandleRow>,
        pub ready: Signal<Out, Bit>,
        pub busy: Signal<Out, Bit>,
        rows: BlockRam<HandleRow, LOG>,
        existence: LutRam<Bit, LOG>,
        is_row_beyond: Reg<Bit>,
        answers: Reg<Bit>,
        answer: Reg<ObjectReply>,
        scrubbing: Reg<Bit>,
        scrubbed: Reg<Bits<LOG>>,
        peer_mac: Reverse<48>,
        peer_ip: Reverse<128>,
        takes: Signal<Local, Bit>,
        is_beyond: Signal<Local, Bit>,
        exists: Signal<Local, Bit>,
        status: Signal<Local, Bits<16>>,
        creates: Signal<Local, Bit>,
        ends: Signal<Local, Bit>,
        at: Signal<Local, Bits<LOG>>,
        log: Constant<Bits<5>> = number(LOG),
        last: Constant<Bits<LOG>> = Constant::new(Bits::mask()),
        pd_at: Constant<Bits<10>> = number(AddressHandle::PD.offset()),
        peer_mac_at: Constant<Bits<10>> = number(AddressHandle::PEER_MAC.offset()),
        peer_ip_at: Constant<Bits<10>> = number(AddressHandle::PEER_IP.offset()),
        source_port_at: Constant<Bits<10>> = number(AddressHandle::SOURCE_PORT.offset()),
        hop_limit_at: Constant<Bits<10>> = number(AddressHandle::HOP_LIMIT.offset()),
        traffic_class_at: Constant<Bits<10>> = number(AddressHandle::TRAFFIC_CLASS.offset()),
        has_vlan_at: Constant<Bits<10>> = number(AddressHandle::HAS_VLAN.offset()),
        vlan_at: Constant<Bits<10>> = number(AddressHandle::VLAN.offset()),
        flow_label_at: Constant<Bits<10>> = number(AddressHandle::FLOW_LABEL.offset()),
        source_address_at: Constant<Bits<10>> = number(AddressHandle::SOURCE_ADDRESS.offset()),
        create: Constant<Bits<8>> = number(Verb::Create as u64),
        destroy: Constant<Bits<8>> = number(Verb::Destroy as u64),
        done: Constant<Bits<16>> = number(CommandStatus::Done as u64),
        unknown_verb: Constant<Bits<16>> = number(CommandStatus::UnknownVerb as u64),
        out_of_range: Constant<Bits<16>> = number(CommandStatus::OutOfRange as u64),
        no_object: Constant<Bits<16>> = number(CommandStatus::NoObject as u64),
        exists_already: Constant<Bits<16>> = number(CommandStatus::Exists as u64),
        bad_attribute: Constant<Bits<16>> = number(CommandStatus::BadAttribute as u64),
    }
}

impl<const LOG: usize> Logic for AddressHandles<LOG> {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, rows, existence);
        dff_setup!(self, clock, is_row_beyond, answers, answer, scrubbing, scrubbed);
        self.ready.next = !self.scrubbing.q.val();
        self.busy.next = self.scrubbing.q.val() | self.answers.q.val();
        self.takes.next = self.command.valid.val() & !self.scrubbing.q.val() & !self.answers.q.val();
        self.command.ready.next = !self.scrubbing.q.val() & !self.answers.q.val();

        // The first reason to refuse wins: the verb, the number, the object's existence, the attributes.
        self.is_beyond.next = (self.command.payload.val().object >> self.log.val()).any();
        self.existence.read_address.next = bit_cast::<LOG, 32>(self.command.payload.val().object);
        self.exists.next = self.existence.read_data.val() & !self.is_beyond.val();
        self.status.next = self.done.val();
        self.creates.next = false;
        self.ends.next = false;
        if self.command.payload.val().verb == self.create.val() {
            if self.is_beyond.val() {
                self.status.next = self.out_of_range.val();
            } else if self.exists.val() {
                self.status.next = self.exists_already.val();
            } else if self.command.payload.val().attributes.any() {
                self.status.next = self.bad_attribute.val();
            } else {
                self.creates.next = self.takes.val();
            }
        } else if self.command.payload.val().verb != self.destroy.val() {
            self.status.next = self.unknown_verb.val();
        } else if !self.exists.val() {
            self.status.next = self.no_object.val();
        } else {
            self.ends.next = self.takes.val();
        }
        if self.takes.val() {
            self.answers.d.next = true;
            self.answer.d.next.status = self.status.val();
            self.answer.d.next.field = 0.into();
            self.answer.d.next.body = 0.into();
        }
        self.reply.valid.next = self.answers.q.val();
        self.reply.payload.next = self.answer.q.val();
        if self.answers.q.val() & self.reply.ready.val() {
            self.answers.d.next = false;
        }

        self.at.next = bit_cast::<LOG, 32>(self.command.payload.val().object);
        if self.scrubbing.q.val() {
            self.at.next = self.scrubbed.q.val();
            self.scrubbed.d.next = self.scrubbed.q.val() + 1;
            self.scrubbing.d.next = self.scrubbed.q.val() != self.last.val();
        }
        self.existence.write_enable.next = self.creates.val() | self.ends.val() | self.scrubbing.q.val();
        self.existence.write_address.next = self.at.val();
        self.existence.write_data.next = self.creates.val();
        self.rows.write_enable.next = self.creates.val() | self.ends.val() | self.scrubbing.q.val();
        self.rows.write_address.next = self.at.val();
        self.rows.write_data.next.exists = self.creates.val();
        self.rows.write_data.next.pd =
            self.command.payload.val().body.get_bits::<16>(self.pd_at.val().index());
        self.peer_mac.forward.next =
            self.command.payload.val().body.get_bits::<48>(self.peer_mac_at.val().index());
        self.rows.write_data.next.peer_mac = self.peer_mac.reversed.val();
        self.peer_ip.forward.next =
            self.command.payload.val().body.get_bits::<128>(self.peer_ip_at.val().index());
        self.rows.write_data.next.peer_ip = self.peer_ip.reversed.val();
        self.rows.write_data.next.source_port =
            self.command.payload.val().body.get_bits::<16>(self.source_port_at.val().index());
        self.rows.write_data.next.hop_limit =
            self.command.payload.val().body.get_bits::<8>(self.hop_limit_at.val().index());
        self.rows.write_data.next.traffic_class =
            self.command.payload.val().body.get_bits::<8>(self.traffic_class_at.val().index());
        self.rows.write_data.next.has_vlan =
            self.command.payload.val().body.get_bit(self.has_vlan_at.val().index());
        self.rows.write_data.next.vlan =
            self.command.payload.val().body.get_bits::<16>(self.vlan_at.val().index());
        self.rows.write_data.next.flow_label =
            self.command.payload.val().body.get_bits::<20>(self.flow_label_at.val().index());
        self.rows.write_data.next.source_address =
            self.command.payload.val().body.get_bits::<4>(self.source_address_at.val().index());

        self.rows.read_enable.next = self.row_enable.val();
        self.rows.read_address.next = bit_cast::<LOG, 24>(self.row_index.val());
        if self.row_enable.val() {
            self.is_row_beyond.d.next = (self.row_index.val() >> self.log.val()).any();
        }
        self.row.next = self.rows.read_data.val();
        if self.is_row_beyond.q.val() {
            self.row.next.exists = false;
        }
        if self.reset.val() {
            self.answers.d.next = false;
            self.scrubbing.d.next = true;
            self.scrubbed.d.next = 0.into();
        }
    }
}
