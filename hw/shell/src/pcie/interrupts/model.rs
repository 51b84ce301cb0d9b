//! The table and its vectors in plain Rust: what the host may read, and which messages may go.

/// What has been stored, what waits, and what may be sent.
#[derive(Clone, Debug)]
pub(super) struct Twin {
    /// Two words a vector: address, and data with the mask in bit 32.
    words: [u64; 64],
    pub pending: u32,
    /// The vector whose message is under way.
    pub under_way: Option<u32>,
    pub failures: u64,
}

impl Twin {
    pub(super) fn new() -> Self {
        let words = std::array::from_fn(|index| if index % 2 == 1 { 1 << 32 } else { 0 });
        Self { words, pending: 0, under_way: None, failures: 0 }
    }

    pub(super) fn store(&mut self, addr: u32, data: u64, strobe: u8) {
        let Some(word) = self.words.get_mut((addr / 8) as usize) else { return };
        let mut bytes = word.to_le_bytes();
        for (index, byte) in data.to_le_bytes().into_iter().enumerate() {
            if strobe >> index & 1 == 1 {
                bytes[index] = byte;
            }
        }
        *word = u64::from_le_bytes(bytes);
        if addr / 8 % 2 == 1 {
            *word &= 0x1_ffff_ffff;
        }
    }

    /// What is there, pending bits apart.
    pub(super) fn load(&self, addr: u32) -> u64 {
        self.words.get((addr / 8) as usize).copied().unwrap_or(0)
    }

    pub(super) fn is_masked(&self, vector: u32) -> bool {
        self.words[2 * vector as usize + 1] >> 32 & 1 == 1
    }

    /// Vectors that wait, and that their masks let go.
    pub(super) fn open(&self) -> Vec<u32> {
        (0..32).filter(|vector| self.pending >> vector & 1 == 1 && !self.is_masked(*vector)).collect()
    }

    /// The vector that has this address and data.
    pub(super) fn find(&self, address: u64, data: u64) -> u32 {
        let is_it = |vector: &u32| {
            let at = 2 * *vector as usize;
            (self.words[at], self.words[at + 1] & 0xffff_ffff) == (address, data)
        };
        (0..32).find(is_it).unwrap_or_else(|| panic!("a message to {address:#x} with {data:#x}"))
    }

    /// Every vector is masked, and nothing waits.
    pub(super) fn restart(&mut self) {
        (self.pending, self.under_way, self.failures) = (0, None, 0);
        for control in self.words.iter_mut().skip(1).step_by(2) {
            *control |= 1 << 32;
        }
    }

    pub(super) fn is_sent(&mut self) {
        self.under_way = None;
    }

    pub(super) fn has_failed(&mut self) {
        self.failures += 1;
        self.pending |= 1 << self.under_way.take().expect("a message is under way");
    }
}
