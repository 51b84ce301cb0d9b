//! The agent: binds the card, starts drivers and kills them, and hands on to them what it does not know itself.

use anyhow::{Context, Result, ensure};

use crate::answer;
use crate::child::Driver;
use crate::line::Line;
use crate::sysfs;

struct Agent {
    /// The card's PCI address.
    address: String,
    driver: Option<Driver>,
}

/// Takes orders from a serial port until nobody has any.
pub(crate) fn run(port: &str) -> Result<()> {
    let mut line = Line::open(port)?;
    let found = sysfs::find();
    line.answer(&answer(found.as_ref().map(|address| format!("ok {address}")).map_err(copy)))?;
    let mut agent = Agent { address: found?, driver: None };
    while let Some(order) = line.order() {
        line.answer(&answer(agent.obey(&order)))?;
    }
    Ok(())
}

fn copy(error: &anyhow::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:#}")
}

impl Agent {
    fn obey(&mut self, order: &str) -> Result<String> {
        let words: Vec<&str> = order.split(' ').collect();
        match words[..] {
            ["bind"] => sysfs::bind(&self.address).map(ok),
            ["give", user] => sysfs::give(&self.address, user.parse()?).map(ok),
            ["start", user, locked_kib] => self.start(user.parse()?, locked_kib.parse()?),
            ["kill"] => self.take()?.kill().map(ok),
            ["end"] => self.take()?.end().map(ok),
            _ => {
                let driver = self.driver.as_mut().context("no driver runs")?;
                driver.order(order)?;
                driver.answer()
            }
        }
    }

    /// Starts a driver; what it says first. One that cannot open the card has ended then.
    fn start(&mut self, user: u32, locked_kib: u64) -> Result<String> {
        ensure!(self.driver.is_none(), "a driver runs already");
        let mut driver = Driver::start(&self.address, user, locked_kib)?;
        let first = driver.answer()?;
        if first.starts_with("ok") {
            self.driver = Some(driver);
        }
        Ok(first)
    }

    fn take(&mut self) -> Result<Driver> {
        self.driver.take().context("no driver runs")
    }
}

fn ok(_: ()) -> String {
    "ok".into()
}
