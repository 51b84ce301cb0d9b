//! Lesson 6: your own kernel.
//!
//! *Hardware idea*: a card says which kernels it has, and refuses what it lacks without having touched anything. So a call can be tried on the card
//! first, and carried out elsewhere when it is refused.
//! *Software idea*: a kernel is its model, too. The driver at the other end runs the model on the same memory, under the same rights, and the
//! caller cannot tell who has answered. [docs/kernels.md](../docs/kernels.md) tells how `column_sum` was written.
//!
//! `cargo run -p stroma-tests --example 06_own_kernel`

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use column_sum::call::{ColumnSum, Comparison, OPERATION, Rows, Totals};
use column_sum::model;
use stroma_rpc::{Caller, Route, Service, Shape};
use stroma_tests::pair::{End, Pair};
use stroma_top::Profile;
use stroma_verbs::{Access, QueuePair, QueuePairKind};

/// Orders: customer, price in cents, country.
const ORDERS: [[u64; 3]; 6] =
    [[1, 2500, 41], [2, 100, 49], [1, 40, 41], [3, 999, 33], [4, 12, 41], [2, 7, 49]];
const STRIDE: u16 = 24;
const PRICE_AT: u16 = 8;
const COUNTRY_AT: u16 = 16;
/// The shape of calls, the same at both ends.
const SHAPE: Shape = Shape { places: 4, request_bytes: 64, answer_bytes: 64 };

fn main() -> Result<(), Box<dyn Error>> {
    let pair = Pair::new(Profile::TenGig);
    let far = &pair.ends[1];
    let orders =
        Arc::new(far.domain.allocate(4096, Access::LOCAL_WRITE | Access::REMOTE_READ | Access::RPC)?);
    orders.write(0, &ORDERS.concat().iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())?;
    let kernels = far.device.kernels()?;
    assert!(kernels.iter().all(|kernel| kernel.operation != OPERATION));
    println!("the far card has {} kernels, and RPC {OPERATION:#x} is none of them", kernels.len());

    // The far host's driver serves what its card lacks.
    let [asks, serves] = connection(&pair, false)?;
    let service = Service::new(serves, SHAPE)?;
    let mut service = service.with_region(Arc::clone(&orders)).with_model(OPERATION, model::run);
    let [calls, _called] = connection(&pair, true)?;
    let caller = Caller::new(calls, SHAPE)?.with_service(asks, Route::CardFirst)?;
    let caller = caller.with_patience(Duration::from_mins(5));

    let rows = Rows { address: orders.address(0)?, count: u32::try_from(ORDERS.len())?, stride: STRIDE };
    let all = ColumnSum::new(rows, PRICE_AT)?;
    let one = all.only(COUNTRY_AT, Comparison::Equal, 41)?;
    let cheap = all.only(PRICE_AT, Comparison::Less, 100)?;
    for (what, asked, expected) in [
        ("all orders", all, Totals { sum: 3658, matching: 6 }),
        ("from country 41", one, Totals { sum: 2552, matching: 3 }),
        ("below 100 cents", cheap, Totals { sum: 59, matching: 3 }),
    ] {
        let pending = caller.post_rpc(asked, orders.rkey())?;
        let totals = loop {
            service.poll()?;
            caller.poll()?;
            if let Some(totals) = caller.try_take(&pending)? {
                break totals;
            }
        };
        println!("{what:16}  {} orders, {} cents in all", totals.matching, totals.sum);
        assert_eq!(totals, expected);
    }
    assert_eq!(service.counts().answered, 3);

    // A request that the kernel would refuse is found out here.
    let error = ColumnSum::new(rows, 17).expect_err("a column that leaves its row");
    println!("refused           {error}");
    Ok(())
}

/// A connection with completion queues of its own, whose far end lets kernels run, or not.
fn connection(pair: &Pair, rpc: bool) -> Result<[QueuePair; 2], Box<dyn Error>> {
    let [near, far] = &pair.ends;
    let pairs = [queue_pair(near)?, queue_pair(far)?];
    pair.join(pairs.each_ref(), |_, connection| {
        if rpc {
            connection.rights = connection.rights | Access::RPC;
        }
    });
    Ok(pairs)
}

fn queue_pair(end: &End) -> Result<QueuePair, Box<dyn Error>> {
    let completions = end.device.completion_queue(64)?;
    let builder = end.domain.queue_pair(&completions).kind(QueuePairKind::Reliable);
    Ok(builder.send_units(64).receive_entries(16).result_bytes(4096).build()?)
}
