// One request over HTTP by Node's own clients: PORT NAME ROOTS 1.2|1.3 1|2, prints the protocol and the body.
import { readFileSync } from "node:fs";
import https from "node:https";
import http2 from "node:http2";

const [port, name, roots, version, protocol] = process.argv.slice(2);
const terms = {
  ca: readFileSync(roots),
  host: "127.0.0.1",
  port: Number(port),
  servername: name,
  minVersion: `TLSv${version}`,
  maxVersion: `TLSv${version}`,
};

function print(shown, stream, done) {
  let body = "";
  stream.setEncoding("utf8");
  stream.on("data", (piece) => (body += piece));
  stream.on("end", () => {
    process.stdout.write(`${shown} ${body}`);
    done();
  });
}

function fail(error) {
  console.error(error);
  process.exit(1);
}

if (protocol === "2") {
  const session = http2.connect(`https://${name}:${port}`, terms);
  session.on("error", fail);
  const stream = session.request({ ":path": "/node" });
  stream.on("error", fail);
  print("HTTP/2.0", stream, () => session.close());
  stream.end();
} else {
  const request = https.request({ ...terms, path: "/node", agent: false }, (response) => {
    print(`HTTP/${response.httpVersion}`, response, () => {});
  });
  request.on("error", fail);
  request.end();
}
