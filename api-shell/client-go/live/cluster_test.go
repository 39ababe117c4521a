//go:build live

package live

import (
	"testing"

	"agent.internal/client-go/models"
)

func TestCluster(t *testing.T) {
	agent, ctx := connect(t)
	nodes := must[*models.NodeList](t)(agent.Nodes(ctx, 0))
	assert(t, len(nodes.NodesAdded) == 1 && nodes.NodesAdded[0].Name == nodes.Self, "nodes", nodes)
	again := must[*models.NodeList](t)(agent.Nodes(ctx, *nodes.ClientID))
	assert(t, len(again.NodesAdded) == 0 && *again.ClientID == *nodes.ClientID, "nodes", again)
}

func TestConfiguration(t *testing.T) {
	agent, ctx := connect(t)
	before := must[*models.DaemonConfiguration](t)(agent.Config(ctx))
	change := models.DaemonConfigurationSpec{Options: map[string]string{"Debug": "Enabled"}}
	changed := must[*models.DaemonConfiguration](t)(agent.Configure(ctx, &change))
	assert(t, changed.Spec.Options["Debug"] == "Enabled", "options", changed.Spec)
	_, err := agent.Configure(ctx, &models.DaemonConfigurationSpec{PolicyEnforcement: "sometimes"})
	assertStatus(t, 400, err)
	change.Options["Debug"] = before.Spec.Options["Debug"]
	must[*models.DaemonConfiguration](t)(agent.Configure(ctx, &change))
}

func TestDebugInformation(t *testing.T) {
	agent, ctx := connect(t)
	information := must[*models.DebugInformation](t)(agent.DebugInformation(ctx))
	assert(t, information.AgentVersion != "" && information.KernelVersion != "" &&
		information.AgentStatus.Agent != nil, "debug information", information)
}

func TestPolicyResolution(t *testing.T) {
	agent, ctx := connect(t)
	request := models.PolicyResolutionRequest{
		From: &models.PolicyResolutionRequestFrom{Labels: []string{"k8s:app=a"}},
		To:   &models.PolicyResolutionRequestTo{Labels: []string{"k8s:app=b"}},
	}
	resolution := must[*models.PolicyResolution](t)(agent.ResolvePolicy(ctx, &request))
	assert(t, resolution.Verdict == "ALLOWED", "without rules", resolution)
	_, err := agent.ResolvePolicy(ctx, &models.PolicyResolutionRequest{})
	assertStatus(t, 400, err)
}
