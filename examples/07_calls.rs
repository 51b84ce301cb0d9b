//! Lesson 7: kernels of a card in another process.
//!
//! *Hardware idea*: a card does not care who drives it. Here it runs in a process of its own, is reached over vfio-user, and does its DMA in the memory of this one; a
//! board would be reached over VFIO, by the same driver.
//! *Software idea*: a caller has typed answers. [calls.c](c/calls.c) is the same program in C, over libibverbs.
//!
//! `cargo build -p stroma-tests --example 07_calls`, then `stroma exec -- target/debug/examples/07_calls`

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stroma_abi::kernel::traversal::Traversal;
use stroma_abi::{Psn, Qpn};
use stroma_device::VfioUser;
use stroma_kernel_client::get::{Lookup, Table};
use stroma_rpc::{Caller, Shape};
use stroma_verbs::{Access, Connection, Device, MemoryRegion, QueuePair, QueuePairKind};

/// Where the list and the table lie in the memory of the card that is called.
const LIST_AT: usize = 0;
const VALUES_AT: usize = 1024;
const TABLE_AT: usize = 4096;
const TABLE_LEN: usize = 4096;
const ELEMENTS: usize = 8;
const VALUE_LEN: usize = 16;

/// One end: a card, memory that kernels may act on, and a queue pair.
struct End {
    device: Arc<Device>,
    memory: MemoryRegion,
    queue_pair: QueuePair,
    mac: [u8; 6],
    ip: IpAddr,
}

impl End {
    fn open(folder: &Path, number: u8) -> Result<Self, Box<dyn Error>> {
        let device = Device::open(Arc::new(VfioUser::open(&folder.join(format!("card{number}")))?))?;
        let (mac, ip) = ([2, 0, 0, 0, 0, number + 1], Ipv4Addr::new(10, 0, 0, number + 1).into());
        device.port().set_mac(mac)?;
        device.port().set_address(0, ip)?;
        let domain = device.protection_domain()?;
        let memory =
            domain.allocate(TABLE_AT + TABLE_LEN, Access::LOCAL_WRITE | Access::REMOTE_READ | Access::RPC)?;
        let completions = device.completion_queue(64)?;
        let builder = domain.queue_pair(&completions).kind(QueuePairKind::Reliable).result_bytes(4096);
        Ok(Self { queue_pair: builder.build()?, device, memory, mac, ip })
    }

    fn connect(&self, peer: &Self) -> Result<(), Box<dyn Error>> {
        let way = self.device.port().way(peer.ip, peer.mac)?;
        let to = Connection::new(way, Qpn::new(peer.queue_pair.number()), Psn::new(0), Psn::new(0));
        Ok(self.queue_pair.connect(&Connection { rights: Access::REMOTE_READ | Access::RPC, ..to })?)
    }
}

/// Lays a list down: key, pointer to the next, pointer to the value.
fn lay_list(memory: &MemoryRegion) -> Result<(), Box<dyn Error>> {
    for index in 0..ELEMENTS {
        let next = if index + 1 < ELEMENTS { memory.address(LIST_AT + (index + 1) * 24)? } else { 0 };
        let element = [100 + index as u64, next, memory.address(VALUES_AT + index * VALUE_LEN)?];
        memory.write(LIST_AT + index * 24, &element.map(u64::to_le_bytes).concat())?;
        memory.write(
            VALUES_AT + index * VALUE_LEN,
            format!("{:<VALUE_LEN$}", format!("element {index}")).as_bytes(),
        )?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::var_os("STROMA_FABRIC").map(PathBuf::from);
    let folder = folder.ok_or("STROMA_FABRIC is not set: start this by `stroma exec`")?;
    let [near, far] = [End::open(&folder, 0)?, End::open(&folder, 1)?];
    near.connect(&far)?;
    far.connect(&near)?;
    println!("the card has {} slots with kernels", far.device.kernels()?.len());

    lay_list(&far.memory)?;
    let mut bytes = vec![0; TABLE_LEN];
    let mut table = Table::new(&mut bytes, far.memory.address(TABLE_AT)?, 3, 2)?;
    table.insert(b"colour", b"a deep shade of green")?;
    let shape = table.shape();
    far.memory.write(TABLE_AT, &bytes)?;

    let caller = Caller::new(near.queue_pair, Shape { places: 4, request_bytes: 64, answer_bytes: 4096 })?;
    let key = far.memory.rkey();
    let walk = Traversal {
        root: far.memory.address(LIST_AT)?,
        sought: 100 + ELEMENTS as u64 - 1,
        mask: u64::MAX,
        value_length: u32::try_from(VALUE_LEN)?,
        hop_limit: u16::try_from(ELEMENTS)?,
        key_words: 0b001,
        element_words: 3,
        next_at: 1,
        value_at: 2,
        ..Traversal::default()
    };
    let value = caller.call(walk, key)?.ok_or("no element has the key")?;
    println!("traversal: {:?}", String::from_utf8_lossy(&value).trim_end());
    assert_eq!(value, format!("{:<VALUE_LEN$}", format!("element {}", ELEMENTS - 1)).as_bytes());

    let lookup = Lookup { request: shape.request(b"colour", 4)?, value_max: 64 };
    let value = caller.call(lookup, key)?.ok_or("the table has no such key")?;
    println!("get: {:?}", String::from_utf8_lossy(&value));
    assert_eq!(value, b"a deep shade of green");
    Ok(())
}
