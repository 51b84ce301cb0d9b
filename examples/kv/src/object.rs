//! Value objects: head, key, value and CRC, as [`layout`](crate::layout) draws them. An object never changes once an entry points to it.

use stroma_abi::kernel::consistency::TRAILER_LEN;
use stroma_abi::kernel::get::{KEY_MAX, ObjectHead};
use stroma_kernel_client::consistency::{check, seal};

use crate::{Error, Layout, Result};

/// Bytes of head and key, filled up.
pub(crate) fn value_at(key: &[u8]) -> Result<usize> {
    let length = key.len();
    let bytes = u16::try_from(length).ok().filter(|length| (1..=KEY_MAX.into()).contains(length));
    Ok(ObjectHead::value_at(bytes.ok_or(Error::Key { length })?) as usize)
}

/// Head and key of the object of a value of so many bytes, CRC not counted.
fn front(key: &[u8], value: usize) -> Result<Vec<u8>> {
    let value_at = value_at(key)?;
    let too_long = || Error::Value { length: value, key: key.len(), max: u32::MAX as usize };
    let value_length = u32::try_from(value + TRAILER_LEN).map_err(|_| too_long())?;
    let key_length = u16::try_from(key.len()).map_err(|_| Error::Key { length: key.len() })?;
    let mut bytes = ObjectHead { value_length, key_length, flags: 0 }.to_bytes().to_vec();
    bytes.extend(key);
    bytes.resize(value_at, 0);
    Ok(bytes)
}

/// The object of a key and its value.
///
/// # Errors
/// [`Error::Key`], [`Error::Value`].
pub(crate) fn make(layout: &Layout, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
    let max = layout.buffer_bytes as usize - value_at(key)? - TRAILER_LEN;
    let too_long = Error::Value { length: value.len(), key: key.len(), max };
    if value.len() > max {
        return Err(too_long);
    }
    let mut object = front(key, value.len())?;
    object.extend(value);
    seal(&mut object).map_err(|_| too_long)?;
    Ok(object)
}

/// The key's value, if the whole object is the key's and fits its CRC.
pub(crate) fn open(key: &[u8], object: &[u8]) -> Option<Vec<u8>> {
    check(object)?;
    let (found, value) = parts(object)?;
    (found == key).then_some(value)
}

/// The value, of what `get` answers with: value and CRC. The key is that of the request, so the CRC is held against it, too.
pub(crate) fn open_answer(key: &[u8], answer: &[u8]) -> Option<Vec<u8>> {
    let value = answer.len().checked_sub(TRAILER_LEN)?;
    let mut object = front(key, value).ok()?;
    object.extend(answer);
    open(key, &object)
}

/// Does an object that begins so belong to the key?
pub(crate) fn is_of(key: &[u8], front: &[u8]) -> bool {
    parts_of_front(front).is_some_and(|(found, _)| found == key)
}

/// Key and value of a whole object.
pub(crate) fn parts(object: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let head = ObjectHead::parse(object)?;
    let (key, value_at) = parts_of_front(object)?;
    let end = object.len().checked_sub(TRAILER_LEN)?;
    let is_whole = head.object_length() == object.len() as u64 && head.flags == 0;
    is_whole.then_some(())?;
    Some((key.to_vec(), object.get(value_at..end)?.to_vec()))
}

/// The key, and where the value begins.
fn parts_of_front(front: &[u8]) -> Option<(&[u8], usize)> {
    let head = ObjectHead::parse(front)?;
    let key = front.get(ObjectHead::LEN..ObjectHead::LEN + usize::from(head.key_length))?;
    Some((key, ObjectHead::value_at(head.key_length) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { log_buckets: 0, log_buffers: 0, buffer_bytes: 64 };

    #[test]
    fn an_object_lies_as_drawn() {
        let object = make(&LAYOUT, b"key", b"value").unwrap();
        assert_eq!(object[..21], *b"\x0d\0\0\0\x03\0\0\0key\0\0\0\0\0value");
        assert_eq!(object.len(), 29);
        assert_eq!(open(b"key", &object), Some(b"value".to_vec()));
        assert_eq!(parts(&object), Some((b"key".to_vec(), b"value".to_vec())));
        assert_eq!(open_answer(b"key", &object[16..]), Some(b"value".to_vec()));
        assert!(is_of(b"key", &object[..16]) && !is_of(b"ke", &object[..16]) && !is_of(b"key", &object[..9]));
    }

    #[test]
    fn every_bit_and_the_key_are_guarded() {
        let object = make(&LAYOUT, b"key", b"value").unwrap();
        for bit in 0..object.len() * 8 {
            let mut other = object.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(b"key", &other), None, "bit {bit}");
        }
        assert_eq!((open(b"kez", &object), open_answer(b"kez", &object[16..])), (None, None));
        assert_eq!((open_answer(b"key", &object[17..]), open_answer(b"key", b"short")), (None, None));
    }

    #[test]
    fn lengths_have_limits() {
        assert!(matches!(make(&LAYOUT, b"", b""), Err(Error::Key { length: 0 })));
        assert!(matches!(make(&LAYOUT, &[7; 33], b""), Err(Error::Key { length: 33 })));
        assert_eq!(make(&LAYOUT, &[7; 32], &[1; 16]).unwrap().len(), 64);
        let long = make(&LAYOUT, &[7; 32], &[1; 17]);
        assert!(matches!(long, Err(Error::Value { length: 17, key: 32, max: 16 })));
    }
}
