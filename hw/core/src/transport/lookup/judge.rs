//! Is a packet or a nudge for this card, and for whom?

use rust_hdl::prelude::*;
use stroma_abi::desc::queue_pair::{QueuePairKind, QueuePairState};
use stroma_abi::wire::{Mac, Opcode, Role, Transport};

use crate::constant::number;
use crate::head::Head;
use crate::record;
use crate::transport::records::{Nudge, Occasion, PeerRow, Station};
use crate::tx::transport::opcodes;

record! {
    /// What becomes of a packet or a nudge; with none of the first two it goes no further.
    pub struct Judgement {
        /// A request of the peer, a whole frame, the recall of a receive, the end of a key, or a request that was deferred.
        pub is_request: Bit,
        /// An answer of the peer, or another nudge.
        pub is_response: Bit,
        /// A congestion notification for a queue pair of this card.
        pub is_notification: Bit,
        /// A request or an answer that met congestion on its way; of a datagram nobody is told.
        pub is_marked: Bit,
        /// A request on a connection that is not ready to send yet.
        pub is_first: Bit,
        /// A packet that goes no further, and has payload.
        pub throws: Bit,
    }
}

/// One bit a state.
fn states(states: &[QueuePairState]) -> Constant<Bits<8>> {
    number(states.iter().fold(0_u64, |mask, state| mask | 1 << *state as u8))
}

/// Is it a request of an unreliable connection?
fn is_unanswered(row: &Opcode) -> bool {
    row.transport == Transport::Uc && row.role == Role::Request
}

/// Is it one of a reliable connection?
fn is_spoken(row: &Opcode) -> bool {
    matches!(row.transport, Transport::Rc | Transport::Rpc)
}

block! {
    /// Holds a packet, or a nudge, against the row of the queue pair it names. Combinational.
    ///
    /// - **Ports** `head`: the packet; `nudge`, with `is_nudge`: the nudge instead; `row`: of its queue pair; `address`: the
    ///   one of the port's addresses that the row names; `mac`: the port's; `station`: whose the packet's destination is; `pause`: nothing is for this card. `judgement`: for
    ///   whom it is.
    pub struct Judge {
        pub head: Signal<In, Head>,
        pub nudge: Signal<In, Nudge>,
        pub is_nudge: Signal<In, Bit>,
        pub row: Signal<In, PeerRow>,
        pub address: Signal<In, Bits<128>>,
        pub mac: Signal<In, Bits<48>>,
        pub station: Signal<In, Station>,
        pub pause: Signal<In, Bit>,
        pub judgement: Signal<Out, Judgement>,
        is_known: Signal<Local, Bit>,
        is_reliable: Signal<Local, Bit>,
        is_unreliable: Signal<Local, Bit>,
        is_datagram: Signal<Local, Bit>,
        is_arrived: Signal<Local, Bit>,
        is_posted: Signal<Local, Bit>,
        is_spoken: Signal<Local, Bit>,
        is_here: Signal<Local, Bit>,
        is_raw: Signal<Local, Bit>,
        is_mine: Signal<Local, Bit>,
        is_partition: Signal<Local, Bit>,
        takes_requests: Signal<Local, Bit>,
        takes_responses: Signal<Local, Bit>,
        takes_nudges: Signal<Local, Bit>,
        is_recall: Signal<Local, Bit>,
        recalls: Signal<Local, Bit>,
        is_departure: Signal<Local, Bit>,
        frame: Signal<Local, Bit>,
        is_parted: Signal<Local, Bit>,
        parts: Signal<Local, Bit>,
        is_again: Signal<Local, Bit>,
        again: Signal<Local, Bit>,
        keys_differ: Signal<Local, Bits<16>>,
        key_of_either: Signal<Local, Bits<16>>,
        ecn: Signal<Local, Bits<2>>,
        request: Signal<Local, Bit>,
        response: Signal<Local, Bit>,
        recall: Constant<Bits<3>> = number(Occasion::Recall as u8),
        departed: Constant<Bits<3>> = number(Occasion::Departed as u8),
        astray: Constant<Bits<3>> = number(Occasion::Astray as u8),
        parted: Constant<Bits<3>> = number(Occasion::Parted as u8),
        reliable: Constant<Bits<3>> = number(QueuePairKind::Reliable as u8),
        unreliable: Constant<Bits<3>> = number(QueuePairKind::Unreliable as u8),
        datagram: Constant<Bits<3>> = number(QueuePairKind::Datagram as u8),
        group_at: Constant<Bits<6>> = number(Mac::GROUP_BIT),
        raw: Constant<Bits<3>> = number(QueuePairKind::Raw as u8),
        /// The top bit of a `P_Key`: a full member.
        full_member_at: Constant<Bits<4>> = number(15),
        requests: Constant<Bits<256>> = Constant::new(opcodes(|row| is_spoken(row) && row.role == Role::Request)),
        responses: Constant<Bits<256>> = Constant::new(opcodes(|row| is_spoken(row) && row.role == Role::Response)),
        unanswered: Constant<Bits<256>> = Constant::new(opcodes(is_unanswered)),
        datagrams: Constant<Bits<256>> = Constant::new(opcodes(|row| row.transport == Transport::Ud)),
        notifications: Constant<Bits<256>> = Constant::new(opcodes(|row| row.transport == Transport::Cnp)),
        request_states: Constant<Bits<8>> = states(&[
            QueuePairState::ReadyToReceive,
            QueuePairState::ReadyToSend,
            QueuePairState::Drained,
        ]),
        response_states: Constant<Bits<8>> = states(&[QueuePairState::ReadyToSend, QueuePairState::Drained]),
        /// What was sent before an error is given up by a nudge.
        nudge_states: Constant<Bits<8>> = states(&[
            QueuePairState::ReadyToSend,
            QueuePairState::Drained,
            QueuePairState::SendError,
            QueuePairState::Error,
        ]),
        /// Keys end for what was received before an error, too.
        parted_states: Constant<Bits<8>> = states(&[
            QueuePairState::ReadyToReceive,
            QueuePairState::ReadyToSend,
            QueuePairState::Drained,
            QueuePairState::Error,
        ]),
        receiving_state: Constant<Bits<3>> = number(QueuePairState::ReadyToReceive as u8),
        /// Receives come back when nothing is received any more.
        recall_state: Constant<Bits<3>> = number(QueuePairState::Error as u8),
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        self.is_known.next = !self.pause.val() & self.row.val().exists;
        self.is_reliable.next = self.is_known.val() & (self.row.val().kind == self.reliable.val());
        self.is_unreliable.next = self.is_known.val() & (self.row.val().kind == self.unreliable.val());
        self.is_raw.next = self.is_known.val() & (self.row.val().kind == self.raw.val());
        // A switch that does not know a station yet sends its frames everywhere.
        self.is_here.next = (self.head.val().dmac == self.mac.val())
            | self.head.val().dmac.get_bit(self.group_at.val().index());
        self.is_datagram.next = self.is_known.val() & (self.row.val().kind == self.datagram.val());
        self.is_arrived.next = !self.is_nudge.val() & !self.head.val().raw & self.is_here.val();
        self.is_mine.next = (self.is_reliable.val() | self.is_unreliable.val())
            & self.is_arrived.val()
            & (self.head.val().src_ip == self.row.val().peer_ip)
            & (self.head.val().dst_ip == self.address.val());
        // The same partition, and not two limited members, who may not talk to each other.
        self.keys_differ.next = self.head.val().pkey ^ self.row.val().p_key;
        self.key_of_either.next = self.head.val().pkey | self.row.val().p_key;
        self.is_partition.next = !(self.keys_differ.val() << 1).any()
            & self.key_of_either.val().get_bit(self.full_member_at.val().index());

        self.takes_requests.next = self.request_states.val().get_bit(self.row.val().state.index());
        self.takes_responses.next = self.response_states.val().get_bit(self.row.val().state.index());
        // Only what nobody answers departs.
        self.is_departure.next = (self.nudge.val().occasion == self.departed.val())
            | (self.nudge.val().occasion == self.astray.val());
        self.takes_nudges.next = self.is_known.val()
            & (self.is_raw.val()
                | self.is_unreliable.val()
                | self.is_datagram.val()
                | !self.is_departure.val())
            & self.nudge_states.val().get_bit(self.row.val().state.index());

        self.is_recall.next = self.nudge.val().occasion == self.recall.val();
        self.recalls.next = self.is_nudge.val()
            & self.is_recall.val()
            & (self.is_reliable.val()
                | self.is_unreliable.val()
                | self.is_datagram.val()
                | self.is_raw.val())
            & (self.row.val().state == self.recall_state.val());
        self.frame.next =
            self.is_raw.val() & !self.is_nudge.val() & self.head.val().raw & self.takes_requests.val();

        self.is_parted.next = self.nudge.val().occasion == self.parted.val();
        self.parts.next = self.is_nudge.val()
            & self.is_parted.val()
            & self.is_reliable.val()
            & self.parted_states.val().get_bit(self.row.val().state.index());

        self.is_again.next = self.is_nudge.val() & self.nudge.val().again;
        self.again.next = self.is_again.val() & self.is_reliable.val() & self.takes_requests.val();

        self.is_spoken.next = (self.is_reliable.val()
            & self.requests.val().get_bit(self.head.val().op.index()))
            | (self.is_unreliable.val() & self.unanswered.val().get_bit(self.head.val().op.index()));
        // To a group the queue pair was chosen, so that every other destination has to be the port's.
        self.is_posted.next = self.is_datagram.val()
            & self.is_arrived.val()
            & self.datagrams.val().get_bit(self.head.val().op.index())
            & (self.head.val().qkey == self.row.val().q_key)
            & (self.station.val().is_ours | (self.station.val().is_group & self.head.val().dqpn.all()));
        self.request.next = ((self.is_mine.val() & self.is_spoken.val()) | self.is_posted.val())
            & self.is_partition.val()
            & self.takes_requests.val();
        self.response.next = self.is_mine.val()
            & self.is_reliable.val()
            & self.is_partition.val()
            & self.takes_responses.val()
            & self.responses.val().get_bit(self.head.val().op.index());
        self.ecn.next = bit_cast::<2, 8>(self.head.val().tclass);
        self.judgement.next.is_request =
            self.request.val() | self.frame.val() | self.recalls.val() | self.parts.val() | self.again.val();
        self.judgement.next.is_response = self.response.val()
            | (self.is_nudge.val()
                & !self.is_again.val()
                & !self.is_recall.val()
                & !self.is_parted.val()
                & self.takes_nudges.val());
        self.judgement.next.is_notification =
            self.is_mine.val() & self.notifications.val().get_bit(self.head.val().op.index());
        // Both ECN bits: a router on the way was congested.
        self.judgement.next.is_marked =
            ((self.request.val() & !self.is_datagram.val()) | self.response.val()) & self.ecn.val().all();
        self.judgement.next.is_first = self.request.val()
            & !self.is_datagram.val()
            & (self.row.val().state == self.receiving_state.val());
        self.judgement.next.throws = !self.is_nudge.val()
            & !self.request.val()
            & !self.response.val()
            & !self.frame.val()
            & self.head.val().payload_len.any();
    }
}
