//! A file system in memory, as Linux takes its first one: a cpio archive in the format `newc`.

/// Directory, program and plain file, with their rights, as `st_mode` has them.
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CONSOLE: u32 = 0o020_600;
/// Device numbers of `/dev/console`, which the kernel opens for the first process.
const CONSOLE_DEVICE: [u32; 2] = [5, 1];

/// The archive so far.
#[derive(Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// An archive with these empty folders, and the console in `dev`.
    pub(crate) fn new(folders: &[&str]) -> Self {
        let mut archive = Self::default();
        for folder in folders {
            archive.folder(folder);
        }
        archive.entry("dev/console", CONSOLE, &[], CONSOLE_DEVICE);
        archive
    }

    /// Adds an empty folder; one that it is in was named before.
    pub(crate) fn folder(&mut self, name: &str) {
        self.entry(name, DIRECTORY, &[], [0; 2]);
    }

    /// Adds a file; a folder in its name was named before.
    pub(crate) fn file(&mut self, name: &str, bytes: &[u8]) {
        self.entry(name, FILE, bytes, [0; 2]);
    }

    /// Adds a program.
    pub(crate) fn program(&mut self, name: &str, bytes: &[u8]) {
        self.entry(name, PROGRAM, bytes, [0; 2]);
    }

    /// The whole archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[], [0; 2]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, bytes: &[u8], device: [u32; 2]) {
        self.entries += 1;
        let length = |length: usize| u32::try_from(length).expect("files of a guest are small");
        // inode, mode, owner, group, links, time, size, device of the file, device it is, name's length, checksum.
        let fields = [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            length(bytes.len()),
            0,
            0,
            device[0],
            device[1],
            length(name.len() + 1),
            0,
        ];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08X}").bytes());
        }
        self.bytes.extend(name.bytes().chain([0]));
        self.pad();
        self.bytes.extend(bytes);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_as_the_kernels_document_of_the_format_says() {
        let mut archive = Archive::default();
        archive.file("a", b"hello");
        let bytes = archive.finish();
        let head = "070701000000010000\
                    81A400000000000000000000000100000000000000050000000000000000000000000000000000000002\
                    00000000";
        assert_eq!(String::from_utf8_lossy(&bytes[..110]), head);
        // Header and name fill 112 bytes; the content is padded to eight.
        assert_eq!(&bytes[110..120], b"a\0hello\0\0\0");
        assert_eq!(&bytes[120..126], b"070701");
        assert!(bytes.len().is_multiple_of(4) && bytes[230..].starts_with(b"TRAILER!!!\0"));
    }

    #[test]
    fn an_archive_has_its_folders_and_a_console() {
        let bytes = Archive::new(&["dev", "bin"]).finish();
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("070701").count(), 4);
        assert!(text.contains("dev/console") && text.contains("bin\0"));
    }
}
