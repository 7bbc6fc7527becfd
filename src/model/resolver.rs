//! Caches the address of a host for a minute.
//!
//! The library resolves the host for every request, even on a kept connection, and with a timeout
//! it does so on a new thread: fifty look-ups and threads for a pack that asks one host.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// How long an address is cached: the shortest time to live that is common among hosted services.
const BELIEVED: Duration = Duration::from_secs(60);

/// The library's resolver with its newest answer cached.
#[derive(Debug, Default)]
pub(super) struct CachingResolver {
    resolver: DefaultResolver,
    newest: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    uri: Uri,
    addresses: ResolvedSocketAddrs,
    since: Instant,
}

impl Resolver for CachingResolver {
    /// Requests that start together wait for one look-up, bounded by the timeout of the first.
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |known: &&Known| {
            known.uri.scheme() == uri.scheme()
                && known.uri.authority() == uri.authority()
                && known.since.elapsed() < BELIEVED
        };
        if let Some(known) = newest.as_ref().filter(is_known) {
            return Ok(known.addresses.clone());
        }
        let addresses = self.resolver.resolve(uri, config, timeout)?;
        *newest =
            Some(Known { uri: uri.clone(), addresses: addresses.clone(), since: Instant::now() });
        Ok(addresses)
    }
}
