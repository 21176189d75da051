// The verifier of Go's crypto/x509: one world of certificates for each line of input, one line of
// judgements for each.
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

type judgements struct {
	// The error of each root and of each sent certificate, empty if it can be parsed.
	Unread []string
	Leaves []judgement
}

type judgement struct {
	// Empty if the leaf is accepted.
	Error string
	// The accepted paths, the leaf first.
	Paths [][][]byte
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

func verify(w *world) judgements {
	var all judgements
	// pool leaves out what cannot be parsed.
	pool := func(certificates [][]byte) *x509.CertPool {
		pool := x509.NewCertPool()
		for _, der := range certificates {
			certificate, err := x509.ParseCertificate(der)
			if err == nil {
				pool.AddCert(certificate)
			}
			all.Unread = append(all.Unread, text(err))
		}
		return pool
	}
	options := x509.VerifyOptions{
		DNSName:     w.Name,
		CurrentTime: time.Unix(w.Time, 0),
		KeyUsages:   []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	options.Roots = pool(w.Roots)
	options.Intermediates = pool(w.Sent)
	if w.Client {
		options.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	for _, der := range w.Leaves {
		var paths [][]*x509.Certificate
		leaf, err := x509.ParseCertificate(der)
		if err == nil {
			paths, err = leaf.Verify(options)
		}
		one := judgement{Error: text(err)}
		for _, path := range paths {
			var ders [][]byte
			for _, certificate := range path {
				ders = append(ders, certificate.Raw)
			}
			one.Paths = append(one.Paths, ders)
		}
		all.Leaves = append(all.Leaves, one)
	}
	return all
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
