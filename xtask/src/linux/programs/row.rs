//! One row: a program, or two that talk to each other.

use std::time::Duration;

/// Stands for the TCP port over which two programs find each other, another one in each row.
pub(super) const PORT: &str = "{port}";
/// The profile of the wide card.
pub(super) const WIDE: &str = "100g";
/// How long a row may take; the slowest needs a fifth of it.
const LIMIT: Duration = Duration::from_secs(150);

/// A row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// What is told of it: its command.
    pub(super) name: String,
    /// Which cards: 10g or 100g.
    pub(super) profile: &'static str,
    /// The program on the first card.
    pub(super) server: Vec<String>,
    /// The program on the second card, if there are two.
    pub(super) client: Option<Vec<String>>,
    /// What the last of them must have printed.
    pub(super) expected: &'static str,
    /// It is alone, and has both cards.
    pub(super) has_both: bool,
    /// They look for character devices first.
    pub(super) wants_devices: bool,
    pub(super) limit: Duration,
}

fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(ToOwned::to_owned).collect()
}

/// A command in an environment.
fn with(environment: &[&str], command: &[String]) -> Vec<String> {
    let set = environment.iter().map(|word| (*word).to_owned());
    std::iter::once("env".to_owned()).chain(set).chain(command.iter().cloned()).collect()
}

impl Row {
    /// A program alone, on the first card.
    pub(super) fn one(command: &str, expected: &'static str) -> Self {
        Self {
            name: command.trim_end().to_owned(),
            profile: "10g",
            server: words(command),
            client: None,
            expected,
            has_both: false,
            wants_devices: false,
            limit: LIMIT,
        }
    }

    /// The same program on both cards; the second is told where the first is.
    pub(super) fn two(command: &str, port: &str, expected: &'static str) -> Self {
        let server = words(&format!("{command} {port} {PORT}"));
        let client = words(&format!("{command} {port} {PORT} 127.0.0.1"));
        Self { client: Some(client), server, ..Self::one(command, expected) }
    }

    /// With both cards for the one program.
    pub(super) fn with_both(mut self) -> Self {
        self.has_both = true;
        self
    }

    /// With other words for the one that connects.
    pub(super) fn client_port(mut self, port: &str) -> Self {
        let command = self.name.clone();
        self.client = Some(words(&format!("{command} {port} {PORT} 127.0.0.1")));
        self
    }

    /// On the wide card.
    pub(super) fn wide(mut self) -> Self {
        self.profile = WIDE;
        self
    }

    /// Finds character devices.
    pub(super) fn with_devices(mut self) -> Self {
        self.wants_devices = true;
        self
    }

    /// With an environment, which each of them gets.
    pub(super) fn with(mut self, environment: &[&str]) -> Self {
        self.server = with(environment, &self.server);
        self.client = self.client.map(|client| with(environment, &client));
        self.name = format!("{} {}", environment.join(" "), self.name);
        self
    }
}
