//! By kernels: a GET is one round trip, a change two.
//!
//! A change first reads the bucket, and the key at its preferred entry, in one chain of `prism`. Chains are carried out one after the other, so it sees no change
//! half done. A second chain makes the change, if nothing has come in between:
//!
//! | change | chain | why that is enough |
//! |---|---|---|
//! | replace | append · swap entry if it has the address that was found | No buffer is given to another object while operations are under way, so the same address is the same object, and so the same key: there is no ABA |
//! | insert | swap count if it is the one that was found · append · swap entry if it is empty | Another insert of the same key may have taken another entry; it has changed the count |
//! | delete | swap entry to zeros if it has the address that was found | as for replace |
//!
//! Each step goes on only if the one before it is done. A chain that loses has changed nothing but the count, which is only compared, or the list: the buffer
//! that it has filled is used by the next attempt.

use stroma_abi::kernel::get::{BUCKET_LEN, BucketEntry};
use stroma_abi::kernel::prism::Stage;
use stroma_kernel_client::consistency;
use stroma_kernel_client::get::Lookup;
use stroma_kernel_client::prism::{Answer, Chain, Comparison, Outcome, Place, Step, Swap};

use super::{ATTEMPTS, Client};
use crate::bucket::{Bucket, entry};
use crate::{Error, Reach, Result, object};

/// An object that does not fit its CRC is read so often at the card, with so many cycles in between.
const READS: u16 = 100;
const READ_PAUSE: u16 = 100;

/// What a chain found: the bucket, and the key's entry if there is one.
struct Found {
    bucket: Bucket,
    place: Option<usize>,
}

/// A chain that publishes an object in a bucket.
struct Publication {
    chain: Chain,
    /// How many steps it has.
    steps: usize,
    /// The step that appends the object, if no attempt before has.
    append: Option<usize>,
}

impl<R: Reach> Client<R> {
    pub(super) async fn get_by_kernel(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let value_at = object::value_at(key)?;
        let layout = self.directory.layout;
        let value_max = layout.buffer_bytes.saturating_sub(u32::try_from(value_at).unwrap_or(u32::MAX));
        let request = self.directory.shape.request(key, 1).map_err(|_| Error::Key { length: key.len() })?;
        let Some(answer) = self.line.call(&Lookup { request, value_max }).await? else { return Ok(None) };
        match object::open_answer(key, &answer) {
            Some(value) => Ok(Some(value)),
            None => self.get_when_whole(key).await,
        }
    }

    /// Has the card read the key's object until its CRC fits.
    async fn get_when_whole(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Found { bucket, place } = self.find(key).await?;
        let Some(place) = place else { return Ok(None) };
        let object = self.whole(&bucket.entries[place]).await?;
        Ok(Some(object.1))
    }

    /// Key and value of the object of an entry, as `consistency` has found it whole.
    pub(crate) async fn whole(&mut self, entry: &BucketEntry) -> Result<(Vec<u8>, Vec<u8>)> {
        let &BucketEntry { address, length, .. } = entry;
        let torn = || Error::Torn { address, length };
        let content = (length as usize).saturating_sub(8);
        let request = consistency::request(address, content, READS, READ_PAUSE).map_err(|_| torn())?;
        let mut object = self.line.call(&request).await?.ok_or_else(torn)?;
        // `parts` expects a CRC, which the kernel has taken off.
        object.extend([0; 8]);
        object::parts(&object).ok_or_else(torn)
    }

    /// Reads the key's bucket, and finds its entry.
    async fn find(&mut self, key: &[u8]) -> Result<Found> {
        let (address, front) = (Bucket::of(&self.directory, key), object::value_at(key)?);
        let at = |address| Place::new(address, self.directory.key);
        let preferred = Bucket::preferred(key);
        let pointer = at(Bucket::pointer_at(address, preferred));
        let chain = Chain::new()
            .always(Step::read(at(address), BUCKET_LEN))
            .always(Step::read(pointer, front).through_pointer());
        let answer = self.line.call(&chain.request()?).await?;
        let bucket = Bucket::parse(address, answer.data(0)).ok_or_else(|| refused("find", &answer, 0))?;
        for place in bucket.candidates(key) {
            let is_key = if place == preferred {
                object::is_of(key, answer.data(1))
            } else {
                let chain = Chain::new().always(Step::read(at(bucket.entries[place].address), front));
                let answer = self.line.call(&chain.request()?).await?;
                object::is_of(key, answer.data(0))
            };
            if is_key {
                return Ok(Found { bucket, place: Some(place) });
            }
        }
        Ok(Found { bucket, place: None })
    }

    pub(super) async fn put_by_kernel(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        let object = object::make(&self.directory.layout, key, value)?;
        // Filled by an attempt that lost its race.
        let mut buffer = None;
        for attempt in 0..ATTEMPTS {
            let Found { bucket, place } = self.find(key).await?;
            if bucket.is_locked() {
                self.line.pause(attempt).await;
                continue;
            }
            let target = place.map_or_else(|| bucket.vacancy(key), Ok)?;
            let is_new = place.is_none();
            let Publication { chain, steps, append } =
                self.publication(&bucket, target, is_new, &entry(key, &object, buffer.unwrap_or(0)), &object);
            let answer = self.line.call(&chain.request()?).await?;
            if answer.is_done(steps) {
                return Ok(!is_new);
            }
            if let Some(step) = append {
                match answer.outcome(step) {
                    Outcome::Done => buffer = answer.report(step).map(|report| report.address),
                    Outcome::NoBuffer => {
                        return Err(Error::OutOfSpace { buffers: self.directory.layout.buffers() as u64 });
                    }
                    _ => {}
                }
            }
            lost("PUT", &answer, steps)?;
            self.line.pause(attempt).await;
        }
        Err(self.contended("PUT", key))
    }

    /// The chain that swaps an entry in, and appends its object first if the entry has no address yet.
    fn publication(
        &self,
        bucket: &Bucket,
        place: usize,
        is_new: bool,
        entry: &BucketEntry,
        object: &[u8],
    ) -> Publication {
        let at = |address| Place::new(address, self.directory.key);
        let mut chain = Chain::new();
        let mut steps = 0;
        if is_new {
            let grow = Swap::new(Comparison::Equal, &bucket.count.to_le_bytes(), &[bucket.count + 1]);
            chain = chain.always(Step::swap(at(bucket.count_at()), &grow));
            steps += 1;
        }
        let mut publish = Step::swap(at(bucket.entry_at(place)), &swap(bucket.entries[place].address, entry));
        let append = (entry.address == 0).then_some(steps);
        if append.is_some() {
            chain = chain.then(Step::allocate(at(self.directory.list), self.directory.key, object));
            publish = publish.with_buffer(1);
            steps += 1;
        }
        Publication { chain: chain.then(publish), steps: steps + 1, append }
    }

    pub(super) async fn delete_by_kernel(&mut self, key: &[u8]) -> Result<bool> {
        for attempt in 0..ATTEMPTS {
            let Found { bucket, place } = self.find(key).await?;
            let Some(place) = place else { return Ok(false) };
            let swap = swap(bucket.entries[place].address, &BucketEntry::default());
            let target = Place::new(bucket.entry_at(place), self.directory.key);
            let chain = Chain::new().always(Step::swap(target, &swap));
            let answer = self.line.call(&chain.request()?).await?;
            if answer.is_done(1) {
                return Ok(true);
            }
            lost("DELETE", &answer, 1)?;
            self.line.pause(attempt).await;
        }
        Err(self.contended("DELETE", key))
    }

    pub(super) fn contended(&self, operation: &'static str, key: &[u8]) -> Error {
        Error::Contended { operation, place: Bucket::of(&self.directory, key), attempts: ATTEMPTS }
    }
}

/// Swaps an entry whose address is still `address` for another. Fingerprint and length of an empty one may be left over, and do not count.
fn swap(address: u64, to: &BucketEntry) -> Swap {
    let compare = BucketEntry { address, ..BucketEntry::default() }.to_bytes();
    let mask = BucketEntry { address: u64::MAX, ..BucketEntry::default() }.to_bytes();
    let words = [u64::from(to.length) << u32::BITS | u64::from(to.fingerprint), to.address];
    Swap::new(Comparison::Equal, &compare, &words).comparing(&mask)
}

/// A chain that was not carried out to its end has lost a race, or else something is wrong.
fn lost(operation: &'static str, answer: &Answer, steps: usize) -> Result<()> {
    let mut ends = (0..steps).map(|step| (step, answer.outcome(step)));
    match ends.find(|(_, outcome)| *outcome != Outcome::Done) {
        Some((_, Outcome::NotSwapped)) | None => Ok(()),
        Some((step, _)) => Err(refused(operation, answer, step)),
    }
}

fn refused(operation: &'static str, answer: &Answer, step: usize) -> Error {
    let stage = answer.report(step).and_then(|report| Stage::from_code(report.stage));
    Error::Chain { operation, step, outcome: answer.outcome(step), stage: stage.unwrap_or(Stage::Nowhere) }
}
