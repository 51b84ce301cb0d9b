//! What one client may take of a server.

use super::*;
use crate::version::MAPS_MAX;

const PAGE: u64 = 0x1000;

fn memory(len: u64) -> File {
    let file = File::from(memfd_create("memory", MemfdFlags::CLOEXEC).unwrap());
    file.set_len(len).unwrap();
    file
}

#[test]
fn beyond_its_budget_a_client_is_refused_and_keeps_what_it_has() {
    let (path, fake) = served();
    let client = Client::connect(&path).unwrap();
    let refusal = |file: &File, address, size| {
        let refused = client.map(file.as_fd(), 0, address, size).unwrap_err();
        refused.refusal().unwrap_or_else(|| panic!("{refused}"))
    };
    let files: Vec<File> = (0..FILES_MAX).map(|_| memory(PAGE)).collect();
    for (file, address) in files.iter().zip((0..).step_by(4096)) {
        client.map(file.as_fd(), 0, address, PAGE).unwrap();
    }
    assert_eq!(refusal(&memory(PAGE), BYTES_MAX, PAGE), Errno::MFILE);
    client.map(files[0].as_fd(), 0, BYTES_MAX, PAGE).expect("a file that it has shown is none more");
    client.unmap(PAGE, PAGE).unwrap();
    client.map(memory(PAGE).as_fd(), 0, PAGE, PAGE).expect("one has gone");
    let large = memory(BYTES_MAX);
    client.unmap(2 * PAGE, PAGE).unwrap();
    assert_eq!(refusal(&large, 2 * BYTES_MAX, BYTES_MAX), Errno::NOMEM);
    assert_eq!(fake.read(0, 1).as_deref(), Some(&[0][..]), "what it has stays");
    client.unmap(0, u64::MAX).unwrap();
    client.map(large.as_fd(), 0, 2 * BYTES_MAX, BYTES_MAX).unwrap();
    assert_eq!(refusal(&files[0], 0, PAGE), Errno::NOMEM);
    client.unmap(0, u64::MAX).unwrap();
    for address in (0..).step_by(4096).take(MAPS_MAX) {
        client.map(files[0].as_fd(), 0, address, PAGE).unwrap();
    }
    assert_eq!(refusal(&files[0], BYTES_MAX, PAGE), Errno::NOSPC);
    assert_eq!(fake.refused(), [Beyond::Files, Beyond::Bytes, Beyond::Bytes, Beyond::Mappings]);
    drop(client);
    fake.ended(1);
    let next = Client::connect(&path).unwrap();
    next.map(large.as_fd(), 0, 0, BYTES_MAX).expect("the next one has all of it");
}
