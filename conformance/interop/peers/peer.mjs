// A TLS echo server and a stdin/stdout TLS client over Node's tls. The command line is described in
// src/programs/driver.rs.

import { constants } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import tls from "node:tls";

const CLASSIC = { x25519: "X25519", secp256r1: "P-256", secp384r1: "P-384", secp521r1: "P-521" };
const HYBRID = ["X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024"];

const names = [
  "port", "name", "ca", "client-ca", "cert", "key", "version", "suite", "group", "connections", "feature",
];
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
});

const stateful = ["resume-1.2-id", "resume-1.3-stateful"].includes(options.feature);

switch (positionals[0]) {
  case "abilities": abilities(); break;
  case "serve": serve(); break;
  case "connect": sayAndHear(Number(options.connections ?? 1)); break;
  default: fail(new Error("say abilities, serve or connect"));
}

function abilities() {
  const [major, minor] = process.versions.openssl.split(".").map(Number);
  const hybrids = major > 3 || (major === 3 && minor >= 5) ? HYBRID : [];
  const resumption = ["resume-1.2-ticket", "resume-1.2-id", "resume-1.3-stateless"];
  console.log("as-client", ...resumption, "resume-1.3-stateful");
  // In TLS 1.3 Node's server does not use a session store.
  console.log("as-server", ...resumption);
  console.log("keys rsa2048 p256 p384 p521 ed25519");
  console.log("groups", ...Object.keys(CLASSIC), ...hybrids);
  console.log("limits group hybrid suite1.2 suite1.3");
}

function serve() {
  const settings = shared();
  if (options["client-ca"]) {
    settings.ca = readFileSync(options["client-ca"]);
    settings.requestCert = true;
    settings.rejectUnauthorized = true;
  }
  const server = tls.createServer(settings, (socket) => {
    tell(socket);
    socket.on("error", complain);
    socket.pipe(socket);
  });
  if (stateful) {
    const sessions = new Map();
    server.on("newSession", (id, session, done) => {
      sessions.set(id.toString("hex"), session);
      done();
    });
    server.on("resumeSession", (id, done) => done(null, sessions.get(id.toString("hex")) ?? null));
  }
  server.on("tlsClientError", complain);
  server.on("error", fail);
  server.listen(Number(options.port), "127.0.0.1");
}

// Makes a connection with this session, and keeps its newest session for the next one. The echo of a line
// proves that tickets have arrived.
function sayAndHear(connections, session) {
  if (connections === 1) return connect(session);
  const socket = tls.connect({ ...target(), session });
  socket.on("error", fail);
  socket.on("session", (newest) => { session = newest; });
  socket.on("secureConnect", () => { tell(socket); socket.write("0123\n"); });
  socket.on("data", (data) => { process.stdout.write(data); socket.end(); });
  socket.on("close", () => sayAndHear(connections - 1, session));
}

function connect(session) {
  const socket = tls.connect({ ...target(), session });
  let finished = false;
  socket.on("error", fail);
  socket.on("secureConnect", () => { tell(socket); process.stdin.pipe(socket); });
  process.stdin.on("end", () => { finished = true; });
  socket.on("close", () => { if (!finished) fail(new Error("the server ended first")); });
  socket.pipe(process.stdout);
}

function tell(socket) {
  console.error("resumed", socket.isSessionReused() ? "yes" : "no");
}

function target() {
  const address = options.name === "127.0.0.1";
  return {
    ...shared(),
    host: "127.0.0.1",
    port: Number(options.port),
    ca: readFileSync(options.ca),
    servername: address ? "" : options.name,
    checkServerIdentity: (_, certificate) => tls.checkServerIdentity(options.name, certificate),
  };
}

function shared() {
  const settings = {};
  if (options.version) {
    settings.minVersion = settings.maxVersion = `TLSv${options.version}`;
  }
  if (options.suite) settings.ciphers = opensslName(options.suite);
  if (options.group) settings.ecdhCurve = CLASSIC[options.group] ?? options.group;
  if (stateful) settings.secureOptions = constants.SSL_OP_NO_TICKET;
  if (options.cert) {
    settings.cert = readFileSync(options.cert);
    settings.key = readFileSync(options.key);
  }
  return settings;
}

// TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -> ECDHE-RSA-AES128-GCM-SHA256; names of TLS 1.3 suites do not
// change.
function opensslName(suite) {
  if (!suite.includes("_WITH_")) return suite;
  return suite.replace("TLS_", "").replace("_WITH_", "_").replace("AES_", "AES")
    .replace("POLY1305_SHA256", "POLY1305").replaceAll("_", "-");
}

function complain(error) {
  console.error(error.message);
}

function fail(error) {
  complain(error);
  process.exit(1);
}
