package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultAddress is the socket of an agent with the default options.
const DefaultAddress = "unix:///var/run/agent/agent.sock"

const (
	unixScheme      = "unix://"
	responseTimeout = 2 * time.Minute
	maxErrorBytes   = 1 << 20
)

// Client calls the API at one address.
type Client struct {
	http      *http.Client
	transport *http.Transport
	base      string
}

// New returns a client; it connects with the first call. The address is unix://<path>, an absolute
// path, or an http or https address with or without a path that stands before those of the API.
func New(address string) (*Client, error) {
	transport := &http.Transport{
		DisableCompression:    true,
		IdleConnTimeout:       time.Minute,
		ResponseHeaderTimeout: responseTimeout,
	}
	client := &Client{http: &http.Client{Transport: transport}, transport: transport}
	if path := strings.TrimPrefix(address, unixScheme); strings.HasPrefix(path, "/") {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "unix", path)
		}
		client.base = "http://localhost"
		return client, nil
	}
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" ||
		base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("'%s' is not an address of an agent, such as %s", address, DefaultAddress)
	}
	client.base = strings.TrimSuffix(base.String(), "/")
	return client, nil
}

// Close closes the connections that no call uses.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
}

// call is one request.
type call struct {
	method string
	// path holds the segments, not escaped.
	path   []string
	query  url.Values
	header http.Header
	// body is a value to encode as JSON, or an io.Reader with JSON.
	body any
}

func get(path ...string) call {
	return call{method: http.MethodGet, path: path}
}

func (r call) target() string {
	var target strings.Builder
	for _, segment := range r.path {
		target.WriteByte('/')
		target.WriteString(url.PathEscape(segment))
	}
	if len(r.query) > 0 {
		target.WriteByte('?')
		target.WriteString(r.query.Encode())
	}
	return target.String()
}

func (r call) content() (io.Reader, error) {
	switch body := r.body.(type) {
	case nil:
		return nil, nil
	case io.Reader:
		return body, nil
	default:
		encoded, err := json.Marshal(body)
		return bytes.NewReader(encoded), err
	}
}

// open sends a request and returns its answer, whose status is no error.
func (c *Client) open(ctx context.Context, r call) (*http.Response, error) {
	content, err := r.content()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.target(), err)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, c.base+r.target(), content)
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		request.Header[name] = values
	}
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer response.Body.Close()
		return nil, errorOf(r, response)
	}
	return response, nil
}

// do sends a request whose answer has no content of interest.
func (c *Client) do(ctx context.Context, r call) error {
	response, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// read sends a request and decodes its answer into a value.
func (c *Client) read(ctx context.Context, r call, answer any) error {
	response, err := c.open(ctx, r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(response.Body)
	if err := decoder.Decode(answer); err != nil {
		return unreadable(r, err)
	}
	return atEnd(r, decoder)
}

// atEnd reads the end of an answer, so that the connection serves the next call; more than white
// space is an error, and so is an answer that broke off.
func atEnd(r call, decoder *json.Decoder) error {
	if _, err := decoder.Token(); err == nil {
		return unreadable(r, fmt.Errorf("content after the end"))
	} else if err != io.EOF {
		return unreadable(r, err)
	}
	return nil
}

func unreadable(r call, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%s %s: the answer cannot be read: %w", r.method, r.target(), err)
}
