// The verifier of Go's crypto/x509: one world of certificates for each line of input, one line of
// results for each.
package main

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"os"
	"time"
)

type world struct {
	Roots, Sent, Leaves [][]byte
	Name                string
	Client              bool
	Time                int64
}

func main() {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	results := json.NewEncoder(output)
	worlds := json.NewDecoder(input)
	for {
		var next world
		if worlds.Decode(&next) != nil {
			return
		}
		if err := results.Encode(verify(&next)); err != nil {
			panic(err)
		}
		if err := output.Flush(); err != nil {
			panic(err)
		}
	}
}

// verify returns the error of each leaf, empty if it is accepted.
func verify(w *world) []string {
	options := x509.VerifyOptions{
		DNSName:       w.Name,
		Roots:         pool(w.Roots),
		Intermediates: pool(w.Sent),
		CurrentTime:   time.Unix(w.Time, 0),
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if w.Client {
		options.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	errors := make([]string, len(w.Leaves))
	for i, der := range w.Leaves {
		leaf, err := x509.ParseCertificate(der)
		if err == nil {
			_, err = leaf.Verify(options)
		}
		if err != nil {
			errors[i] = err.Error()
		}
	}
	return errors
}

// pool leaves out what cannot be parsed.
func pool(certificates [][]byte) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, der := range certificates {
		if certificate, err := x509.ParseCertificate(der); err == nil {
			pool.AddCert(certificate)
		}
	}
	return pool
}
