package client

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// agentWith serves a Unix socket and returns a client of it; both end with the test.
func agentWith(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	// The name of a test is part of its temporary directory, and would be too long for a socket.
	directory, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(directory, "agent.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go server.Serve(listener)
	agent, err := New("unix://" + socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		agent.Close()
		server.Close()
		os.RemoveAll(directory)
	})
	return agent
}

// answering is a handler with one answer.
func answering(status int, body string) http.HandlerFunc {
	return func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Type", "application/json")
		writer.WriteHeader(status)
		writer.Write([]byte(body))
	}
}

func shortly(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
