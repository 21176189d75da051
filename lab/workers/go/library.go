// How crypto/tls is configured for a row.

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
	_ "unsafe" // The name below.
)

// The suites of TLS 1.3, which a configuration does not choose. The library lets others have these names for that; the
// second is for processors without AES.
//
//go:linkname suites13 crypto/tls.defaultCipherSuitesTLS13
var suites13 []uint16

//go:linkname suites13NoAES crypto/tls.defaultCipherSuitesTLS13NoAES
var suites13NoAES []uint16

const serverName = "localhost"

// Sessions that a server keeps.
const sessions = 1024

// Both sides' configurations, which threads share.
type library struct {
	row            *row
	client, server *tls.Config
}

func configure(row *row, files string) (*library, error) {
	if row.Accounting == "published" {
		return nil, cannot("no program of its own has published figures")
	}
	if row.EarlyData > 0 {
		return nil, cannot("it sends no early data over TCP")
	}
	if !row.tls13() && row.resumes("stateful") {
		return nil, cannot("it does not resume by session id")
	}
	suite, err := number(row.Suite)
	if err != nil {
		return nil, err
	}
	version := uint16(tls.VersionTLS12)
	if row.tls13() {
		version = tls.VersionTLS13
		suites13, suites13NoAES = []uint16{suite}, []uint16{suite}
	}
	group, known := groups[row.Group]
	if !known {
		return nil, cannot(row.Group)
	}
	preferences := []tls.CurveID{group}
	curve := row.Chain == "ecdsa-p256" || row.ClientChain != nil && *row.ClientChain == "ecdsa-p256"
	if !row.tls13() && curve && group != tls.CurveP256 {
		// A client of TLS 1.2 has to name the curve of a leaf. RFC 8422 5.1.1
		preferences = append(preferences, tls.CurveP256)
	}
	both := func() *tls.Config {
		return &tls.Config{
			MinVersion:                  version,
			MaxVersion:                  version,
			CipherSuites:                []uint16{suite},
			CurvePreferences:            preferences,
			DynamicRecordSizingDisabled: true,
		}
	}
	made := &library{row, both(), both()}
	made.client.ServerName = serverName
	if made.client.RootCAs, err = trusted(files, row.Chain); err != nil {
		return nil, err
	}
	if made.server.Certificates, err = shown(files, row.Chain, "server"); err != nil {
		return nil, err
	}
	if row.ClientChain != nil {
		if made.client.Certificates, err = shown(files, *row.ClientChain, "client"); err != nil {
			return nil, err
		}
		if made.server.ClientCAs, err = trusted(files, *row.ClientChain); err != nil {
			return nil, err
		}
		made.server.ClientAuth = tls.RequireAndVerifyClientCert
	}
	made.server.SessionTicketsDisabled = row.Resumption == nil
	if row.resumes("stateful") {
		store(made.server)
	}
	return made, nil
}

func number(suite string) (uint16, error) {
	for _, each := range tls.CipherSuites() {
		if each.Name == suite {
			return each.ID, nil
		}
	}
	return 0, cannot("no " + suite)
}

func trusted(files, chain string) (*x509.CertPool, error) {
	text, err := os.ReadFile(filepath.Join(files, chain, "root.pem"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("no root")
	}
	return pool, nil
}

func shown(files, chain, side string) ([]tls.Certificate, error) {
	path := filepath.Join(files, chain, side)
	certificate, err := tls.LoadX509KeyPair(path+".pem", path+".key")
	certificate.SupportedSignatureAlgorithms = []tls.SignatureScheme{scheme(chain)}
	return []tls.Certificate{certificate}, err
}

// Has a server keep sessions itself and put their number into the ticket, as [tls.Config.UnwrapSession] proposes. A
// session is used once.
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
