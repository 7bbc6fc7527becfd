//! Sends one POST: bytes out; status, a few headers and bytes back. The only file that knows the
//! HTTP library.
//!
//! Redirects are not followed, so a key reaches no other host. The timeout covers the whole
//! exchange including the body. A response is read up to [`RESPONSE_BYTES`].

use std::time::Duration;

use ureq::tls::{PemItem, RootCerts, TlsConfig};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Proxy, http};

use super::error::ModelError;
use super::resolver::CachingResolver;
use super::secret::Secret;
use super::settings::{Endpoint, Network, Route};

/// Longest response that is read: answers about 60 files take 5 kB, and the service never sends
/// megabytes.
pub const RESPONSE_BYTES: u64 = 4 * 1024 * 1024;
/// Buffer of each connection and direction: a third of a request of sketches. The library's 128 kB,
/// times 48 connections times two, would all be zeroed before anything is sent.
const BUFFER_BYTES: usize = 32 * 1024;
/// Encoded with every request: the vendor's firewall turns away clients without one.
const USER_AGENT: &str = concat!("context-packer/", env!("CARGO_PKG_VERSION"));
/// Versions of the gateway's evaluation protocol (`@ai-sdk/gateway` 4.0.87).
const GATEWAY_HEADERS: &[(&str, &str)] = &[
    ("ai-gateway-protocol-version", "0.0.1"),
    ("ai-gateway-auth-method", "api-key"),
    ("ai-evaluation-model-specification-version", "4"),
];

/// A response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// `retry-after-ms`.
    pub retry_after_ms: Option<String>,
    /// `retry-after`.
    pub retry_after: Option<String>,
    /// The request id of the service or its firewall, for a report to them.
    pub request_id: Option<String>,
    /// The body, whatever its content type is.
    pub body: Vec<u8>,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportError {
    /// The timeout passed.
    TimedOut,
    /// The connection was refused.
    Refused(String),
    /// The connection was reset or cut; fewer at a time may succeed.
    Cut(String),
    /// Any other network error, including name resolution.
    Network(String),
    /// TransportError that a second try meets again: certificates, an answer that is no HTTP or too
    /// long.
    Permanent(String),
}

/// The interface between the client and the network, replaced in tests.
pub trait Transport: Send + Sync {
    /// Sends one request body; `retry` is 0 for the first try.
    ///
    /// # Errors
    /// No response in time, or an unreadable one.
    fn post(&self, body: &[u8], retry: u32, timeout: Duration) -> Result<Response, TransportError>;
}

/// The network.
pub struct Http {
    agent: Agent,
    endpoint: Endpoint,
}

impl Http {
    /// Does not open a connection yet. One agent serves all threads; it keeps one connection per
    /// permit.
    ///
    /// # Errors
    /// A certificate file that cannot be read, a proxy that is not a URL.
    pub fn new(endpoint: Endpoint, network: &Network) -> Result<Http, ModelError> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(USER_AGENT)
            .input_buffer_size(BUFFER_BYTES)
            .output_buffer_size(BUFFER_BYTES)
            .max_idle_connections(endpoint.in_flight)
            .max_idle_connections_per_host(endpoint.in_flight)
            .proxy(proxy(&endpoint, network)?);
        if let Some(path) = network.ca_file.as_ref().filter(|_| !endpoint.is_local) {
            let roots = RootCerts::new_with_certs(&certificates(path)?);
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        let connector = DefaultConnector::default();
        let agent = Agent::with_parts(config.build(), connector, CachingResolver::default());
        Ok(Http { agent, endpoint })
    }
}

impl Transport for Http {
    fn post(&self, body: &[u8], retry: u32, timeout: Duration) -> Result<Response, TransportError> {
        let mut request = self
            .agent
            .post(&self.endpoint.url)
            .header("content-type", "application/json")
            .header("accept", "application/json");
        if let Some(key) = &self.endpoint.key {
            request = request.header("authorization", Secret::bearer(key));
        }
        if self.endpoint.route == Route::GatewayEvaluation {
            request = request.header("ai-model-id", &self.endpoint.model);
            for &(name, value) in GATEWAY_HEADERS {
                request = request.header(name, value);
            }
        }
        if retry > 0 {
            request = request.header("x-typesafe-retry-count", retry.to_string());
        }
        let request = request.config().timeout_global(Some(timeout)).build();
        let response = request.send(body).map_err(|error| trouble(&error))?;
        read(response)
    }
}

fn read(mut response: http::Response<Body>) -> Result<Response, TransportError> {
    let header = |name: &str| {
        response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let head = Response {
        status: response.status().as_u16(),
        retry_after_ms: header("retry-after-ms"),
        retry_after: header("retry-after"),
        request_id: header("x-typesafe-request-id").or_else(|| header("cf-ray")),
        body: Vec::new(),
    };
    let body = response.body_mut().with_config().limit(RESPONSE_BYTES).read_to_vec();
    Ok(Response { body: body.map_err(|error| trouble(&error))?, ..head })
}

fn trouble(error: &ureq::Error) -> TransportError {
    use std::io::ErrorKind;
    let text = error.to_string();
    match error {
        ureq::Error::Timeout(_) => TransportError::TimedOut,
        ureq::Error::Io(io) => match io.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => TransportError::TimedOut,
            ErrorKind::InvalidData if text.contains("certificate") => {
                TransportError::Permanent(text)
            }
            ErrorKind::ConnectionRefused => TransportError::Refused(text),
            ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
            | ErrorKind::UnexpectedEof
            | ErrorKind::NotConnected => TransportError::Cut(text),
            _ => TransportError::Network(text),
        },
        ureq::Error::BodyStalled | ureq::Error::ConnectionFailed => TransportError::Cut(text),
        ureq::Error::HostNotFound | ureq::Error::ConnectProxyFailed(_) => {
            TransportError::Network(text)
        }
        ureq::Error::BodyExceedsLimit(_) => {
            TransportError::Permanent("the answer is too long".into())
        }
        _ => TransportError::Permanent(text),
    }
}

/// The proxy from the environment; never used for a server on this machine.
fn proxy(endpoint: &Endpoint, network: &Network) -> Result<Option<Proxy>, ModelError> {
    let Some((variable, url)) = network.proxy.as_ref().filter(|_| !endpoint.is_local) else {
        return Ok(None);
    };
    // The URL may contain a password, so it is not shown.
    let wrong = |_| ModelError::Setting(format!("{variable} is not the URL of a proxy"));
    let proxy = Proxy::new(url).map_err(wrong)?;
    let Some(exceptions) = &network.no_proxy else { return Ok(Some(proxy)) };
    let mut builder = Proxy::builder(proxy.protocol()).host(proxy.host()).port(proxy.port());
    if let (Some(user), Some(password)) = (proxy.username(), proxy.password()) {
        builder = builder.username(user).password(password);
    }
    for host in exceptions.split(',').map(str::trim).filter(|host| !host.is_empty()) {
        builder = builder.no_proxy(host);
    }
    builder.build().map(Some).map_err(wrong)
}

fn certificates(path: &str) -> Result<Vec<ureq::tls::Certificate<'static>>, ModelError> {
    let wrong = |why: String| ModelError::Setting(format!("CONTEXT_PACKER_CA_FILE {path:?} {why}"));
    let pem = std::fs::read(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let mut found = Vec::new();
    for item in ureq::tls::parse_pem(&pem) {
        match item {
            Ok(PemItem::Certificate(certificate)) => found.push(certificate),
            Ok(_) => {}
            Err(error) => return Err(wrong(format!("is not PEM: {error}"))),
        }
    }
    if found.is_empty() { Err(wrong("holds no certificate".into())) } else { Ok(found) }
}
