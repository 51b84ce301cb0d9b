//! The connection manager (librdmacm), of which there is none: its calls answer `EOPNOTSUPP`.
//!
//! Programs such as libfabric's make an event channel of it before they know whether they want connections, so there are channels, on which nothing ever
//! happens. They are here and not in a library of their own because `stroma exec` loads this one first: what it has goes before what the
//! system's librdmacm has, which would look for a kernel.

#![expect(unsafe_code, reason = "symbols of C")]

use std::sync::{Arc, Mutex};

use libc::{c_char, c_int};
use rdma_sys::{ibv_context, rdma_cm_event, rdma_event_channel};

use crate::{
    context, device,
    failure::{number, pointer, quiet, unsupported},
    flag::Flag,
    handle::{Parent, Shell, Table, Users},
    lists, lock,
    outbox::Outbox,
    places,
};

/// An event channel: a descriptor that is never readable.
struct Channel {
    events: Outbox<()>,
    users: Users,
}

impl Shell for rdma_event_channel {}

impl Parent for Channel {
    fn users(&self) -> &Users {
        &self.users
    }
}

static CHANNELS: Table<rdma_event_channel, Channel> =
    Table::new("no event channel of ours, or one that was destroyed");

/// Makes an event channel.
#[unsafe(no_mangle)]
pub extern "C" fn rdma_create_event_channel() -> *mut rdma_event_channel {
    pointer("rdma_create_event_channel", || {
        let events = Outbox::new(Flag::new()?);
        let shell = rdma_event_channel { fd: events.flag().descriptor() };
        Ok(CHANNELS.add(shell, |_| Arc::new(Channel { events, users: Users::default() })))
    })
}

/// Ends it.
///
/// # Safety
/// None: a pointer that is none of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rdma_destroy_event_channel(channel: *mut rdma_event_channel) {
    quiet("rdma_destroy_event_channel", || CHANNELS.remove(channel).map(drop));
}

/// Waits for an event, and for ever, unless the program has made the descriptor non-blocking.
///
/// # Safety
/// None: pointers are looked up, and nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rdma_get_cm_event(
    channel: *mut rdma_event_channel,
    _event: *mut *mut rdma_cm_event,
) -> c_int {
    number("rdma_get_cm_event", || {
        CHANNELS.find(channel)?.events.take()?;
        Ok(0)
    })
}

/// An event, in words.
#[unsafe(no_mangle)]
pub extern "C" fn rdma_event_str(_event: c_int) -> *const c_char {
    c"UNKNOWN EVENT".as_ptr()
}

macro_rules! absent {
    ($($name:ident)*) => {
        $(#[doc = concat!("`", stringify!($name), "`, which there is not.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            number(stringify!($name), || Err(unsupported("there is no connection manager")))
        })*
    };
}

absent! {
    rdma_accept rdma_ack_cm_event rdma_bind_addr rdma_connect rdma_create_ep rdma_create_id rdma_create_qp rdma_create_qp_ex
    rdma_create_srq rdma_create_srq_ex rdma_destroy_id rdma_disconnect rdma_establish rdma_get_remote_ece rdma_get_request
    rdma_getaddrinfo rdma_init_qp_attr rdma_join_multicast rdma_join_multicast_ex rdma_leave_multicast rdma_listen rdma_migrate_id
    rdma_notify rdma_reject rdma_reject_ece rdma_resolve_addr rdma_resolve_route rdma_set_local_ece rdma_set_option
}

macro_rules! nothing {
    ($($name:ident)*) => {
        $(#[doc = concat!("`", stringify!($name), "`: nothing is there that could end.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {})*
    };
}

nothing! { rdma_destroy_ep rdma_destroy_qp rdma_destroy_srq rdma_freeaddrinfo }

/// Contexts that were opened for programs that asked the connection manager for them; they stay open.
static OPENED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// All cards that this process can open, as contexts, behind the last a null pointer. Nothing else is made of them here.
///
/// # Safety
/// `count` is null, or a place for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rdma_get_devices(count: *mut c_int) -> *mut *mut ibv_context {
    pointer("rdma_get_devices", || {
        let mut opened = lock(&OPENED);
        if opened.is_empty() {
            // One that another process has is not for this one.
            let cards = places::cards()?;
            let contexts = cards.iter().map(device::seen).map(context::open);
            opened.extend(contexts.filter_map(Result::ok).map(<*mut ibv_context>::expose_provenance));
        }
        let mut list: Vec<*mut ibv_context> =
            opened.iter().map(|context| std::ptr::with_exposed_provenance_mut(*context)).collect();
        if !count.is_null() {
            // SAFETY: by contract.
            unsafe { *count = c_int::try_from(list.len()).unwrap_or(c_int::MAX) };
        }
        list.push(std::ptr::null_mut());
        Ok(lists::lend(list))
    })
}

/// Ends such a list.
///
/// # Safety
/// Nobody uses the list any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rdma_free_devices(list: *mut *mut ibv_context) {
    // SAFETY: by contract.
    unsafe { lists::end(list) };
}

/// The port of a connection: none.
#[unsafe(no_mangle)]
pub extern "C" fn rdma_get_src_port() -> u16 {
    0
}

/// The same of its peer.
#[unsafe(no_mangle)]
pub extern "C" fn rdma_get_dst_port() -> u16 {
    0
}
