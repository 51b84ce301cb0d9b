//! Messages of [`stroma_abi::wire::service`], taken apart. Whatever the bytes, nothing here panics.

use stroma_abi::desc::Parameters;
use stroma_abi::wire::{RpcTarget, ServiceAnswer, ServiceRequest};
use stroma_kernel_models::Outcome;

/// A request that makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) id: u64,
    pub(crate) target: RpcTarget,
    pub(crate) key: u32,
    pub(crate) parameters: Parameters,
    pub(crate) payload: Vec<u8>,
}

/// A message that is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// It is too short to say who asks.
    Nameless,
    /// It has another length than it says, or parameters that no kernel takes: more than 16 words, or more than there are bytes.
    Lengths { id: u64 },
}

pub(crate) fn request(message: &[u8]) -> Result<Asked, Malformed> {
    let head = ServiceRequest::parse(message).ok_or(Malformed::Nameless)?;
    let lengths = Malformed::Lengths { id: head.id };
    let body = &message[ServiceRequest::LEN..];
    let target = head.rpc_target();
    let (parameters, payload) = body
        .split_at_checked(4 * usize::from(target.parameter_words))
        .filter(|_| body.len() as u64 == u64::from(head.length))
        .ok_or(lengths)?;
    let parameters = Parameters::new(parameters).ok_or(lengths)?;
    Ok(Asked { id: head.id, target, key: head.key, parameters, payload: payload.to_vec() })
}

pub(crate) fn answer(message: &[u8]) -> Option<(u64, Outcome)> {
    let head = ServiceAnswer::parse(message)?;
    let data = message[ServiceAnswer::LEN..].to_vec();
    (data.len() as u64 == u64::from(head.length)).then_some((head.id, Outcome { status: head.status, data }))
}

/// The message of an answer, whose bytes are few enough for its head to count.
pub(crate) fn answering(id: u64, outcome: &Outcome) -> Vec<u8> {
    let length = u32::try_from(outcome.data.len()).expect("an answer has 64 KiB at most");
    let mut message = ServiceAnswer { id, status: outcome.status, length }.to_bytes().to_vec();
    message.extend_from_slice(&outcome.data);
    message
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(words: u8, length: u32, behind: &[u8]) -> Vec<u8> {
        let target = RpcTarget { response_max: 77, flags: 1, parameter_words: words, operation: 9 };
        let head = ServiceRequest { id: 5, target: target.to_address(), key: 6, length };
        [&head.to_bytes()[..], behind].concat()
    }

    #[test]
    fn a_request_is_parameters_then_payload() {
        let asked = request(&message(1, 7, b"abcdefg")).unwrap();
        assert_eq!((asked.id, asked.key, asked.parameters.as_bytes()), (5, 6, &b"abcd"[..]));
        assert_eq!((asked.payload, asked.target.operation, asked.target.flags), (b"efg".to_vec(), 9, 1));
        assert_eq!(request(&message(0, 0, b"")).unwrap().payload, b"");
        assert_eq!(request(&message(16, 64, &[1; 64])).unwrap().parameters.words(), 16);
    }

    #[test]
    fn wrong_lengths_are_told_to_who_asked_if_that_is_known() {
        let wrong = Err(Malformed::Lengths { id: 5 });
        assert_eq!(request(&[0; 23]), Err(Malformed::Nameless));
        assert_eq!(request(&[]), Err(Malformed::Nameless));
        assert_eq!(request(&message(1, 8, b"abcdefg")), wrong);
        assert_eq!(request(&message(1, 6, b"abcdefg")), wrong);
        assert_eq!(request(&message(1, u32::MAX, b"abcdefg")), wrong);
        assert_eq!(request(&message(2, 7, b"abcdefg")), wrong);
        assert_eq!(request(&message(17, 68, &[1; 68])), wrong);
    }

    proptest! {
        #[test]
        fn answers_come_back_as_they_were(
            id in any::<u64>(), status in any::<u32>(), data in prop::collection::vec(any::<u8>(), 0..300)
        ) {
            let outcome = Outcome { status, data };
            let mut bytes = answering(id, &outcome);
            prop_assert_eq!(answer(&bytes), Some((id, outcome)));
            bytes.push(0);
            prop_assert_eq!(answer(&bytes), None);
            bytes.truncate(bytes.len() - 2);
            prop_assert_eq!(answer(&bytes), None);
        }

        #[test]
        fn any_bytes_are_a_request_or_refused(
            mut bytes in prop::collection::vec(any::<u8>(), 0..200), fits in any::<bool>()
        ) {
            if fits && let Some(behind) = bytes.len().checked_sub(ServiceRequest::LEN) {
                ServiceRequest::LENGTH.set(&mut bytes, u32::try_from(behind).unwrap());
                bytes[10] %= 17; // the number of parameters
            }
            if let Ok(asked) = request(&bytes) {
                let head = ServiceRequest::parse(&bytes).unwrap();
                prop_assert_eq!(asked.target, head.rpc_target());
                let behind = [asked.parameters.as_bytes(), &asked.payload].concat();
                prop_assert_eq!(behind.len(), head.length as usize);
                prop_assert_eq!(&behind, &bytes[ServiceRequest::LEN..]);
            }
            let _ = answer(&bytes);
        }
    }
}
