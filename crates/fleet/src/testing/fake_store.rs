//! A store inside the test. It implements the part of the protocol that nodes need, and has faults
//! on demand.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::sealed_set::COMPARE_AND_SET;
use crate::sessions::REMOVE_SESSION;

/// Values, and when they expire in milliseconds since 1970.
pub(super) type Data = HashMap<Vec<u8>, (Vec<u8>, Option<i64>)>;

pub(super) struct FakeStore {
    pub(super) address: SocketAddr,
    pub(super) shared: Arc<Shared>,
}

#[derive(Default)]
pub(super) struct Shared {
    pub(super) data: Mutex<Data>,
    /// The sections of `INFO`.
    pub(super) info: Mutex<HashMap<&'static str, String>>,
    /// Whether requests are read but not answered.
    pub(super) unresponsive: AtomicBool,
    /// The error with which the store replies to each request. `PING` gets a normal reply if real
    /// servers reply to it despite this error.
    pub(super) error: Mutex<Option<&'static str>>,
    /// The offset of the store's clock in milliseconds.
    pub(super) offset: AtomicI64,
    pub(super) requests: AtomicUsize,
    /// The name of the commands that are delayed before they are executed.
    held: Mutex<Option<&'static str>>,
    open: Mutex<Vec<TcpStream>>,
}

impl FakeStore {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let replication =
            "role:master\r\nconnected_slaves:0\r\nmaster_replid:first\r\nrepl_backlog_active:0\r\n";
        let mut info = shared.info.lock().unwrap();
        info.insert("server", "run_id:one\r\n".to_owned());
        info.insert("memory", "maxmemory_policy:noeviction\r\n".to_owned());
        info.insert("replication", replication.to_owned());
        drop(info);
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                accepting.open.lock().unwrap().push(stream.try_clone().unwrap());
                let serving = Arc::clone(&accepting);
                thread::spawn(move || drop(serving.serve(stream)));
            }
        });
        Self { address, shared }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    pub(super) fn set_info(&self, section: &'static str, from: &str, to: &str) {
        let mut info = self.shared.info.lock().unwrap();
        let told = info.get_mut(section).unwrap();
        assert!(told.contains(from));
        *told = told.replace(from, to);
    }

    pub(super) fn data(&self) -> Data {
        self.shared.data.lock().unwrap().clone()
    }

    pub(super) fn set_data(&self, data: Data) {
        *self.shared.data.lock().unwrap() = data;
    }

    pub(super) fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    pub(super) fn set_unresponsive(&self, unresponsive: bool) {
        self.shared.unresponsive.store(unresponsive, Ordering::SeqCst);
    }

    /// Delays commands of this name, or releases them. Later commands on the same connections wait
    /// too.
    pub(super) fn hold(&self, name: Option<&'static str>) {
        *self.shared.held.lock().unwrap() = name;
    }

    pub(super) fn set_offset(&self, offset: Duration, back: bool) {
        let offset = i64::try_from(offset.as_millis()).unwrap();
        self.shared.offset.store(if back { -offset } else { offset }, Ordering::SeqCst);
    }

    /// Closes all connections; new ones are accepted.
    pub(super) fn disconnect_all(&self) {
        for stream in self.shared.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// The remaining lifetime in milliseconds of the only key that contains `part`.
    pub(super) fn lifetime(&self, part: &str) -> i64 {
        let data = self.data();
        let mut found = data.iter().filter(|(key, _)| String::from_utf8_lossy(key).contains(part));
        let (_, (_, end)) = found.next().unwrap();
        assert!(found.next().is_none());
        end.unwrap() - self.shared.now()
    }

    /// Shortens the lifetime of all keys that contain `part`.
    pub(super) fn age(&self, part: &str, by: i64) {
        for (key, (_, end)) in self.shared.data.lock().unwrap().iter_mut() {
            if String::from_utf8_lossy(key).contains(part) {
                *end = end.map(|end| end - by);
            }
        }
    }

    /// The value of the only key that contains `part`.
    pub(super) fn value(&self, part: &str) -> Vec<u8> {
        let data = self.data();
        let mut found = data.iter().filter(|(key, _)| String::from_utf8_lossy(key).contains(part));
        let (_, (value, _)) = found.next().unwrap();
        assert!(found.next().is_none());
        value.clone()
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let mut output = stream.try_clone()?;
        let mut input = BufReader::new(stream);
        let mut queue: Option<Vec<Vec<Vec<u8>>>> = None;
        loop {
            let command = read(&mut input)?;
            self.requests.fetch_add(1, Ordering::SeqCst);
            while self.unresponsive.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            let name = String::from_utf8_lossy(&command[0]).to_uppercase();
            while self.held.lock().unwrap().is_some_and(|held| held == name) {
                thread::sleep(Duration::from_millis(1));
            }
            let error = *self.error.lock().unwrap();
            let answer = match (name.as_str(), &mut queue) {
                _ if error.is_some_and(|error| {
                    name != "PING" || ["LOADING", "ERR max"].iter().any(|e| error.starts_with(e))
                }) =>
                {
                    format!("-{}\r\n", error.unwrap()).into_bytes()
                }
                ("MULTI", None) => {
                    queue = Some(Vec::new());
                    b"+OK\r\n".to_vec()
                }
                ("EXEC", Some(_)) => {
                    let commands = queue.take().unwrap();
                    let mut data = self.data.lock().unwrap();
                    let mut answer = format!("*{}\r\n", commands.len()).into_bytes();
                    commands.iter().for_each(|one| answer.extend(self.answer(&mut data, one)));
                    answer
                }
                (_, Some(queue)) => {
                    queue.push(command);
                    b"+QUEUED\r\n".to_vec()
                }
                _ => self.answer(&mut self.data.lock().unwrap(), &command),
            };
            output.write_all(&answer)?;
        }
    }

    fn now(&self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        i64::try_from(now).unwrap() + self.offset.load(Ordering::SeqCst)
    }

    fn answer(&self, data: &mut Data, command: &[Vec<u8>]) -> Vec<u8> {
        let now = self.now();
        data.retain(|_, (_, end)| end.is_none_or(|end| end > now));
        let text: Vec<_> = command.iter().map(|part| String::from_utf8_lossy(part)).collect();
        let after = |word: &str| {
            let at = text.iter().position(|part| part == word)?;
            text.get(at + 1)?.parse::<i64>().ok()
        };
        match text[0].as_ref() {
            "PING" => b"+PONG\r\n".to_vec(),
            "INFO" => bulk(self.info.lock().unwrap().get(text[1].as_ref()).map(String::as_bytes)),
            "TIME" => {
                let (seconds, rest) = ((now / 1000).to_string(), (now % 1000 * 1000).to_string());
                [b"*2\r\n".to_vec(), bulk(Some(seconds.as_bytes())), bulk(Some(rest.as_bytes()))]
                    .concat()
            }
            "GET" => bulk(data.get(&command[1]).map(|(value, _)| &**value)),
            "GETRANGE" => {
                let value = data.get(&command[1]).map(|(value, _)| &**value).unwrap_or_default();
                let (from, to): (usize, usize) =
                    (text[2].parse().unwrap(), text[3].parse().unwrap());
                bulk(Some(&value[from..value.len().min(to + 1)]))
            }
            "SET" if text.contains(&"NX".into()) && data.contains_key(&command[1]) => bulk(None),
            "SET" if text.contains(&"XX".into()) && !data.contains_key(&command[1]) => bulk(None),
            "SET" => {
                let end = after("PX").map(|lifetime| now + lifetime);
                data.insert(command[1].clone(), (command[2].clone(), end));
                b"+OK\r\n".to_vec()
            }
            "PEXPIRE" => {
                let lifetime: i64 = text[2].parse().unwrap();
                let Some(there) = data.get_mut(&command[1]) else { return b":0\r\n".to_vec() };
                there.1 = Some(now + lifetime);
                b":1\r\n".to_vec()
            }
            "EVAL" if text[1] == REMOVE_SESSION => {
                let removes = data.get(&command[3]).is_some_and(|(value, _)| !value.is_empty());
                if removes {
                    data.remove(&command[3]);
                }
                format!(":{}\r\n", u8::from(removes)).into_bytes()
            }
            "EVAL" => {
                assert_eq!(text[1], COMPARE_AND_SET);
                let there =
                    data.get(&command[3]).map(|(value, _)| value.clone()).unwrap_or_default();
                if there != command[4] {
                    return b":0\r\n".to_vec();
                }
                data.insert(command[3].clone(), (command[5].clone(), None));
                b":1\r\n".to_vec()
            }
            other => format!("-ERR unknown command {other}\r\n").into_bytes(),
        }
    }
}

fn bulk(value: Option<&[u8]>) -> Vec<u8> {
    match value {
        None => b"$-1\r\n".to_vec(),
        Some(value) => [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat(),
    }
}

fn read(input: &mut impl BufRead) -> io::Result<Vec<Vec<u8>>> {
    let count = number(input)?;
    (0..count)
        .map(|_| {
            let mut part = vec![0; number(input)? + 2];
            input.read_exact(&mut part)?;
            part.truncate(part.len() - 2);
            Ok(part)
        })
        .collect()
}

fn number(input: &mut impl BufRead) -> io::Result<usize> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    line[1..].trim_end().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}
