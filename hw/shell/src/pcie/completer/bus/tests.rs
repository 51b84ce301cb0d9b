use stroma_hw::host::axi_lite::{LiteAddress, LiteRead, LiteResponse};
use stroma_hw::testing::{collect, push, verilated};
use stroma_verilate::{Bench, SinkId, SourceId};

use super::{Bus, Load, RegAnswer, RegRequest, Store};

struct Streams {
    stores: SourceId,
    loads: SourceId,
    loaded: SinkId,
    aw: SinkId,
    b: SourceId,
    ar: SinkId,
    r: SourceId,
    board: SinkId,
    board_answers: SourceId,
}

fn fresh() -> (Bench, Streams) {
    let mut bench = verilated("bus", Bus::default);
    let source = |bench: &mut Bench, name: &str| bench.source(name).expect("a stream");
    let sink = |bench: &mut Bench, name: &str| bench.sink(name).expect("a stream");
    let streams = Streams {
        stores: source(&mut bench, "stores"),
        loads: source(&mut bench, "loads"),
        loaded: sink(&mut bench, "loaded"),
        aw: sink(&mut bench, "aw"),
        b: source(&mut bench, "b"),
        ar: sink(&mut bench, "ar"),
        r: source(&mut bench, "r"),
        board: sink(&mut bench, "board"),
        board_answers: source(&mut bench, "board_answers"),
    };
    sink(&mut bench, "w");
    bench.reset(2);
    (bench, streams)
}

fn store(addr: u64) -> Store {
    Store { addr: addr.into(), is_table: false, data: 5.into(), strb: 0xff.into() }
}

fn load(addr: u64) -> Load {
    Load { addr: addr.into(), is_table: false }
}

#[test]
fn of_a_load_and_a_store_on_offer_the_store_goes_first() {
    let (mut bench, streams) = fresh();
    push(&mut bench, streams.loads, &[load(0x40)]);
    push(&mut bench, streams.stores, &[store(0xf008)]);
    bench.run(20);
    assert_eq!(collect::<RegRequest>(&mut bench, streams.board).len(), 1);
    assert_eq!(collect::<LiteAddress>(&mut bench, streams.ar), [], "the store is not answered");
    push(&mut bench, streams.board_answers, &[RegAnswer::default()]);
    bench.run(10);
    assert_eq!(collect::<LiteAddress>(&mut bench, streams.ar), [LiteAddress { addr: 0x40.into() }]);
}

#[test]
fn no_store_goes_while_a_load_is_under_way() {
    let (mut bench, streams) = fresh();
    push(&mut bench, streams.loads, &[load(0x44)]);
    bench.run(3);
    push(&mut bench, streams.stores, &[store(0x48)]);
    bench.run(20);
    assert_eq!(collect::<LiteAddress>(&mut bench, streams.aw), []);
    push(&mut bench, streams.r, &[LiteRead { data: 77.into(), resp: 0.into() }]);
    bench.run(10);
    assert_eq!(collect::<RegAnswer>(&mut bench, streams.loaded), [RegAnswer { data: 77.into() }]);
    assert_eq!(collect::<LiteAddress>(&mut bench, streams.aw).len(), 1);
}

#[test]
fn as_many_stores_wait_as_can_be_counted() {
    let (mut bench, streams) = fresh();
    push(&mut bench, streams.stores, &[store(0x48); 70]);
    bench.run(200);
    assert_eq!(collect::<LiteAddress>(&mut bench, streams.aw).len(), 63);
    push(&mut bench, streams.b, &[LiteResponse::default(); 63]);
    bench.run(200);
    assert_eq!(collect::<LiteAddress>(&mut bench, streams.aw).len(), 7);
}

#[test]
fn answers_to_nothing_are_ignored() {
    let (mut bench, streams) = fresh();
    push(&mut bench, streams.b, &[LiteResponse::default(); 3]);
    push(&mut bench, streams.r, &[LiteRead::default(); 3]);
    push(&mut bench, streams.board_answers, &[RegAnswer::default(); 3]);
    bench.run(10);
    assert_eq!(collect::<RegAnswer>(&mut bench, streams.loaded), []);
    push(&mut bench, streams.stores, &[store(0x48)]);
    bench.run(5);
    push(&mut bench, streams.loads, &[load(0x48)]);
    bench.run(20);
    assert_eq!(collect::<LiteAddress>(&mut bench, streams.ar), [], "the store is not answered");
}
