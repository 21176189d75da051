package main

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// serveDNS answers over HTTPS (RFC 8484): each name has the address 127.0.0.1, and -name has an HTTPS record with the
// configurations of -ech. It prints the questions.
func serveDNS() error {
	list, err := base64.StdEncoding.DecodeString(*ech)
	if err != nil {
		return err
	}
	alpn := []byte("\x02h2\x08http/1.1")
	// Priority 1, the server as target, and the parameters alpn and ech. RFC 9460 2.2
	record := []byte{0, 1}
	for _, label := range strings.Split(*name, ".") {
		record = append(append(record, byte(len(label))), label...)
	}
	record = append(record, 0)
	for _, parameter := range []struct {
		key   uint16
		value []byte
	}{{1, alpn}, {5, list}} {
		if len(parameter.value) == 0 {
			continue
		}
		record = binary.BigEndian.AppendUint16(record, parameter.key)
		record = binary.BigEndian.AppendUint16(record, uint16(len(parameter.value)))
		record = append(record, parameter.value...)
	}
	http.HandleFunc("/dns-query", func(response http.ResponseWriter, request *http.Request) {
		query, err := io.ReadAll(io.LimitReader(request.Body, 4096))
		if request.Method == http.MethodGet {
			query, err = base64.RawURLEncoding.DecodeString(request.URL.Query().Get("dns"))
		}
		answer, answerError := answerQuery(query, record)
		if err = errors.Join(err, answerError); err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		response.Header().Set("Content-Type", "application/dns-message")
		response.Write(answer)
	})
	return http.ListenAndServeTLS(fmt.Sprintf("127.0.0.1:%d", *port), *cert, *key, nil)
}

func answerQuery(query, record []byte) ([]byte, error) {
	malformed := errors.New("malformed query")
	if len(query) < 12 {
		return nil, malformed
	}
	var labels []string
	rest := query[12:]
	for {
		if len(rest) < 5 || len(rest) < int(rest[0])+5 {
			return nil, malformed
		}
		length := int(rest[0])
		if length == 0 {
			break
		}
		labels = append(labels, string(rest[1:1+length]))
		rest = rest[1+length:]
	}
	owner, kind := strings.ToLower(strings.Join(labels, ".")), binary.BigEndian.Uint16(rest[1:])
	fmt.Println("asked", kind, owner)
	question := query[12 : len(query)-len(rest)+5]
	var data []byte
	switch {
	case kind == 1:
		data = []byte{127, 0, 0, 1}
	case kind == 65 && strings.HasSuffix(owner, *name):
		data = record
	}
	answer := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	if data != nil {
		answer[7] = 1
		answer = append(answer, 0xc0, 12)
		answer = binary.BigEndian.AppendUint16(answer, kind)
		answer = append(answer, 0, 1, 0, 0, 0, 60)
		answer = binary.BigEndian.AppendUint16(answer, uint16(len(data)))
		answer = append(answer, data...)
	}
	return answer, nil
}
