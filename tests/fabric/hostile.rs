//! Clients that keep to no rule: what they say is drawn at random from what could do harm, the same each time.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use stroma_verilate::SplitMix64;
use stroma_vfio_user::body::{
    ACTION_TRIGGER, DATA_DESCRIPTORS, DmaMap, DmaUnmap, READ, RegionAccess, SetInterrupts, UNMAP_ALL, WRITE,
    interrupt, region,
};
use stroma_vfio_user::message::{Command, DATA_MAX, DESCRIPTORS_MAX, Header, MESSAGE_MAX};
use stroma_vfio_user::socket::{Error, Socket};
use stroma_vfio_user::version;

/// How long an answer is waited for. A request may have made the server close the connection, which is an answer, too.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long somebody is waited for who may not listen at all.
const MOMENT: Duration = Duration::from_millis(20);
/// Connections that are held open at the same time.
const CROWD: usize = 100;
const PAGE: u64 = 4096;
/// Memory, and bus master: without it the card does no DMA.
const ENABLED: [u8; 2] = 6_u16.to_le_bytes();
const COMMAND_AT: u64 = 4;

/// What became of it.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) connections: usize,
    pub(crate) answers: usize,
    pub(crate) refusals: usize,
    pub(crate) endings: usize,
}

/// Somebody who has it in for a card.
pub(crate) struct Attacker {
    socket: PathBuf,
    random: SplitMix64,
    pub(crate) tally: Tally,
}

type Outcome = Result<(), Error>;

impl Attacker {
    pub(crate) fn new(socket: &Path, seed: u64) -> Self {
        Self { socket: socket.to_owned(), random: SplitMix64::new(seed), tally: Tally::default() }
    }

    /// So many attacks of each kind, one after the other.
    pub(crate) fn attack(&mut self, rounds: usize) {
        const ACTS: [fn(&mut Attacker) -> Outcome; 10] = [
            Attacker::garbage,
            Attacker::cut,
            Attacker::sizes,
            Attacker::crowded_message,
            Attacker::strange_descriptors,
            Attacker::maps,
            Attacker::accesses,
            Attacker::interrupts,
            Attacker::deaf,
            Attacker::resets,
        ];
        for _ in 0..rounds {
            for act in ACTS {
                // That the server has had enough of it is what it should.
                if act(self).is_err() {
                    self.tally.endings += 1;
                }
            }
        }
    }

    /// Many connections at a time, half of which say something.
    pub(crate) fn crowd(&mut self) {
        let crowd: Vec<UnixStream> = (0..CROWD).filter_map(|_| self.connect().ok()).collect();
        for mut stream in crowd.iter().step_by(2) {
            // It may have been closed already.
            let _ = stream.write_all(&Header::request(0, Command::Version, DATA_MAX).to_bytes());
        }
        thread::sleep(MOMENT);
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.random.next_u64().to_le_bytes()[0]).collect()
    }

    /// A number that somebody may have forgotten to think of.
    fn number(&mut self) -> u64 {
        let near = self.below(9).wrapping_sub(4);
        let edge = [0, 1 << 12, 1 << 16, 1 << 31, 1 << 32, 1 << 40, 1 << 63, u64::MAX][self.place(8)];
        match self.below(4) {
            0 => self.random.next_u64(),
            1 => edge / PAGE * PAGE,
            _ => edge.wrapping_add(near),
        }
    }

    fn place(&mut self, count: u64) -> usize {
        usize::try_from(self.below(count)).expect("a small number")
    }

    #[expect(clippy::cast_possible_truncation, reason = "any number will do")]
    fn word(&mut self) -> u32 {
        self.number() as u32
    }

    fn connect(&mut self) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(&self.socket)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        self.tally.connections += 1;
        Ok(stream)
    }

    /// A connection that is past the first message.
    fn settled(&mut self) -> Result<Socket, Error> {
        let socket = Socket::with_patience(self.connect()?, PATIENCE);
        let body = version::ours();
        socket.send(&Header::request(0, Command::Version, body.len()), &[&body], &[])?;
        socket.receive()?;
        Ok(socket)
    }

    /// Asks something, and waits for the answer, whichever it is.
    fn ask(&mut self, socket: &Socket, command: Command, body: &[u8], with: &[BorrowedFd<'_>]) -> Outcome {
        let header = Header::request(7, command, body.len());
        socket.send(&header, &[body], with)?;
        loop {
            let message = socket.receive()?;
            // The server may tell of accesses to what was not shown.
            if message.header.answers(&header) {
                self.tally.answers += 1;
                self.tally.refusals += usize::from(message.header.told().is_some());
                return Ok(());
            }
        }
    }

    /// What is no message at all.
    fn garbage(&mut self) -> Outcome {
        let mut stream = self.connect()?;
        let bytes = self.bytes(300);
        stream.write_all(&bytes)?;
        if self.below(2) == 0 {
            let _ = stream.shutdown(Shutdown::Write);
        }
        Ok(())
    }

    /// A message that ends before its end, in its header or behind it.
    fn cut(&mut self) -> Outcome {
        let mut stream = self.connect()?;
        let version = version::ours();
        let first = [&Header::request(0, Command::Version, version.len()).to_bytes()[..], &version].concat();
        let header = Header::request(1, Command::RegionWrite, 64).to_bytes();
        let bytes = [&first[..], &header, &[0; 64]].concat();
        let len = self.place(bytes.len() as u64);
        stream.write_all(&bytes[..len])?;
        Ok(())
    }

    /// Headers that announce what no message is, or not what follows.
    fn sizes(&mut self) -> Outcome {
        let socket = self.settled()?;
        let size = match self.below(4) {
            0 => u32::try_from(self.below(16)).expect("a small number"),
            1 => u32::try_from(MESSAGE_MAX + 1).expect("a small number"),
            2 => u32::MAX,
            _ => self.word(),
        };
        let command = self.word().to_le_bytes()[0].into();
        let header = Header { id: 1, command, size, flags: self.word(), error: self.word() };
        socket.send(&header, &[&self.bytes(64)], &[])?;
        // It is not said that there is an answer.
        let _ = socket.receive_by(Instant::now() + MOMENT);
        Ok(())
    }

    /// More descriptors than a message may bring.
    fn crowded_message(&mut self) -> Outcome {
        let stream = self.connect()?;
        let file = File::open("/dev/null")?;
        let count = DESCRIPTORS_MAX + 1 + self.place(200);
        let descriptors = vec![file.as_fd(); count];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(253))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)));
        let bytes = Header::request(0, Command::Version, 0).to_bytes();
        sendmsg(&stream, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)
            .map_err(io::Error::from)?;
        Ok(())
    }

    /// Descriptors of all kinds where memory or an event belongs.
    fn strange_descriptors(&mut self) -> Outcome {
        let socket = self.settled()?;
        let (pipe, end) = io::pipe()?;
        let (near, far) = UnixStream::pair()?;
        let strange: Vec<OwnedFd> = vec![
            pipe.into(),
            end.into(),
            near.into(),
            far.into(),
            File::open("/")?.into(),
            File::open("/dev/zero")?.into(),
            File::open("/proc/self/stat")?.into(),
            File::open("/proc/self/mem")?.into(),
            tempfile::tempfile()?.into(),
        ];
        for file in &strange {
            let map = self.map(READ | WRITE, 0, PAGE);
            self.ask(&socket, Command::DmaMap, &map, &[file.as_fd()])?;
            let set = SetInterrupts {
                argsz: 20,
                flags: DATA_DESCRIPTORS | ACTION_TRIGGER,
                index: 2,
                start: 0,
                count: 1,
            };
            self.ask(&socket, Command::SetInterrupts, &set.to_bytes(), &[file.as_fd()])?;
        }
        Ok(())
    }

    fn map(&mut self, flags: u32, offset: u64, size: u64) -> Vec<u8> {
        DmaMap { argsz: 32, flags, offset, address: self.number(), size }.to_bytes()
    }

    /// Mappings of every size at every place, and their ends.
    fn maps(&mut self) -> Outcome {
        let socket = self.settled()?;
        let memory = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).map_err(io::Error::from)?);
        memory.set_len(1 << 44)?;
        for _ in 0..40 {
            if self.below(3) == 0 {
                let flags = [0, UNMAP_ALL, self.word()][self.place(3)];
                let (address, size) = (self.number(), self.number());
                let body = DmaUnmap { argsz: 24, flags, address, size }.to_bytes();
                self.ask(&socket, Command::DmaUnmap, &body, &[])?;
            } else {
                let flags = [READ | WRITE, READ, 0, self.word()][self.place(4)];
                let (offset, size) = (self.number(), self.number());
                let body = self.map(flags, offset, size);
                let with = [memory.as_fd(), memory.as_fd()];
                let count = self.place(3);
                self.ask(&socket, Command::DmaMap, &body, &with[..count])?;
            }
        }
        // What the card reaches then is cut off under it.
        memory.set_len(0)?;
        Ok(())
    }

    /// Accesses of every width at every place of every region, to a card that may do DMA.
    fn accesses(&mut self) -> Outcome {
        let socket = self.settled()?;
        let memory = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).map_err(io::Error::from)?);
        memory.set_len(1 << 20)?;
        let map = DmaMap { argsz: 32, flags: READ | WRITE, offset: 0, address: 0, size: 1 << 20 }.to_bytes();
        self.ask(&socket, Command::DmaMap, &map, &[memory.as_fd()])?;
        let config = u32::try_from(region::CONFIG).expect("a small number");
        let command = RegionAccess { offset: COMMAND_AT, region: config, count: 2 }.to_bytes();
        self.ask(&socket, Command::RegionWrite, &[&command[..], &ENABLED].concat(), &[])?;
        for _ in 0..40 {
            let count = [4, 8, 4, 8, 1, 3, self.word()][self.place(7)];
            let offset = match self.below(4) {
                0 => self.number(),
                1 => self.below(1 << 18),
                _ => self.below(1 << 16) & !7,
            };
            let region = if self.below(8) == 0 { self.word() } else { [0, 0, 2, 4, 7][self.place(5)] };
            let access = RegionAccess { offset, region, count }.to_bytes();
            if self.below(2) == 0 {
                self.ask(&socket, Command::RegionRead, &access, &[])?;
            } else {
                let bytes = self.bytes(8);
                let body = [&access[..], &vec![0; count.min(64) as usize], &bytes].concat();
                // Most of them as long as they say.
                let len = if self.below(4) == 0 { body.len() } else { body.len() - bytes.len() };
                self.ask(&socket, Command::RegionWrite, &body[..len], &[])?;
            }
        }
        Ok(())
    }

    /// Interrupts by descriptors that nobody empties, and that let writers wait.
    fn interrupts(&mut self) -> Outcome {
        let socket = self.settled()?;
        let event = eventfd(0, EventfdFlags::empty()).map_err(io::Error::from)?;
        rustix::io::write(&event, &(u64::MAX - 1).to_ne_bytes()).map_err(io::Error::from)?;
        let msix = u32::try_from(interrupt::MSIX).expect("a small number");
        for _ in 0..10 {
            let index = if self.below(8) == 0 { self.word() } else { msix };
            let with = vec![event.as_fd(); self.place(DESCRIPTORS_MAX as u64 + 1)];
            let count =
                if self.below(4) == 0 { self.word() } else { u32::try_from(with.len()).expect("a few") };
            let start = [0, 16, 31, self.word()][self.place(4)];
            let flags = if self.below(4) == 0 { self.word() } else { DATA_DESCRIPTORS | ACTION_TRIGGER };
            let set = SetInterrupts { argsz: 20, flags, index, start, count };
            self.ask(&socket, Command::SetInterrupts, &set.to_bytes(), &with)?;
        }
        Ok(())
    }

    /// Asks, and never listens.
    fn deaf(&mut self) -> Outcome {
        let mut stream = self.connect()?;
        stream.set_write_timeout(Some(MOMENT))?;
        let version = version::ours();
        stream.write_all(&Header::request(0, Command::Version, version.len()).to_bytes())?;
        stream.write_all(&version)?;
        let config = u32::try_from(region::CONFIG).expect("a small number");
        let read = RegionAccess { offset: 0, region: config, count: 4096 }.to_bytes();
        let question = [&Header::request(1, Command::RegionRead, read.len()).to_bytes()[..], &read].concat();
        // Until neither of us can say anything any more.
        while stream.write_all(&question).is_ok() {}
        self.tally.endings += 1;
        Ok(())
    }

    /// Resets, one after the other, some of which nobody waits for.
    fn resets(&mut self) -> Outcome {
        let socket = self.settled()?;
        for _ in 0..10 {
            socket.send(&Header::posted(2, Command::DeviceReset, 0), &[], &[])?;
            self.ask(&socket, Command::DeviceReset, &[], &[])?;
        }
        Ok(())
    }
}

/// Has it in for the socket where a fabric is asked: connections, and lines that are none, too long, or asked by somebody who does not
/// listen. How many there were.
pub(crate) fn pester(control: &Path, rounds: usize) -> usize {
    let lines: [&[u8]; 7] = [
        b"",
        b"\n\n\n",
        b"{\"request\":\"capture\",\"card\":0}\n",
        b"{\"request\":\"read\",\"card\":18446744073709551615,\"offset\":18446744073709551615,\"width\":9}\n",
        b"{\"request\":\"read\",\"card\":0,\"offset\":18446744073709551612,\"width\":8}\n{\"request\":\"stat",
        b"\xff\xfe\x00{{{{{{{{{{{{[[[[[[[[[[\n",
        &[b'x'; 5000],
    ];
    let mut connections = 0;
    for _ in 0..rounds {
        let held: Vec<UnixStream> = lines
            .iter()
            .filter_map(|line| {
                let mut stream = UnixStream::connect(control).ok()?;
                // It may have been closed already.
                let _ = stream.write_all(line);
                Some(stream)
            })
            .collect();
        connections += held.len();
    }
    connections
}
