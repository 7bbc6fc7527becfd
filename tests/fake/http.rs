//! A small HTTP/1.1 server for tests: keep-alive, one thread per connection, replies that can be cut short.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub struct Request {
    pub method: String,
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Whole,
    /// Half of the body, then the connection ends.
    Cut,
    /// Nothing at all: the connection ends.
    Nothing,
}

pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub ending: Ending,
}

impl Reply {
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Reply {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Reply { status, headers, body: body.into(), ending: Ending::Whole }
    }

    pub fn json(status: u16, body: &serde_json::Value) -> Reply {
        Reply::new(status, "application/json", body.to_string())
    }

    pub fn with(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn ending(mut self, ending: Ending) -> Reply {
        self.ending = ending;
        self
    }
}

pub type Handler = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

/// A running server; it stops taking connections when dropped.
pub struct Server {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Server {
    pub fn start(port: u16, handler: Handler) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let handler = Arc::clone(&handler);
                std::thread::spawn(move || serve(&stream, &handler));
            }
        });
        Server { address, stop }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(stream: &TcpStream, handler: &Handler) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader) {
        let reply = handler(&request);
        if write(stream, &reply).is_err() || reply.ending != Ending::Whole {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, path, headers, body: Vec::new() };
    request.body = read_body(reader, &request)?;
    Some(request)
}

fn read_body(reader: &mut BufReader<&TcpStream>, request: &Request) -> Option<Vec<u8>> {
    if request.header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        return read_chunks(reader);
    }
    let length = request.header("content-length").and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

fn read_chunks(reader: &mut BufReader<&TcpStream>) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut part = vec![0; length];
        reader.read_exact(&mut part).ok()?;
        reader.read_line(&mut line).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.extend(part);
    }
}

fn write(mut stream: &TcpStream, reply: &Reply) -> std::io::Result<()> {
    if reply.ending == Ending::Nothing {
        return Ok(());
    }
    let mut bytes = format!("HTTP/1.1 {} Status\r\n", reply.status).into_bytes();
    for (name, value) in &reply.headers {
        bytes.extend(format!("{name}: {value}\r\n").into_bytes());
    }
    bytes.extend(format!("content-length: {}\r\n\r\n", reply.body.len()).into_bytes());
    let sent = if reply.ending == Ending::Cut { reply.body.len() / 2 } else { reply.body.len() };
    bytes.extend(&reply.body[..sent]);
    stream.write_all(&bytes)
}
