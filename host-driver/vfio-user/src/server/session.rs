//! What one client says, and what is answered.

use std::any::Any;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use super::budget::Budget;
use super::memory::{Files, Refusal, Window};
use super::{Ending, Faults, Function, PATIENCE, Range, VERSION_PATIENCE};
use crate::Errno;
use crate::body::{
    ACTION_TRIGGER, DATA_DESCRIPTORS, DATA_NONE, DeviceInfo, DmaMap, DmaUnmap, EVENT_DESCRIPTORS,
    InterruptInfo, PCI, READ, RESETTABLE, RegionAccess, RegionInfo, SetInterrupts, UNMAP_ALL, WRITE, argsz,
    interrupt, region,
};
use crate::message::{Command, DATA_MAX, Message};
use crate::socket::{self, Socket};
use crate::version;

/// Tells somebody who came too early; his question is waited for as long as his turn was, however slowly it comes. Descriptors that
/// he sends along are not taken: many may wait, and each could bring many.
pub(super) fn refuse(stream: UnixStream, error: Errno) {
    let socket = Socket::without_descriptors(stream, PATIENCE);
    if let Ok(message) = socket.receive_by(Instant::now() + PATIENCE) {
        // Who does not listen is refused all the same.
        let _ = socket.send(&message.header.failure(number(error)), &[], &[]);
    }
}

/// Serves a client until it ends.
pub(super) fn serve(socket: Socket, function: &dyn Function) {
    let (process, socket) = (socket.peer(), Arc::new(socket));
    // What a request that panics leaves half done, `detach` takes away.
    let served = panic::catch_unwind(AssertUnwindSafe(|| {
        let (faults, answered) = Faults::of(&socket);
        function.attach(process, faults);
        Session { function, files: Files::of(process), budget: Budget::default(), answered }.run(&socket)
    }));
    let ending = served.unwrap_or_else(|cause| Ending::Panicked(words(&*cause)));
    // A client that is sent away may hold its end open, and not listen to what is being told.
    socket.close();
    function.detach(&ending);
}

/// What a panic said.
fn words(cause: &(dyn Any + Send)) -> String {
    let text = cause.downcast_ref::<String>().cloned();
    text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}

struct Session<'a> {
    function: &'a dyn Function,
    files: Files,
    budget: Budget,
    /// Where it is said that the client has answered to what it was told.
    answered: SyncSender<()>,
}

/// The body of an answer.
type Answer = Result<Vec<u8>, Errno>;

impl Session<'_> {
    fn run(&mut self, socket: &Socket) -> Ending {
        match self.converse(socket) {
            Ok(ending) => ending,
            Err(socket::Error::Closed | socket::Error::Died) => Ending::Left,
            Err(error) => Ending::Broken(error),
        }
    }

    fn converse(&mut self, socket: &Socket) -> Result<Ending, socket::Error> {
        let first = socket.receive_by(Instant::now() + VERSION_PATIENCE)?;
        let settled = settle(&first);
        answer(socket, &first, &settled)?;
        if settled.is_err() {
            return Ok(Ending::Version);
        }
        loop {
            let mut message = socket.receive()?;
            if message.header.is_reply_to(Command::DmaRead) {
                // Whatever it says: the access has failed. One answer that nobody waits for is as good as many.
                let _ = self.answered.try_send(());
                continue;
            }
            let descriptors = std::mem::take(&mut message.descriptors);
            let outcome = if message.header.is_request() {
                self.obey(&message, descriptors)
            } else {
                Err(Errno::INVAL)
            };
            answer(socket, &message, &outcome)?;
        }
    }

    fn obey(&mut self, message: &Message, descriptors: Vec<OwnedFd>) -> Answer {
        let body = &message.body;
        match Command::of(message.header.command).ok_or(Errno::OPNOTSUPP)? {
            // Once is enough.
            Command::Version => Err(Errno::INVAL),
            // Devices ask that, clients do not.
            Command::DmaRead => Err(Errno::OPNOTSUPP),
            Command::DmaMap => self.map(parsed(DmaMap::parse(body))?.0, descriptors),
            Command::DmaUnmap => self.unmap(parsed(DmaUnmap::parse(body))?.0),
            Command::DeviceInfo => parsed(DeviceInfo::parse(body)).map(|_| device()),
            Command::RegionInfo => self.region(parsed(RegionInfo::parse(body))?.0),
            Command::InterruptInfo => self.interrupt(parsed(InterruptInfo::parse(body))?.0),
            Command::SetInterrupts => self.connect(parsed(SetInterrupts::parse(body))?.0, descriptors),
            Command::RegionRead => self.read(parsed(RegionAccess::parse(body))?.0),
            Command::RegionWrite => {
                let (access, bytes) = parsed(RegionAccess::parse(body))?;
                self.write(access, bytes)
            }
            Command::DeviceReset => self.function.reset().map(|()| Vec::new()),
        }
    }

    fn map(&mut self, map: DmaMap, mut descriptors: Vec<OwnedFd>) -> Answer {
        let known = map.flags & !(READ | WRITE) == 0;
        if !known || map.size == 0 || map.address.checked_add(map.size - 1).is_none() || descriptors.len() > 1
        {
            return Err(Errno::INVAL);
        }
        let lent = descriptors.pop().map(|file| self.window(file, &map)).transpose();
        let window = lent.map_err(|refusal| match refusal {
            Refusal::Error(error) => error,
            Refusal::Beyond(beyond) => {
                self.function.refused(beyond);
                beyond.errno()
            }
        })?;
        let is_counted = window.is_some();
        let range = Range {
            address: map.address,
            size: map.size,
            is_read: map.flags & READ != 0,
            is_written: map.flags & WRITE != 0,
            window,
        };
        self.function.map(range)?;
        if is_counted {
            self.budget.take(map.address, map.size);
        }
        Ok(Vec::new())
    }

    /// The memory that a descriptor stands for, if there is room for it in the budget.
    fn window(&mut self, file: OwnedFd, map: &DmaMap) -> Result<Window, Refusal> {
        self.budget.check(map.size)?;
        self.files.window(file, map.offset, map.size)
    }

    /// A virtual machine takes away what it never gave, and more than there is; so a range may hold nothing, and end where
    /// addresses do.
    fn unmap(&mut self, unmap: DmaUnmap) -> Answer {
        let (first, last) = match unmap.flags {
            0 if unmap.size == 0 => return Ok(unmap.to_bytes()),
            0 => (unmap.address, unmap.address.saturating_add(unmap.size - 1)),
            UNMAP_ALL => (0, u64::MAX),
            _ => return Err(Errno::INVAL),
        };
        self.function.unmap(first, last)?;
        self.budget.give_back(first, last);
        Ok(unmap.to_bytes())
    }

    fn region(&self, asked: RegionInfo) -> Answer {
        let index = index(asked.index, region::COUNT)?;
        let size = self.function.region_len(index);
        let flags = if size > 0 { READ | WRITE } else { 0 };
        let found =
            RegionInfo { argsz: argsz(RegionInfo::LEN), flags, size, capabilities_at: 0, offset: 0, ..asked };
        Ok(found.to_bytes())
    }

    fn interrupt(&self, asked: InterruptInfo) -> Answer {
        let index = index(asked.index, interrupt::COUNT)?;
        let count = u32::try_from(self.function.interrupts(index)).map_err(|_| Errno::RANGE)?;
        let flags = if count > 0 { EVENT_DESCRIPTORS } else { 0 };
        Ok(InterruptInfo { argsz: argsz(InterruptInfo::LEN), flags, count, ..asked }.to_bytes())
    }

    fn connect(&self, set: SetInterrupts, descriptors: Vec<OwnedFd>) -> Answer {
        let index = index(set.index, interrupt::COUNT)?;
        let there = self.function.interrupts(index);
        let (start, count) = (set.start as usize, set.count as usize);
        if start > there || count > there - start || set.flags & ACTION_TRIGGER == 0 {
            return Err(Errno::INVAL);
        }
        let none = |count: usize| (0..count).map(|_| None).collect();
        let events: Vec<Option<OwnedFd>> = match (set.flags & !ACTION_TRIGGER, descriptors.len()) {
            // Nothing at all, of no interrupt: none of them is connected any more.
            (DATA_NONE, 0) if count == 0 => none(there - start),
            (DATA_DESCRIPTORS, 0) => none(count),
            (DATA_DESCRIPTORS, given) if given == count => descriptors.into_iter().map(Some).collect(),
            _ => return Err(Errno::INVAL),
        };
        self.function.connect(index, start, events).map(|()| Vec::new())
    }

    fn read(&self, access: RegionAccess) -> Answer {
        let region = self.within(&access)?;
        let mut bytes = vec![0; access.count as usize];
        self.function.read(region, access.offset, &mut bytes)?;
        Ok([access.to_bytes(), bytes].concat())
    }

    fn write(&self, access: RegionAccess, bytes: &[u8]) -> Answer {
        let region = self.within(&access)?;
        if bytes.len() != access.count as usize {
            return Err(Errno::INVAL);
        }
        self.function.write(region, access.offset, bytes)?;
        Ok(access.to_bytes())
    }

    /// The region of an access that lies within it.
    fn within(&self, access: &RegionAccess) -> Result<usize, Errno> {
        let index = index(access.region, region::COUNT)?;
        let end = access.offset.checked_add(access.count.into()).ok_or(Errno::INVAL)?;
        if access.count as usize > DATA_MAX || end > self.function.region_len(index) {
            return Err(Errno::INVAL);
        }
        Ok(index)
    }
}

/// The answer to the first message, which must tell a version we speak.
fn settle(message: &Message) -> Answer {
    let is_version = message.header.command == Command::Version as u16 && message.header.is_request();
    let (numbers, _) = version::parse(&message.body).filter(|_| is_version).ok_or(Errno::INVAL)?;
    if numbers.major != version::NUMBERS.major {
        return Err(Errno::NOTSUP);
    }
    Ok(version::settled(numbers))
}

fn device() -> Vec<u8> {
    let info = DeviceInfo {
        argsz: argsz(DeviceInfo::LEN),
        flags: RESETTABLE | PCI,
        regions: argsz(region::COUNT),
        interrupts: argsz(interrupt::COUNT),
    };
    info.to_bytes()
}

fn answer(socket: &Socket, message: &Message, outcome: &Answer) -> Result<(), socket::Error> {
    match outcome {
        _ if message.header.is_posted() => Ok(()),
        Ok(body) => socket.send(&message.header.reply(body.len()), &[body], &[]),
        Err(error) => socket.send(&message.header.failure(number(*error)), &[], &[]),
    }
}

fn parsed<T>(found: Option<T>) -> Result<T, Errno> {
    found.ok_or(Errno::INVAL)
}

fn index(asked: u32, count: usize) -> Result<usize, Errno> {
    usize::try_from(asked).ok().filter(|index| *index < count).ok_or(Errno::INVAL)
}

fn number(error: Errno) -> u32 {
    u32::try_from(error.raw_os_error()).unwrap_or_default()
}
