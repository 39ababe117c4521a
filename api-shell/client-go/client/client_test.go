package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agent.internal/client-go/models"
)

func TestARefusalHasStatusAndSentence(t *testing.T) {
	for body, message := range map[string]string{
		`"deny[0]: 'x' is not a CIDR"`: "deny[0]: 'x' is not a CIDR",
		" no JSON\n":                   "no JSON",
		"":                             "Conflict",
	} {
		agent := agentWith(t, answering(http.StatusConflict, body))
		_, err := agent.AddToPrefilter(shortly(t), &models.PrefilterList{Deny: []string{"x"}})
		var refused *Error
		if !errors.As(err, &refused) {
			t.Fatalf("%q is the error %v", body, err)
		}
		if refused.Status != 409 || refused.Message != message || refused.Call != "PATCH /prefilter" {
			t.Errorf("%q is %+v", body, refused)
		}
		if want := "PATCH /prefilter: 409 " + message; err.Error() != want {
			t.Errorf("want '%s', got '%s'", want, err)
		}
		if StatusOf(fmt.Errorf("wrapped: %w", err)) != 409 || StatusOf(io.EOF) != 0 {
			t.Error("StatusOf does not find the status")
		}
	}
}

func TestAStatusOutsideTheStandardIsARefusalToo(t *testing.T) {
	agent := agentWith(t, answering(520, `"the storage cannot be reached"`))
	_, err := agent.Identities(shortly(t))
	if StatusOf(err) != 520 {
		t.Errorf("520 is %v", err)
	}
}

func TestErrorsOfADeletionAreNoRefusal(t *testing.T) {
	agent := agentWith(t, answering(http.StatusAccepted, `["the device is busy"]`))
	met, err := agent.DeleteEndpoint(shortly(t), "7")
	if err != nil || len(met) != 1 || met[0] != "the device is busy" {
		t.Errorf("202 is %v, %v", met, err)
	}
}

func TestNoLabelsDoNotDeleteAllRules(t *testing.T) {
	agent := agentWith(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	if _, err := agent.DeletePolicy(shortly(t)); err == nil {
		t.Error("DeletePolicy without labels is no error")
	}
}

func TestAnswersThatBreakOffAreErrors(t *testing.T) {
	for _, answer := range []string{``, `{`, `[`, `[{"id":7}`, `[{"id":7},`, `[{"id":"7"}]`, `{"id":7}`, `[] []`, `7`} {
		agent := agentWith(t, answering(http.StatusOK, answer))
		if _, err := agent.Endpoints(shortly(t)); err == nil {
			t.Errorf("%q is a list of endpoints", answer)
		}
		if answer != `{"id":7}` {
			if _, err := agent.Endpoint(shortly(t), "7"); err == nil {
				t.Errorf("%q is an endpoint", answer)
			}
			if _, err := agent.Map(shortly(t), "m"); err == nil {
				t.Errorf("%q is a map", answer)
			}
		}
	}
}

func TestALengthThatDoesNotArriveIsAnError(t *testing.T) {
	agent := agentWith(t, func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("Content-Length", "100")
		writer.Write([]byte(`{"id":7}`))
	})
	if _, err := agent.Endpoint(shortly(t), "7"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short answer is %v", err)
	}
}

func TestFieldsOfALaterAgentArePassedOver(t *testing.T) {
	agent := agentWith(t, answering(http.StatusOK, `{"id":7,"invented-later":{"a":[1]}}`))
	endpoint, err := agent.Endpoint(shortly(t), "7")
	if err != nil || endpoint.ID != 7 {
		t.Errorf("read %v, %v", endpoint, err)
	}
}

// The server sends the second part of a list only when the client has read the first.
func TestAListIsReadWhileItArrives(t *testing.T) {
	const half = 200_000
	isRead := make(chan struct{})
	agent := agentWith(t, func(writer http.ResponseWriter, request *http.Request) {
		io.WriteString(writer, `[{"id":1}`)
		writer.(http.Flusher).Flush()
		select {
		case <-isRead:
		case <-request.Context().Done():
		}
		for i := 1; i < 2*half; i++ {
			io.WriteString(writer, `,{"id":256,"labels":["k8s:app=web","k8s:tier=backend"]}`)
		}
		io.WriteString(writer, `]`)
	})
	var before, middle runtime.MemStats
	count := 0
	err := agent.EachIdentity(shortly(t), nil, func(identity *models.Identity) error {
		count++
		switch count {
		case 1:
			runtime.GC()
			runtime.ReadMemStats(&before)
			close(isRead)
		case half:
			runtime.GC()
			runtime.ReadMemStats(&middle)
		}
		return nil
	})
	if err != nil || count != 2*half {
		t.Fatalf("read %d of %d: %v", count, 2*half, err)
	}
	if grown := int64(middle.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
		t.Errorf("memory grew by %d bytes over %d identities", grown, half)
	}
}

func TestEntriesOfAMapAreReadOneByOne(t *testing.T) {
	agent := agentWith(t, answering(http.StatusOK,
		`{"entries":2,"cache":[{"key":"a","value":"1"},{"key":"b","value":"2"}],"name":"m"}`))
	read := ""
	contents, err := agent.EachMapEntry(shortly(t), "m", func(entry *models.MapEntry) error {
		read += entry.Key + entry.Value
		return nil
	})
	if err != nil || read != "a1b2" || contents.Name != "m" || *contents.Entries != 2 || contents.Cache != nil {
		t.Errorf("read %s and %+v: %v", read, contents, err)
	}
}

func TestTheErrorOfTheCallerEndsAList(t *testing.T) {
	agent := agentWith(t, answering(http.StatusOK, `[{"id":1},{"id":2}]`))
	enough := errors.New("enough")
	count := 0
	err := agent.EachEndpoint(shortly(t), nil, func(*models.Endpoint) error {
		count++
		return enough
	})
	if err != enough || count != 1 {
		t.Errorf("%d endpoints were read: %v", count, err)
	}
}

func TestTheContextEndsACall(t *testing.T) {
	agent := agentWith(t, func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := agent.Maps(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the call ended with %v", err)
	}
}

func TestAChangeIsNotRepeated(t *testing.T) {
	var asked atomic.Int32
	agent := agentWith(t, func(writer http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		connection, _, err := writer.(http.Hijacker).Hijack()
		if err == nil {
			connection.Close()
		}
	})
	if _, err := agent.DeleteEndpoint(shortly(t), "7"); err == nil || asked.Load() != 1 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

func TestAnAgentMayListenOnAPortOrBehindAPath(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		fmt.Fprintf(writer, `{"name":"%s"}`, request.URL.Path)
	}))
	defer server.Close()
	for base, path := range map[string]string{"": "/map/m", "/": "/map/m", "/node-7": "/node-7/map/m"} {
		agent, err := New(server.URL + base)
		if err != nil {
			t.Fatal(err)
		}
		contents, err := agent.Map(shortly(t), "m")
		if err != nil || contents.Name != path {
			t.Errorf("%s%s/map/m is %v: %v", server.URL, base, contents, err)
		}
		agent.Close()
	}
}

func TestOtherAddressesAreRefused(t *testing.T) {
	for _, address := range []string{"", "run/agent.sock", "unix://run", "ftp://host", "http://", "http://h/?q=1", ":"} {
		if _, err := New(address); err == nil || !strings.Contains(err.Error(), DefaultAddress) {
			t.Errorf("'%s' is an address: %v", address, err)
		}
	}
	for _, address := range []string{"/run/agent.sock", "unix:///run/agent.sock", "https://host:1/x"} {
		if _, err := New(address); err != nil {
			t.Error(err)
		}
	}
}

func TestTheSocketIsNamedWhereNoAgentListens(t *testing.T) {
	socket := t.TempDir() + "/none.sock"
	agent, err := New(socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Maps(shortly(t)); err == nil || !strings.Contains(err.Error(), socket) {
		t.Errorf("the error is %v", err)
	}
}
