//! Where loads and stores go: to the card, to the table of vectors, or to registers of the board.

#[cfg(test)]
mod tests;

use rust_hdl::prelude::*;
use stroma_abi::regs::map::BOARD_AT;
use stroma_hw::block;
use stroma_hw::constant::number;
use stroma_hw::host::axi_lite::{LiteAddress, LiteRead, LiteResponse, LiteWrite};
use stroma_hw::prim::reg::Reg;
use stroma_hw::prim::skid::Skid;
use stroma_hw::record;
use stroma_hw::stream::{StreamSink, StreamSource};

/// Pages of 4 KiB, the unit in which they are told from the card's.
const PAGE_BITS: usize = 12;

record! {
    /// An access to registers that are not the card's.
    pub struct RegRequest {
        /// Byte address in the BAR. Stores are to eight aligned bytes; a read of the upper four of eight alone has bit 2 set.
        pub addr: Bits<16>,
        /// What is stored: eight aligned bytes, lowest address lowest.
        pub data: Bits<64>,
        /// Which of them.
        pub strb: Bits<8>,
        /// A store, not a read.
        pub is_write: Bit,
    }
}

record! {
    /// What came of it: one answer for each, in order, for stores as well.
    pub struct RegAnswer {
        /// Eight aligned bytes; of a store nobody looks at it.
        pub data: Bits<64>,
    }
}

record! {
    /// A store to eight aligned bytes.
    pub struct Store {
        /// Where: BAR2 behind BAR0, as the card has it, or in BAR4.
        pub addr: Bits<25>,
        /// In BAR4.
        pub is_table: Bit,
        /// What.
        pub data: Bits<64>,
        /// Which bytes of it; some.
        pub strb: Bits<8>,
    }
}

record! {
    /// A read of eight aligned bytes.
    pub struct Load {
        /// Where, as for [`Store`]; bit 2 is set when the lower four are not wanted.
        pub addr: Bits<25>,
        /// In BAR4.
        pub is_table: Bit,
    }
}

block! {
    /// Counts stores without an answer.
    ///
    /// - **Ports** `gives`: a store goes; `answered`: there is an answer, which counts if one is due; `is_full`: none may go; `some`: one is due.
    /// - **Latency** 1 cycle. **Reset** none is due.
    struct Due {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub gives: Signal<In, Bit>,
        pub answered: Signal<In, Bit>,
        pub is_full: Signal<Out, Bit>,
        pub some: Signal<Out, Bit>,
        count: Reg<Bits<6>>,
        ends: Signal<Local, Bit>,
    }
}

impl Logic for Due {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, count);
        self.is_full.next = self.count.q.val().all();
        self.some.next = self.count.q.val().any();
        self.ends.next = self.answered.val() & self.count.q.val().any();
        if self.gives.val() & !self.ends.val() {
            self.count.d.next = self.count.q.val() + 1;
        }
        if self.ends.val() & !self.gives.val() {
            self.count.d.next = self.count.q.val() - 1;
        }
        if self.reset.val() {
            self.count.d.next = 0.into();
        }
    }
}

block! {
    /// Carries out stores one behind the other, a load when all of them are done, and no store until the load is.
    ///
    /// - **Ports** `stores`, `loads`: what is to be done. A load waits for the stores on offer and for the answers to those before; so whoever
    ///   gives a load behind a store has given the store before. `loaded`: what loads gave, in order. `aw` to `r`: the card; `table`, `board`: BAR4,
    ///   and offsets 0xf000 to 0xffff of BAR0, each with its answers. `is_idle`: nothing is under way.
    /// - **Latency** 1 cycle to each port. **Rate** 1 store per cycle, one load at a time.
    /// - **Backpressure** 63 stores of a kind may wait for their answers. `stores.ready` follows where the store goes, `loads.ready` follows
    ///   `stores.valid` as well; answers are taken at once.
    /// - **Reset** forgets what is under way; whoever would answer has to be reset with it. Answers to nothing are ignored.
    pub struct Bus {
        pub clock: Signal<In, Clock>,
        pub reset: Signal<In, Bit>,
        pub stores: StreamSink<Store>,
        pub loads: StreamSink<Load>,
        pub loaded: StreamSource<RegAnswer>,
        pub aw: StreamSource<LiteAddress>,
        pub w: StreamSource<LiteWrite>,
        pub b: StreamSink<LiteResponse>,
        pub ar: StreamSource<LiteAddress>,
        pub r: StreamSink<LiteRead>,
        pub table: StreamSource<RegRequest>,
        pub table_answers: StreamSink<RegAnswer>,
        pub board: StreamSource<RegRequest>,
        pub board_answers: StreamSink<RegAnswer>,
        pub is_idle: Signal<Out, Bit>,
        aw_cut: Skid<LiteAddress>,
        w_cut: Skid<LiteWrite>,
        ar_cut: Skid<LiteAddress>,
        table_cut: Skid<RegRequest>,
        board_cut: Skid<RegRequest>,
        /// Stores that wait for their answers: of the card, of the table, of the board.
        due: [Due; 3],
        is_loading: Reg<Bit>,
        has_loaded: Reg<Bit>,
        word: Reg<Bits<64>>,
        store_to_board: Signal<Local, Bit>,
        store_to_card: Signal<Local, Bit>,
        load_to_board: Signal<Local, Bit>,
        load_to_card: Signal<Local, Bit>,
        has_room: Signal<Local, Bit>,
        stores_now: Signal<Local, Bit>,
        is_calm: Signal<Local, Bit>,
        may_load: Signal<Local, Bit>,
        loads_now: Signal<Local, Bit>,
        request: Signal<Local, RegRequest>,
        to_table: Signal<Local, Bit>,
        to_board: Signal<Local, Bit>,
        board_page: Constant<Bits<25>> = number(BOARD_AT >> PAGE_BITS),
    }
}

impl Logic for Bus {
    #[hdl_gen]
    fn update(&mut self) {
        clock!(self, clock, aw_cut, w_cut, ar_cut, table_cut, board_cut);
        dff_setup!(self, clock, is_loading, has_loaded, word);
        for i in 0..3 {
            self.due[i].clock.next = self.clock.val();
            self.due[i].reset.next = self.reset.val();
        }
        self.aw_cut.reset.next = self.reset.val();
        self.w_cut.reset.next = self.reset.val();
        self.ar_cut.reset.next = self.reset.val();
        self.table_cut.reset.next = self.reset.val();
        self.board_cut.reset.next = self.reset.val();
        StreamSource::<LiteAddress>::link(&mut self.aw, &mut self.aw_cut.source);
        StreamSource::<LiteWrite>::link(&mut self.w, &mut self.w_cut.source);
        StreamSource::<LiteAddress>::link(&mut self.ar, &mut self.ar_cut.source);
        StreamSource::<RegRequest>::link(&mut self.table, &mut self.table_cut.source);
        StreamSource::<RegRequest>::link(&mut self.board, &mut self.board_cut.source);

        self.store_to_board.next = !self.stores.payload.val().is_table
            & ((self.stores.payload.val().addr >> 12) == self.board_page.val());
        self.store_to_card.next = !self.stores.payload.val().is_table & !self.store_to_board.val();
        self.load_to_board.next = !self.loads.payload.val().is_table
            & ((self.loads.payload.val().addr >> 12) == self.board_page.val());
        self.load_to_card.next = !self.loads.payload.val().is_table & !self.load_to_board.val();

        self.has_room.next =
            self.aw_cut.sink.ready.val() & self.w_cut.sink.ready.val() & !self.due[0].is_full.val();
        if self.stores.payload.val().is_table {
            self.has_room.next = self.table_cut.sink.ready.val() & !self.due[1].is_full.val();
        } else if self.store_to_board.val() {
            self.has_room.next = self.board_cut.sink.ready.val() & !self.due[2].is_full.val();
        }
        self.stores.ready.next = self.has_room.val() & !self.is_loading.q.val();
        self.stores_now.next = self.stores.valid.val() & self.has_room.val() & !self.is_loading.q.val();

        self.is_calm.next = !self.stores.valid.val()
            & !self.due[0].some.val()
            & !self.due[1].some.val()
            & !self.due[2].some.val();
        self.may_load.next = self.is_calm.val()
            & !self.is_loading.q.val()
            & self.ar_cut.sink.ready.val()
            & self.table_cut.sink.ready.val()
            & self.board_cut.sink.ready.val();
        self.loads.ready.next = self.may_load.val();
        self.loads_now.next = self.loads.valid.val() & self.may_load.val();
        self.is_idle.next = self.is_calm.val() & !self.is_loading.q.val() & !self.loads.valid.val();

        self.aw_cut.sink.valid.next = self.stores_now.val() & self.store_to_card.val();
        self.aw_cut.sink.payload.next.addr = self.stores.payload.val().addr;
        self.w_cut.sink.valid.next = self.stores_now.val() & self.store_to_card.val();
        self.w_cut.sink.payload.next.data = self.stores.payload.val().data;
        self.w_cut.sink.payload.next.strb = self.stores.payload.val().strb;
        self.ar_cut.sink.valid.next = self.loads_now.val() & self.load_to_card.val();
        self.ar_cut.sink.payload.next.addr = self.loads.payload.val().addr;

        self.request.next.addr = bit_cast::<16, 25>(self.loads.payload.val().addr);
        self.request.next.data = self.stores.payload.val().data;
        self.request.next.strb = self.stores.payload.val().strb;
        self.request.next.is_write = self.stores.valid.val();
        self.to_table.next = self.loads_now.val() & self.loads.payload.val().is_table;
        self.to_board.next = self.loads_now.val() & self.load_to_board.val();
        if self.stores.valid.val() {
            self.request.next.addr = bit_cast::<16, 25>(self.stores.payload.val().addr);
            self.to_table.next = self.stores_now.val() & self.stores.payload.val().is_table;
            self.to_board.next = self.stores_now.val() & self.store_to_board.val();
        }
        self.table_cut.sink.payload.next = self.request.val();
        self.table_cut.sink.valid.next = self.to_table.val();
        self.board_cut.sink.payload.next = self.request.val();
        self.board_cut.sink.valid.next = self.to_board.val();

        self.b.ready.next = true;
        self.r.ready.next = true;
        self.table_answers.ready.next = true;
        self.board_answers.ready.next = true;
        self.due[0].gives.next = self.stores_now.val() & self.store_to_card.val();
        self.due[0].answered.next = self.b.valid.val();
        self.due[1].gives.next = self.stores_now.val() & self.stores.payload.val().is_table;
        self.due[1].answered.next = self.table_answers.valid.val();
        self.due[2].gives.next = self.stores_now.val() & self.store_to_board.val();
        self.due[2].answered.next = self.board_answers.valid.val();

        // No store is due while a load is, so what answers now answers the load.
        if self.is_loading.q.val() & !self.has_loaded.q.val() {
            self.has_loaded.d.next =
                self.r.valid.val() | self.table_answers.valid.val() | self.board_answers.valid.val();
            if self.r.valid.val() {
                self.word.d.next = self.r.payload.val().data;
            } else if self.table_answers.valid.val() {
                self.word.d.next = self.table_answers.payload.val().data;
            } else {
                self.word.d.next = self.board_answers.payload.val().data;
            }
        }
        self.loaded.valid.next = self.has_loaded.q.val();
        self.loaded.payload.next.data = self.word.q.val();
        if self.has_loaded.q.val() & self.loaded.ready.val() {
            self.has_loaded.d.next = false;
            self.is_loading.d.next = false;
        }
        if self.loads_now.val() {
            self.is_loading.d.next = true;
        }
        if self.reset.val() {
            self.is_loading.d.next = false;
            self.has_loaded.d.next = false;
        }
    }
}
