// A TLS echo server and a stdin/stdout TLS client over crypto/tls, with the command line described in
// src/programs/driver.rs. It uses only what Go 1.19 has, because distributions ship that version.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
)

var groups = map[string]tls.CurveID{
	"x25519": 0x001d, "secp256r1": 0x0017, "secp384r1": 0x0018, "secp521r1": 0x0019,
	"X25519MLKEM768": 0x11ec, "SecP256r1MLKEM768": 0x11eb, "SecP384r1MLKEM1024": 0x11ed,
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("say abilities, serve or connect")
	}
	options := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	port := options.Int("port", 0, "port of 127.0.0.1")
	name := options.String("name", "", "name the server must have")
	ca := options.String("ca", "", "roots for the server's certificate")
	clientCA := options.String("client-ca", "", "require a client certificate from these roots")
	cert := options.String("cert", "", "certificate chain")
	key := options.String("key", "", "private key")
	version := options.String("version", "", "1.2 or 1.3")
	suite := options.String("suite", "", "cipher suite")
	group := options.String("group", "", "named group")
	connections := options.Int("connections", 1, "how many a client makes")
	// The option is accepted and ignored: this driver does the same for every feature.
	options.String("feature", "", "what is shown beside a handshake")
	options.Parse(os.Args[2:])

	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: *name}
	switch *version {
	case "1.2":
		config.MaxVersion = tls.VersionTLS12
	case "1.3":
		config.MinVersion = tls.VersionTLS13
	}
	if *suite != "" {
		config.CipherSuites = []uint16{suiteNamed(*suite)}
	}
	if *group != "" {
		config.CurvePreferences = []tls.CurveID{groups[*group]}
	}
	if *cert != "" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		check(err)
		config.Certificates = []tls.Certificate{pair}
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(*port))

	switch os.Args[1] {
	case "abilities":
		abilities()
	case "serve":
		if *clientCA != "" {
			config.ClientAuth = tls.RequireAndVerifyClientCert
			config.ClientCAs = roots(*clientCA)
		}
		serve(address, config)
	case "connect":
		config.RootCAs = roots(*ca)
		config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		for i := 1; i < *connections; i++ {
			sayAndHear(address, config)
		}
		connect(address, config)
	default:
		log.Fatalf("unknown command %q", os.Args[1])
	}
}

func abilities() {
	fmt.Println("keys rsa2048 p256 p384 p521 ed25519")
	// TLS 1.3 suites cannot be chosen in crypto/tls.
	fmt.Println("limits group hybrid suite1.2")
	// Go's clients do not support session IDs, and its servers store no sessions.
	fmt.Println("as-client resume-1.2-ticket resume-1.3-stateless resume-1.3-stateful")
	fmt.Println("as-server resume-1.2-ticket resume-1.3-stateless")
	known := "groups x25519 secp256r1 secp384r1 secp521r1"
	if minor := goMinor(); minor >= 26 {
		known += " X25519MLKEM768 SecP256r1MLKEM768 SecP384r1MLKEM1024"
	} else if minor >= 24 {
		known += " X25519MLKEM768"
	}
	fmt.Println(known)
}

func serve(address string, config *tls.Config) {
	listener, err := tls.Listen("tcp", address, config)
	check(err)
	for {
		connection, err := listener.Accept()
		check(err)
		if err := echo(connection.(*tls.Conn)); err != nil {
			log.Print(err)
		}
	}
}

func echo(connection *tls.Conn) error {
	defer connection.Close()
	if err := connection.Handshake(); err != nil {
		return err
	}
	tell(connection)
	_, err := io.Copy(connection, connection)
	return err
}

// sayAndHear makes a connection whose session the next one resumes. The echo of a line proves that tickets
// have arrived.
func sayAndHear(address string, config *tls.Config) {
	connection, err := tls.Dial("tcp", address, config)
	check(err)
	tell(connection)
	_, err = io.WriteString(connection, firstWords)
	check(err)
	heard := make([]byte, len(firstWords))
	_, err = io.ReadFull(connection, heard)
	check(err)
	_, err = os.Stdout.Write(heard)
	check(err)
	check(connection.Close())
}

const firstWords = "0123\n"

func connect(address string, config *tls.Config) {
	connection, err := tls.Dial("tcp", address, config)
	check(err)
	tell(connection)
	go func() {
		_, err := io.Copy(connection, os.Stdin)
		check(err)
		check(connection.CloseWrite())
	}()
	_, err = io.Copy(os.Stdout, connection)
	check(err)
}

func tell(connection *tls.Conn) {
	if connection.ConnectionState().DidResume {
		log.Print("resumed yes")
	} else {
		log.Print("resumed no")
	}
}

func suiteNamed(name string) uint16 {
	for _, suite := range tls.CipherSuites() {
		if suite.Name == name {
			return suite.ID
		}
	}
	log.Fatalf("unknown suite %q", name)
	return 0
}

func roots(file string) *x509.CertPool {
	pem, err := os.ReadFile(file)
	check(err)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		log.Fatalf("no certificate in %s", file)
	}
	return pool
}

// goMinor returns 26 for "go1.26.3", and 0 for a development version.
func goMinor() int {
	parts := strings.Split(strings.TrimPrefix(runtime.Version(), "go"), ".")
	if len(parts) < 2 || parts[0] != "1" {
		return 0
	}
	minor, _ := strconv.Atoi(parts[1])
	return minor
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
