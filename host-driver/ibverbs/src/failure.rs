//! How calls fail: by an error number, and in words for who asks.

use std::{any::Any, env, fmt, panic, sync::LazyLock};

use libc::{c_int, c_void};
use stroma_local::PathError;
use stroma_verbs::{CommandStatus, Error};

use crate::told;

/// Set to anything, calls that fail say why on standard error: an error number says little.
const VARIABLE: &str = "STROMA_DEBUG";

static IS_TOLD: LazyLock<bool> = LazyLock::new(|| env::var_os(VARIABLE).is_some());

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The driver, or the card, refused.
    Verbs(Error),
    /// The call itself.
    Call { errno: c_int, why: &'static str },
    /// Another user decides which cards there are.
    Untrusted(PathError),
    /// A fault of this library, which must not end the program.
    Panic(String),
}

/// What a call comes to.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// An argument that makes no sense.
pub(crate) const fn invalid(why: &'static str) -> Failure {
    Failure::Call { errno: libc::EINVAL, why }
}

/// Something that cards do not have.
pub(crate) const fn unsupported(why: &'static str) -> Failure {
    Failure::Call { errno: libc::EOPNOTSUPP, why }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Verbs(error)
    }
}

impl From<stroma_device::Error> for Failure {
    fn from(error: stroma_device::Error) -> Self {
        Self::Verbs(error.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Verbs(error) => error.fmt(out),
            Self::Call { why, .. } => out.write_str(why),
            Self::Untrusted(error) => write!(out, "STROMA_FABRIC: {error}"),
            Self::Panic(text) => write!(out, "a fault of the library: {text}"),
        }
    }
}

impl Failure {
    /// The number by which C knows it.
    pub(crate) fn errno(&self) -> c_int {
        match self {
            Self::Call { errno, .. } => *errno,
            Self::Untrusted(_) => libc::EACCES,
            Self::Panic(_) => libc::EIO,
            Self::Verbs(error) => errno_of(error),
        }
    }
}

fn errno_of(error: &Error) -> c_int {
    match error {
        Error::Device(error) if !error.is_busy() => libc::EIO,
        Error::CommandTimedOut { .. }
        | Error::BadReply { .. }
        | Error::BadCompletion { .. }
        | Error::RawQueue { .. } => libc::EIO,
        Error::Device(_)
        | Error::CommandRefused { status: CommandStatus::InUse, .. }
        | Error::GroupTaken { .. } => libc::EBUSY,
        Error::NoneLeft { .. }
        | Error::NoAddresses { .. }
        | Error::QueueFull { .. }
        | Error::ReceiveQueueFull { .. } => libc::ENOMEM,
        Error::NoNeighbour { .. } => libc::EHOSTUNREACH,
        Error::NoSource { .. } => libc::ENETUNREACH,
        Error::Lacks { .. } => libc::EOPNOTSUPP,
        _ => libc::EINVAL,
    }
}

/// Carries a call out, whatever happens in it.
fn carry_out<T>(name: &str, call: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    told::guard();
    // What a call leaves half done is guarded by locks that each leave what they guard whole.
    let outcome = panic::catch_unwind(panic::AssertUnwindSafe(call));
    let outcome = outcome.unwrap_or_else(|cause| Err(Failure::Panic(words(&*cause))));
    if let Err(failure) = &outcome
        && *IS_TOLD
    {
        told::tell(&format!("stroma: {name}: {failure}"));
    }
    outcome
}

fn words(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<String>().cloned();
    text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

/// A call that answers 0, or an error number, as most of libibverbs do.
pub(crate) fn status(name: &str, call: impl FnOnce() -> Outcome<()>) -> c_int {
    match carry_out(name, call) {
        Ok(()) => 0,
        Err(failure) => {
            set_errno(failure.errno());
            failure.errno()
        }
    }
}

/// A call that answers a number, or -1 and `errno`.
pub(crate) fn number(name: &str, call: impl FnOnce() -> Outcome<c_int>) -> c_int {
    carry_out(name, call).unwrap_or_else(|failure| {
        set_errno(failure.errno());
        -1
    })
}

/// A call that answers a pointer, or a null pointer and `errno`.
pub(crate) fn pointer<T>(name: &str, call: impl FnOnce() -> Outcome<*mut T>) -> *mut T {
    carry_out(name, call).unwrap_or_else(|failure| {
        set_errno(failure.errno());
        std::ptr::null_mut()
    })
}

/// A call that answers nothing.
pub(crate) fn quiet(name: &str, call: impl FnOnce() -> Outcome<()>) {
    // There is nobody to tell, but who set the variable.
    let _ = carry_out(name, call);
}

/// A call that cards do not have, and that answers an error number.
pub(crate) fn refuse(name: &str) -> c_int {
    status(name, || Err(unsupported("cards do not have this")))
}

/// The same, of one that answers a pointer.
pub(crate) fn refuse_pointer(name: &str) -> *mut c_void {
    pointer(name, || Err(unsupported("cards do not have this")))
}

#[expect(unsafe_code, reason = "errno has a place of its own in each thread")]
fn set_errno(value: c_int) {
    // SAFETY: the C library gives each thread a place for its error number, valid while the thread lives.
    unsafe { *libc::__errno_location() = value };
}
