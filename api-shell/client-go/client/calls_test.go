package client

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"agent.internal/client-go/models"
)

const document = "../../contract/src/main/resources/openapi.yaml"

// exchange is a call, the request that it sends, and what the agent answers.
type exchange struct {
	operation string // as in the document
	request   string // method and target
	headers   string
	body      string
	answer    string
	call      func(*Client, context.Context) (any, error)
}

func read[T any](call func(*Client, context.Context) (T, error)) func(*Client, context.Context) (any, error) {
	return func(c *Client, ctx context.Context) (any, error) { return call(c, ctx) }
}

func text(call func(*Client, context.Context) (io.ReadCloser, error)) func(*Client, context.Context) (any, error) {
	return func(c *Client, ctx context.Context) (any, error) {
		stream, err := call(c, ctx)
		if err != nil {
			return nil, err
		}
		defer stream.Close()
		all, err := io.ReadAll(stream)
		return json.RawMessage(all), err
	}
}

func nothing(call func(*Client, context.Context) error) func(*Client, context.Context) (any, error) {
	return func(c *Client, ctx context.Context) (any, error) { return nil, call(c, ctx) }
}

var exchanges = []exchange{
	{operation: "get /healthz", request: "GET /healthz", answer: `{"agent":{"msg":"m","state":"Ok"}}`,
		call: read(func(c *Client, ctx context.Context) (*models.DaemonStatus, error) { return c.Healthz(ctx, false) })},
	{operation: "get /healthz", request: "GET /healthz", headers: "Brief: true", answer: `{"agent":{"state":"Ok"}}`,
		call: read(func(c *Client, ctx context.Context) (*models.DaemonStatus, error) { return c.Healthz(ctx, true) })},
	{operation: "get /health", request: "GET /health", headers: "Brief: true", answer: `{"modules":[]}`,
		call: read(func(c *Client, ctx context.Context) (*models.ModuleHealth, error) { return c.Health(ctx, true) })},
	{operation: "get /config", request: "GET /config", answer: `{"spec":{"options":{}}}`,
		call: read((*Client).Config)},
	{operation: "patch /config", request: "PATCH /config", body: `{"options":{"Debug":"Enabled"}}`,
		answer: `{"spec":{"options":{"Debug":"Enabled"}}}`,
		call: read(func(c *Client, ctx context.Context) (*models.DaemonConfiguration, error) {
			return c.Configure(ctx, &models.DaemonConfigurationSpec{Options: map[string]string{"Debug": "Enabled"}})
		})},
	{operation: "get /debuginfo", request: "GET /debuginfo", answer: `{"agent-version":"1","endpoint-list":[]}`,
		call: read((*Client).DebugInformation)},
	{operation: "get /cluster/nodes", request: "GET /cluster/nodes", answer: `{"client-id":7,"nodes-added":[]}`,
		call: read(func(c *Client, ctx context.Context) (*models.NodeList, error) { return c.Nodes(ctx, 0) })},
	{operation: "get /cluster/nodes", request: "GET /cluster/nodes", headers: "Client-Id: 7", answer: `{"client-id":7}`,
		call: read(func(c *Client, ctx context.Context) (*models.NodeList, error) { return c.Nodes(ctx, 7) })},
	{operation: "get /metrics/", request: "GET /metrics/", answer: `[{"labels":{},"name":"m","value":1.5}]`,
		call: read((*Client).Metrics)},
	{operation: "get /metrics/", request: "GET /metrics/", headers: "Accept: text/plain", answer: `"m 1.5"`,
		call: text((*Client).MetricsText)},
	{operation: "get /openapi.yaml", request: "GET /openapi.yaml", answer: `"openapi: 3.1.0"`,
		call: text((*Client).OpenAPI)},
	{operation: "get /map", request: "GET /map", answer: `{"maps":[]}`, call: read((*Client).Maps)},
	{operation: "get /map/{name}", request: "GET /map/m", answer: `{"cache":[{"key":"k"}],"name":"m"}`,
		call: read(func(c *Client, ctx context.Context) (*models.MapContents, error) { return c.Map(ctx, "m") })},

	{operation: "get /endpoint", request: "GET /endpoint", answer: `[{"id":7}]`,
		call: read(func(c *Client, ctx context.Context) ([]models.Endpoint, error) { return c.Endpoints(ctx) })},
	{operation: "get /endpoint", request: "GET /endpoint?labels=k8s%3Aa%3Db&labels=c", answer: `[]`,
		call: read(func(c *Client, ctx context.Context) ([]models.Endpoint, error) {
			return c.Endpoints(ctx, "k8s:a=b", "c")
		})},
	{operation: "delete /endpoint", request: "DELETE /endpoint", body: `{"container-id":"x"}`, answer: `["not yet"]`,
		call: read(func(c *Client, ctx context.Context) ([]string, error) { return c.DeleteEndpointsOf(ctx, "x") })},
	{operation: "get /endpoint/{id}", request: "GET /endpoint/pod-name:ns:a%2Fb%20%3F", answer: `{"id":7}`,
		call: read(func(c *Client, ctx context.Context) (*models.Endpoint, error) {
			return c.Endpoint(ctx, "pod-name:ns:a/b ?")
		})},
	{operation: "put /endpoint/{id}", request: "PUT /endpoint/0", body: `{"labels":[],"state":"ready"}`, answer: `{"id":7}`,
		call: read(func(c *Client, ctx context.Context) (*models.Endpoint, error) {
			return c.CreateEndpoint(ctx, "0", &models.EndpointChangeRequest{State: "ready", Labels: []string{}})
		})},
	{operation: "patch /endpoint/{id}", request: "PATCH /endpoint/7", body: `{"mac":"m","state":""}`, answer: `{"id":7}`,
		call: read(func(c *Client, ctx context.Context) (*models.Endpoint, error) {
			return c.ModifyEndpoint(ctx, "7", &models.EndpointChangeRequest{MAC: "m"})
		})},
	{operation: "delete /endpoint/{id}", request: "DELETE /endpoint/7", answer: `[]`,
		call: read(func(c *Client, ctx context.Context) ([]string, error) { return c.DeleteEndpoint(ctx, "7") })},
	{operation: "get /endpoint/{id}/config", request: "GET /endpoint/7/config", answer: `{"error":"e"}`,
		call: read(func(c *Client, ctx context.Context) (*models.EndpointConfiguration, error) {
			return c.EndpointConfig(ctx, "7")
		})},
	{operation: "patch /endpoint/{id}/config", request: "PATCH /endpoint/7/config", body: `{"options":{}}`,
		answer: `{"realized":{"options":{}}}`,
		call: read(func(c *Client, ctx context.Context) (*models.EndpointConfiguration, error) {
			return c.ConfigureEndpoint(ctx, "7", &models.EndpointConfigurationSpec{Options: map[string]string{}})
		})},
	{operation: "get /endpoint/{id}/labels", request: "GET /endpoint/7/labels", answer: `{"spec":{"user":[]}}`,
		call: read(func(c *Client, ctx context.Context) (*models.EndpointLabels, error) {
			return c.EndpointLabels(ctx, "7")
		})},
	{operation: "patch /endpoint/{id}/labels", request: "PATCH /endpoint/7/labels", body: `{"user":[]}`,
		answer: `{"spec":{"user":[]}}`,
		call: read(func(c *Client, ctx context.Context) (*models.EndpointLabels, error) {
			return c.LabelEndpoint(ctx, "7", nil)
		})},
	{operation: "get /endpoint/{id}/log", request: "GET /endpoint/7/log", answer: `[{"code":"OK"}]`,
		call: read(func(c *Client, ctx context.Context) ([]models.EndpointLogEntry, error) {
			return c.EndpointLog(ctx, "7")
		})},
	{operation: "get /endpoint/{id}/healthz", request: "GET /endpoint/7/healthz", answer: `{"bpf":"OK","connected":false}`,
		call: read(func(c *Client, ctx context.Context) (*models.EndpointHealth, error) {
			return c.EndpointHealthz(ctx, "7")
		})},

	{operation: "get /identity", request: "GET /identity?labels=a", answer: `[{"id":7}]`,
		call: read(func(c *Client, ctx context.Context) ([]models.Identity, error) { return c.Identities(ctx, "a") })},
	{operation: "get /identity/endpoints", request: "GET /identity/endpoints", answer: `[{"refCount":1}]`,
		call: read((*Client).IdentitiesInUse)},
	{operation: "get /identity/{id}", request: "GET /identity/16777217", answer: `{"id":16777217}`,
		call: read(func(c *Client, ctx context.Context) (*models.Identity, error) { return c.Identity(ctx, 1<<24+1) })},

	{operation: "post /ipam", request: "POST /ipam?family=ipv4&owner=o&pool=p", headers: "Expiration: true",
		answer: `{"ipv4":{"ip":"10.0.0.1"}}`,
		call: read(func(c *Client, ctx context.Context) (*models.IPAMAllocation, error) {
			return c.Allocate(ctx, Allocation{Family: "ipv4", Owner: "o", Pool: "p", Expires: true})
		})},
	{operation: "post /ipam", request: "POST /ipam", answer: `{}`,
		call: read(func(c *Client, ctx context.Context) (*models.IPAMAllocation, error) {
			return c.Allocate(ctx, Allocation{})
		})},
	{operation: "post /ipam/{ip}", request: "POST /ipam/fd00::1?owner=o",
		call: nothing(func(c *Client, ctx context.Context) error { return c.AllocateAddress(ctx, "fd00::1", "o", "") })},
	{operation: "delete /ipam/{ip}", request: "DELETE /ipam/10.0.0.1?pool=p",
		call: nothing(func(c *Client, ctx context.Context) error { return c.ReleaseAddress(ctx, "10.0.0.1", "p") })},

	{operation: "get /policy", request: "GET /policy?labels=a", answer: `{"policy":"[]","revision":1}`,
		call: read(func(c *Client, ctx context.Context) (*models.Policy, error) { return c.Policy(ctx, "a") })},
	{operation: "put /policy", request: "PUT /policy", body: `[]`, answer: `{"policy":"[]","revision":1}`,
		call: read(func(c *Client, ctx context.Context) (*models.Policy, error) {
			return c.ImportPolicy(ctx, nil, Replacement{})
		})},
	{operation: "put /policy", request: "PUT /policy?replace=true&replace-with-labels=a&replace-with-labels=b",
		body: `[{}]`, answer: `{"policy":"[{}]","revision":2}`,
		call: read(func(c *Client, ctx context.Context) (*models.Policy, error) {
			replaced := Replacement{SameLabels: true, WithLabels: []string{"a", "b"}}
			return c.ImportPolicyText(ctx, strings.NewReader(`[{}]`), replaced)
		})},
	{operation: "delete /policy", request: "DELETE /policy?labels=a", answer: `{"policy":"[]","revision":3}`,
		call: read(func(c *Client, ctx context.Context) (*models.Policy, error) { return c.DeletePolicy(ctx, "a") })},
	{operation: "delete /policy", request: "DELETE /policy", answer: `{"policy":"[]","revision":4}`,
		call: read((*Client).DeleteAllPolicy)},
	{operation: "get /policy/selectors", request: "GET /policy/selectors", answer: `[{"selector":"s"}]`,
		call: read((*Client).Selectors)},
	{operation: "get /policy/resolve", request: "GET /policy/resolve",
		body:   `{"from":{"labels":["k8s:app=web"]},"to":{"dports":[{"port":80,"protocol":"TCP"}],"labels":[]}}`,
		answer: `{"log":"l","verdict":"ALLOWED"}`,
		call: read(func(c *Client, ctx context.Context) (*models.PolicyResolution, error) {
			return c.ResolvePolicy(ctx, &models.PolicyResolutionRequest{
				From: &models.PolicyResolutionRequestFrom{Labels: []string{"k8s:app=web"}},
				To: &models.PolicyResolutionRequestTo{
					DPorts: []models.PolicyResolutionRequestPort{{Port: models.Ptr[int32](80), Protocol: "TCP"}},
					Labels: []string{},
				},
			})
		})},

	{operation: "get /service", request: "GET /service", answer: `[{"spec":{"id":7}}]`,
		call: read((*Client).Services)},
	{operation: "get /service/{id}", request: "GET /service/7", answer: `{"spec":{"id":7}}`,
		call: read(func(c *Client, ctx context.Context) (*models.Service, error) { return c.Service(ctx, 7) })},
	{operation: "put /service/{id}", request: "PUT /service/7",
		body:   `{"frontend-address":{"ip":"10.96.0.1","port":80},"id":7}`,
		answer: `{"spec":{"id":7}}`,
		call: read(func(c *Client, ctx context.Context) (*models.Service, error) {
			frontend := models.ServiceFrontend{IP: "10.96.0.1", Port: 80}
			return c.PutService(ctx, 7, &models.ServiceSpec{ID: 7, FrontendAddress: &frontend})
		})},
	{operation: "delete /service/{id}", request: "DELETE /service/7",
		call: nothing(func(c *Client, ctx context.Context) error { return c.DeleteService(ctx, 7) })},

	{operation: "get /fqdn/cache", request: "GET /fqdn/cache?cidr=192.0.2.0%2F24&matchpattern=%2A.example.com",
		answer: `[{"fqdn":"www.example.com."}]`,
		call: read(func(c *Client, ctx context.Context) ([]models.FqdnLookup, error) {
			return c.Names(ctx, "*.example.com", "192.0.2.0/24")
		})},
	{operation: "get /fqdn/cache/{id}", request: "GET /fqdn/cache/7?matchpattern=%2A",
		answer: `[{"fqdn":"www.example.com."}]`,
		call: read(func(c *Client, ctx context.Context) ([]models.FqdnLookup, error) {
			return c.NamesOfEndpoint(ctx, "7", "*", "")
		})},
	{operation: "delete /fqdn/cache", request: "DELETE /fqdn/cache?matchpattern=www.example.com",
		call: nothing(func(c *Client, ctx context.Context) error {
			return c.DeleteNames(ctx, "www.example.com")
		})},

	{operation: "get /prefilter", request: "GET /prefilter", answer: `{"spec":{"deny":[]}}`,
		call: read((*Client).Prefilter)},
	{operation: "patch /prefilter", request: "PATCH /prefilter", body: `{"deny":["192.0.2.0/24"],"revision":0}`,
		answer: `{"spec":{"deny":["192.0.2.0/24"]}}`,
		call: read(func(c *Client, ctx context.Context) (*models.Prefilter, error) {
			change := models.PrefilterList{Deny: []string{"192.0.2.0/24"}, Revision: models.Ptr[int64](0)}
			return c.AddToPrefilter(ctx, &change)
		})},
	{operation: "delete /prefilter", request: "DELETE /prefilter", body: `{"deny":["192.0.2.0/24"]}`,
		answer: `{"spec":{"deny":[]}}`,
		call: read(func(c *Client, ctx context.Context) (*models.Prefilter, error) {
			return c.RemoveFromPrefilter(ctx, &models.PrefilterList{Deny: []string{"192.0.2.0/24"}})
		})},
}

func TestEachCallSendsItsRequestAndReturnsTheAnswer(t *testing.T) {
	for _, wanted := range exchanges {
		t.Run(wanted.request, func(t *testing.T) {
			agent := agentWith(t, func(writer http.ResponseWriter, request *http.Request) {
				if sent := request.Method + " " + request.RequestURI; sent != wanted.request {
					t.Errorf("want %s, sent %s", wanted.request, sent)
				}
				assertHeaders(t, wanted.headers, request.Header)
				assertBody(t, wanted.body, request)
				writer.Write([]byte(wanted.answer))
			})
			answer, err := wanted.call(agent, shortly(t))
			if err != nil {
				t.Fatal(err)
			}
			if wanted.answer == "" {
				return
			}
			if encoded, err := json.Marshal(answer); err != nil || string(encoded) != wanted.answer {
				t.Errorf("want %s, got %s: %v", wanted.answer, encoded, err)
			}
		})
	}
}

// assertHeaders finds a wanted header, and headers of the API that are not wanted.
func assertHeaders(t *testing.T, wanted string, headers http.Header) {
	t.Helper()
	for _, name := range []string{"Brief", "Client-Id", "Expiration", "Accept"} {
		want := ""
		if strings.HasPrefix(wanted, name+": ") {
			want = strings.TrimPrefix(wanted, name+": ")
		}
		if sent := headers.Get(name); sent != want {
			t.Errorf("header %s: want '%s', sent '%s'", name, want, sent)
		}
	}
}

func assertBody(t *testing.T, wanted string, request *http.Request) {
	t.Helper()
	sent, err := io.ReadAll(request.Body)
	if err != nil {
		t.Error(err)
	}
	if string(sent) != wanted {
		t.Errorf("want body %s, sent %s", wanted, sent)
	}
	if contentType := request.Header.Get("Content-Type"); (contentType == "application/json") != (wanted != "") {
		t.Errorf("a body of %d bytes is sent as '%s'", len(sent), contentType)
	}
}

var (
	pathLine = regexp.MustCompile(`^  (/[^ ]*):$`)
	verbLine = regexp.MustCompile(`^    (get|put|post|patch|delete):$`)
)

func TestThereIsACallForEachOperationOfTheDocument(t *testing.T) {
	file, err := os.Open(document)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	called := map[string]bool{}
	for _, exchange := range exchanges {
		called[exchange.operation] = true
	}
	path, operations := "", 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if match := pathLine.FindStringSubmatch(lines.Text()); match != nil {
			path = match[1]
		} else if match := verbLine.FindStringSubmatch(lines.Text()); match != nil {
			operations++
			if operation := match[1] + " " + path; !called[operation] {
				t.Errorf("there is no call for %s", operation)
			}
		}
	}
	if operations < 30 {
		t.Errorf("only %d operations were found in %s", operations, document)
	}
}
