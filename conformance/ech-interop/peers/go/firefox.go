package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// browse lets a running Firefox visit -url, -connections times, over Marionette, which is the remote control at -port:
// a message is its length in decimal, a colon and JSON. It prints the source of each page, or the error.
func browse() error {
	browser, err := dialMarionette()
	if err != nil {
		return err
	}
	defer browser.connection.Close()
	if _, err := browser.call("WebDriver:NewSession", map[string]any{}); err != nil {
		return err
	}
	for visit := range *connections {
		if visit > 0 {
			// The connection of the visit before has been closed since.
			time.Sleep(*pause)
		}
		if _, err := browser.call("WebDriver:Navigate", map[string]any{"url": *url}); err != nil {
			return err
		}
		page, err := browser.call("WebDriver:GetPageSource", map[string]any{})
		if err != nil {
			return err
		}
		fmt.Println(string(page))
	}
	return nil
}

type marionette struct {
	connection net.Conn
	reader     *bufio.Reader
	calls      int
}

// dialMarionette waits until Firefox listens, and reads its greeting.
func dialMarionette() (*marionette, error) {
	var lastError error
	for deadline := time.Now().Add(3 * timeout); time.Now().Before(deadline); time.Sleep(timeout / 100) {
		connection, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", *port), timeout)
		if err != nil {
			lastError = err
			continue
		}
		connection.SetDeadline(time.Now().Add(15 * timeout))
		browser := &marionette{connection: connection, reader: bufio.NewReader(connection)}
		if _, err = browser.read(); err != nil {
			return nil, err
		}
		return browser, nil
	}
	return nil, lastError
}

// call sends a command and returns the value of its response.
func (browser *marionette) call(command string, parameters map[string]any) (json.RawMessage, error) {
	browser.calls++
	message, err := json.Marshal([]any{0, browser.calls, command, parameters})
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(browser.connection, "%d:%s", len(message), message); err != nil {
		return nil, err
	}
	answer, err := browser.read()
	if err != nil {
		return nil, err
	}
	// The type of the message, the number of the command, the error and the result.
	var parts [4]json.RawMessage
	if err := json.Unmarshal(answer, &parts); err != nil {
		return nil, err
	}
	if string(parts[2]) != "null" {
		return nil, errors.New(command + ": " + string(parts[2]))
	}
	var result struct{ Value json.RawMessage }
	json.Unmarshal(parts[3], &result)
	return result.Value, nil
}

func (browser *marionette) read() ([]byte, error) {
	text, err := browser.reader.ReadString(':')
	if err != nil {
		return nil, err
	}
	length, err := strconv.Atoi(strings.TrimSuffix(text, ":"))
	if err != nil || length < 0 || length > 1<<24 {
		return nil, errors.New("malformed message of Marionette")
	}
	message := make([]byte, length)
	_, err = io.ReadFull(browser.reader, message)
	return message, err
}
