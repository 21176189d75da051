// Configuration of crypto/tls for a row.

package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	_ "unsafe" // Required by go:linkname.
)

// The suites of TLS 1.3, which a tls.Config cannot select. The library allows linking to these names; the second list
// is for CPUs without AES.
//
//go:linkname suites13 crypto/tls.defaultCipherSuitesTLS13
var suites13 []uint16

//go:linkname suites13NoAES crypto/tls.defaultCipherSuitesTLS13NoAES
var suites13NoAES []uint16

const serverName = "localhost"

// The capacity of a server's session store.
const sessions = 1024

// The configurations of both sides, shared by threads.
type library struct {
	row            *row
	files          string
	suite          uint16
	client, server *tls.Config
}

func configure(row *row, files string) (*library, error) {
	if row.Accounting == "published" {
		return nil, cannot("no program of its own has published figures")
	}
	if row.Transport == "quic" {
		return nil, cannot("the worker does not support this transport")
	}
	if row.Ech != "" {
		return nil, cannot("the worker does not support Encrypted ClientHello")
	}
	if row.EarlyData > 0 {
		return nil, cannot("early data is supported only over QUIC")
	}
	if !row.tls13() && row.resumes("stateful") {
		return nil, cannot("resumption by session ID is not supported")
	}
	suite, err := number(row.Suite)
	if err != nil {
		return nil, err
	}
	if row.tls13() {
		suites13, suites13NoAES = []uint16{suite}, []uint16{suite}
	}
	if _, known := groups[row.Group]; !known {
		return nil, cannot(row.Group)
	}
	made := &library{row: row, files: files, suite: suite}
	root, err := made.read(row.Chain, "root.pem")
	if err != nil {
		return nil, err
	}
	if made.client, err = made.clientWithRoots(root); err != nil {
		return nil, err
	}
	chain, key, err := made.identity(row.Chain, "server")
	if err != nil {
		return nil, err
	}
	made.server, err = made.serverWithChain(chain, key)
	return made, err
}

// The pinned parameters of both sides.
func (library *library) both() *tls.Config {
	row := library.row
	version := uint16(tls.VersionTLS12)
	if row.tls13() {
		version = tls.VersionTLS13
	}
	preferences := []tls.CurveID{groups[row.Group]}
	curve := row.Chain == "ecdsa-p256" || row.ClientChain != nil && *row.ClientChain == "ecdsa-p256"
	if !row.tls13() && curve && preferences[0] != tls.CurveP256 {
		// A TLS 1.2 client must list the curve of an ECDSA leaf. RFC 8422 5.1.1
		preferences = append(preferences, tls.CurveP256)
	}
	return &tls.Config{
		MinVersion:                  version,
		MaxVersion:                  version,
		CipherSuites:                []uint16{library.suite},
		CurvePreferences:            preferences,
		DynamicRecordSizingDisabled: true,
	}
}

// The client configuration with these roots, in PEM.
func (library *library) clientWithRoots(roots []byte) (*tls.Config, error) {
	config, err := library.both(), error(nil)
	config.ServerName = serverName
	if config.RootCAs, err = trusted(roots); err != nil || library.row.ClientChain == nil {
		return config, err
	}
	chain, key, err := library.identity(*library.row.ClientChain, "client")
	if err != nil {
		return nil, err
	}
	config.Certificates, err = shown(chain, key, *library.row.ClientChain)
	return config, err
}

// The server configuration with this chain, both in PEM.
func (library *library) serverWithChain(chain, key []byte) (*tls.Config, error) {
	row, config, err := library.row, library.both(), error(nil)
	if config.Certificates, err = shown(chain, key, row.Chain); err != nil {
		return nil, err
	}
	if row.ClientChain != nil {
		root, err := library.read(*row.ClientChain, "root.pem")
		if err != nil {
			return nil, err
		}
		if config.ClientCAs, err = trusted(root); err != nil {
			return nil, err
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	config.SessionTicketsDisabled = row.Resumption == nil
	if row.resumes("stateful") {
		store(config)
	}
	return config, nil
}

func (library *library) read(chain, name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(library.files, chain, name))
}

// The certificates and the key of a side.
func (library *library) identity(chain, side string) ([]byte, []byte, error) {
	certificates, err := library.read(chain, side+".pem")
	if err != nil {
		return nil, nil, err
	}
	key, err := library.read(chain, side+".key")
	return certificates, key, err
}

func number(suite string) (uint16, error) {
	for _, each := range tls.CipherSuites() {
		if each.Name == suite {
			return each.ID, nil
		}
	}
	return 0, cannot("no " + suite)
}

func trusted(roots []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(roots) {
		return nil, errors.New("no root")
	}
	return pool, nil
}

func shown(certificates, key []byte, chain string) ([]tls.Certificate, error) {
	certificate, err := tls.X509KeyPair(certificates, key)
	certificate.SupportedSignatureAlgorithms = []tls.SignatureScheme{scheme(chain)}
	return []tls.Certificate{certificate}, err
}

// Makes a server store sessions and put their number into the ticket, as [tls.Config.UnwrapSession]
// suggests. A session is used once.
func store(config *tls.Config) {
	var kept sync.Map
	var last atomic.Uint64
	config.WrapSession = func(_ tls.ConnectionState, session *tls.SessionState) ([]byte, error) {
		bytes, err := session.Bytes()
		if err != nil {
			return nil, err
		}
		number := last.Add(1)
		kept.Store(number, bytes)
		kept.Delete(number - sessions)
		return binary.BigEndian.AppendUint64(nil, number), nil
	}
	config.UnwrapSession = func(identity []byte, _ tls.ConnectionState) (*tls.SessionState, error) {
		if len(identity) != 8 {
			return nil, nil
		}
		bytes, known := kept.LoadAndDelete(binary.BigEndian.Uint64(identity))
		if !known {
			return nil, nil
		}
		return tls.ParseSessionState(bytes.([]byte))
	}
}
