// A TLS server and client over Go's crypto/tls with Encrypted ClientHello, for tools/ech-interop.sh.
//
//	ech-peer server -port P -cert FILE -key FILE -ech-key RAW -ech-config RAW [-curves NAME]
//	ech-peer client -port P -name NAME -ca FILE [-ech BASE64] [-retry] [-connections N] [-curves NAMES]
//	ech-peer dns -port P -cert FILE -key FILE -name NAME -ech BASE64
//	ech-peer firefox -port P -url URL [-connections N] [-pause DURATION]
//
// Each connection prints one line: `ech=true resumed=false retried=false name=NAME`. After a rejection the client
// prints `rejected BASE64` with the server's configurations, and with -retry connects once more with them. `dns` is a
// server for DNS over HTTPS. `firefox` lets a running Firefox, whose Marionette listens at the port, visit a page.
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

var (
	port        = flag.Int("port", 0, "port of 127.0.0.1")
	cert        = flag.String("cert", "", "certificate chain, PEM")
	key         = flag.String("key", "", "private key, PEM")
	echKey      = flag.String("ech-key", "", "private key of the configuration, 32 bytes")
	echConfig   = flag.String("ech-config", "", "ECHConfig")
	name        = flag.String("name", "", "server name")
	ca          = flag.String("ca", "", "roots, PEM")
	ech         = flag.String("ech", "", "ECHConfigList in Base64")
	retry       = flag.Bool("retry", false, "connect again with the server's configurations")
	connections = flag.Int("connections", 1, "number of connections")
	curves      = flag.String("curves", "", "groups in order of preference")
	url         = flag.String("url", "", "page to visit")
	pause       = flag.Duration("pause", 0, "time between visits")
)

const timeout = 10 * time.Second

func main() {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
		if err := flag.CommandLine.Parse(os.Args[2:]); err != nil {
			fail(err)
		}
	}
	switch role {
	case "server":
		fail(serve())
	case "dns":
		fail(serveDNS())
	case "client":
		if err := connectAll(); err != nil {
			fail(err)
		}
	case "firefox":
		if err := browse(); err != nil {
			fail(err)
		}
	default:
		fail(errors.New("the first argument must be server, client, dns or firefox"))
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func groups() []tls.CurveID {
	known := map[string]tls.CurveID{"X25519": tls.X25519, "P-256": tls.CurveP256, "P-384": tls.CurveP384}
	var list []tls.CurveID
	for _, group := range strings.Split(*curves, ",") {
		if id, ok := known[group]; ok {
			list = append(list, id)
		}
	}
	return list
}

func describe(state tls.ConnectionState) string {
	return fmt.Sprintf("ech=%v resumed=%v retried=%v name=%s",
		state.ECHAccepted, state.DidResume, state.HelloRetryRequest, state.ServerName)
}

func serve() error {
	pair, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13, CurvePreferences: groups()}
	if *echKey != "" {
		private, err := os.ReadFile(*echKey)
		if err != nil {
			return err
		}
		public, err := os.ReadFile(*echConfig)
		if err != nil {
			return err
		}
		config.EncryptedClientHelloKeys = []tls.EncryptedClientHelloKey{
			{Config: public, PrivateKey: private, SendAsRetry: true},
		}
	}
	listener, err := tls.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port), config)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go answer(connection.(*tls.Conn))
	}
}

func answer(connection *tls.Conn) {
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(timeout))
	if err := connection.Handshake(); err != nil {
		fmt.Println("failed:", err)
		return
	}
	line := describe(connection.ConnectionState())
	// The head of the request ends with an empty line.
	reader := bufio.NewReader(connection)
	for {
		text, err := reader.ReadString('\n')
		if err != nil {
			fmt.Println(line, "without a request:", err)
			return
		}
		if strings.TrimSpace(text) == "" {
			break
		}
	}
	fmt.Println(line, "requested")
	fmt.Fprintf(connection, "HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s\n", len(line)+1, line)
}

func connectAll() error {
	pem, err := os.ReadFile(*ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return errors.New("no roots")
	}
	config := &tls.Config{
		RootCAs: roots, ServerName: *name, MinVersion: tls.VersionTLS13,
		ClientSessionCache: tls.NewLRUClientSessionCache(8), CurvePreferences: groups(),
	}
	if *ech != "" {
		list, err := base64.StdEncoding.DecodeString(*ech)
		if err != nil {
			return err
		}
		config.EncryptedClientHelloConfigList = list
	}
	for range *connections {
		err := connect(config)
		var rejection *tls.ECHRejectionError
		if errors.As(err, &rejection) {
			fmt.Println("rejected", base64.StdEncoding.EncodeToString(rejection.RetryConfigList))
			if *retry && len(rejection.RetryConfigList) > 0 {
				config.EncryptedClientHelloConfigList = rejection.RetryConfigList
				err = connect(config)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func connect(config *tls.Config) error {
	dialer := &net.Dialer{Timeout: timeout}
	connection, err := tls.DialWithDialer(dialer, "tcp", fmt.Sprintf("127.0.0.1:%d", *port), config)
	if err != nil {
		return err
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(timeout))
	fmt.Println(describe(connection.ConnectionState()))
	if _, err := io.WriteString(connection, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return err
	}
	// A session ticket is read with the response.
	body, err := io.ReadAll(connection)
	fmt.Printf("answered %d bytes\n", len(body))
	return err
}
