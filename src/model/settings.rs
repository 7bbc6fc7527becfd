//! Which model is asked, with which key and how many requests at a time: environment in,
//! [`Settings`] out. Opens no connection.

use super::error::ModelError;
use super::secret::Secret;
use crate::config::{Environment, Number};

/// The vendor's API root and its clients' default model.
const DIRECT_ROOT: &str = "https://api.typesafe.ai";
const DIRECT_MODEL: &str = "jev-latest";
/// Vercel's AI gateway and the model's name there.
const GATEWAY_ROOT: &str = "https://ai-gateway.vercel.sh";
const GATEWAY_MODEL: &str = "typesafe-ai/jev";
/// The local model's server and checkpoint, as in the reference implementation.
const LAYA_URL: &str = "http://127.0.0.1:8770/api/predict";
const LAYA_MODEL: &str = "english";
/// Seconds for one exchange: hosted as in the reference implementation; local longer, because
/// inference on a CPU is slow.
const HOSTED_SECONDS: u64 = 30;
const LAYA_SECONDS: u64 = 90;
/// Concurrent requests, as in the reference implementation: with more, the gateway's free tier
/// answers only 30 %, and Laya has a single lock.
const DIRECT_IN_FLIGHT: usize = 48;
const GATEWAY_IN_FLIGHT: usize = 2;
/// Dollars per million input tokens, the vendor's price page of autumn 2026; output is free.
pub const DOLLARS_PER_MILLION: f64 = 0.042;

const TOKEN_BUDGET: Number = Number {
    variable: "CONTEXT_PACKER_TOKEN_BUDGET",
    option: None,
    default: 20_000_000,
    min: 0,
    max: u64::MAX,
};
const COMPARE_TOP: Number =
    Number { variable: "CONTEXT_PACKER_COMPARE_TOP", option: None, default: 1, min: 0, max: 1 };
const ROLES: Number =
    Number { variable: "CONTEXT_PACKER_ROLES", option: None, default: 1, min: 0, max: 1 };
/// How many files get a sketch, best by keywords first; by default all files of any project.
const SKETCH_FILES: Number = Number {
    variable: "CONTEXT_PACKER_SKETCH_FILES",
    option: None,
    default: 1_000_000,
    min: 0,
    max: 1_000_000,
};
const IN_FLIGHT: Number =
    Number { variable: "CONTEXT_PACKER_IN_FLIGHT", option: None, default: 48, min: 1, max: 48 };

/// The wire format of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// `POST …/v1/systemone`: the vendor, the gateway's compatible route, local servers; also
    /// Laya's `/api/predict`.
    SystemOne,
    /// The gateway's own evaluation route.
    GatewayEvaluation,
}

/// The endpoint of requests.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The full URL: https, or http on this machine.
    pub url: String,
    /// The variable that it comes from, for error messages.
    pub url_variable: &'static str,
    /// Whether it is on this machine: then neither TLS nor a proxy is used.
    pub is_local: bool,
    /// Encoded as a bearer token; none for local servers without one.
    pub key: Option<Secret>,
    /// The variable that the key came from, for error messages.
    pub key_variable: &'static str,
    /// The wire format.
    pub route: Route,
    /// The requested model; an answer may name it more precisely.
    pub model: String,
    /// Concurrent requests.
    pub in_flight: usize,
    /// Timeout of an exchange, in seconds.
    pub timeout_seconds: u64,
}

/// Certificates and proxy.
#[derive(Clone, Default)]
pub struct Network {
    /// A PEM file whose certificates replace the built-in roots.
    pub ca_file: Option<String>,
    /// Variable and URL of a proxy. May hold a password: never printed.
    pub proxy: Option<(&'static str, String)>,
    /// Hosts that bypass it.
    pub no_proxy: Option<String>,
}

/// All settings of a run.
#[derive(Clone)]
pub struct Settings {
    /// The endpoint of requests.
    pub endpoint: Endpoint,
    /// Certificates and proxy.
    pub network: Network,
    /// Input tokens after which no new run starts.
    pub token_budget: u64,
    /// How much is sent.
    pub depth: Depth,
}

/// How much of a project is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// Whether the best are compared with each other.
    pub compare: bool,
    /// Whether the best get a role.
    pub roles: bool,
    /// Most files that get a sketch.
    pub sketch_files: usize,
}

impl Depth {
    /// Needs no key.
    ///
    /// # Errors
    /// A value out of range; the message names the variable.
    pub fn read(environment: Environment<'_>) -> Result<Depth, ModelError> {
        Ok(Depth {
            compare: number(COMPARE_TOP, environment)? == 1,
            roles: number(ROLES, environment)? == 1,
            sketch_files: size(number(SKETCH_FILES, environment)?),
        })
    }
}

fn number(number: Number, environment: Environment<'_>) -> Result<u64, ModelError> {
    number.read(environment).map_err(|error| ModelError::Setting(format!("{error:#}")))
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

impl Settings {
    /// The hosted model: directly, through the gateway, or any compatible server by its base URL.
    ///
    /// # Errors
    /// No key, a URL that is not allowed, a value out of range; the message names the variable and
    /// the remedy.
    pub fn jev(environment: Environment<'_>) -> Result<Settings, ModelError> {
        let endpoint = match environment("JEV_BACKEND").as_deref().map(str::trim) {
            None | Some("auto" | "") => automatic(environment)?,
            Some("typesafe") => direct(environment)?,
            Some("gateway") => gateway(environment)?,
            Some(other) => {
                let text =
                    format!("JEV_BACKEND must be auto, typesafe or gateway, but is {other:?}");
                return Err(ModelError::Setting(text));
            }
        };
        Settings::with(endpoint, environment)
    }

    /// The model on this machine.
    ///
    /// # Errors
    /// A URL that is not plain http on this machine, an invalid model id.
    pub fn laya(environment: Environment<'_>) -> Result<Settings, ModelError> {
        let url = set(environment, "CONTEXT_PACKER_LAYA_URL").unwrap_or_else(|| LAYA_URL.into());
        let authority = url.strip_prefix("http://").map(|rest| rest.split('/').next());
        if !authority.flatten().is_some_and(is_loopback) {
            let text =
                "CONTEXT_PACKER_LAYA_URL must be http on this machine (127.0.0.1 or localhost)";
            return Err(ModelError::Setting(text.into()));
        }
        let (url, is_local) = checked_url("CONTEXT_PACKER_LAYA_URL", &url)?;
        let model =
            set(environment, "CONTEXT_PACKER_LAYA_MODEL").unwrap_or_else(|| LAYA_MODEL.into());
        let is_id = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if model.len() > 64 || !model.bytes().all(is_id) {
            let text = "CONTEXT_PACKER_LAYA_MODEL must be 1 to 64 of A-Z a-z 0-9 . _ -";
            return Err(ModelError::Setting(text.into()));
        }
        let endpoint = Endpoint {
            url,
            is_local,
            key: None,
            key_variable: "",
            url_variable: "CONTEXT_PACKER_LAYA_URL",
            route: Route::SystemOne,
            model,
            in_flight: 1,
            timeout_seconds: LAYA_SECONDS,
        };
        Settings::with(endpoint, environment)
    }

    fn with(mut endpoint: Endpoint, environment: Environment<'_>) -> Result<Settings, ModelError> {
        let most = size(number(IN_FLIGHT, environment)?);
        endpoint.in_flight = endpoint.in_flight.min(most);
        Ok(Settings {
            endpoint,
            network: network(environment),
            token_budget: number(TOKEN_BUDGET, environment)?,
            depth: Depth::read(environment)?,
        })
    }
}

/// A blank value counts as unset.
fn set(environment: Environment<'_>, name: &str) -> Option<String> {
    environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn automatic(environment: Environment<'_>) -> Result<Endpoint, ModelError> {
    let has = |name: &str| set(environment, name).is_some();
    if typesafe_key(environment).is_some() || has("TYPESAFE_BASE_URL") {
        return direct(environment);
    }
    if has("AI_GATEWAY_API_KEY") {
        return gateway(environment);
    }
    Err(ModelError::Setting(
        "provider jev needs a key: set TYPESAFE_API_KEY (console.typesafe.ai/keys) or AI_GATEWAY_API_KEY \
         (Vercel AI Gateway), or do without a model (--provider keywords, --policy local)"
            .into(),
    ))
}

/// The plugin's option takes precedence over the environment variable, as with every setting.
fn typesafe_key(environment: Environment<'_>) -> Option<String> {
    set(environment, "CLAUDE_PLUGIN_OPTION_API_KEY")
        .or_else(|| set(environment, "TYPESAFE_API_KEY"))
}

fn direct(environment: Environment<'_>) -> Result<Endpoint, ModelError> {
    let root = set(environment, "TYPESAFE_BASE_URL").unwrap_or_else(|| DIRECT_ROOT.into());
    let (root, is_local) = checked_url("TYPESAFE_BASE_URL", &root)?;
    let key = typesafe_key(environment).and_then(|key| Secret::new(&key));
    if key.is_none() && !is_local {
        let text = "provider jev needs TYPESAFE_API_KEY: make a key at console.typesafe.ai/keys, \
                    or do without a model (--provider keywords, --policy local)";
        return Err(ModelError::Setting(text.into()));
    }
    Ok(Endpoint {
        url: system_one(&root),
        is_local,
        key: key.map(header_safe("TYPESAFE_API_KEY")).transpose()?,
        key_variable: "TYPESAFE_API_KEY",
        url_variable: "TYPESAFE_BASE_URL",
        route: Route::SystemOne,
        model: set(environment, "TYPESAFE_DEFAULT_MODEL").unwrap_or_else(|| DIRECT_MODEL.into()),
        in_flight: DIRECT_IN_FLIGHT,
        timeout_seconds: HOSTED_SECONDS,
    })
}

/// `CONTEXT_PACKER_GATEWAY_URL` is a root; one that ends in `/typesafe` means the compatible route.
fn gateway(environment: Environment<'_>) -> Result<Endpoint, ModelError> {
    let root =
        set(environment, "CONTEXT_PACKER_GATEWAY_URL").unwrap_or_else(|| GATEWAY_ROOT.into());
    let (root, is_local) = checked_url("CONTEXT_PACKER_GATEWAY_URL", &root)?;
    let Some(key) = set(environment, "AI_GATEWAY_API_KEY").and_then(|key| Secret::new(&key)) else {
        let text = "JEV_BACKEND=gateway needs AI_GATEWAY_API_KEY: make a key in Vercel's AI Gateway, \
                    or do without a model (--provider keywords, --policy local)";
        return Err(ModelError::Setting(text.into()));
    };
    let is_compatible = root.ends_with("/typesafe");
    let url =
        if is_compatible { system_one(&root) } else { format!("{root}/v4/ai/evaluation-model") };
    Ok(Endpoint {
        url,
        is_local,
        key: Some(header_safe("AI_GATEWAY_API_KEY")(key)?),
        key_variable: "AI_GATEWAY_API_KEY",
        url_variable: "CONTEXT_PACKER_GATEWAY_URL",
        route: if is_compatible { Route::SystemOne } else { Route::GatewayEvaluation },
        model: GATEWAY_MODEL.into(),
        in_flight: GATEWAY_IN_FLIGHT,
        timeout_seconds: HOSTED_SECONDS,
    })
}

fn header_safe(variable: &'static str) -> impl Fn(Secret) -> Result<Secret, ModelError> {
    move |key| {
        let is_visible = key.bearer().bytes().all(|b| (b' '..=b'~').contains(&b));
        let wrong = || ModelError::Setting(format!("{variable} holds characters that no key has"));
        is_visible.then_some(key).ok_or_else(wrong)
    }
}

/// The vendor's variable is a root; users also write the whole path, or a root that ends in `/v1`.
fn system_one(root: &str) -> String {
    if root.ends_with("/systemone") {
        root.to_owned()
    } else if root.ends_with("/v1") {
        format!("{root}/systemone")
    } else {
        format!("{root}/v1/systemone")
    }
}

/// The URL without trailing slashes, and whether it is on this machine. Plain http is only allowed
/// on this machine.
fn checked_url(variable: &str, url: &str) -> Result<(String, bool), ModelError> {
    // A URL may contain a password, so messages name only the variable.
    let wrong = |why: &str| Err(ModelError::Setting(format!("{variable} {why}")));
    let Some((scheme, rest)) = url.split_once("://") else {
        return wrong("must start with https:// (or http:// on this machine)");
    };
    let authority = rest.split('/').next().unwrap_or_default();
    if rest.contains(['#', '?']) || authority.contains('@') {
        return wrong("must have no user name, no query and no fragment");
    }
    if authority.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return wrong("is not a URL");
    }
    let is_local = is_loopback(authority);
    match scheme {
        "https" => {}
        "http" if is_local => {}
        "http" => return wrong("must be https: plain http is allowed on this machine only"),
        _ => return wrong("must start with https:// (or http:// on this machine)"),
    }
    Ok((url.trim_end_matches('/').to_owned(), is_local))
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let is_address = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is_address || host.eq_ignore_ascii_case("localhost")
}

fn network(environment: Environment<'_>) -> Network {
    const PROXIES: [&str; 4] = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    let proxy = PROXIES.into_iter().find_map(|name| Some((name, set(environment, name)?)));
    Network {
        ca_file: set(environment, "CONTEXT_PACKER_CA_FILE"),
        proxy,
        no_proxy: set(environment, "no_proxy").or_else(|| set(environment, "NO_PROXY")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Table<'a> = &'a [(&'a str, &'a str)];

    fn jev(table: Table<'_>) -> Result<Settings, ModelError> {
        Settings::jev(&|name| table.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).into()))
    }

    #[track_caller]
    fn check(table: Table<'_>, url: &str, model: &str, in_flight: usize) {
        let endpoint = jev(table).map_err(|e| e.to_string()).unwrap().endpoint;
        assert_eq!((endpoint.url.as_str(), endpoint.model.as_str()), (url, model));
        assert_eq!(endpoint.in_flight, in_flight);
    }

    #[track_caller]
    fn refused(table: Table<'_>, part: &str) {
        let Err(error) = jev(table) else { panic!("{table:?} was accepted") };
        assert!(error.to_string().contains(part), "{error}");
        assert!(!error.to_string().contains("k3y"), "{error}");
    }

    #[test]
    fn the_key_decides_who_is_asked() {
        let direct = "https://api.typesafe.ai/v1/systemone";
        check(&[("TYPESAFE_API_KEY", "k3y")], direct, "jev-latest", 48);
        let evaluation = "https://ai-gateway.vercel.sh/v4/ai/evaluation-model";
        check(&[("AI_GATEWAY_API_KEY", "k3y")], evaluation, "typesafe-ai/jev", 2);
        let both = [("AI_GATEWAY_API_KEY", "k3y"), ("TYPESAFE_API_KEY", "k3y")];
        check(&both, direct, "jev-latest", 48);
        let forced = [both[0], both[1], ("JEV_BACKEND", "gateway")];
        check(&forced, evaluation, "typesafe-ai/jev", 2);
        let root = ("CONTEXT_PACKER_GATEWAY_URL", "https://ai-gateway.vercel.sh/typesafe/");
        let compatible = "https://ai-gateway.vercel.sh/typesafe/v1/systemone";
        check(&[both[0], root], compatible, "typesafe-ai/jev", 2);
    }

    #[test]
    fn the_base_url_is_a_root_or_the_whole_path() {
        let key = ("TYPESAFE_API_KEY", "k3y");
        for root in ["https://h/x", "https://h/x/", "https://h/x/v1", "https://h/x/v1/systemone"] {
            let table = [key, ("TYPESAFE_BASE_URL", root)];
            check(&table, "https://h/x/v1/systemone", "jev-latest", 48);
        }
        let local = [("TYPESAFE_BASE_URL", "http://[::1]:8000")];
        check(&local, "http://[::1]:8000/v1/systemone", "jev-latest", 48);
        let pinned =
            [key, ("TYPESAFE_DEFAULT_MODEL", "jev-1.13.0"), ("CONTEXT_PACKER_IN_FLIGHT", "4")];
        check(&pinned, "https://api.typesafe.ai/v1/systemone", "jev-1.13.0", 4);
    }

    #[test]
    fn errors_name_the_variable_and_never_its_key() {
        refused(&[], "TYPESAFE_API_KEY");
        refused(&[("TYPESAFE_API_KEY", "  ")], "TYPESAFE_API_KEY");
        refused(&[("TYPESAFE_API_KEY", "k3y\u{7}")], "TYPESAFE_API_KEY holds characters");
        refused(&[("JEV_BACKEND", "typesafe"), ("AI_GATEWAY_API_KEY", "k3y")], "TYPESAFE_API_KEY");
        refused(&[("JEV_BACKEND", "gateway")], "AI_GATEWAY_API_KEY");
        refused(&[("JEV_BACKEND", "vercel"), ("TYPESAFE_API_KEY", "k3y")], "JEV_BACKEND must be");
        let key = ("TYPESAFE_API_KEY", "k3y");
        for url in
            ["http://example.org", "ftp://h", "h", "https://u:k3y@h", "https://h/#k3y", "https://"]
        {
            refused(&[key, ("TYPESAFE_BASE_URL", url)], "TYPESAFE_BASE_URL");
        }
        refused(&[key, ("CONTEXT_PACKER_ROLES", "2")], "CONTEXT_PACKER_ROLES must be from");
        refused(&[("TYPESAFE_BASE_URL", "https://h")], "TYPESAFE_API_KEY");
    }

    #[test]
    fn laya_is_plain_http_on_this_machine() {
        let laya = |table: Table<'_>| {
            Settings::laya(&|n| table.iter().find(|(k, _)| *k == n).map(|(_, v)| (*v).into()))
        };
        let endpoint = laya(&[]).map_err(|e| e.to_string()).unwrap().endpoint;
        assert_eq!((endpoint.url.as_str(), endpoint.in_flight), (LAYA_URL, 1));
        let refused = |url: &str| {
            let table = [("CONTEXT_PACKER_LAYA_URL", url)];
            laya(&table).err().map(|error| error.to_string()).unwrap_or_default()
        };
        let wrong = "CONTEXT_PACKER_LAYA_URL must be http on this machine";
        for url in [
            "http://example.org/api/predict",
            "https://example.org/",
            "https://127.0.0.1/x",
            "http://u@127.0.0.1/",
            "http://[::1.example.org/",
            "nowhere",
        ] {
            assert!(refused(url).starts_with(wrong), "{url}: {}", refused(url));
        }
        assert!(refused("http://127.0.0.1/x?q").contains("no query"));
        assert!(laya(&[("CONTEXT_PACKER_LAYA_MODEL", "a b")]).is_err());
    }
}
