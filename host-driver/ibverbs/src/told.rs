//! Words on standard error, from within somebody else's program.
//!
//! A program in C ends of SIGPIPE when it writes to a pipe that nobody reads. That is its own affair when it writes, and not when this
//! library does.

#![expect(unsafe_code, reason = "signals of a thread")]

use std::{mem::MaybeUninit, panic, ptr, sync::Once};

/// Tells a line; one that cannot be written is lost.
pub(crate) fn tell(line: &str) {
    without_signal(|| stroma_local::tell(line));
}

/// Lets panics of this library, which are caught, tell of themselves in the same way.
pub(crate) fn guard() {
    static GUARD: Once = Once::new();
    GUARD.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| without_signal(|| usual(panic))));
    });
}

/// Does something during which this thread gets no SIGPIPE. The system sends one to the thread that writes, at once; it is taken
/// back unless another one waited before.
fn without_signal(act: impl FnOnce()) {
    let [mut pipe, mut before, mut waiting] = [MaybeUninit::<libc::sigset_t>::uninit(); 3];
    // SAFETY: each call gets places for what it writes, and sets that another has made. None of them fails with a signal that there is.
    let had_one = unsafe {
        libc::sigemptyset(pipe.as_mut_ptr());
        libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, pipe.as_ptr(), before.as_mut_ptr());
        libc::sigpending(waiting.as_mut_ptr());
        libc::sigismember(waiting.as_ptr(), libc::SIGPIPE) == 1
    };
    act();
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: sets that were made above; nobody wants to know more about the signal.
    unsafe {
        if !had_one {
            libc::sigtimedwait(pipe.as_ptr(), ptr::null_mut(), &raw const now);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
    }
}

#[cfg(test)]
mod tests {
    use std::{env, io, process::Command};

    use super::*;
    use crate::failure::status;

    #[test]
    fn a_program_goes_on_when_nobody_reads_what_this_library_tells() {
        const ALONE: &str = "STROMA_TEST_ALONE";
        if env::var_os(ALONE).is_some() {
            // SAFETY: what the signal does in programs of C. Programs of Rust ignore it.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
            tell("nobody reads this");
            assert_eq!(status("a call", || panic!("a fault")), libc::EIO);
            return;
        }
        let test = "told::tests::a_program_goes_on_when_nobody_reads_what_this_library_tells";
        let (unread, errors) = io::pipe().unwrap();
        drop(unread);
        let mut command = Command::new(env::current_exe().unwrap());
        command.args([test, "--exact", "--nocapture"]).env(ALONE, "1").env("STROMA_DEBUG", "1");
        let ended = command.stderr(errors).output().unwrap();
        assert!(ended.status.success(), "{:?}", ended.status);
        assert!(String::from_utf8_lossy(&ended.stdout).contains("1 passed"), "there is no test {test}");
    }
}
