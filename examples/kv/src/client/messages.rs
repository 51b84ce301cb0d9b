//! By messages: the server's processor does all of it.

use super::Client;
use crate::bucket::Bucket;
use crate::message::{Answer, Refusal, Request};
use crate::{Error, Reach, Result, object};

impl<R: Reach> Client<R> {
    pub(super) async fn get_by_message(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        object::value_at(key)?;
        match self.ask(&Request::Get { key: key.to_vec() }, key).await? {
            Answer::Present(value) => Ok(Some(value)),
            _ => Ok(None),
        }
    }

    pub(super) async fn put_by_message(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        // What cannot be stored is told here, as it is in the other ways.
        object::make(&self.directory.layout, key, value)?;
        let request = Request::Put { key: key.to_vec(), value: value.to_vec() };
        Ok(matches!(self.ask(&request, key).await?, Answer::Present(_)))
    }

    pub(super) async fn delete_by_message(&mut self, key: &[u8]) -> Result<bool> {
        object::value_at(key)?;
        Ok(matches!(self.ask(&Request::Delete { key: key.to_vec() }, key).await?, Answer::Present(_)))
    }

    async fn ask(&mut self, request: &Request, key: &[u8]) -> Result<Answer> {
        let answer = self.line.exchange(&request.to_bytes()?).await?;
        match Answer::parse(&answer)? {
            Answer::Refused(Refusal::OutOfSpace) => {
                Err(Error::OutOfSpace { buffers: self.directory.layout.buffers() as u64 })
            }
            Answer::Refused(Refusal::BucketFull) => {
                Err(Error::BucketFull { bucket: Bucket::of(&self.directory, key) })
            }
            Answer::Refused(refusal) => Err(Error::Refused { refusal }),
            answer => Ok(answer),
        }
    }
}
