// Loading of keys, chains and roots from PEM in memory: lab/scenario/src/loading.rs

package main

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

const (
	loadKey    = "a private key"
	loadServer = "a server's configuration"
	loadRoots  = "a client's configuration"
)

// The number of trusted roots.
const roots = 150

// The length of the content that a TLS 1.3 handshake signs. RFC 9846 4.5.2
const signed = 64 + 33 + 1 + 48

// A row of loading. Loaded objects are not dropped explicitly.
type loading struct {
	*handshakes
	what          string
	first, second []byte // PEM: the roots, the key, or chain and key.
}

func newLoading(library *library) (prepared, error) {
	row := library.row
	if row.Load == nil {
		return nil, errors.New("the row has no object to load")
	}
	handshakes, err := newHandshakes(library, false)
	if err != nil {
		return nil, err
	}
	made := &loading{handshakes: handshakes, what: *row.Load}
	switch made.what {
	case loadKey:
		made.first, err = library.read(row.Chain, "server.key")
	case loadServer:
		made.first, made.second, err = library.identity(row.Chain, "server")
	case loadRoots:
		made.first, err = library.read(row.Chain, "roots.pem")
		made.done["roots"] = fmt.Sprint(roots)
	default:
		err = cannot("loading of this object is not supported: " + made.what)
	}
	if err != nil {
		return nil, err
	}
	return made, made.once()
}

func (made *loading) slices() int { return 8 }

func (made *loading) once() error {
	if made.what == loadKey {
		return made.keyOnce()
	}
	pair, own := made.pair, made.library
	fresh := *own
	err := made.meter.time(load, func() (err error) {
		if made.what == loadServer {
			fresh.server, err = own.serverWithChain(made.first, made.second)
		} else {
			fresh.client, err = own.clientWithRoots(made.first)
		}
		return err
	})
	if err != nil {
		return err
	}
	pair.library, pair.clientConfig = &fresh, fresh.client
	atClient, atServer, _, err := pair.connect(false)
	pair.library, pair.clientConfig = own, own.client
	if err != nil {
		return err
	}
	drop(atClient, atServer)
	return nil
}

// Loads a key, and uses it as crypto/tls does.
func (made *loading) keyOnce() error {
	var key crypto.Signer
	err := made.meter.time(load, func() error {
		block, _ := pem.Decode(made.first)
		if block == nil {
			return errors.New("no PEM")
		}
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return err
		}
		signer, can := parsed.(crypto.Signer)
		if !can {
			return errors.New("the key cannot sign")
		}
		key = signer
		return nil
	})
	if err != nil {
		return err
	}
	return made.meter.time(use, func() error {
		message := make([]byte, signed)
		options := crypto.SignerOpts(crypto.SHA256)
		switch key.(type) {
		case ed25519.PrivateKey:
			options = crypto.Hash(0)
		case *rsa.PrivateKey:
			options = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
		}
		if options.HashFunc() != 0 {
			digest := sha256.Sum256(message)
			message = digest[:]
		}
		signature, err := key.Sign(rand.Reader, message, options)
		if err == nil && len(signature) < 64 {
			err = fmt.Errorf("a signature of %d bytes", len(signature))
		}
		return err
	})
}

func (made *loading) measure(budget time.Duration) (*measurement, error) {
	measured := newMeasurement(made.done)
	made.meter.parts = [parts]part{}
	for start := time.Now(); measured.Repetitions == 0 || time.Since(start) < budget; {
		if err := made.once(); err != nil {
			return nil, err
		}
		measured.Repetitions++
	}
	of := func(which ...int) float64 { return made.meter.nanoseconds(measured.Repetitions, which...) }
	firstUse := of(use)
	switch made.what {
	case loadServer:
		firstUse = of(createServer, server)
	case loadRoots:
		firstUse = of(createClient, client)
	}
	measured.Sides["load"] = of(load)
	measured.Sides["load and use"] = of(load) + firstUse
	return measured, nil
}
