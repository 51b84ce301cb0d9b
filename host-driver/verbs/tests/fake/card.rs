//! The fake card's registers: what stores do, and when.

use std::{
    os::fd::BorrowedFd,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use stroma_abi::{
    desc::CommandStatus,
    regs::{
        Block, Reg,
        map::{
            DOORBELL_PAGE, PUSH_WINDOW, capabilities as caps,
            doorbells::{COMPLETION, PUSH, PUSH_COMMIT, RECEIVE, SEND},
            events, identity, mailbox,
        },
    },
};
use stroma_device::{Backend, BarId, DmaMemory, Identity, Iova, Place, Result, Wake, mock::Mock, part};

use super::engine::Engine;

/// A lazy card looks so often whether there is something to do while the driver waits for an interrupt.
const SLICE: Duration = Duration::from_millis(1);
/// How large the card is.
const SIZES: [(&Reg, u32); 8] = [
    (&caps::QUEUE_PAIRS, 8),
    (&caps::COMPLETION_QUEUES, 8),
    (&caps::MEMORY_REGIONS, 8),
    (&caps::DOORBELL_PAGES, PAGES),
    (&caps::LIMITS, 0x100c_1008),
    (&caps::FEATURES, 1 << 5 | 1 << 2),
    (&caps::ADDRESS_HANDLES, 8),
    (&caps::DATA_BITS, 64),
];
const PAGES: u32 = 3;

/// A card that carries out local requests: at once, at the doorbell, or lazily, when the driver is idle.
pub(crate) struct Fake {
    mock: Mock,
    engine: Mutex<Engine>,
    is_lazy: bool,
    /// Where others would find it.
    place: Option<PathBuf>,
}

impl Fake {
    pub(crate) fn eager() -> Arc<Self> {
        Arc::new(Self::new(false))
    }

    /// One that is served at a socket, as far as its driver can tell.
    pub(crate) fn at(place: PathBuf) -> Arc<Self> {
        Arc::new(Self { place: Some(place), ..Self::new(false) })
    }

    pub(crate) fn lazy() -> Arc<Self> {
        Arc::new(Self::new(true))
    }

    fn new(is_lazy: bool) -> Self {
        let mock = Mock::card();
        mock.resize(BarId::Bar2, PAGES as usize * DOORBELL_PAGE);
        for (reg, value) in SIZES {
            mock.poke32(BarId::Bar0, caps::BLOCK.address(reg), value);
        }
        Self { mock, engine: Mutex::default(), is_lazy, place: None }
    }

    pub(crate) fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn mock(&self) -> &Mock {
        &self.mock
    }

    /// Refuses the next command.
    pub(crate) fn refuse(&self, status: CommandStatus, field: usize) {
        self.engine().refusal = Some((status, u16::try_from(field).unwrap()));
    }

    fn work(&self) {
        self.engine().run(&self.mock);
    }

    fn doorbell(&self, offset: usize, value: u64) {
        let mut engine = self.engine();
        let page = u16::try_from(offset / DOORBELL_PAGE).unwrap();
        match offset % DOORBELL_PAGE {
            at if at == SEND.offset => {
                let queue_pair = part(&SEND, "queue_pair", value);
                engine.send_doorbell(page, queue_pair, part(&SEND, "producer", value));
                engine.doorbells += 1;
            }
            at if at == RECEIVE.offset => {
                let queue_pair = part(&RECEIVE, "queue_pair", value);
                engine.receive_doorbell(page, queue_pair, part(&RECEIVE, "producer", value));
            }
            at if at == COMPLETION.offset => {
                let (queue, consumer) =
                    (part(&COMPLETION, "queue", value), part(&COMPLETION, "consumer", value));
                engine.cq_doorbell(&self.mock, page, queue, consumer, part(&COMPLETION, "arm", value));
            }
            at if at == PUSH_COMMIT.offset => {
                let field = |name| part::<u32>(&PUSH_COMMIT, name, value);
                engine.commit(
                    page,
                    field("queue_pair"),
                    part(&PUSH_COMMIT, "index", value),
                    field("units") as usize,
                    field("window") as usize,
                );
            }
            at if at >= PUSH.offset => {
                let place = at - PUSH.offset;
                let word = place % PUSH_WINDOW / 8;
                engine.windows.entry((page, place / PUSH_WINDOW)).or_default().insert(word, value);
            }
            at => panic!("no doorbell at {at:#x}"),
        }
    }

    fn register(&self, offset: usize, value: u32) {
        let is = |block: &Block, reg: &Reg| offset == block.address(reg);
        let mut engine = self.engine();
        if is(&mailbox::BLOCK, &mailbox::GO) {
            engine.command(&self.mock);
        } else if is(&identity::BLOCK, &identity::CONTROL) {
            *engine = Engine { refusal: engine.refusal, is_deaf: engine.is_deaf, ..Engine::default() };
        } else if is(&events::BLOCK, &events::CONFIG) {
            let base = self.mock.read64(BarId::Bar0, events::BLOCK.address(&events::BASE)).unwrap();
            engine.events.configure(value, base);
        } else if is(&events::BLOCK, &events::CONSUMER) {
            engine.events.consume(&self.mock, value);
        } else if is(&events::BLOCK, &events::OVERFLOW) {
            self.mock.poke32(BarId::Bar0, offset, 0);
        }
    }
}

impl Backend for Fake {
    fn identity(&self) -> &Identity {
        self.mock.identity()
    }

    fn place(&self) -> Option<Place<'_>> {
        self.place.as_deref().map(Place::Socket)
    }

    fn bar_len(&self, bar: BarId) -> usize {
        self.mock.bar_len(bar)
    }

    fn read32(&self, bar: BarId, offset: usize) -> Result<u32> {
        self.mock.read32(bar, offset)
    }

    fn read64(&self, bar: BarId, offset: usize) -> Result<u64> {
        self.mock.read64(bar, offset)
    }

    fn write32(&self, bar: BarId, offset: usize, value: u32) -> Result<()> {
        self.mock.write32(bar, offset, value)?;
        assert_eq!(bar, BarId::Bar0, "doorbells are stores of 64 bits");
        self.register(offset, value);
        Ok(())
    }

    fn write64(&self, bar: BarId, offset: usize, value: u64) -> Result<()> {
        self.mock.write64(bar, offset, value)?;
        if bar == BarId::Bar2 {
            self.doorbell(offset, value);
            if !self.is_lazy {
                self.work();
            }
        }
        Ok(())
    }

    fn map(&self, iova: Iova, memory: &Arc<DmaMemory>) -> Result<()> {
        self.mock.map(iova, memory)
    }

    fn unmap(&self, iova: Iova) -> Result<()> {
        self.mock.unmap(iova)
    }

    fn vectors(&self) -> usize {
        self.mock.vectors()
    }

    fn wait(&self, vector: usize, timeout: Duration) -> Result<Wake> {
        let start = Instant::now();
        loop {
            self.work();
            let left = timeout.saturating_sub(start.elapsed());
            if self.mock.wait(vector, left.min(SLICE))? == Wake::Fired {
                return Ok(Wake::Fired);
            }
            if left.is_zero() {
                return Ok(Wake::TimedOut);
            }
        }
    }

    fn event_fd(&self, vector: usize) -> Option<BorrowedFd<'_>> {
        self.mock.event_fd(vector)
    }

    fn reset(&self) -> Result<()> {
        self.mock.reset()
    }

    fn idle(&self) {
        self.work();
    }
}
