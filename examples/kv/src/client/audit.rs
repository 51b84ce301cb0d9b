//! All that a store holds, as the server's card finds it whole.

use std::collections::BTreeMap;

use stroma_abi::kernel::get::BUCKET_LEN;

use super::Client;
use crate::bucket::Bucket;
use crate::{Error, Reach, Result};

impl<R: Reach> Client<R> {
    /// All keys and their values: buckets by READ, each object by `consistency`. What changes meanwhile may be seen or not.
    ///
    /// # Errors
    /// [`Error::Torn`]; what the card tells.
    pub async fn contents(&mut self) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        let mut contents = BTreeMap::new();
        for number in 0..self.directory.layout.buckets() {
            let address = self.directory.shape.base + (number * BUCKET_LEN) as u64;
            let bytes = self.line.read(address, BUCKET_LEN).await?;
            let bucket = Bucket::parse(address, &bytes).ok_or(Error::Message { length: bytes.len() })?;
            for entry in bucket.entries.iter().filter(|entry| entry.address != 0) {
                let (key, value) = self.whole(entry).await?;
                contents.insert(key, value);
            }
        }
        Ok(contents)
    }
}
