//! What a driver can be asked, and what stands around its answer.

use serde::{Deserialize, Serialize};

use super::Report;

/// Of the language. Who asks understands no other.
pub const VERSION: u32 = 1;

/// What a driver is asked: `{"request":"show","only":[{"kind":"qp","number":3},{"kind":"tlb"}]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Question {
    /// What is on the card; answered with [`Told`].
    Show {
        /// Nothing else.
        #[serde(default)]
        only: Selection,
    },
}

/// What there is to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// Link, addresses, counters.
    Port,
    /// Counters of the TLB.
    Tlb,
    /// Queue pairs.
    Qp,
    /// Completion queues.
    Cq,
    /// Shared receive queues.
    Srq,
    /// Memory regions and windows.
    Mr,
}

/// All of a kind, or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Only {
    /// Which kind.
    pub kind: Kind,
    /// Which one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
}

/// What is asked for; everything, if nothing is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Selection(pub Vec<Only>);

impl Selection {
    /// Is any of this kind asked for?
    #[must_use]
    pub fn has(&self, kind: Kind) -> bool {
        self.0.is_empty() || self.0.iter().any(|only| only.kind == kind)
    }

    /// Is this one?
    #[must_use]
    pub fn has_one(&self, kind: Kind, number: u32) -> bool {
        let is_named = |only: &Only| only.kind == kind && only.number.is_none_or(|wanted| wanted == number);
        self.0.is_empty() || self.0.iter().any(is_named)
    }
}

/// What was asked for, and who tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// [`VERSION`].
    pub version: u32,
    /// The program's process.
    pub pid: u32,
    /// Its name, as the system knows it.
    pub comm: String,
    /// What is on its card.
    #[serde(flatten)]
    pub report: Report,
}

impl Told {
    /// By this process.
    #[must_use]
    pub fn here(report: Report) -> Self {
        let comm = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
        Self { version: VERSION, pid: std::process::id(), comm: comm.trim_end().to_owned(), report }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_as_they_are_written_down() {
        let only =
            Selection(vec![Only { kind: Kind::Qp, number: Some(3) }, Only { kind: Kind::Tlb, number: None }]);
        let question = Question::Show { only };
        let text = r#"{"request":"show","only":[{"kind":"qp","number":3},{"kind":"tlb"}]}"#;
        assert_eq!(serde_json::to_string(&question).unwrap(), text);
        assert_eq!(serde_json::from_str::<Question>(text).unwrap(), question);
        let all = serde_json::from_str::<Question>(r#"{"request":"show"}"#).unwrap();
        assert_eq!(all, Question::Show { only: Selection::default() });
        for wrong in [r#"{"request":"dance"}"#, r#"{"request":"show","only":[{"kind":"dance"}]}"#, "{}", "[]"]
        {
            assert!(serde_json::from_str::<Question>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_named_is_everything() {
        let all = Selection::default();
        assert!(all.has(Kind::Mr) && all.has_one(Kind::Cq, 7));
        let some =
            Selection(vec![Only { kind: Kind::Qp, number: Some(3) }, Only { kind: Kind::Mr, number: None }]);
        assert!(some.has(Kind::Qp) && some.has_one(Kind::Qp, 3) && some.has_one(Kind::Mr, 9));
        assert!(!some.has(Kind::Cq) && !some.has_one(Kind::Qp, 4));
    }
}
