//! Memory regions: what a key stands for, and where its pages are.

use crate::layout::layout;

/// What a key may be used for. Local reading needs no right.
pub mod rights {
    /// The owner's own requests may write.
    pub const LOCAL_WRITE: u8 = 1 << 0;
    /// Peers may write.
    pub const REMOTE_WRITE: u8 = 1 << 1;
    /// Peers may read.
    pub const REMOTE_READ: u8 = 1 << 2;
    /// Peers may apply atomics.
    pub const REMOTE_ATOMIC: u8 = 1 << 3;
    /// Kernels may act under the key for a peer: read and write what he could.
    pub const RPC: u8 = 1 << 4;
}

/// log2 of the page sizes, by the code in [`Region::PAGE`]: 4 KiB, 2 MiB, 1 GiB.
pub const PAGE_LOGS: [usize; 3] = [12, 21, 30];
/// Bytes of the page list that are read at once. A list begins on a multiple of this and is readable to the next.
pub const PAGE_LIST_LINE: usize = 64;
/// Bytes of an entry of the page list: the DMA address of a page, its low bits ignored.
pub const PAGE_LIST_ENTRY: usize = 8;

layout! {
    /// A memory region as it is registered.
    Region: Little, 32 bytes;
    BASE   base:   u64  =  0, 0, 64, "virtual address of the first byte";
    LENGTH length: u64  =  8, 0, 48, "bytes";
    KEY    key:    u8   = 14, 0,  8, "low byte of the key; the region's number is above it";
    PAGE   page:   u8   = 15, 0,  2, "page size: 0 4 KiB, 1 2 MiB, 2 1 GiB";
    DIRECT direct: bool = 15, 2,  1, "pages follow each other: there is no list, `list` is the first page itself";
    LIST   list:   u64  = 16, 0, 64, "DMA address of the page list, whose first entry is the page of `base`; a multiple of 64";
    PD     pd:     u16  = 24, 0, 16, "protection domain";
    RIGHTS rights: u8   = 26, 0,  5, "sum of the `rights`; those of peers to write and to apply atomics only with `LOCAL_WRITE`";
    BINDABLE bindable: bool = 26, 5, 1, "windows may stand for parts of it";
    WINDOW window: bool = 26, 6,  1, "a memory window of type 2: made with all other fields but `pd` zero; shown with base, length, key and rights while it is bound";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_land_on_the_bytes_the_card_reads() {
        let region = Region {
            base: 0x0807_0605_0403_0201,
            length: 0x0e0d_0c0b_0a09,
            key: 0x0f,
            page: 2,
            direct: true,
            list: 0x1817_1615_1413_1211,
            pd: 0x1a19,
            rights: rights::RPC | rights::LOCAL_WRITE,
            bindable: true,
            window: false,
        };
        let mut expected = [0; Region::LEN];
        expected[..14].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
        expected[14..16].copy_from_slice(&[0x0f, 0b110]);
        expected[16..27].copy_from_slice(&[0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x31]);
        assert_eq!(region.to_bytes(), expected);
        assert_eq!(Region::parse(&expected), Some(region));
    }
}
