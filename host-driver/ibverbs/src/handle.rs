//! Handles: what a C program holds in its hand, and what stands behind it.
//!
//! libibverbs gives out pointers to structures, which programs read. Here such a structure is a shell: it shows numbers and other
//! shells, and nothing in it is ever trusted. What stands behind it is found by the shell's address, so that a pointer that
//! is none of ours, or was destroyed, is noticed before anything is read through it.

use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    ptr::NonNull,
    sync::{Arc, PoisonError},
};

use crate::{
    failure::{Failure, Outcome, invalid},
    lock,
    sync::{Mutex, RwLock},
};

/// Shells of destroyed objects that stay readable, of each kind: `ibv_post_send` and others read a field of the shell in the program
/// itself, before they come here, and a program that uses what it destroyed is to be told, not to crash.
const KEPT: usize = 1024;

/// Whether a pointer may be read is up to who gave it; that it is there is looked at here.
pub(crate) fn given<T>(pointer: *const T) -> Outcome<*const T> {
    if pointer.is_null() { Err(invalid("a null pointer")) } else { Ok(pointer) }
}

/// A structure that programs see.
pub(crate) trait Shell {
    /// Where the part begins that programs are given a pointer to.
    const FACE: usize = 0;
}

/// A shell on the heap. Its place is fixed, for programs point to it.
struct Place<S>(NonNull<S>);

// SAFETY: a shell is plain data; the pointers in it are for programs, and nobody follows them here.
#[expect(unsafe_code, reason = "shells hold pointers for programs")]
unsafe impl<S> Send for Place<S> {}

impl<S> Drop for Place<S> {
    #[expect(unsafe_code, reason = "a shell lives at a fixed place")]
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box, and this is the only one that gives it back.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// A shell, and what stands behind it.
type Entry<S, T> = (Mutex<Place<S>>, Arc<T>);

/// All objects of one kind, by the addresses of their shells.
pub(crate) struct Table<S, T> {
    live: RwLock<BTreeMap<usize, Entry<S, T>>>,
    dead: Mutex<VecDeque<Place<S>>>,
    unknown: &'static str,
}

impl<S: Shell, T: Parent> Table<S, T> {
    /// A table of none; `unknown` says what is wrong with a pointer that is not in it.
    pub(crate) const fn new(unknown: &'static str) -> Self {
        Self { live: RwLock::new(BTreeMap::new()), dead: Mutex::new(VecDeque::new()), unknown }
    }

    /// Gives an object its shell. `object` is told where the shell's face is.
    pub(crate) fn add<F>(&self, shell: S, object: impl FnOnce(usize) -> Arc<T>) -> *mut F {
        let place = Place(NonNull::from(Box::leak(Box::new(shell))));
        let face = place.0.as_ptr().cast::<u8>().wrapping_add(S::FACE);
        // Pointers to the shell are made of its address again, see `Context::face`.
        let address = face.expose_provenance();
        let object = object(address);
        self.live
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(address, (Mutex::new(place), object));
        face.cast()
    }

    /// The object behind a shell.
    pub(crate) fn find<F>(&self, face: *const F) -> Outcome<Arc<T>> {
        self.at(face.addr())
    }

    /// The object whose shell's face is at an address.
    pub(crate) fn at(&self, face: usize) -> Outcome<Arc<T>> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.get(&face).map(|(_, object)| Arc::clone(object)).ok_or(invalid(self.unknown))
    }

    /// Changes what a shell shows.
    #[expect(unsafe_code, reason = "programs read the shell meanwhile")]
    pub(crate) fn show<F>(&self, face: *const F, change: impl FnOnce(&mut S)) -> Outcome<()> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let (place, _) = live.get(&face.addr()).ok_or(invalid(self.unknown))?;
        let mut place = lock(place);
        // SAFETY: the shell lives while its place does, which is locked. That the program reads at the same time is its own
        // affair: libibverbs asks it not to use an object while it changes it.
        change(unsafe { place.0.as_mut() });
        Ok(())
    }

    /// Lets nobody stand on an object any more, if nothing does: its end begins.
    pub(crate) fn close<F>(&self, face: *const F) -> Outcome<Arc<T>> {
        let object = self.find(face)?;
        object.users().close()?;
        Ok(object)
    }

    /// Ends the handle, if nothing uses the object. The shell can be read for a while yet.
    pub(crate) fn remove<F>(&self, face: *const F) -> Outcome<Arc<T>> {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        let (_, object) = live.get(&face.addr()).ok_or(invalid(self.unknown))?;
        object.users().close()?;
        let (place, object) = live.remove(&face.addr()).ok_or(invalid(self.unknown))?;
        drop(live);
        self.keep(place);
        Ok(object)
    }

    /// Ends the handles of all objects that are somebody's who is gone, whatever stands on them; those that do go first.
    pub(crate) fn purge(&self, is_his: impl Fn(&T) -> bool) {
        let all: Vec<(usize, Arc<T>)> = {
            let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
            live.iter().map(|(face, (_, object))| (*face, Arc::clone(object))).collect()
        };
        // Outside the lock: who asks an object may have to wait for one that holds it and looks here, and an end takes as long as the
        // card does.
        for (face, object) in all.into_iter().filter(|(_, object)| is_his(object)) {
            let entry = self.live.write().unwrap_or_else(PoisonError::into_inner).remove(&face);
            if let Some((place, _)) = entry {
                self.keep(place);
            }
            drop(object);
        }
    }

    fn keep(&self, place: Mutex<Place<S>>) {
        let mut dead = lock(&self.dead);
        dead.push_back(place.into_inner().unwrap_or_else(PoisonError::into_inner));
        if dead.len() > KEPT {
            dead.pop_front();
        }
    }
}

/// What others may stand on.
pub(crate) trait Parent {
    /// Who does.
    fn users(&self) -> &Users;
}

/// How many stand on an object, and whether any more may.
#[derive(Debug, Default)]
pub(crate) struct Users {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    count: usize,
    is_closed: bool,
}

impl Users {
    fn enter(&self) -> Outcome<()> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(invalid("it is just being destroyed"));
        }
        state.count += 1;
        Ok(())
    }

    fn leave(&self) {
        lock(&self.state).count -= 1;
    }

    /// Lets nobody in any more, if there is none.
    fn close(&self) -> Outcome<()> {
        let mut state = lock(&self.state);
        if state.count > 0 {
            return Err(Failure::Call { errno: libc::EBUSY, why: "others still use it" });
        }
        state.is_closed = true;
        Ok(())
    }
}

/// A share of an object that it cannot be destroyed under.
#[derive(Debug)]
pub(crate) struct Held<T: Parent>(Arc<T>);

impl<T: Parent> Held<T> {
    pub(crate) fn new(parent: Arc<T>) -> Outcome<Self> {
        parent.users().enter()?;
        Ok(Self(parent))
    }
}

impl<T: Parent> std::ops::Deref for Held<T> {
    type Target = Arc<T>;

    fn deref(&self) -> &Arc<T> {
        &self.0
    }
}

impl<T: Parent> Drop for Held<T> {
    fn drop(&mut self) {
        self.0.users().leave();
    }
}

/// A structure of C as it is before anything is known of it.
#[expect(unsafe_code, reason = "structures of C may be all zeroes")]
pub(crate) fn zeroed<S>() -> S {
    const { assert!(!mem::needs_drop::<S>(), "a structure of C") };
    // SAFETY: the structures of libibverbs consist of numbers, pointers, arrays of them, and functions that may be absent: all of
    // them may be zero.
    unsafe { mem::zeroed() }
}
