//! Frames as a pcapng file.

/// A pcapng file of these frames, all at time zero.
pub(super) fn file(frames: &[Vec<u8>]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = length(12 + body.len()).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, body, &length].concat()
    };
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    file.extend(block(1, &words(&[1, 0])));
    for frame in frames {
        let length = length(frame.len());
        let mut body = words(&[0, 0, 0, length, length]);
        body.extend(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        file.extend(block(6, &body));
    }
    file
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a frame is shorter than 4 GiB")
}
