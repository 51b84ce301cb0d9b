//! Who takes part: the guest with one card, this process with the other, and what they do with each other.

use anyhow::{Context, Result, ensure};
use stroma_party::Client;

use crate::guest::Guest;

/// An ordinary user of the guest, and how much memory it may lock: enough for all it registers.
pub(crate) const USER: u32 = 1000;
pub(crate) const LOCKED_KIB: u64 = 64 << 10;

/// The guest, and the peer of its card.
pub(crate) struct Stage {
    pub(crate) guest: Guest,
    pub(crate) peer: Client,
}

impl Stage {
    /// Has the peer do something.
    pub(crate) fn peer(&mut self, orders: &[&str]) -> Result<()> {
        for order in orders {
            let answer = self.peer.obey(order).with_context(|| format!("order to the peer: {order}"))?;
            ensure!(answer == "ok", "the peer says to `{order}`: {answer}");
        }
        Ok(())
    }

    /// Starts a driver in the guest, and connects it.
    pub(crate) fn start(&mut self) -> Result<()> {
        let place = self.guest.ask(&format!("start {USER} {LOCKED_KIB}"))?;
        self.connect(&place)
    }

    /// Connects the guest's driver, which is found at `place`, with the peer.
    pub(crate) fn connect(&mut self, place: &str) -> Result<()> {
        let renewed = self.peer.obey("renew")?;
        self.guest.tell(&[&format!("connect {renewed}")])?;
        self.peer(&[&format!("connect {place}")])
    }

    /// A new connection, in place of one that has failed.
    pub(crate) fn reconnect(&mut self) -> Result<()> {
        let place = self.guest.ask("renew")?;
        self.connect(&place)
    }

    pub(crate) fn write(&mut self) -> Result<()> {
        self.peer(&["clear 100000 20000"])?;
        self.guest.tell(&["fill 1 0 20000", "write 0 100000 20000", "check 1 0 20000"])?;
        self.peer(&["check 1 100000 20000"])
    }

    pub(crate) fn read(&mut self) -> Result<()> {
        self.peer(&["fill 2 200000 9000"])?;
        self.guest.tell(&["clear 300000 9000", "read 200000 300000 9000", "check 2 300000 9000"])?;
        self.peer(&["check 2 200000 9000"])
    }

    pub(crate) fn send(&mut self) -> Result<()> {
        self.peer(&["clear 400000 5000", "receive 400000 5000"])?;
        self.guest.tell(&["fill 3 500000 4097", "send 500000 4097"])?;
        self.peer(&["received 4097", "check 3 400000 4097"])?;
        self.guest.tell(&["clear 400000 5000", "receive 400000 5000"])?;
        self.peer(&["fill 4 500000 4097", "send 500000 4097"])?;
        self.guest.tell(&["received 4097", "check 4 400000 4097"])
    }

    /// Either end has the other's card walk a list, and compares what it brought.
    pub(crate) fn call(&mut self) -> Result<()> {
        self.peer(&["list 8"])?;
        self.guest.tell(&["walk 100 600000 64", "walk 107 600000 1000", "list 8"])?;
        self.peer(&["walk 100 600000 64", "walk 107 600000 1000"])
    }

    /// Everything, once more.
    pub(crate) fn exchange(&mut self) -> Result<()> {
        self.write()?;
        self.read()?;
        self.send()?;
        self.call()
    }
}
