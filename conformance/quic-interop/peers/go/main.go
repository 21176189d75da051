// An endpoint of quic-go, with the options of src/options.rs.
//
// A server prints "ready"; both print a line "connection name=value ..." for each connection.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

var (
	port        = flag.Int("port", 0, "")
	alpn        = flag.String("alpn", "echo", "")
	roots       = flag.String("roots", "", "")
	cert        = flag.String("cert", "", "")
	key         = flag.String("key", "", "")
	connections = flag.Int("connections", 1, "")
	earlyData   = flag.Bool("early-data", false, "")
	p384        = flag.Bool("p384", false, "")
	retry       = flag.Bool("retry", false, "")
	_           = flag.Bool("chacha20", false, "Go cannot select suites of TLS 1.3")
	_           = flag.Bool("version2", false, "a server always has it")
	_           = flag.Bool("key-update", false, "the other side updates its keys")
)

var page = func() []byte {
	page := make([]byte, 65536)
	for position := range page {
		page[position] = 'a' + byte(position%23)
	}
	return page
}()

func main() {
	if len(os.Args) < 2 {
		fatal(errors.New("serve or connect"))
	}
	role := os.Args[1]
	if err := flag.CommandLine.Parse(os.Args[2:]); err != nil {
		fatal(err)
	}
	var err error
	if role == "serve" {
		err = serve()
	} else {
		err = connect()
	}
	if err != nil {
		fatal(err)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func configuration(isServer bool) *tls.Config {
	config := &tls.Config{NextProtos: []string{*alpn}, ServerName: "localhost"}
	if *cert != "" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if *roots != "" {
		pem, err := os.ReadFile(*roots)
		if err != nil {
			fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		config.RootCAs = pool
		if isServer {
			config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
		}
	}
	if *p384 {
		config.CurvePreferences = []tls.CurveID{tls.CurveP384}
		if !isServer {
			config.CurvePreferences = append(config.CurvePreferences, tls.X25519)
		}
	}
	return config
}

var transport = &quic.Config{
	MaxIdleTimeout: 5 * time.Second,
	Versions:       []quic.Version{quic.Version1, quic.Version2},
}

func serve() error {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: *port})
	if err != nil {
		return err
	}
	config := transport.Clone()
	config.Allow0RTT = *earlyData
	endpoint := &quic.Transport{Conn: socket, VerifySourceAddress: func(net.Addr) bool { return *retry }}
	listener, err := endpoint.ListenEarly(configuration(true), config)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go serveOne(connection)
	}
}

func serveOne(connection *quic.Conn) {
	exchanges := 0
	if connection.ConnectionState().TLS.NegotiatedProtocol == "h3" {
		server := http3.Server{Handler: http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
			_, _ = writer.Write(page)
			exchanges++
		})}
		_ = server.ServeQUICConn(connection)
	} else {
		for {
			stream, err := connection.AcceptStream(context.Background())
			if err != nil {
				break
			}
			if _, err = io.Copy(stream, stream); err == nil {
				exchanges++
			}
			_ = stream.Close()
		}
	}
	<-connection.Context().Done()
	report(connection, exchanges, context.Cause(connection.Context()))
}

func connect() error {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	endpoint := &quic.Transport{Conn: socket}
	config := configuration(false)
	config.ClientSessionCache = tls.NewLRUClientSessionCache(4)
	server := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: *port}
	for range *connections {
		connection, err := endpoint.DialEarly(context.Background(), server, config, transport)
		if err != nil {
			report(nil, 0, err)
			continue
		}
		exchanges := 0
		request := requester(connection)
		for range 3 {
			if err = request(); err != nil {
				break
			}
			exchanges++
			if exchanges == 1 {
				// In this time a server may update its keys.
				time.Sleep(200 * time.Millisecond)
			}
		}
		if err == nil {
			<-connection.HandshakeComplete()
			// Tickets may arrive later than the last exchange.
			time.Sleep(300 * time.Millisecond)
		}
		report(connection, exchanges, err)
		_ = connection.CloseWithError(0x0100, "")
	}
	return endpoint.Close()
}

// Returns a function that makes one exchange over the connection.
func requester(connection *quic.Conn) func() error {
	if *alpn == "h3" {
		client := (&http3.Transport{}).NewClientConn(connection)
		return func() error {
			request, err := http.NewRequest(http.MethodGet, "https://localhost/page", nil)
			if err != nil {
				return err
			}
			response, err := client.RoundTrip(request)
			if err != nil {
				return err
			}
			return compare(response.Body)
		}
	}
	return func() error {
		stream, err := connection.OpenStreamSync(context.Background())
		if err != nil {
			return err
		}
		go func() {
			_, _ = stream.Write(page)
			_ = stream.Close()
		}()
		return compare(stream)
	}
}

func compare(reader io.Reader) error {
	received, err := io.ReadAll(reader)
	if err == nil && !bytes.Equal(received, page) {
		err = fmt.Errorf("received %d other bytes", len(received))
	}
	return err
}

func report(connection *quic.Conn, exchanges int, err error) {
	line := fmt.Sprintf("connection exchanges=%d", exchanges)
	var refused *quic.TransportError
	var closed *quic.ApplicationError
	var idle *quic.IdleTimeoutError
	switch {
	case errors.As(err, &refused):
		line += fmt.Sprintf(" code=0x%04x", uint64(refused.ErrorCode))
	case err != nil && !errors.As(err, &closed) && !errors.As(err, &idle):
		fmt.Fprintln(os.Stderr, err)
		line += " failed=error"
	}
	if connection != nil && refused == nil {
		state := connection.ConnectionState()
		line += fmt.Sprintf(" protocol=%s suite=%04x group=%04x resumed=%d early=%d certificates=%d",
			state.TLS.NegotiatedProtocol, state.TLS.CipherSuite, uint16(state.TLS.CurveID),
			number(state.TLS.DidResume), number(state.Used0RTT), certificates(state.TLS))
	}
	fmt.Println(line)
}

// Only a server counts certificates of its peer, which are those of clients.
func certificates(state tls.ConnectionState) int {
	if os.Args[1] == "serve" {
		return len(state.PeerCertificates)
	}
	if *cert != "" {
		return 1
	}
	return 0
}

func number(value bool) int {
	if value {
		return 1
	}
	return 0
}
