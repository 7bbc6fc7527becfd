//! The fake System One server as a program: `cargo run --example fake-system-one -- [options]`.
//!
//! `--port N` (default: a free one), `--key KEY`, `--delay-ms N`, `--fault NAME[:COUNT]` (the first COUNT questions, or
//! all). Prints its address as its first line and serves until its standard input ends or it is killed.
#![allow(unreachable_pub, dead_code, missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "mod.rs"]
mod fake;

use std::io::Read;
use std::time::Duration;

use fake::{Behaviour, FakeSystemOne, Fault};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str| value(name).map_or(0, |text| text.parse().unwrap());
    let mut behaviour = value("--fault").map_or_else(Behaviour::default, |text| {
        let (name, count) = text.split_once(':').unwrap_or((&text, ""));
        let fault = Fault::named(name).unwrap_or_else(|| panic!("no fault {name:?}"));
        Behaviour::failing(count.parse().unwrap_or(usize::MAX), fault)
    });
    behaviour.key = value("--key");
    behaviour.delay = Duration::from_millis(number("--delay-ms"));
    let port = u16::try_from(number("--port")).unwrap();
    let server = FakeSystemOne::on_port(port, behaviour);
    println!("{}", server.url());
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
