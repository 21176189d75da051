// Requests over HTTP by Go's own client. Each request has its own connection, which finds the sessions of the
// earlier ones. Usage: peer ADDRESS NAME ROOTS 1.2|1.3 1|2 COUNT. Prints the protocol, whether a session was
// resumed, and the body.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	count, err := strconv.Atoi(os.Args[6])
	if err == nil {
		err = run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5], count)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, name, roots, version, protocol string, count int) error {
	pem, err := os.ReadFile(roots)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	sessions := tls.NewLRUClientSessionCache(4)
	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13, ClientSessionCache: sessions}
	if version == "1.2" {
		config.MinVersion, config.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	}
	for i := 0; i < count; i++ {
		transport := &http.Transport{
			TLSClientConfig:   config.Clone(),
			ForceAttemptHTTP2: protocol == "2",
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, address)
			},
		}
		if err := ask(transport, name); err != nil {
			return err
		}
		transport.CloseIdleConnections()
	}
	return nil
}

func ask(transport *http.Transport, name string) error {
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	response, err := client.Get("https://" + name + "/go")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	resumed := "no"
	if response.TLS.DidResume {
		resumed = "yes"
	}
	fmt.Printf("%s resumed %s %s", response.Proto, resumed, body)
	return nil
}
