//! The blocks that `cargo xtask rtl --block` can emit alone: to read, to lint, to synthesise.

use stroma_hw::fabric::calls::Calls;
use stroma_hw::fabric::deliver::Deliver;
use stroma_hw::fabric::dma::Dma;
use stroma_hw::fabric::join::Fabric;
use stroma_hw::fabric::port::Port;
use stroma_hw::head::Head;
use stroma_hw::host::check::Check;
use stroma_hw::host::control::Control;
use stroma_hw::host::dma_read::DmaRead;
use stroma_hw::host::dma_write::DmaWrite;
use stroma_hw::host::doorbells::Doorbells;
use stroma_hw::host::events::Events;
use stroma_hw::host::mover::Mover;
use stroma_hw::host::parse::Parse;
use stroma_hw::host::reader::HostReader;
use stroma_hw::host::send::Send;
use stroma_hw::host::side::{READ_LOG, SETS};
use stroma_hw::host::writer::HostWriter;
use stroma_hw::host::writes::Writes;
use stroma_hw::prim;
use stroma_hw::rx::RxFront;
use stroma_hw::rx::axis::AxisIn;
use stroma_hw::state::address_handles::AddressHandles;
use stroma_hw::state::completion_queues::CompletionQueues;
use stroma_hw::state::mmu::Mmu;
use stroma_hw::state::queue_pairs::QueuePairs;
use stroma_hw::state::regions::Regions;
use stroma_hw::state::shared_queues::SharedQueues;
use stroma_hw::stream::Beat;
use stroma_hw::transport::admit::Admit;
use stroma_hw::transport::atomics::Atomics;
use stroma_hw::transport::complete::Complete;
use stroma_hw::transport::defer::heads::DeferHeads;
use stroma_hw::transport::defer::payload::DeferPayload;
use stroma_hw::transport::fetch::Fetch;
use stroma_hw::transport::keys::Keys;
use stroma_hw::transport::lookup::Lookup;
use stroma_hw::transport::place::Place;
use stroma_hw::transport::receives::Receives;
use stroma_hw::transport::respond::Respond;
use stroma_hw::transport::scatter::Scatter;
use stroma_hw::transport::segment::Segment;
use stroma_hw::transport::send_drain::SendDrain;
use stroma_hw::transport::sequence::Sequence;
use stroma_hw::transport::side::Transport;
use stroma_hw::transport::sieve::Sieve;
use stroma_hw::transport::statistics::Statistics;
use stroma_hw::transport::template::Template;
use stroma_hw::transport::timers::Timers;
use stroma_hw::turn::Turn;
use stroma_hw::tx::TxFront;
use stroma_hw::tx::axis::AxisOut;
use stroma_hw::verilog::{EmitError, Rtl, emit};
use stroma_kernels::consistency::ConsistencyKernel;
use stroma_kernels::get::GetKernel;
use stroma_kernels::hyperloglog::HyperLogLogKernel;
use stroma_kernels::prism::PrismKernel;
use stroma_kernels::shuffle::{Shuffle64, Shuffle512};
use stroma_kernels::traversal::TraversalKernel;
use stroma_shell::board::Board;
use stroma_shell::mac::link::Link;
use stroma_shell::mac::receive::Receive;
use stroma_shell::mac::transmit::Transmit;
use stroma_shell::pcie::completer::Completer;
use stroma_shell::pcie::interrupts::Interrupts;
use stroma_shell::shell::{HostMemory, Shell};

use crate::Profile;
use crate::fronts::Fronts;
use crate::kernels::Chosen;

type Emit = fn(&str) -> Result<Rtl, EmitError>;

/// A block with a name of its own.
pub struct NamedBlock {
    /// What to call it.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    narrow: Emit,
    wide: Emit,
}

impl NamedBlock {
    /// Its Verilog at a profile's width.
    ///
    /// # Errors
    /// When it cannot be emitted faithfully.
    pub fn emit(&self, profile: Profile) -> Result<Rtl, EmitError> {
        match profile {
            Profile::TenGig => (self.narrow)(self.name),
            Profile::HundredGig => (self.wide)(self.name),
        }
    }
}

/// A block as it is, or for the kernels of the card.
macro_rules! built {
    ($block:ty) => {
        <$block>::default
    };
    ($block:ty, kernels) => {
        || <$block>::new(&Chosen::all().operations())
    };
}

macro_rules! blocks {
    ($($name:ident: $narrow:ty, $wide:ty, $purpose:literal $(, for $for:tt)?;)*) => {
        /// All of them.
        pub const BLOCKS: &[NamedBlock] = &[$(NamedBlock {
            name: stringify!($name),
            purpose: $purpose,
            narrow: |name| emit(name, built!($narrow $(, $for)?)),
            wide: |name| emit(name, built!($wide $(, $for)?)),
        }),*];
    };
}

blocks! {
    skid:              prim::skid::Skid<Beat<64>>,               prim::skid::Skid<Beat<512>>,               "cuts a stream both ways";
    head_skid:         prim::skid::Skid<Head>,                   prim::skid::Skid<Head>,                    "cuts a stream of heads";
    fifo:              prim::fifo::Fifo<Beat<64>, 5>,            prim::fifo::Fifo<Beat<512>, 5>,            "buffers 32 beats in LUT RAM";
    block_fifo:        prim::block_fifo::BlockFifo<Beat<64>, 9>, prim::block_fifo::BlockFifo<Beat<512>, 9>, "buffers 512 beats in block RAM";
    rx_front:          RxFront<64>,                              RxFront<512>,                              "receive front end";
    tx_front:          TxFront<64>,                              TxFront<512>,                              "transmit front end";
    mac_in:            AxisIn<64, 8>,                            AxisIn<512, 64>,                           "AXI4-Stream of the MAC becomes beats";
    mac_out:           AxisOut<64, 8>,                           AxisOut<512, 64>,                          "beats become AXI4-Stream for the MAC";
    turn:              Turn<64, 11>,                             Turn<512, 8>,                              "frames for the card itself come back in";
    fronts:            Fronts<64, 8, 11>,                        Fronts<512, 64, 8>,                        "both front ends between MAC and transport";
    control:           Control,                                  Control,                                   "BARs, registers and mailbox";
    doorbells:         Doorbells<4, 8>,                          Doorbells<6, 10>,                          "doorbell pages and push windows";
    send:              Send<8>,                                  Send<10>,                                  "scheduler of the send queues";
    parse:             Parse,                                    Parse,                                     "units become work requests";
    check:             Check,                                    Check,                                     "may a work request be carried out?";
    mover:             Mover<64, 8, 11>,                         Mover<512, 10, 8>,                         "carries work requests out";
    admit:             Admit<8, 13>,                            Admit<10, 15>,                             "what may be sent, and from where";
    segment:           Segment<64>,                             Segment<512>,                              "messages become packets and pieces";
    packet_fetch:      Fetch<64, 11>,                           Fetch<512, 8>,                             "the payload of packets";
    sieve:             Sieve<8>,                                Sieve<10>,                                 "throws stale packets away";
    send_drain:        SendDrain<8>,                            SendDrain<10>,                             "who drains, and who has drained";
    template:          Template<64>,                            Template<512>,                             "what all packets of a queue pair share";
    keys:              Keys<8>,                                 Keys<10>,                                  "begins and ends keys of memory windows";
    lookup:            Lookup,                                  Lookup,                                    "whose a packet is";
    request_sequence:  Sequence<8>,                             Sequence<10>,                              "judges requests of peers", for kernels;
    complete:          Complete<8, 13>,                         Complete<10, 15>,                          "judges answers of peers";
    defer_heads:       DeferHeads,                              DeferHeads,                                "requests that have to wait";
    defer_payload:     DeferPayload<64, 14>,                    DeferPayload<512, 12>,                     "their payload";
    place:             Place<64, 8>,                            Place<512, 10>,                            "carries out what packets ask for";
    receives:          Receives<8, 6>,                          Receives<10, 8>,                           "what is posted to receive queues";
    scatter:           Scatter,                                 Scatter,                                   "lists become pieces";
    atomics:           Atomics<64, 8, 12>,                      Atomics<512, 10, 14>,                      "applies atomics";
    respond:           Respond<8, 12>,                          Respond<10, 14>,                           "answers peers";
    timers:            Timers<8>,                               Timers<10>,                                "when an answer is overdue";
    statistics:        Statistics<8>,                           Statistics<10>,                            "what queue pairs are doing, and counters";
    transport:         Transport<64, 8, 6, 13, 12, 11, 14>,       Transport<512, 10, 8, 15, 14, 8, 12>,       "connections and datagrams, joined";
    queue_pairs:       QueuePairs<8, 8, 4>,                      QueuePairs<10, 10, 6>,                     "table of queue pairs";
    completion_queues: CompletionQueues<8, 4>,                   CompletionQueues<10, 6>,                   "table of completion queues, and their entries";
    shared_queues:     SharedQueues<6, 4>,                       SharedQueues<8, 6>,                        "table of shared receive queues";
    address_handles:   AddressHandles<8>,                        AddressHandles<10>,                        "table of address handles";
    regions:           Regions<10>,                              Regions<12>,                               "table of memory regions";
    mmu:               Mmu<10, SETS>,                            Mmu<12, SETS>,                             "memory regions, TLB and page walks";
    events:            Events<4>,                                Events<4>,                                 "event ring and interrupts";
    host_reader:       HostReader<64, READ_LOG>,                 HostReader<512, READ_LOG>,                 "all reads from host memory";
    host_writer:       HostWriter<64, 8>,                        HostWriter<512, 64>,                       "all writes to host memory";
    writes:            Writes<64>,                               Writes<512>,                               "joins the writes of two clients";
    dma_read:          DmaRead<64, 7, 9>,                        DmaRead<512, 7, 9>,                        "reads from host memory for seven clients";
    dma_write:         DmaWrite<64, 8>,                          DmaWrite<512, 64>,                         "writes to host memory, with tickets";
    kernel_calls:      Calls<8, 12>,                             Calls<10, 14>,                             "what is known of RPCs";
    kernel_deliver:    Deliver<64, 7, 14>,                       Deliver<512, 7, 11>,                       "answers of kernels, kept and staged";
    kernel_dma:        Dma<64, 7, 8, 12>,                        Dma<512, 7, 8, 9>,                         "what kernels read and write";
    kernel_fabric:     Fabric<64, 7, 8, 8, 12, 13, 12, 14>,      Fabric<512, 7, 8, 10, 14, 10, 9, 11>,      "kernels between transport and host memory, joined";
    kernel_port:       Port<64, 13>,                             Port<512, 10>,                             "between the transport and one kernel";
    consistency:       ConsistencyKernel<64, 11>,                ConsistencyKernel<512, 8>,                 "kernel: an object until its CRC fits";
    get:               GetKernel<64>,                            GetKernel<512>,                            "kernel: finds a key in a hash table";
    hyperloglog:       HyperLogLogKernel<64, 128, 1>,            HyperLogLogKernel<512, 512, 4>,            "kernel: counts distinct items";
    prism:             PrismKernel<64, 12>,                      PrismKernel<512, 9>,                       "kernel: chains of indirect operations";
    shuffle:           Shuffle64,                                Shuffle512,                                "kernel: sorts tuples into partitions";
    board_mac_in:      Receive,                                  Receive,                                   "shell: from the MAC to the card";
    board_mac_out:     Transmit,                                 Transmit,                                  "shell: from the card to the MAC";
    board_link:        Link,                                     Link,                                      "shell: brings the link up";
    board_completer:   Completer,                                Completer,                                 "shell: the host's loads and stores";
    board_requester:   HostMemory,                                    HostMemory,                                     "shell: the card's reads and writes of host memory";
    board_interrupts:  Interrupts,                               Interrupts,                                "shell: interrupts as messages";
    board_registers:   Board,                                    Board,                                     "shell: registers of the board";
    traversal:  TraversalKernel<64>,                      TraversalKernel<512>,                      "kernel: walks lists, chains and trees";
}

/// The Verilog of the shell of a board, module `stroma_shell`.
///
/// # Errors
/// When a block cannot be emitted faithfully.
pub fn emit_shell() -> Result<Rtl, EmitError> {
    emit("stroma_shell", Shell::default)
}

/// The same for simulations, in which 4 ms are minutes: a shell that waits for at most `patience` cycles when the function is reset.
///
/// # Errors
/// As [`emit_shell`].
pub fn emit_impatient_shell(patience: u32) -> Result<Rtl, EmitError> {
    emit("stroma_shell", move || Shell::new(patience))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_can_be_emitted_at_both_widths() {
        for block in BLOCKS {
            for profile in Profile::ALL {
                let rtl = block.emit(profile).unwrap_or_else(|error| panic!("{}: {error}", block.name));
                assert_eq!(rtl.top, block.name);
            }
        }
    }
}
