//! Memory regions: memory of the program, which the card may reach while it is registered.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{
    ops::Range,
    ptr::NonNull,
    sync::{Arc, Mutex},
};

use libc::{c_int, c_uint, c_void};
use rdma_sys::{ibv_access_flags, ibv_mr, ibv_pd, ibv_rereg_mr_err_code, ibv_rereg_mr_flags};
use stroma_device::DmaMemory;
use stroma_verbs::{Access, MemoryRegion, RegionBuilder};

use crate::{
    domain::{DOMAINS, Domain},
    failure::{Failure, Outcome, invalid, number, pointer, status, unsupported},
    handle::{Held, Parent, Shell, Table, Users, zeroed},
    lock, maps,
};

/// Bytes of the smallest page.
const PAGE: usize = 4096;
/// `IBV_ACCESS_OPTIONAL_RANGE`: flags that an adapter may pass over.
const OPTIONAL: c_uint = 0x3ff0_0000;
/// Of them, ours: kernels may act under the key, as far as the peer may. `STROMA_ACCESS_RPC` of stroma.h.
pub(crate) const RPC: c_uint = 1 << 29;

/// A memory region.
pub(crate) struct Region {
    /// `None` after it could not be registered again.
    pub(crate) inner: Mutex<Option<Registered>>,
    users: Users,
}

/// What it is now.
pub(crate) struct Registered {
    pub(crate) region: MemoryRegion,
    pub(crate) domain: Held<Domain>,
    access: c_uint,
}

impl Shell for ibv_mr {}

impl Parent for Region {
    fn users(&self) -> &Users {
        &self.users
    }
}

impl Region {
    /// Its domain now; `None` after it could not be registered again.
    pub(crate) fn domain(&self) -> Option<Arc<Domain>> {
        let inner = lock(&self.inner);
        inner.as_ref().map(|registered| Arc::clone(&registered.domain))
    }
}

/// All regions.
pub(crate) static REGIONS: Table<ibv_mr, Region> =
    Table::new("no memory region of ours, or one that was deregistered");

/// Rights in the words of the card.
pub(crate) fn rights(flags: c_uint) -> Outcome<Access> {
    let table = [
        (ibv_access_flags::IBV_ACCESS_LOCAL_WRITE, Access::LOCAL_WRITE),
        (ibv_access_flags::IBV_ACCESS_REMOTE_WRITE, Access::REMOTE_WRITE),
        (ibv_access_flags::IBV_ACCESS_REMOTE_READ, Access::REMOTE_READ),
        (ibv_access_flags::IBV_ACCESS_REMOTE_ATOMIC, Access::REMOTE_ATOMIC),
        (ibv_access_flags(RPC), Access::RPC),
    ];
    let known = table.iter().fold(0, |known, (flag, _)| known | flag.0);
    let others = ibv_access_flags::IBV_ACCESS_MW_BIND.0
        | ibv_access_flags::IBV_ACCESS_ZERO_BASED.0
        | ibv_access_flags::IBV_ACCESS_HUGETLB.0;
    if flags & ibv_access_flags::IBV_ACCESS_ON_DEMAND.0 != 0 {
        return Err(unsupported("memory on demand"));
    }
    if flags & !(known | others | OPTIONAL) != 0 {
        return Err(invalid("a right that there is not"));
    }
    let given = table.iter().filter(|(flag, _)| flags & flag.0 != 0);
    Ok(given.fold(Access::LOCAL_READ, |access, (_, right)| access | *right))
}

/// Rights of a window: what the program itself may do follows from its region.
pub(crate) fn window_rights(flags: c_uint) -> Outcome<Access> {
    rights(flags & !ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0)
}

/// The pages around bytes of the program, lent to the card, and where in them the bytes are.
fn lend(address: *mut c_void, length: usize, access: c_uint) -> Outcome<(Arc<DmaMemory>, Range<usize>)> {
    let start = address.addr();
    let end = start.checked_add(length).filter(|end| *end > start);
    let end = end.ok_or(invalid("a region of no bytes, or beyond the end of memory"))?;
    let first = start - start % PAGE;
    let pages = end.checked_next_multiple_of(PAGE).ok_or(invalid("a region at the end of memory"))? - first;
    let writes = access & ibv_access_flags::IBV_ACCESS_LOCAL_WRITE.0 != 0;
    maps::check(first..first + pages, writes)?;
    let begin = NonNull::new(address.cast::<u8>().wrapping_sub(start - first));
    let begin = begin.ok_or(invalid("a region at address 0"))?;
    // SAFETY: what `ibv_reg_mr` asks of programs is what lending asks: the memory stays theirs and mapped until it is
    // deregistered, and who touches bytes while the card does takes what he gets. No reference of ours to it exists.
    let memory = unsafe { DmaMemory::lend(begin, pages) }?;
    Ok((Arc::new(memory), start - first..end - first))
}

/// A region to be made of such memory.
fn describe(domain: &Domain, access: c_uint, range: &Range<usize>, base: u64) -> Outcome<RegionBuilder> {
    let builder = domain.inner.region(rights(access)?).range(range.clone()).base(base);
    let is_bindable = access & ibv_access_flags::IBV_ACCESS_MW_BIND.0 != 0;
    Ok(if is_bindable { builder.bindable() } else { builder })
}

fn show(shell: &mut ibv_mr, pd: *mut ibv_pd, address: *mut c_void, length: usize, region: &MemoryRegion) {
    (shell.pd, shell.addr, shell.length) = (pd, address, length);
    (shell.lkey, shell.rkey, shell.handle) = (region.lkey(), region.rkey(), region.lkey() >> u8::BITS);
}

fn register(
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: usize,
    base: u64,
    access: c_uint,
) -> Outcome<*mut ibv_mr> {
    let domain = DOMAINS.find(pd)?;
    let is_zero_based = access & ibv_access_flags::IBV_ACCESS_ZERO_BASED.0 != 0;
    let base = if is_zero_based { 0 } else { base };
    let (memory, range) = lend(address, length, access)?;
    let region = describe(&domain, access, &range, base)?.register(memory)?;
    let mut shell: ibv_mr = zeroed();
    shell.context = domain.context.face();
    show(&mut shell, pd, address, length, &region);
    let registered = Registered { region, domain: Held::new(domain)?, access };
    let inner = Mutex::new(Some(registered));
    Ok(REGIONS.add(shell, |_| Arc::new(Region { inner, users: Users::default() })))
}

/// Registers memory.
///
/// # Safety
/// The memory stays mapped until it is deregistered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_reg_mr(
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: usize,
    access: c_int,
) -> *mut ibv_mr {
    pointer("ibv_reg_mr", || register(pd, address, length, address.addr() as u64, access.cast_unsigned()))
}

/// Registers memory, whose first byte requests name by `base`.
///
/// # Safety
/// As [`ibv_reg_mr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_reg_mr_iova(
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: usize,
    base: u64,
    access: c_int,
) -> *mut ibv_mr {
    pointer("ibv_reg_mr_iova", || register(pd, address, length, base, access.cast_unsigned()))
}

/// The same, with flags that may be passed over.
///
/// # Safety
/// As [`ibv_reg_mr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_reg_mr_iova2(
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: usize,
    base: u64,
    access: c_uint,
) -> *mut ibv_mr {
    pointer("ibv_reg_mr_iova2", || register(pd, address, length, base, access))
}

/// Ends a region: when this returns, the card does not touch the memory any more.
///
/// # Safety
/// None: a pointer that is no region of ours is noticed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_dereg_mr(mr: *mut ibv_mr) -> c_int {
    status("ibv_dereg_mr", || {
        let region = REGIONS.remove(mr)?;
        let registered = lock(&region.inner).take();
        match registered {
            Some(Registered { region, .. }) => Ok(region.deregister().map(drop)?),
            None => Ok(()),
        }
    })
}

/// Registers a region again, with another domain, other memory or other rights, under the keys it has.
///
/// # Safety
/// As [`ibv_reg_mr`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_rereg_mr(
    mr: *mut ibv_mr,
    flags: c_int,
    pd: *mut ibv_pd,
    address: *mut c_void,
    length: usize,
    access: c_int,
) -> c_int {
    let mut code = ibv_rereg_mr_err_code::IBV_REREG_MR_ERR_INPUT;
    let done = number("ibv_rereg_mr", || {
        let flags = flags.cast_unsigned();
        let has = |flag: ibv_rereg_mr_flags| flags & flag.0 != 0;
        if flags == 0 || flags & !ibv_rereg_mr_flags::IBV_REREG_MR_FLAGS_SUPPORTED.0 != 0 {
            return Err(invalid("nothing to change, or something that there is not"));
        }
        let region = REGIONS.find(mr)?;
        let mut inner = lock(&region.inner);
        let now = inner.as_ref().ok_or(GONE)?;
        let changes_domain = has(ibv_rereg_mr_flags::IBV_REREG_MR_CHANGE_PD);
        let domain = if changes_domain { DOMAINS.find(pd)? } else { Arc::clone(&now.domain) };
        let changes_access = has(ibv_rereg_mr_flags::IBV_REREG_MR_CHANGE_ACCESS);
        let access = if changes_access { access.cast_unsigned() } else { now.access };
        let (address, length) = if has(ibv_rereg_mr_flags::IBV_REREG_MR_CHANGE_TRANSLATION) {
            (address, length)
        } else {
            // SAFETY: the shell of a region that is in the table.
            unsafe { ((*mr).addr, (*mr).length) }
        };
        let (memory, range) = lend(address, length, access)?;
        let builder = describe(&domain, access, &range, address.addr() as u64)?;
        let domain = Held::new(domain)?;
        // From here on the region that was is gone, whatever happens.
        code = ibv_rereg_mr_err_code::IBV_REREG_MR_ERR_CMD;
        let old = inner.take().ok_or(GONE)?;
        let region = builder.register_again(old.region, memory)?;
        let face = domain.face();
        REGIONS.show(mr, |shell| show(shell, face, address, length, &region))?;
        *inner = Some(Registered { region, domain, access });
        Ok(0)
    });
    if done == 0 { 0 } else { code }
}

const GONE: Failure =
    Failure::Call { errno: libc::EINVAL, why: "the region could not be registered again before" };
