//! What programs ask of a card: how large it is, its port, its addresses.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{net::IpAddr, ptr};

use libc::{c_char, c_int};
use rdma_sys::{
    ibv_context, ibv_device_attr, ibv_device_attr_ex, ibv_device_cap_flags, ibv_gid, ibv_gid_entry,
    ibv_port_attr, ibv_port_state, ibv_query_device_ex_input, ibv_values_ex,
};
use stroma_abi::desc::{completion_queue::CQ_LOG_MAX, queue_pair::QUEUE_LOG_MAX, shared_queue::SRQ_LOG_MAX};
use stroma_abi::regs::map::{PORT_ADDRESSES, PORT_GROUPS};

use crate::{
    context::{CONTEXTS, Context, PORT},
    failure::{Failure, Outcome, invalid, number, status},
    handle::{given, zeroed},
};

/// `IBV_LINK_LAYER_ETHERNET`, which is no type but a plain number.
const ETHERNET: u8 = 2;
/// `IBV_QPF_GRH_REQUIRED`: peers are named by addresses alone.
const GRH_REQUIRED: u8 = 1;
/// Physical state `LinkUp`, and `Disabled`.
const LINK_UP: u8 = 5;
const DISABLED: u8 = 3;
/// `IBV_PORT_CM_SUP` and `IBV_PORT_IP_BASED_GIDS`.
const PORT_FLAGS: u32 = 1 << 16 | 1 << 26;
/// Lanes: one, or four.
const ONE_LANE: u8 = 1;
const FOUR_LANES: u8 = 2;
/// Speed of each: 10 Gb/s (FDR10), or 25 (EDR).
const TEN: u8 = 8;
const TWENTY_FIVE: u8 = 32;
/// The one partition.
pub(crate) const PARTITION: u16 = 0xffff;
/// `IBV_GID_TYPE_SYSFS_ROCE_V2` of libibverbs' private header, and `IBV_GID_TYPE_ROCE_V2`.
const SYSFS_ROCE_V2: c_int = 1;
const ROCE_V2: u32 = 2;
/// Groups and addresses of the port, as C counts them.
const GROUPS: c_int = 16;
const ADDRESSES: c_int = 16;

const _: () = assert!(GROUPS as usize == PORT_GROUPS && ADDRESSES as usize == PORT_ADDRESSES);

/// Bytes of the longest message.
pub(crate) const MESSAGE_MAX: u32 = 1 << 31;
/// Requests of the largest queue pair: its ring has room for so many of the longest.
pub(crate) const REQUESTS_MAX: u32 = 1 << (QUEUE_LOG_MAX - 3);

fn count(value: u32) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// What a card says about itself, in the words of libibverbs.
fn attributes(context: &Context) -> ibv_device_attr {
    let card = context.device().card();
    let have = card.capabilities();
    let guid = u64::from_ne_bytes(context.card.found.guid());
    let mut attributes: ibv_device_attr = zeroed();
    let version = env!("CARGO_PKG_VERSION").bytes();
    for (to, from) in attributes.fw_ver.iter_mut().zip(version) {
        *to = c_char::from_ne_bytes([from]);
    }
    let flags = ibv_device_cap_flags::IBV_DEVICE_RC_RNR_NAK_GEN
        | ibv_device_cap_flags::IBV_DEVICE_SYS_IMAGE_GUID
        | ibv_device_cap_flags::IBV_DEVICE_PORT_ACTIVE_EVENT
        | ibv_device_cap_flags::IBV_DEVICE_CURR_QP_STATE_MOD
        | ibv_device_cap_flags::IBV_DEVICE_MEM_WINDOW_TYPE_2B
        | ibv_device_cap_flags::IBV_DEVICE_MEM_MGT_EXTENSIONS;
    ibv_device_attr {
        node_guid: guid,
        sys_image_guid: guid,
        max_mr_size: u64::MAX >> 1,
        page_size_cap: 1 << 12 | 1 << 21 | 1 << 30,
        vendor_id: 0x10ee,
        vendor_part_id: 0x5354,
        hw_ver: 1,
        max_qp: count(have.queue_pairs) - 2,
        max_qp_wr: count(REQUESTS_MAX),
        device_cap_flags: flags.0,
        max_sge: count(have.sges),
        max_sge_rd: count(have.sges),
        max_cq: count(have.completion_queues),
        max_cqe: 1 << CQ_LOG_MAX,
        max_mr: count(have.memory_regions),
        max_pd: 1 << 16,
        max_qp_rd_atom: count(have.outstanding),
        max_res_rd_atom: count(have.outstanding).saturating_mul(count(have.queue_pairs)),
        max_qp_init_rd_atom: count(have.outstanding),
        atomic_cap: rdma_sys::ibv_atomic_cap::IBV_ATOMIC_HCA,
        max_mw: count(have.memory_regions),
        max_mcast_grp: GROUPS,
        max_mcast_qp_attach: 1,
        max_total_mcast_qp_attach: GROUPS,
        max_ah: count(have.address_handles),
        max_srq: count(have.shared_receive_queues),
        max_srq_wr: 1 << SRQ_LOG_MAX,
        max_srq_sge: count(have.sges),
        max_pkeys: 1,
        phys_port_cnt: PORT,
        ..attributes
    }
}

/// Tells how large a card is.
///
/// # Safety
/// `attr` is a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_device(context: *mut ibv_context, attr: *mut ibv_device_attr) -> c_int {
    status("ibv_query_device", || {
        let found = attributes(&*CONTEXTS.find(context)?);
        given(attr)?;
        // SAFETY: by contract.
        unsafe { attr.write(found) };
        Ok(())
    })
}

/// The same, with more, as much as the program has room for.
pub(crate) unsafe extern "C" fn device_ex(
    context: *mut ibv_context,
    _input: *const ibv_query_device_ex_input,
    attr: *mut ibv_device_attr_ex,
    size: usize,
) -> c_int {
    status("ibv_query_device_ex", || {
        let context = CONTEXTS.find(context)?;
        given(attr)?;
        let clock = context.device().card().capabilities().clock_khz;
        let mut found: ibv_device_attr_ex = zeroed();
        found.orig_attr = attributes(&context);
        found.completion_timestamp_mask = TIMESTAMP;
        found.hca_core_clock = clock.into();
        found.device_cap_flags_ex = found.orig_attr.device_cap_flags.into();
        found.cq_mod_caps.max_cq_count = u16::MAX;
        found.cq_mod_caps.max_cq_period = u16::MAX;
        found.phys_port_cnt_ex = PORT.into();
        // SAFETY: the header's inline code gives the size of the program's structure, and no more than that is written.
        unsafe {
            let room = size.min(size_of_val(&found));
            ptr::copy_nonoverlapping(ptr::from_ref(&found).cast::<u8>(), attr.cast::<u8>(), room);
        }
        Ok(())
    })
}

/// Bits of a completion's timestamp.
const TIMESTAMP: u64 = u64::MAX >> (u64::BITS as usize - stroma_abi::desc::Cqe::TIMESTAMP.width);

/// The card's clock now. No register shows it, so programs are told that it cannot be had.
pub(crate) unsafe extern "C" fn clock(context: *mut ibv_context, values: *mut ibv_values_ex) -> c_int {
    status("ibv_query_rt_values_ex", || {
        CONTEXTS.find(context)?;
        given(values)?;
        Err(crate::failure::unsupported("the card's clock is read from completions alone"))
    })
}

fn port_attributes(context: &Context) -> Outcome<ibv_port_attr> {
    let device = context.device();
    let is_up = device.port().is_up()?;
    let mtu = device.port().path_mtu().into();
    let is_wide = device.card().capabilities().data_bits > u64::BITS;
    let state = if is_up { ibv_port_state::IBV_PORT_ACTIVE } else { ibv_port_state::IBV_PORT_DOWN };
    Ok(ibv_port_attr {
        state,
        max_mtu: mtu,
        active_mtu: mtu,
        gid_tbl_len: ADDRESSES,
        port_cap_flags: PORT_FLAGS,
        max_msg_sz: MESSAGE_MAX,
        pkey_tbl_len: 1,
        max_vl_num: 1,
        active_width: if is_wide { FOUR_LANES } else { ONE_LANE },
        active_speed: if is_wide { TWENTY_FIVE } else { TEN },
        phys_state: if is_up { LINK_UP } else { DISABLED },
        link_layer: ETHERNET,
        flags: GRH_REQUIRED,
        ..zeroed()
    })
}

fn check_port(port: u8) -> Outcome<()> {
    if port == PORT { Ok(()) } else { Err(invalid("a card has port 1 alone")) }
}

/// Tells of the port, as much as the program has room for.
pub(crate) unsafe extern "C" fn port(
    context: *mut ibv_context,
    port: u8,
    attr: *mut ibv_port_attr,
    size: usize,
) -> c_int {
    status("ibv_query_port", || {
        let context = CONTEXTS.find(context)?;
        given(attr)?;
        check_port(port)?;
        let found = port_attributes(&context)?;
        // SAFETY: the caller gives the size of the program's structure, and no more than that is written.
        unsafe {
            let room = size.min(size_of_val(&found));
            ptr::copy_nonoverlapping(ptr::from_ref(&found).cast::<u8>(), attr.cast::<u8>(), room);
        }
        Ok(())
    })
}

/// Bytes of the structure that older programs have: it ends before the link layer's flags.
const OLD_PORT: usize = std::mem::offset_of!(ibv_port_attr, port_cap_flags2);

/// Tells of the port, for programs that were built against older headers.
///
/// # Safety
/// `attr` is a place for the answer, as it was before `port_cap_flags2` was added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_port(
    context: *mut ibv_context,
    number: u8,
    attr: *mut ibv_port_attr,
) -> c_int {
    // SAFETY: by contract.
    unsafe { port(context, number, attr, OLD_PORT) }
}

/// The address at a place of the port, as a GID; all zero when none was set.
fn gid_at(context: &Context, port: u8, index: c_int) -> Outcome<[u8; 16]> {
    check_port(port)?;
    let index = usize::try_from(index).map_err(|_| invalid("a place of an address below 0"))?;
    let address = match context.device().port().address(index)? {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    Ok(address.octets())
}

/// An address of the port.
///
/// # Safety
/// `gid` is a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_gid(
    context: *mut ibv_context,
    port: u8,
    index: c_int,
    gid: *mut ibv_gid,
) -> c_int {
    number("ibv_query_gid", || {
        let raw = gid_at(&*CONTEXTS.find(context)?, port, index)?;
        given(gid)?;
        // SAFETY: by contract.
        unsafe { gid.write(ibv_gid { raw }) };
        Ok(0)
    })
}

/// What kind of address it is: all of them are of `RoCE` v2.
///
/// # Safety
/// `kind` is a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_gid_type(
    context: *mut ibv_context,
    port: u8,
    index: u32,
    kind: *mut c_int,
) -> c_int {
    number("ibv_query_gid_type", || {
        gid_at(&*CONTEXTS.find(context)?, port, count(index))?;
        given(kind)?;
        // SAFETY: by contract.
        unsafe { kind.write(SYSFS_ROCE_V2) };
        Ok(0)
    })
}

fn entry(context: &Context, index: u32) -> Outcome<Option<ibv_gid_entry>> {
    let raw = gid_at(context, PORT, count(index))?;
    let entry = ibv_gid_entry {
        gid: ibv_gid { raw },
        gid_index: index,
        port_num: PORT.into(),
        gid_type: ROCE_V2,
        ndev_ifindex: 0,
    };
    Ok((raw != [0; 16]).then_some(entry))
}

/// Bytes of an entry, if the program's is as large as ours.
fn check_entry(size: usize, flags: u32) -> Outcome<()> {
    if size < size_of::<ibv_gid_entry>() || flags != 0 {
        return Err(invalid("an entry that is smaller than one, or with flags"));
    }
    Ok(())
}

/// An entry of the table of addresses.
///
/// # Safety
/// `found` is a place for `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _ibv_query_gid_ex(
    context: *mut ibv_context,
    port: u32,
    index: u32,
    found: *mut ibv_gid_entry,
    flags: u32,
    size: usize,
) -> c_int {
    status("ibv_query_gid_ex", || {
        let context = CONTEXTS.find(context)?;
        given(found)?;
        check_entry(size, flags)?;
        check_port(u8::try_from(port).unwrap_or(0))?;
        let entry = entry(&context, index)?;
        let entry = entry.ok_or(Failure::Call { errno: libc::ENODATA, why: "no address was set there" })?;
        // SAFETY: by contract, and the place is large enough.
        unsafe { found.write(entry) };
        Ok(())
    })
}

/// All entries of the table of addresses that are set; their number, or a negative error number.
///
/// # Safety
/// `found` is a place for `room` entries of `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _ibv_query_gid_table(
    context: *mut ibv_context,
    found: *mut ibv_gid_entry,
    room: usize,
    flags: u32,
    size: usize,
) -> isize {
    let mut written = 0;
    let failed = status("ibv_query_gid_table", || {
        let context = CONTEXTS.find(context)?;
        check_entry(size, flags)?;
        for index in 0..PORT_ADDRESSES {
            let Some(entry) = entry(&context, u32::try_from(index).unwrap_or(u32::MAX))? else { continue };
            if written == room {
                return Err(invalid("fewer places than there are addresses"));
            }
            given(found)?;
            // SAFETY: by contract; entry `written` is below `room`.
            unsafe { found.cast::<u8>().add(written * size).cast::<ibv_gid_entry>().write_unaligned(entry) };
            written += 1;
        }
        Ok(())
    });
    if failed == 0 {
        isize::try_from(written).unwrap_or(isize::MAX)
    } else {
        -isize::try_from(failed).unwrap_or(1)
    }
}

/// A partition's key, in network byte order. There is one.
///
/// # Safety
/// `key` is a place for the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_query_pkey(
    context: *mut ibv_context,
    port: u8,
    index: c_int,
    key: *mut u16,
) -> c_int {
    number("ibv_query_pkey", || {
        CONTEXTS.find(context)?;
        given(key)?;
        check_port(port)?;
        if index != 0 {
            return Err(invalid("a port has one partition, at place 0"));
        }
        // SAFETY: by contract.
        unsafe { key.write(PARTITION.to_be()) };
        Ok(0)
    })
}

/// Place of a partition's key, given in network byte order.
///
/// # Safety
/// None: pointers are looked up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_get_pkey_index(context: *mut ibv_context, port: u8, key: u16) -> c_int {
    number("ibv_get_pkey_index", || {
        CONTEXTS.find(context)?;
        check_port(port)?;
        if key == PARTITION.to_be() { Ok(0) } else { Err(invalid("no such partition")) }
    })
}
