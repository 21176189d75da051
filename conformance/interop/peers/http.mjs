// Requests over HTTP by Node's own clients. Each connection offers the session of the one before. Usage: PORT
// NAME ROOTS 1.2|1.3 1|2 COUNT. Prints the protocol, whether the session was resumed, and the body.
import { readFileSync } from "node:fs";
import https from "node:https";
import http2 from "node:http2";

const [port, name, roots, version, protocol, count] = process.argv.slice(2);
const terms = {
  ca: readFileSync(roots),
  host: "127.0.0.1",
  port: Number(port),
  servername: name,
  minVersion: `TLSv${version}`,
  maxVersion: `TLSv${version}`,
};

let left = Number(count);
next();

function next(session) {
  if (left-- > 0) protocol === "2" ? ask2(session) : ask1(session);
}

function print(shown, socket, stream) {
  let body = "";
  stream.setEncoding("utf8");
  stream.on("data", (piece) => (body += piece));
  stream.on("end", () => {
    process.stdout.write(`${shown} resumed ${socket.isSessionReused() ? "yes" : "no"} ${body}`);
  });
}

function fail(error) {
  console.error(error);
  process.exit(1);
}

function ask2(session) {
  const connection = http2.connect(`https://${name}:${port}`, { ...terms, session });
  connection.on("error", fail);
  connection.once("connect", (_, socket) => {
    // In TLS 1.2 the session exists already when the connection is established.
    session = socket.getSession() ?? session;
    socket.on("session", (newest) => (session = newest));
    const stream = connection.request({ ":path": "/node" });
    stream.on("error", fail);
    print("HTTP/2.0", socket, stream);
    stream.on("end", () => connection.close());
    stream.end();
  });
  connection.on("close", () => next(session));
}

function ask1(session) {
  const settings = { ...terms, session, path: "/node", agent: false };
  const request = https.request(settings, (response) => {
    print(`HTTP/${response.httpVersion}`, response.socket, response);
  });
  request.on("socket", (socket) => {
    socket.on("session", (newest) => (session = newest));
    socket.on("close", () => next(session));
  });
  request.on("error", fail);
  request.end();
}
