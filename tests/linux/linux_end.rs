//! Linux as one end: orders to the guest, and a world that goes on until it answers.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use stroma_sim::Shared;
use stroma_verbs::Neighbours;

use crate::card::{CARD, GUEST, ip};
use crate::cases::{Family, Link, Service};
use crate::guest::Guest;
use crate::party::{Completed, Offer, Party, Request};

/// PSN of the guest's first request: past the half of all PSNs within a few packets.
const FIRST_PSN: u32 = 0x7f_fffc;
/// What datagrams to the guest have to know.
const Q_KEY: u32 = 0x2468_ace0;
/// Code of its wait for an answer, 4.3 s: the card is simulated, thousands of times slower than it will be.
const TIMEOUT: u32 = 20;
/// How long an answer may take on the wall clock: longer than the guest itself waits for a completion.
const PATIENCE: Duration = Duration::from_secs(90);
/// Cycles between two looks at the guest's line.
const LOOK_CYCLES: u64 = 5000;

/// The guest, and the world at the other end of its wire.
pub(crate) struct LinuxEnd<'a> {
    guest: &'a mut Guest,
    shared: &'a Shared,
    /// The card's, who goes on answering the guest.
    neighbours: &'a Neighbours,
    near: Option<Offer>,
    far: Option<Offer>,
    link: Option<Link>,
}

impl<'a> LinuxEnd<'a> {
    pub(crate) fn new(guest: &'a mut Guest, shared: &'a Shared, neighbours: &'a Neighbours) -> Self {
        Self { guest, shared, neighbours, near: None, far: None, link: None }
    }

    /// Gives an order and lets time pass until it is carried out.
    fn ask(&mut self, order: &str) -> Result<String> {
        let started = Instant::now();
        self.guest.order(order)?;
        loop {
            if let Some(answer) = self.guest.answer().with_context(|| format!("order: {order}"))? {
                return Ok(answer);
            }
            ensure!(started.elapsed() < PATIENCE, "no answer to `{order}` after {PATIENCE:?}");
            self.neighbours.serve()?;
            self.shared.world().run(LOOK_CYCLES);
        }
    }

    /// As many numbers as are behind the word.
    fn numbers<const COUNT: usize>(&mut self, order: &str, word: &str) -> Result<[u64; COUNT]> {
        let answer = self.ask(order)?;
        let rest = answer.strip_prefix(word).with_context(|| format!("`{order}`: {answer}"))?;
        let numbers: Result<Vec<u64>, _> = rest.split_whitespace().map(str::parse).collect();
        let numbers = numbers.with_context(|| format!("`{order}`: {answer}"))?;
        numbers.try_into().map_err(|_| anyhow::anyhow!("`{order}`: {answer}"))
    }

    fn obey(&mut self, order: &str, expected: &str) -> Result<()> {
        let [] = self.numbers(order, expected)?;
        Ok(())
    }
}

impl Party for LinuxEnd<'_> {
    fn offer(&mut self, service: Service) -> Result<Offer> {
        let [number, base, key] = self.numbers(&format!("create {} {Q_KEY}", service.order()), "created")?;
        let small = |value: u64| u32::try_from(value).with_context(|| format!("{value} in 32 bits"));
        let offer = Offer { number: small(number)?, psn: FIRST_PSN, base, key: small(key)?, q_key: Q_KEY };
        self.near = Some(offer);
        Ok(offer)
    }

    fn connect(&mut self, far: &Offer, link: &Link) -> Result<()> {
        let &Link { family, mtu, .. } = link;
        let [near, there] = [GUEST, CARD].map(|index| ip(index, family));
        let order = format!("connect {} {FIRST_PSN} {} {mtu} {TIMEOUT} {near} {there}", far.number, far.psn);
        (self.far, self.link) = (Some(*far), Some(*link));
        self.obey(&order, "connected")
    }

    fn number(&self) -> Result<u32> {
        Ok(self.near.context("the guest has no queue pair")?.number)
    }

    fn address(&self, family: Family) -> IpAddr {
        ip(GUEST, family)
    }

    fn fill(&mut self, offset: usize, bytes: usize, seed: u64) -> Result<()> {
        self.obey(&format!("fill {offset} {bytes} {seed}"), "filled")
    }

    fn check(&mut self, offset: usize, bytes: usize, seed: u64) -> Result<()> {
        self.obey(&format!("check {offset} {bytes} {seed}"), "good")
    }

    fn word(&mut self, offset: usize) -> Result<u64> {
        Ok(self.numbers::<1>(&format!("word {offset}"), "word")?[0])
    }

    fn post(&mut self, request: &Request) -> Result<()> {
        use crate::cases::Operation::{
            CompareSwap, FetchAdd, Read, Send, SendImmediate, Write, WriteImmediate,
        };
        let (Some(far), Some(link)) = (self.far, self.link) else {
            bail!("the guest's queue pair is not connected")
        };
        let Request { operation, local, bytes, remote, operands: [one, other], key_error } = *request;
        let remote = format!("{} {}", far.base + remote as u64, far.key);
        let rest = match operation {
            Write | Read => remote,
            Send => String::new(),
            SendImmediate => one.to_string(),
            WriteImmediate | FetchAdd => format!("{remote} {one}"),
            CompareSwap => format!("{remote} {one} {other}"),
        };
        let key = match link.service {
            Service::Datagram => (far.q_key ^ key_error).to_string(),
            Service::Reliable | Service::Unreliable => String::new(),
        };
        self.obey(&format!("{} {local} {bytes} {rest} {key}", operation.order()), "posted")
    }

    fn receive(&mut self, offset: usize, bytes: usize) -> Result<()> {
        self.obey(&format!("receive {offset} {bytes}"), "posted")
    }

    fn take(&mut self) -> Result<Completed> {
        let [status, opcode, bytes, immediate, has_grh, source] = self.numbers("take", "completed")?;
        ensure!(status == 0, "Linux completes op-code {opcode} with status {status} of ibv_wc_status");
        let immediate = u32::try_from(immediate).context("immediate data have 32 bits")?;
        let source = u32::try_from(source).context("numbers of queue pairs have 24 bits")?;
        let sender = (has_grh == 1).then_some(source);
        Ok(Completed { bytes: usize::try_from(bytes)?, immediate, sender })
    }

    fn reply(&mut self, offset: usize) -> Result<()> {
        self.obey(&format!("reply {offset}"), "aimed")
    }

    fn refused(&mut self) -> Result<u64> {
        Ok(self.numbers::<1>("violations", "violations")?[0])
    }
}
