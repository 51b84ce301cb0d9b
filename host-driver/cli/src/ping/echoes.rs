//! Echoes of ICMP to a station on the same link, whose system answers.

use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use stroma_verbs::{Device, Error, Neighbours};

use super::{Arguments, Talk};
use crate::card;
use crate::ready;
use crate::time::Time;

/// How long nobody may say where an address is: a link may just have come up.
const RESOLVES: Duration = Duration::from_secs(5);
/// Between looks at what others ask, while nothing is to be sent.
const NAP: Duration = Duration::from_millis(1);

/// A card, and somebody beside it.
pub(super) struct Echoes {
    name: String,
    device: Arc<Device>,
    neighbours: Neighbours,
    own: IpAddr,
    to: IpAddr,
    timeout: Duration,
}

impl Echoes {
    /// Opens the card, and finds out where the other is.
    pub(super) fn open(arguments: &Arguments, own: IpAddr, to: IpAddr) -> anyhow::Result<Self> {
        let Arguments { from, fabric, timeout, .. } = arguments;
        let device = card::on_a_wire(from, &ready::folder(&[from], fabric)?)?;
        device.port().set_mac(from.mac(1))?;
        device.port().set_address(0, own)?;
        let neighbours = Neighbours::open(&device)?;
        let echoes = Self { name: from.to_string(), device, neighbours, own, to, timeout: *timeout };
        match echoes.neighbours.resolve(to, RESOLVES.max(*timeout)) {
            Ok(_) => Ok(echoes),
            Err(error @ Error::NoNeighbour { .. }) => {
                let link = if echoes.device.port().is_up()? { "up" } else { "down" };
                bail!("{error}; the link of {from} is {link}")
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn talk(&self) -> Talk {
        let clock_khz = self.device.card().capabilities().clock_khz;
        let from = format!("{} ({})", self.own, self.name);
        Talk { from, to: self.to.to_string(), clock_khz, time: Time::Wall }
    }

    /// One echo, in nanoseconds; `None` when its time is over.
    pub(super) fn round(&self, bytes: usize) -> anyhow::Result<Option<f64>> {
        match self.neighbours.ping(self.to, bytes, self.timeout) {
            Ok(time) => Ok(Some(time.as_secs_f64() * 1e9)),
            Err(Error::NoEcho { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Until the next: what the other asks meanwhile is answered.
    pub(super) fn rest(&self, interval: Duration) -> anyhow::Result<()> {
        let begin = Instant::now();
        while begin.elapsed() < interval {
            if self.neighbours.serve()? == 0 {
                thread::sleep(NAP.min(interval));
            }
        }
        Ok(())
    }
}
