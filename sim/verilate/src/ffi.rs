//! The C edge, and the only unsafe code of the crate: one Verilated instance behind a safe face.

#![expect(unsafe_code, reason = "a Verilated model is C++: its functions and its port memory are foreign")]

use crate::Error;
use crate::compile::SYMBOL;
use crate::manifest::{Direction, Port};
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::slice;

/// `STROMA_INTERFACE` of `shim/api.h`.
const INTERFACE: u32 = 4;

/// `StromaPort` of `shim/api.h`.
#[repr(C)]
struct RawPort {
    name: *const c_char,
    width: u32,
    direction: u32,
}

/// `StromaVariable` of `shim/api.h`.
#[repr(C)]
struct RawVariable {
    name: *const c_char,
    bytes: u32,
}

/// The function table of a model: `StromaApi` of `shim/api.h`.
#[repr(C)]
struct Api {
    interface: u32,
    port_count: u32,
    ports: *const RawPort,
    create: unsafe extern "C" fn(u64) -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    bind: unsafe extern "C" fn(*mut c_void, *mut *mut c_void),
    touch: unsafe extern "C" fn(*mut c_void, u32),
    eval: unsafe extern "C" fn(*mut c_void, bool) -> *const c_char,
    set_time: unsafe extern "C" fn(*mut c_void, u64),
    trace_open: unsafe extern "C" fn(*mut c_void, *const c_char) -> bool,
    gate: unsafe extern "C" fn(*mut c_void, bool),
    variable_count: u32,
    variables: *const RawVariable,
    locate: unsafe extern "C" fn(*mut c_void, *mut *const c_void),
}

/// The one symbol a model exports.
type Entry = unsafe extern "C" fn() -> *const Api;

/// A model's table, known to be sound to call.
#[derive(Clone, Copy)]
pub(crate) struct Table(&'static Api);

impl Table {
    /// Loads a shared object that [`crate::compile`] made.
    pub(crate) fn load(path: &Path) -> Result<Self, Error> {
        let error = |source| Error::Load { path: path.to_owned(), source };
        // SAFETY: the file comes out of our cache, compiled from Verilator's output and our shim; its
        // initialisers are those of the C++ runtime and have no preconditions.
        let library = unsafe { libloading::Library::new(path) }.map_err(error)?;
        // SAFETY: the shim defines this symbol with exactly this type.
        let entry = unsafe { library.get::<Entry>(SYMBOL) }.map_err(error).map(|symbol| *symbol)?;
        // Never unloaded: the C++ runtime keeps thread-local destructors inside the object.
        std::mem::forget(library);
        // SAFETY: the shim's function, whose code stays mapped for ever; it returns the address of a constant.
        let api = unsafe { &*entry() };
        if api.interface != INTERFACE {
            return Err(Error::Interface { found: api.interface, wanted: INTERFACE });
        }
        Ok(Self(api))
    }

    /// The ports, in the order of the manifest.
    pub(crate) fn ports(self) -> Vec<Port> {
        let Api { ports, port_count, .. } = *self.0;
        // SAFETY: the shim's array has `port_count` rows and is constant.
        let rows = unsafe { slice::from_raw_parts(ports, port_count as usize) };
        let port = |row: &RawPort| Port {
            // SAFETY: each name is a string literal of the shim.
            name: unsafe { CStr::from_ptr(row.name) }.to_string_lossy().into_owned(),
            direction: [Direction::In, Direction::Out, Direction::Clock][row.direction as usize],
            width: row.width,
        };
        rows.iter().map(port).collect()
    }
}

/// Where a port's value lives. Verilator keeps 1, 2, 4 or 8 bytes, or an array of 32-bit words.
#[derive(Clone, Copy)]
enum Memory {
    U8(NonNull<u8>),
    U16(NonNull<u16>),
    U32(NonNull<u32>),
    U64(NonNull<u64>),
    Words(NonNull<u32>, usize),
}

/// One running model with its own Verilator context.
pub(crate) struct Instance {
    table: Table,
    handle: NonNull<c_void>,
    memory: Vec<Memory>,
}

// SAFETY: an instance has its own context and shares with others only the runtime, whose shared parts
// are locked or thread-local; its one unlocked global, the context to fall back on, is never used because
// the shim sets the thread's own on each call. `&mut` keeps calls from overlapping.
unsafe impl Send for Instance {}

impl Instance {
    /// Makes a model; `seed` 0 starts all state at zero.
    pub(crate) fn new(table: Table, seed: u64) -> Self {
        // SAFETY: `create` takes any seed.
        let handle = unsafe { (table.0.create)(seed) };
        let handle = NonNull::new(handle).expect("the shim never returns null");
        let ports = table.ports();
        let mut addresses = vec![std::ptr::null_mut::<c_void>(); ports.len()];
        // SAFETY: `bind` writes one address for each of the `port_count` ports.
        unsafe { (table.0.bind)(handle.as_ptr(), addresses.as_mut_ptr()) };
        let memory = ports.iter().zip(addresses).map(|(port, address)| {
            let address = NonNull::new(address).expect("a port is a member of the model");
            match port.width {
                0..=8 => Memory::U8(address.cast()),
                9..=16 => Memory::U16(address.cast()),
                17..=32 => Memory::U32(address.cast()),
                33..=64 => Memory::U64(address.cast()),
                wide => Memory::Words(address.cast(), wide.div_ceil(32) as usize),
            }
        });
        Self { table, handle, memory: memory.collect() }
    }

    /// The lowest 64 bits of a port.
    #[inline]
    pub(crate) fn get(&self, port: usize) -> u64 {
        // SAFETY: each address is a live, aligned member of the model with the size asserted by the
        // shim; the model does not run while `&self` is held.
        unsafe {
            match self.memory[port] {
                Memory::U8(value) => value.read().into(),
                Memory::U16(value) => value.read().into(),
                Memory::U32(value) => value.read().into(),
                Memory::U64(value) => value.read(),
                Memory::Words(value, _) => u64::from(value.read()) | u64::from(value.add(1).read()) << 32,
            }
        }
    }

    /// Writes a port of up to 64 bits, or the lowest 64 of a wider one (the rest becomes zero).
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the caller checked that the value fits the port")]
    pub(crate) fn set(&mut self, port: usize, value: u64) {
        // SAFETY: as for `get`; `&mut self` makes this the only access.
        unsafe {
            match self.memory[port] {
                Memory::U8(at) => at.write(value as u8),
                Memory::U16(at) => at.write(value as u16),
                Memory::U32(at) => at.write(value as u32),
                Memory::U64(at) => at.write(value),
                Memory::Words(at, count) => {
                    let words = slice::from_raw_parts_mut(at.as_ptr(), count);
                    words.fill(0);
                    words[0] = value as u32;
                    words[1] = (value >> 32) as u32;
                }
            }
        }
    }

    /// The memory of a port wider than 64 bits, lowest word first; `None` for a narrower one.
    #[inline]
    pub(crate) fn words(&self, port: usize) -> Option<&[u32]> {
        let Memory::Words(at, count) = self.memory[port] else { return None };
        // SAFETY: as for `get`; the borrow keeps the model from running while the slice lives.
        Some(unsafe { slice::from_raw_parts(at.as_ptr(), count) })
    }

    /// As [`Instance::words`], to write.
    #[inline]
    pub(crate) fn words_mut(&mut self, port: usize) -> Option<&mut [u32]> {
        let Memory::Words(at, count) = self.memory[port] else { return None };
        // SAFETY: as for `words`, and `&mut self` makes this the only access.
        Some(unsafe { slice::from_raw_parts_mut(at.as_ptr(), count) })
    }

    /// An input other than a clock has been written.
    #[inline]
    pub(crate) fn touch(&mut self, port: u32) {
        // SAFETY: the handle lives until drop; every index of a port is one of the shim's table.
        unsafe { (self.table.0.touch)(self.handle.as_ptr(), port) }
    }

    /// Evaluates the model; the text says why it stopped. Logic between inputs and registers is evaluated only when
    /// `inputs_moved`: an input other than a clock has changed since the last call.
    #[inline]
    pub(crate) fn eval(&mut self, inputs_moved: bool) -> Result<(), String> {
        // SAFETY: the handle lives until drop; the shim lets no exception out.
        let stopped = unsafe { (self.table.0.eval)(self.handle.as_ptr(), inputs_moved) };
        if stopped.is_null() {
            return Ok(());
        }
        // SAFETY: a terminated string owned by the model, copied before the next call.
        Err(unsafe { CStr::from_ptr(stopped) }.to_string_lossy().into_owned())
    }

    /// Moves the model's clock of `$time` and of its waves.
    #[inline]
    pub(crate) fn set_time(&mut self, time: u64) {
        // SAFETY: the handle lives until drop.
        unsafe { (self.table.0.set_time)(self.handle.as_ptr(), time) }
    }

    /// With false, every clock domain has every edge of its clock.
    pub(crate) fn gate(&mut self, gates: bool) {
        // SAFETY: the handle lives until drop.
        unsafe { (self.table.0.gate)(self.handle.as_ptr(), gates) }
    }

    /// Every variable of the design, by name, with its bytes.
    pub(crate) fn variables(&self) -> Vec<(String, Vec<u8>)> {
        let Api { variables, variable_count, locate, .. } = *self.table.0;
        // SAFETY: the shim's array has `variable_count` rows and is constant.
        let rows = unsafe { slice::from_raw_parts(variables, variable_count as usize) };
        let mut addresses = vec![std::ptr::null::<c_void>(); rows.len()];
        // SAFETY: `locate` writes one address for each row.
        unsafe { locate(self.handle.as_ptr(), addresses.as_mut_ptr()) };
        let variable = |(row, address): (&RawVariable, *const c_void)| {
            // SAFETY: each name is a string literal of the shim.
            let name = unsafe { CStr::from_ptr(row.name) }.to_string_lossy().into_owned();
            // SAFETY: a live member of the model of this size, which is plain data without padding; the model does not run
            // while `&self` is held.
            let bytes = unsafe { slice::from_raw_parts(address.cast::<u8>(), row.bytes as usize) };
            (name, bytes.to_vec())
        };
        rows.iter().zip(addresses).map(variable).collect()
    }

    /// Starts writing waves; false when the model cannot, or the file cannot be opened.
    pub(crate) fn trace_open(&mut self, path: &Path) -> bool {
        let Ok(path) = CString::new(path.as_os_str().as_encoded_bytes()) else { return false };
        // SAFETY: the handle lives until drop; the string is terminated and copied by the callee.
        unsafe { (self.table.0.trace_open)(self.handle.as_ptr(), path.as_ptr()) }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the handle came from `create`, is destroyed once, and no port address is used after.
        unsafe { (self.table.0.destroy)(self.handle.as_ptr()) }
    }
}
