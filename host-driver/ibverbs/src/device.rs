//! Devices: the list of cards.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{collections::BTreeMap, ptr, sync::Mutex};

use libc::{c_char, c_int};
use rdma_sys::{ibv_device, ibv_node_type, ibv_transport_type};

use crate::{
    failure::{Outcome, invalid, pointer},
    handle::zeroed,
    lists, lock,
    places::{self, Found},
};

/// Programs of libibverbs' providers look behind the structure, for fields of a larger one.
const BEHIND: usize = 256;

/// A card as programs see it before they open it.
#[repr(C)]
struct Seen {
    device: ibv_device,
    behind: [u8; BEHIND],
}

/// Cards that a program has seen, by their addresses. They are few, and stay: opened contexts point to them.
static SEEN: Mutex<BTreeMap<usize, Found>> = Mutex::new(BTreeMap::new());

fn write(text: &str, place: &mut [c_char]) {
    let room = place.len() - 1;
    for (to, from) in place.iter_mut().zip(text.bytes().take(room)) {
        *to = c_char::from_ne_bytes([from]);
    }
}

/// The structure of a card, the same each time.
pub(crate) fn seen(found: &Found) -> *mut ibv_device {
    let mut seen = lock(&SEEN);
    if let Some((address, _)) = seen.iter().find(|(_, other)| *other == found) {
        return ptr::with_exposed_provenance_mut(*address);
    }
    let mut shell = Seen { device: zeroed(), behind: [0; BEHIND] };
    shell.device.node_type = ibv_node_type::IBV_NODE_CA;
    shell.device.transport_type = ibv_transport_type::IBV_TRANSPORT_IB;
    let (name, verbs) = (found.name(), format!("uverbs{}", found.number));
    write(&name, &mut shell.device.name);
    write(&verbs, &mut shell.device.dev_name);
    write(&format!("/sys/class/infiniband_verbs/{verbs}"), &mut shell.device.dev_path);
    write(&format!("/sys/class/infiniband/{name}"), &mut shell.device.ibdev_path);
    let device: *mut Seen = Box::leak(Box::new(shell));
    seen.insert(device.expose_provenance(), found.clone());
    device.cast()
}

/// The card behind a structure.
pub(crate) fn find(device: *const ibv_device) -> Outcome<Found> {
    let seen = lock(&SEEN);
    seen.get(&device.addr()).cloned().ok_or(invalid("no device of ours"))
}

/// Lists the cards.
///
/// # Safety
/// `count` is null, or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_device_list(count: *mut c_int) -> *mut *mut ibv_device {
    pointer("ibv_get_device_list", || {
        let mut list: Vec<*mut ibv_device> = places::cards()?.iter().map(seen).collect();
        if !count.is_null() {
            // SAFETY: by contract.
            unsafe { *count = c_int::try_from(list.len()).unwrap_or(c_int::MAX) };
        }
        list.push(ptr::null_mut());
        Ok(lists::lend(list))
    })
}

/// Ends a list. Cards that were opened stay so.
///
/// # Safety
/// Nobody uses the list any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_free_device_list(list: *mut *mut ibv_device) {
    // SAFETY: by contract.
    unsafe { lists::end(list) };
}

/// Name of a device, valid for ever.
///
/// # Safety
/// None: any other pointer is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_device_name(device: *mut ibv_device) -> *const c_char {
    pointer("ibv_get_device_name", || {
        find(device)?;
        // SAFETY: one of ours, which are never freed.
        Ok(unsafe { (*device).name.as_ptr().cast_mut() })
    })
}

/// GUID of a device, in network byte order; 0 if it is none of ours.
///
/// # Safety
/// None: any other pointer is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_device_guid(device: *mut ibv_device) -> u64 {
    find(device).map_or(0, |found| u64::from_ne_bytes(found.guid()))
}

/// Index of a device, the same as long as the machine runs.
///
/// # Safety
/// None: any other pointer is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_device_index(device: *mut ibv_device) -> c_int {
    find(device).map_or(-1, |found| c_int::from(found.number))
}
