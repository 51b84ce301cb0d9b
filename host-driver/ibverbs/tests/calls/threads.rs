//! Several threads, as libibverbs allows them.

use std::thread;

use rdma_sys::{ibv_send_flags as flag, ibv_send_wr, ibv_wc_status, ibv_wr_opcode};

use crate::stage::{End, zero};

/// Requests of each thread.
const REQUESTS: u64 = 12;

/// The ends of a story, for several threads: all that libibverbs has may be used by them.
struct Shared<'a>([&'a End; 2]);

// SAFETY: pointers to objects that the library locks, and memory that the threads do not touch.
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    /// Posts a WRITE, again while the queue is full, and takes whatever completions there are; how many.
    fn write(&self, wr_id: u64) -> u64 {
        let [near, far] = self.0;
        let (mut piece, to) = (near.piece(0, 64), far.piece(64, 64));
        let mut request: ibv_send_wr = zero();
        (request.wr_id, request.opcode) = (wr_id, ibv_wr_opcode::IBV_WR_RDMA_WRITE);
        request.send_flags = flag::IBV_SEND_SIGNALED.0;
        (request.sg_list, request.num_sge) = (&raw mut piece, 1);
        (request.wr.rdma.remote_addr, request.wr.rdma.rkey) = (to.addr, to.lkey);
        let mut taken = 0;
        while near.post(&mut request).0 != 0 {
            taken += self.take();
        }
        taken
    }

    fn take(&self) -> u64 {
        let found = self.0[0].poll().unwrap();
        found.map_or(0, |done| {
            assert_eq!(done.status, ibv_wc_status::IBV_WC_SUCCESS);
            1
        })
    }
}

#[test]
fn threads_post_to_one_queue_pair_and_poll_one_queue() {
    let [near, far] = End::pair();
    let shared = Shared([&near, &far]);
    let of_threads = thread::scope(|scope| {
        let run = |thread: u64| {
            let shared = &shared;
            scope
                .spawn(move || (0..REQUESTS).map(|request| shared.write(thread * 100 + request)).sum::<u64>())
        };
        let threads = [1, 2, 3, 4].map(run);
        threads.map(|thread| thread.join().unwrap()).into_iter().sum::<u64>()
    });
    let mut taken = of_threads;
    while taken < 4 * REQUESTS {
        taken += shared.take();
    }
    assert!(near.poll().unwrap().is_none(), "each completes once");
    near.close();
    far.close();
}
