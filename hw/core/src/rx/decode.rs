//! Decode: a window in, one step a layer, what the transport and the frame's beats need out.

use rust_hdl::prelude::*;

use super::fields::Fields;
use super::gather::Window;
use super::link::{Link, LinkLayer};
use super::network::{Network, NetworkLayer};
use super::opcode::{Carries, OpcodeTable};
use super::settle::{Plan, Settle};
use super::transport::{Transport, TransportLayer};
use crate::head::Head;
use crate::prim::reg::Reg;

/// Windows that are under way at most.
pub const STEPS: usize = 4;

/// Decodes windows.
///
/// ```text
///   window ─ LinkLayer ─▮─ NetworkLayer ─▮─ TransportLayer, OpcodeTable ─▮─ Settle, Fields ─▮─ head, plan
/// ```
///
/// - **Ports** `some`, `window`: a window; `valid`, `head`, `plan`: one pair per window, in order.
/// - **Latency** 4 cycles. **Rate** 1 window per cycle.
/// - **Backpressure** none: a signal that stops all steps would have thousands of registers to drive. Whoever gives a window
///   has room for its head and plan, and for [`STEPS`] before it.
/// - **Reset** forgets the windows inside.
#[derive(LogicBlock, Default)]
pub struct Decode {
    pub clock: Signal<In, Clock>,
    pub reset: Signal<In, Bit>,
    pub some: Signal<In, Bit>,
    pub window: Signal<In, Window>,
    pub head: Signal<Out, Head>,
    pub plan: Signal<Out, Plan>,
    pub valid: Signal<Out, Bit>,
    link_layer: LinkLayer,
    network_layer: NetworkLayer,
    transport_layer: TransportLayer,
    table: OpcodeTable,
    settle: Settle,
    fields: Fields,
    full: [Reg<Bit>; STEPS],
    packet: Reg<Bits<704>>,
    datagram: Reg<Bits<384>>,
    extended: Reg<Bits<224>>,
    link: [Reg<Link>; 3],
    network: [Reg<Network>; 2],
    transport: Reg<Transport>,
    carries: Reg<Carries>,
    settled_head: Reg<Head>,
    settled_plan: Reg<Plan>,
    op: Signal<Local, Bits<8>>,
}

impl Logic for Decode {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, packet, datagram, extended, transport, carries, settled_head, settled_plan);
        for i in 0..STEPS {
            self.full[i].clock.next = self.clock.val();
        }
        for i in 0..3 {
            self.link[i].clock.next = self.clock.val();
        }
        for i in 0..2 {
            self.network[i].clock.next = self.clock.val();
        }

        self.link_layer.window.next = self.window.val();
        self.network_layer.link.next = self.link[0].q.val();
        self.network_layer.packet.next = self.packet.q.val();
        self.transport_layer.link.next = self.link[1].q.val();
        self.transport_layer.network.next = self.network[0].q.val();
        self.transport_layer.datagram.next = self.datagram.q.val();
        self.op.next = self.transport_layer.transport.val().op;
        self.table.op.next = self.op.val();
        self.settle.link.next = self.link[2].q.val();
        self.settle.network.next = self.network[1].q.val();
        self.settle.transport.next = self.transport.q.val();
        self.settle.carries.next = self.carries.q.val();
        self.fields.link.next = self.link[2].q.val();
        self.fields.network.next = self.network[1].q.val();
        self.fields.transport.next = self.transport.q.val();
        self.fields.carries.next = self.carries.q.val();
        self.fields.extended.next = self.extended.q.val();
        self.fields.plan.next = self.settle.plan.val();

        self.full[0].d.next = self.some.val();
        for i in 1..STEPS {
            self.full[i].d.next = self.full[i - 1].q.val();
        }
        self.link[0].d.next = self.link_layer.link.val();
        self.packet.d.next = self.link_layer.packet.val();
        self.link[1].d.next = self.link[0].q.val();
        self.network[0].d.next = self.network_layer.network.val();
        self.datagram.d.next = self.network_layer.datagram.val();
        self.link[2].d.next = self.link[1].q.val();
        self.network[1].d.next = self.network[0].q.val();
        self.transport.d.next = self.transport_layer.transport.val();
        self.extended.d.next = self.transport_layer.extended.val();
        self.carries.d.next = self.table.carries.val();
        self.settled_head.d.next = self.fields.head.val();
        self.settled_plan.d.next = self.settle.plan.val();
        self.valid.next = self.full[3].q.val();
        self.head.next = self.settled_head.q.val();
        self.plan.next = self.settled_plan.q.val();
        if self.reset.val() {
            for i in 0..STEPS {
                self.full[i].d.next = false;
            }
        }
    }
}
