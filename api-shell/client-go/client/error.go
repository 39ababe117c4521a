package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Error is the refusal of a call by the agent.
type Error struct {
	// Status is the HTTP status code.
	Status int
	// Message is the agent's sentence, which names the field that is wrong.
	Message string
	// Call is the method and the path that were called.
	Call string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Call, e.Status, e.Message)
}

// StatusOf returns the HTTP status of a refused call, or 0 for another error.
func StatusOf(err error) int {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

// errorOf reads a refusal. Its body is a JSON string; another body is taken as it is.
func errorOf(r call, response *http.Response) error {
	refused := &Error{Status: response.StatusCode, Call: r.method + " " + r.target()}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	if json.Unmarshal(body, &refused.Message) != nil {
		refused.Message = strings.TrimSpace(string(body))
	}
	if refused.Message == "" {
		refused.Message = http.StatusText(response.StatusCode)
		if err != nil {
			refused.Message = err.Error()
		}
	}
	return refused
}
