//! For the kernel `consistency`: objects that carry their CRC, and the parameters that ask for one. What the kernel does is told in
//! [`stroma_abi::kernel::consistency`].

use crc::{CRC_64_XZ, Crc, Table};
use stroma_abi::desc::Parameters;
use stroma_abi::kernel::consistency::{
    Consistency, ConsistencyStatus, OBJECT_MAX, OBJECT_MIN, OPERATION, TRAILER_LEN,
};

use crate::call::{Call, Failed, block, found};

/// A table of 16 rows: objects of kilobytes are checked, and by software.
static CRC: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_XZ);

/// Fewest bytes that can be sealed.
pub const SEALED_MIN: usize = OBJECT_MIN as usize - TRAILER_LEN;
/// Most bytes that can be sealed.
pub const SEALED_MAX: usize = OBJECT_MAX as usize - TRAILER_LEN;

/// What cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel reads no such objects.
    #[error("an object of {length} bytes without its CRC: it has 8 to 16376")]
    Length {
        /// Bytes without the CRC.
        length: usize,
    },
}

/// Puts its CRC behind an object.
///
/// # Errors
/// When the kernel would not read it: then nothing is put there.
pub fn seal(object: &mut Vec<u8>) -> Result<(), Error> {
    let length = object.len();
    if !(SEALED_MIN..=SEALED_MAX).contains(&length) {
        return Err(Error::Length { length });
    }
    object.extend(CRC.checksum(object).to_le_bytes());
    Ok(())
}

/// The object without its CRC; `None` if that does not fit. What the kernel does, in software.
#[must_use]
pub fn check(object: &[u8]) -> Option<&[u8]> {
    let (content, trailer) = object.split_last_chunk::<TRAILER_LEN>()?;
    (CRC.checksum(content) == u64::from_le_bytes(*trailer)).then_some(content)
}

/// The parameters that ask for the object at `address`, of `length` bytes without its CRC: it is read up to `attempts` times, which are at least 1, with `pause` cycles
/// in between, of which the kernel takes fewer than 2^20 in all.
///
/// # Errors
/// When the kernel reads no objects of that length.
pub fn request(address: u64, length: usize, attempts: u16, pause: u16) -> Result<Consistency, Error> {
    let sealed = u32::try_from(length.saturating_add(TRAILER_LEN)).ok();
    let sealed = sealed.filter(|sealed| (OBJECT_MIN..=OBJECT_MAX).contains(sealed));
    let sealed = sealed.ok_or(Error::Length { length })?;
    Ok(Consistency { address, length: sealed, pause, attempts })
}

/// The object without its CRC; `None` if that did not fit at any attempt.
impl Call for Consistency {
    type Answer = Option<Vec<u8>>;
    const OPERATION: u16 = OPERATION;

    fn parameters(&self) -> Parameters {
        block(&self.to_bytes())
    }

    fn response_max(&self) -> u32 {
        self.length.saturating_sub(u64::BITS / 8)
    }

    fn answer(&self, status: u32, bytes: &[u8]) -> Result<Self::Answer, Failed> {
        let object = found(OPERATION, ConsistencyStatus::Inconsistent as u32, status, bytes)?;
        let wrong = object.as_ref().is_some_and(|object| object.len() != self.response_max() as usize);
        if wrong { Err(Failed::Answer { operation: OPERATION, length: bytes.len() }) } else { Ok(object) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stroma_abi::desc::{Parameters, SlotCommand};
    use stroma_kernel_models::{Failure, Invocation, Memory, consistency};

    use super::*;

    struct Seen<'a>(&'a [u8]);

    impl Memory for Seen<'_> {
        fn read(&mut self, _: u32, va: u64, len: usize) -> Result<Vec<u8>, Failure> {
            let at = usize::try_from(va - 0x1000).expect("small");
            self.0.get(at..at + len).map(<[u8]>::to_vec).ok_or(Failure::Refused)
        }

        fn write(&mut self, _: u32, _: u64, _: &[u8]) -> Result<(), Failure> {
            unreachable!("consistency writes nothing")
        }
    }

    #[test]
    fn objects_are_sealed_as_the_catalogue_of_crcs_says() {
        let mut object = b"123456789".to_vec();
        assert_eq!(seal(&mut object), Ok(()));
        assert_eq!(object, b"123456789\xfa\x39\x19\xdf\xbb\xc9\x5d\x99");
        assert_eq!(check(&object), Some(&b"123456789"[..]));
        assert_eq!((check(&object[1..]), check(&object[..7]), check(&[])), (None, None, None));
    }

    #[test]
    fn what_the_kernel_does_not_read_is_refused() {
        for length in [0, 7, 16_377] {
            let mut object = vec![1; length];
            assert_eq!(seal(&mut object), Err(Error::Length { length }));
            assert_eq!(object.len(), length);
            assert_eq!(request(0x1000, length, 1, 0), Err(Error::Length { length }));
        }
        let expected = Consistency { address: 0x1000, length: 16_384, pause: 7, attempts: 3 };
        assert_eq!(request(0x1000, 16_376, 3, 7), Ok(expected));
    }

    proptest! {
        #[test]
        fn the_model_takes_what_is_sealed_and_nothing_else(
            content in prop::collection::vec(any::<u8>(), 8..6000), bit in any::<prop::sample::Index>()
        ) {
            let ask = |object: &[u8]| {
                let request = request(0x1000, content.len(), 1, 0).expect("a length");
                let parameters = Parameters::new(&request.to_bytes()).expect("whole words");
                let command = SlotCommand { response_max: OBJECT_MAX, ..SlotCommand::default() };
                consistency::run(&Invocation::new(command, parameters, Vec::new()), &mut Seen(object))
            };
            let mut object = content.clone();
            seal(&mut object).expect("a length");
            let found = ask(&object);
            prop_assert_eq!((found.status, &found.data), (0, &content));
            let bit = bit.index(object.len() * 8);
            object[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!((ask(&object).status, check(&object)), (0x100, None));
        }
    }
}
