//! Many blocks, one build.

use crate::designs;
use stroma_verilate::{Bench, Error, Model, bundle};

#[test]
fn members_with_equal_module_names_live_side_by_side() {
    let (narrow, wide, counter) = (designs::skid(8), designs::skid(96), designs::counter());
    let members = [("narrow", &narrow), ("wide", &wide), ("again", &narrow), ("counter", &counter)];
    let all = bundle("all", &members).unwrap();

    for (name, beat) in [("narrow", vec![0xa5]), ("wide", vec![1, 2, 3]), ("again", vec![0x5a])] {
        let mut bench = Bench::new(Model::load(&all).unwrap().view(name).unwrap()).unwrap();
        let (input, output) = (bench.source("sink").unwrap(), bench.sink("source").unwrap());
        bench.reset(1);
        bench[input].send(beat.clone());
        bench.run(3);
        assert_eq!(bench[output].received(), [beat], "{name}");
    }

    let mut model = Model::load(&all).unwrap();
    let [enable, clock, count] =
        ["enable", "clock", "count"].map(|name| model.port(&format!("counter${name}")).unwrap());
    model.set(enable, 1);
    model.tick(clock);
    assert_eq!(model.get(count), 1, "without a view all members are in reach");
}

#[test]
fn a_view_shows_its_member_alone() {
    let (skid, counter) = (designs::skid(8), designs::counter());
    let all = bundle("pair", &[("skid", &skid), ("skid_2", &counter)]).unwrap();
    let view = Model::load(&all).unwrap().view("skid").unwrap();
    assert!(view.port("sink$valid").is_ok());
    assert!(view.port("count").is_err(), "a port of another member");
    assert_eq!(view.clocks().count(), 1);
    let missing = Model::load(&all).unwrap().view("ski").map(drop);
    assert!(matches!(missing, Err(Error::Bundle { .. })));
}

#[test]
fn a_port_named_like_a_module_is_still_connected() {
    let text = "module leaf (input wire x, output wire leaf$y); assign leaf$y = ~x; endmodule
module block (input wire leaf, output wire y); leaf u (.x(leaf), .leaf$y(y)); endmodule";
    let design = designs::design(text, "top block\nin leaf 1\nout y 1");
    let mut model = Model::load(&bundle("alike", &[("a", &design)]).unwrap()).unwrap().view("a").unwrap();
    let (leaf, y) = (model.port("leaf").unwrap(), model.port("y").unwrap());
    for value in [0, 1] {
        model.set(leaf, value);
        model.eval();
        assert_eq!(model.get(y), 1 - value);
    }
}
