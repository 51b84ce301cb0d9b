use stroma_verilate::Pause;

use super::{BASE, always};
use crate::host::axi::WriteResponse;
use crate::host::writer::rig::{Rig, entry, payload};
use crate::testing::push;

#[test]
fn nothing_outstanding_settles_at_once() {
    let mut rig = Rig::<64, 8>::new();
    rig.settle(1);
    rig.step();
    assert_eq!(rig.settled, [0, 1, 0]);
    rig.run(5);
    assert_eq!(rig.settled, [0, 1, 0]);
    // Accepted in the very cycle of the question: awaited.
    rig.bench[rig.b].pause(always());
    rig.send(&[payload(BASE, 1, 8)]);
    rig.settle(0);
    rig.run(50);
    assert_eq!((rig.order.len(), rig.settled), (1, [0, 1, 0]));
    rig.bench[rig.b].pause(Pause::None);
    rig.run(5);
    assert_eq!(rig.settled, [1, 1, 0]);
    rig.finish();
}

#[test]
fn settling_does_not_wait_for_what_comes_later() {
    let mut rig = Rig::<512, 64>::new();
    let mut more = (0..).map(|at| payload(BASE + at % 64 * 64, 1, 64));
    rig.send(&more.by_ref().take(200).collect::<Vec<_>>());
    rig.run(20);
    rig.settle(0);
    rig.run(30);
    assert_eq!(rig.settled[0], 1);
    assert!(rig.order.len() < 60, "the clients are still at it");
    rig.finish();
}

#[test]
fn settling_works_across_the_wrap_of_tickets() {
    let mut rig = Rig::<512, 64>::new();
    for sink in [rig.aw, rig.w, rig.event, rig.error] {
        rig.bench[sink].check_independence(false);
    }
    // Tickets pass 2^16 quickly with writes of nothing.
    let nothing = vec![payload(BASE, 1, 0).command(); 0xfff0];
    push(&mut rig.bench, rig.clients[0], &nothing);
    rig.bench.run(0xfff8);
    assert_eq!((rig.count("issued"), rig.count("done"), rig.count("ticket")), (0xfff0, 0xfff0, 0xfff1));
    // The payload client went last, so the entry goes first, and all behind it wait for its response.
    push(&mut rig.bench, rig.clients[0], &vec![payload(BASE, 1, 0).command(); 0x20]);
    push(&mut rig.bench, rig.clients[1], &[entry(BASE, true)]);
    rig.bench.run(16);
    let port = rig.bench.model().port("settle$0").expect("the port exists");
    rig.bench.model_mut().set(port, 1);
    rig.bench.run(1);
    rig.bench.model_mut().set(port, 0);
    rig.bench.run(60);
    assert_eq!((rig.count("issued"), rig.count("done")), (0x11, 0xfff0));
    push(&mut rig.bench, rig.b, &[WriteResponse::default()]);
    let settled_at = |rig: &mut Rig<512, 64>| {
        rig.bench.step();
        (rig.count("settled$0") == 1).then(|| rig.count("done"))
    };
    let settled: Vec<u64> = (0..60).filter_map(|_| settled_at(&mut rig)).collect();
    assert_eq!(settled, [1], "once, when the command accepted with the question is done");
    assert_eq!(rig.count("done"), 0x11);
}
