//go:build live

package live

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"agent.internal/client-go/client"
	"agent.internal/client-go/models"
)

func connect(t *testing.T) (*client.Client, context.Context) {
	t.Helper()
	agent, err := client.New(os.Getenv("AGENT_ADDRESS"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(func() {
		cancel()
		agent.Close()
	})
	return agent, ctx
}

// must ends the test with the error, and otherwise returns the value.
func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func assert(t *testing.T, holds bool, what string, found any) {
	t.Helper()
	if !holds {
		text, _ := json.Marshal(found)
		t.Errorf("%s: %s", what, text)
	}
}

func assertStatus(t *testing.T, want int, err error) {
	t.Helper()
	if client.StatusOf(err) != want {
		t.Errorf("want status %d, got %v", want, err)
	}
}

func TestDaemon(t *testing.T) {
	agent, ctx := connect(t)
	status := must[*models.DaemonStatus](t)(agent.Healthz(ctx, false))
	assert(t, status.Agent.State == "Ok", "the agent is not Ok", status.Agent)
	brief := must[*models.DaemonStatus](t)(agent.Healthz(ctx, true))
	assert(t, brief.BPFMaps == nil && brief.Agent != nil, "the status is not brief", brief)
	health := must[*models.ModuleHealth](t)(agent.Health(ctx, false))
	assert(t, len(health.Modules) > 5, "modules are missing", health)
	configuration := must[*models.DaemonConfiguration](t)(agent.Config(ctx))
	assert(t, configuration.Spec.PolicyEnforcement == "default", "another mode", configuration.Spec)
	assert(t, *configuration.Status.Addressing.IPv4.Enabled, "IPv4 is off", configuration.Status)
	metrics := must[[]models.Metric](t)(agent.Metrics(ctx))
	assert(t, len(metrics) > 20, "metrics are missing", metrics)
	assert(t, strings.Contains(text(t)(agent.MetricsText(ctx)), "# TYPE "), "no text format", nil)
	assert(t, strings.HasPrefix(text(t)(agent.OpenAPI(ctx)), "openapi: 3.1"), "no document", nil)
}

func text(t *testing.T) func(io.ReadCloser, error) string {
	return func(stream io.ReadCloser, err error) string {
		t.Helper()
		defer must[io.ReadCloser](t)(stream, err).Close()
		return string(must[[]byte](t)(io.ReadAll(stream)))
	}
}

func TestMaps(t *testing.T) {
	agent, ctx := connect(t)
	maps := must[*models.MapList](t)(agent.Maps(ctx))
	assert(t, len(maps.Maps) > 10, "maps are missing", maps)
	for _, summary := range maps.Maps {
		contents, err := agent.EachMapEntry(ctx, summary.Name, func(entry *models.MapEntry) error {
			assert(t, entry.DesiredAction != "", "an entry of "+summary.Name, entry)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		assert(t, contents.Name == summary.Name && contents.Type == summary.Type, summary.Name, contents)
	}
	_, err := agent.Map(ctx, "no such map")
	assertStatus(t, 404, err)
}

func TestAddresses(t *testing.T) {
	agent, ctx := connect(t)
	lease := must[*models.IPAMAllocation](t)(agent.Allocate(ctx,
		client.Allocation{Family: "ipv4", Owner: "live test", Expires: true}))
	assert(t, lease.IPv4.IP != "" && lease.IPv4.ExpirationUUID != "" && lease.IPv6 == nil, "lease", lease)
	assertStatus(t, 409, agent.AllocateAddress(ctx, lease.IPv4.IP, "another", ""))
	if err := agent.ReleaseAddress(ctx, lease.IPv4.IP, ""); err != nil {
		t.Fatal(err)
	}
	if err := agent.AllocateAddress(ctx, lease.IPv4.IP, "another", ""); err != nil {
		t.Fatal(err)
	}
	if err := agent.ReleaseAddress(ctx, lease.IPv4.IP, ""); err != nil {
		t.Fatal(err)
	}
	assertStatus(t, 404, agent.ReleaseAddress(ctx, lease.IPv4.IP, ""))
	assertStatus(t, 400, agent.ReleaseAddress(ctx, "10.0.0.999", ""))
}

func TestEndpoints(t *testing.T) {
	agent, ctx := connect(t)
	var request models.EndpointChangeRequest
	if err := json.Unmarshal([]byte(os.Getenv("AGENT_ENDPOINT")), &request); err != nil {
		t.Fatal(err)
	}
	created := must[*models.Endpoint](t)(agent.CreateEndpoint(ctx, "0", &request))
	id := strconv.Itoa(int(created.ID))
	assert(t, created.Status.State == "ready", "it was built before the answer", created.Status)
	_, err := agent.CreateEndpoint(ctx, id, &request)
	assertStatus(t, 409, err)

	same := must[*models.Endpoint](t)(agent.Endpoint(ctx, "container-id:"+request.ContainerID))
	assert(t, same.ID == created.ID, "found by its container", same)
	found := must[[]models.Endpoint](t)(agent.Endpoints(ctx, request.Labels...))
	assert(t, len(found) == 1 && found[0].ID == created.ID, "found by labels", found)
	_, err = agent.Endpoints(ctx, "k8s:app=absent")
	assertStatus(t, 404, err)

	identity := created.Status.Identity
	inUse := must[[]models.IdentityInUse](t)(agent.IdentitiesInUse(ctx))
	assert(t, len(inUse) == 1 && *inUse[0].RefCount == 1, "identities in use", inUse)
	read := must[*models.Identity](t)(agent.Identity(ctx, identity.ID))
	assert(t, read.LabelsSHA256 == identity.LabelsSHA256, "another identity", read)
	count := 0
	err = agent.EachIdentity(ctx, nil, func(*models.Identity) error { count++; return nil })
	assert(t, err == nil && count > 8, "reserved identities are missing", count)

	modified := must[*models.Endpoint](t)(agent.ModifyEndpoint(ctx, id, &request))
	assert(t, modified.ID == created.ID, "another endpoint", modified)
	configureEndpoint(t, agent, ctx, id)
	errs := must[[]string](t)(agent.DeleteEndpoint(ctx, id))
	assert(t, len(errs) == 0, "errors of the deletion", errs)
	_, err = agent.Endpoint(ctx, id)
	assertStatus(t, 404, err)
	_, err = agent.Endpoint(ctx, "no-prefix:7")
	assertStatus(t, 400, err)
	_, err = agent.DeleteEndpointsOf(ctx, "no such container")
	assertStatus(t, 404, err)
	must[*models.Endpoint](t)(agent.CreateEndpoint(ctx, "0", &request))
	errs = must[[]string](t)(agent.DeleteEndpointsOf(ctx, request.ContainerID))
	assert(t, len(errs) == 0, "errors of the deletion", errs)
}

func configureEndpoint(t *testing.T, agent *client.Client, ctx context.Context, id string) {
	t.Helper()
	change := models.EndpointConfigurationSpec{Options: map[string]string{"Debug": "Enabled"}}
	set := must[*models.EndpointConfiguration](t)(agent.ConfigureEndpoint(ctx, id, &change))
	assert(t, set.Realized != nil, "configuration", set)
	_, err := agent.ConfigureEndpoint(ctx, id,
		&models.EndpointConfigurationSpec{Options: map[string]string{"Debug": "maybe"}})
	assertStatus(t, 400, err)
	configuration := must[*models.EndpointConfiguration](t)(agent.EndpointConfig(ctx, id))
	assert(t, configuration.Realized.Options["Debug"] == "Enabled", "option", configuration)

	must[*models.EndpointLabels](t)(agent.LabelEndpoint(ctx, id, []string{"k8s:app=web", "tier=1"}))
	labels := must[*models.EndpointLabels](t)(agent.EndpointLabels(ctx, id))
	assert(t, len(labels.Spec.User) == 2, "labels", labels)
	must[*models.EndpointLabels](t)(agent.LabelEndpoint(ctx, id, nil))
	labels = must[*models.EndpointLabels](t)(agent.EndpointLabels(ctx, id))
	assert(t, len(labels.Spec.User) == 0, "labels that were taken away", labels)

	lookups := must[[]models.FqdnLookup](t)(agent.NamesOfEndpoint(ctx, id, "", ""))
	assert(t, len(lookups) == 0, "lookups", lookups)
	log := must[[]models.EndpointLogEntry](t)(agent.EndpointLog(ctx, id))
	assert(t, len(log) > 1 && log[0].Timestamp >= log[1].Timestamp, "log", log)
	health := must[*models.EndpointHealth](t)(agent.EndpointHealthz(ctx, id))
	assert(t, health.Policy != "" && health.Connected != nil, "health", health)
}

func TestPolicy(t *testing.T) {
	agent, ctx := connect(t)
	rule := models.Rule{
		EndpointSelector: &models.EndpointSelector{MatchLabels: map[string]string{"app": "web"}},
		Ingress: []models.IngressRule{{
			FromEndpoints: []models.EndpointSelector{},
			ToPorts:       []models.PortRule{{Ports: []models.Port{{Port: "80", Protocol: "TCP"}}}},
		}, {
			FromEndpoints: []models.EndpointSelector{{MatchLabels: map[string]string{"app": "client"}}},
		}},
		Labels: []models.Label{{Key: "name", Value: "live"}},
	}
	imported := must[*models.Policy](t)(agent.ImportPolicy(ctx, []models.Rule{rule}, client.Replacement{}))
	held := must[*models.Policy](t)(agent.Policy(ctx, "name=live"))
	assert(t, held.Revision == imported.Revision, "revisions", held)
	rules := must[[]models.Rule](t)(held.Rules())
	assert(t, len(rules) == 1 && rules[0].Ingress[0].FromEndpoints != nil &&
		len(rules[0].Ingress[0].FromEndpoints) == 0, "an empty list of peers", rules)
	selectors := must[[]models.Selector](t)(agent.Selectors(ctx))
	assert(t, len(selectors) > 0, "selectors", selectors)

	_, err := agent.ImportPolicyText(ctx, strings.NewReader(`[{"endpointSelector": {}, "ingres": []}]`),
		client.Replacement{})
	assertStatus(t, 400, err)
	left := must[*models.Policy](t)(agent.DeletePolicy(ctx, "name=live"))
	assert(t, left.Revision > held.Revision, "revisions", left)
	_, err = agent.DeletePolicy(ctx, "name=live")
	assertStatus(t, 404, err)
	must[*models.Policy](t)(agent.DeleteAllPolicy(ctx))
}

func TestServices(t *testing.T) {
	agent, ctx := connect(t)
	frontend := models.ServiceFrontend{IP: "10.96.0.1", Port: 80, Protocol: "TCP"}
	wanted := models.ServiceSpec{
		FrontendAddress:  &frontend,
		BackendAddresses: []models.ServiceBackend{{IP: "10.1.0.7", Port: 8080, Weight: models.Ptr[int32](3)}},
	}
	created := must[*models.Service](t)(agent.PutService(ctx, 7, &wanted))
	assert(t, created.Spec.BackendAddresses[0].State == "active", "backend", created)
	assert(t, len(must[[]models.Service](t)(agent.Services(ctx))) == 1, "services", created)
	found := must[*models.Service](t)(agent.Service(ctx, 7))
	assert(t, *found.Spec.BackendAddresses[0].Weight == 3, "weight", found)
	_, err := agent.PutService(ctx, 8, &models.ServiceSpec{FrontendAddress: &frontend})
	assertStatus(t, 409, err)
	_, err = agent.PutService(ctx, 8, &models.ServiceSpec{})
	assertStatus(t, 460, err)
	if err := agent.DeleteService(ctx, 7); err != nil {
		t.Fatal(err)
	}
	_, err = agent.Service(ctx, 7)
	assertStatus(t, 404, err)
}

func TestNames(t *testing.T) {
	agent, ctx := connect(t)
	names := must[[]models.FqdnLookup](t)(agent.Names(ctx, "*.example.com", "192.0.2.0/24"))
	assert(t, len(names) == 1 && names[0].FQDN == "www.example.com.", "names", names)
	assert(t, names[0].Source == "precache" && names[0].TTL == 60, "parts", names)
	_, err := agent.Names(ctx, "", "198.51.100.0/24")
	assertStatus(t, 404, err)
	_, err = agent.Names(ctx, "a..b", "")
	assertStatus(t, 400, err)
	_, err = agent.NamesOfEndpoint(ctx, "9999", "", "")
	assertStatus(t, 404, err)
	if err := agent.DeleteNames(ctx, "www.example.com"); err != nil {
		t.Fatal(err)
	}
	assert(t, len(must[[]models.FqdnLookup](t)(agent.Names(ctx, "", ""))) == 0, "names", names)
}

func TestPrefilter(t *testing.T) {
	agent, ctx := connect(t)
	before := must[*models.Prefilter](t)(agent.Prefilter(ctx))
	change := models.PrefilterList{Deny: []string{"192.0.2.7/24"}, Revision: before.Spec.Revision}
	added := must[*models.Prefilter](t)(agent.AddToPrefilter(ctx, &change))
	assert(t, len(added.Spec.Deny) == 1 && added.Spec.Deny[0] == "192.0.2.0/24", "prefixes", added)
	_, err := agent.AddToPrefilter(ctx, &change)
	assertStatus(t, 409, err)
	_, err = agent.AddToPrefilter(ctx, &models.PrefilterList{Deny: []string{"x"}})
	assertStatus(t, 461, err)
	removed := must[*models.Prefilter](t)(agent.RemoveFromPrefilter(ctx,
		&models.PrefilterList{Deny: []string{"192.0.2.0/24"}}))
	assert(t, len(removed.Status.Realized.Deny) == 0, "prefixes", removed)
}
