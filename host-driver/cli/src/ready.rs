//! A fabric that serves: the one that runs, if it is what is wanted, or a new one.

use std::path::{Path, PathBuf};

use anyhow::Context;
use stroma_control::Status;

use crate::card::CardName;

fn absolute(folder: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(folder).with_context(|| format!("finding the folder {}", folder.display()))
}

/// The folder of the fabric that these cards are of, which runs then; where none of them is of one, it does not matter.
pub(crate) fn folder(names: &[&CardName], wanted: &Wanted) -> anyhow::Result<PathBuf> {
    let is_of_fabric = names.iter().any(|name| matches!(name, CardName::Fabric(_)));
    if is_of_fabric { Ok(ready(wanted)?.0) } else { Ok(stroma_control::folder()) }
}

#[cfg(feature = "sim")]
pub(crate) use simulated::{Arguments as Wanted, ready};

#[cfg(not(feature = "sim"))]
pub(crate) use found::{Wanted, ready};

/// Where there are no cards to start.
#[cfg(not(feature = "sim"))]
mod found {
    use super::{PathBuf, Status, absolute};

    #[derive(Debug, clap::Args)]
    pub(crate) struct Wanted {
        /// Folder of the fabric; `$STROMA_FABRIC` if nobody says, else `$XDG_RUNTIME_DIR/stroma`, else `/tmp/stroma-UID`.
        #[arg(long, value_name = "FOLDER")]
        fabric: Option<PathBuf>,
    }

    pub(crate) fn ready(wanted: &Wanted) -> anyhow::Result<(PathBuf, Status)> {
        let folder = absolute(&wanted.fabric.clone().unwrap_or_else(stroma_control::folder))?;
        let found = stroma_control::wait(&folder)?;
        let status = found.ok_or_else(|| stroma_control::Error::NotRunning { folder: folder.clone() })?;
        Ok((folder, status))
    }
}

#[cfg(feature = "sim")]
mod simulated {
    use anyhow::bail;
    use stroma_control::Starting;
    use stroma_fabric::Plan;
    pub(crate) use stroma_fabric::cli::Arguments;

    use super::{Context, PathBuf, Status, absolute};
    use crate::background;

    /// How long a fabric that was started for a program stays when nobody is there, in seconds.
    const LINGER: u64 = 10;

    /// Its folder, from the root on, and what it is. Two of these at the same time start one fabric.
    pub(crate) fn ready(arguments: &Arguments) -> anyhow::Result<(PathBuf, Status)> {
        let plan = arguments.clone().plan()?;
        let folder = absolute(&plan.sockets)?;
        let same = |status: Status| agree(arguments, &plan, &status).map(|()| (folder.clone(), status));
        if let Some(status) = stroma_control::wait(&folder)? {
            return same(status);
        }
        stroma_control::make(&folder)?;
        let starting = Starting::take(&folder)?;
        if let Some(status) = stroma_control::wait(&folder)? {
            return same(status);
        }
        let linger = plan.linger.or(Some(LINGER));
        background::leave(&Plan { sockets: folder.clone(), linger, ..plan })?;
        let found = stroma_control::wait(&folder)?;
        drop(starting);
        let status = found.with_context(|| {
            format!("the fabric has ended: {} says why", stroma_control::log(&folder).display())
        })?;
        Ok((folder, status))
    }

    /// Is a fabric that runs what flags and file say?
    fn agree(arguments: &Arguments, asked: &Plan, status: &Status) -> anyhow::Result<()> {
        let running: Plan = serde_json::from_value(status.plan.clone())
            .context("the fabric that runs is of another version of stroma")?;
        let wanted =
            serde_json::to_value(arguments.clone().wanted(asked, &running)).context("writing the plan")?;
        let differs =
            wanted.as_object().into_iter().flatten().find(|(name, value)| status.plan[name] != **value);
        let Some((name, value)) = differs else { return Ok(()) };
        bail!(
            "a fabric runs with {name} = {}, and {value} is asked for: end it (process {}), or say --fabric FOLDER for another",
            status.plan[name],
            status.process
        )
    }

    #[cfg(test)]
    mod tests {
        use std::path::Path;

        use clap::Parser;

        use super::*;

        #[test]
        fn a_fabric_that_is_something_else_is_refused_with_both() {
            let running = Plan { cards: 3, ..Plan::new(Path::new("/there")) };
            let status = Status {
                process: 7,
                profile: "10g".to_owned(),
                wire: "cable".to_owned(),
                simulated_ns: 0,
                cards: Vec::new(),
                plan: serde_json::to_value(&running).unwrap(),
            };
            let agreed = |flags: &str| {
                let words = ["exec"].into_iter().chain(flags.split_whitespace());
                let arguments = Arguments::parse_from(words);
                let asked = arguments.clone().plan().unwrap();
                agree(&arguments, &asked, &status).map_err(|error| error.to_string())
            };
            assert_eq!(agreed(""), Ok(()));
            assert_eq!(agreed("--cards 3 --profile 10g --fabric /here"), Ok(()));
            let says = "a fabric runs with cards = 3, and 2 is asked for: end it (process 7), or say --fabric FOLDER for another";
            assert_eq!(agreed("--cards 2"), Err(says.to_owned()));
            assert!(agreed("--profile 100g").unwrap_err().contains("profile = \"10g\", and \"100g\""));
            assert!(agreed("--loss 0.5").unwrap_err().contains("faults"));
        }
    }
}
