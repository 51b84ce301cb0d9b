use std::fs;
use std::path::PathBuf;

use super::*;

const CARD: (&str, &str) = (include_str!("fixture/card.v"), include_str!("fixture/card.ports"));
const SHELL: (&str, &str) = (include_str!("fixture/shell.v"), include_str!("fixture/shell.ports"));

fn stand_in((text, ports): (&str, &str)) -> Sources {
    Sources { manifest: Manifest::parse(ports).unwrap(), text: text.to_owned() }
}

/// Folders of a test: where it writes, and where its check works.
struct Desk {
    out: PathBuf,
    work: PathBuf,
}

impl Desk {
    fn new(test: &str) -> Self {
        let base = workspace::target().join("bitstream/test").join(test);
        if base.exists() {
            fs::remove_dir_all(&base).unwrap();
        }
        Self { out: base.join("out"), work: base.join("work") }
    }

    fn make(&self, board: &str, shell: &str) -> Result<Folder> {
        let shell = stand_in((shell, SHELL.1));
        make(&Board::named(board).unwrap(), &stand_in(CARD), &shell, false, &self.out, self.work.clone())
    }

    /// Changes a file of a folder that is in order, and runs the scripts again.
    fn scripts_after(&self, file: &str, change: impl Fn(&str) -> Option<String>) -> String {
        let board = Board::named("u200").unwrap();
        self.make("u200", SHELL.0).unwrap();
        let path = self.out.join(file);
        let text = fs::read_to_string(&path).unwrap();
        match change(&text) {
            Some(changed) => {
                assert_ne!(changed, text, "{file} is as before");
                fs::write(&path, changed).unwrap();
            }
            None => fs::remove_file(&path).unwrap(),
        }
        let bench = Bench::new(self.work.clone()).unwrap();
        let design = bench.design(&self.out, &board, &stand_in(CARD).manifest).unwrap();
        bench.run_scripts(&self.out, &board, &design).unwrap_err().to_string()
    }
}

#[test]
fn every_board_has_a_folder_that_passes_all_checks() {
    for name in stroma_boards::names() {
        let desk = Desk::new(&format!("every_{name}"));
        let folder = desk.make(name, SHELL.0).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        for file in [
            "build.tcl",
            "constraints/timing.xdc",
            "crossings.md",
            "citations.md",
            "README.md",
            "rtl/board.v",
        ] {
            assert!(desk.out.join(file).is_file(), "{name}: {file}");
        }
        assert!(folder.files["crossings.md"].contains("core/shell/receive/read_seen/first_reg*"), "{name}");
    }
}
