//! Lists of pointers that programs are given, and give back.

#![expect(unsafe_code, reason = "pointers of C programs")]

use std::{collections::BTreeMap, ptr, sync::Mutex};

use crate::lock;

/// Lists that were given out, with their lengths.
static LENT: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// Gives a list out.
pub(crate) fn lend<T>(list: Vec<*mut T>) -> *mut *mut T {
    let list = Box::leak(list.into_boxed_slice());
    lock(&LENT).insert(list.as_ptr().addr(), list.len());
    list.as_mut_ptr()
}

/// Ends one; a pointer that is none of ours is left alone.
///
/// # Safety
/// Nobody uses the list any more.
pub(crate) unsafe fn end<T>(list: *mut *mut T) {
    let len = lock(&LENT).remove(&list.addr());
    if let Some(len) = len {
        // SAFETY: a list of ours with so many entries, taken from the table once; all of them are of pointers, which are alike.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(list, len)) });
    }
}
