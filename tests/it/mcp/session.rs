//! A session with the server, in which the test is the client.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Packer, assert_no_key};

/// Longest wait for a line; a loaded machine may be slow, a hang is a failure.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server and its client, which is us.
pub struct Session {
    pub child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Session {
    pub fn start(packer: Packer) -> Session {
        let mut command = packer.command;
        if command.get_args().next().is_none() {
            command.arg("mcp");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let line = line.unwrap();
                // No line at all is how the reader learns of a key.
                assert_no_key("a line of the server", line.as_bytes());
                let _ = sender.send(line);
            }
        });
        let stdin = child.stdin.take();
        Session { child, stdin, lines }
    }

    /// A session of the newest version that has shaken hands.
    pub fn open(packer: Packer, capabilities: &Value) -> Session {
        let mut session = Session::start(packer);
        session.request(0, "initialize", &initialize("2025-11-25", capabilities));
        assert_eq!(session.receive()["id"], 0);
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    pub fn raw(&mut self, line: &[u8]) {
        let pipe = self.stdin.as_mut().unwrap();
        pipe.write_all(line).unwrap();
        pipe.write_all(b"\n").unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.raw(message.to_string().as_bytes());
    }

    pub fn request(&mut self, id: u64, method: &str, params: &Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send(&message);
    }

    pub fn call(&mut self, id: u64, arguments: &Value) {
        self.request(id, "tools/call", &json!({ "name": "pack_context", "arguments": arguments }));
    }

    pub fn cancel(&mut self, id: u64) {
        let params = json!({ "requestId": id, "reason": "no longer needed" });
        let method = "notifications/cancelled";
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    #[track_caller]
    pub fn receive(&mut self) -> Value {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => serde_json::from_str(&line).unwrap(),
            Err(error) => panic!("no answer: {error}; the server: {:?}", self.child.try_wait()),
        }
    }

    /// Closes the server's input; what it still says, how it ends and how long that takes.
    pub fn close(mut self) -> (Vec<String>, ExitStatus, Duration) {
        drop(self.stdin.take());
        let started = Instant::now();
        let status = self.wait();
        (self.lines.iter().collect(), status, started.elapsed())
    }

    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(started.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn initialize(version: &str, capabilities: &Value) -> Value {
    let client = json!({ "name": "test", "version": "0" });
    json!({ "protocolVersion": version, "capabilities": capabilities, "clientInfo": client })
}

/// The text of a tool's answer.
pub fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap()
}
