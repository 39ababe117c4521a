package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"agent.internal/client-go/models"
)

// Policy is GET /policy: the rules that have all these labels, or all rules.
func (c *Client) Policy(ctx context.Context, labels ...string) (*models.Policy, error) {
	return c.policy(ctx, labelled(get("policy"), labels))
}

// Replacement says which rules an import replaces, in one step with it.
type Replacement struct {
	// SameLabels replaces each rule whose labels equal those of a rule of the import.
	SameLabels bool
	// WithLabels replaces each rule that has all these labels.
	WithLabels []string
}

// ImportPolicy is PUT /policy.
func (c *Client) ImportPolicy(
	ctx context.Context, rules []models.Rule, replaced Replacement,
) (*models.Policy, error) {
	if rules == nil {
		rules = []models.Rule{}
	}
	return c.importPolicy(ctx, rules, replaced)
}

// ImportPolicyText is PUT /policy with rules as JSON text.
func (c *Client) ImportPolicyText(
	ctx context.Context, rules io.Reader, replaced Replacement,
) (*models.Policy, error) {
	return c.importPolicy(ctx, rules, replaced)
}

func (c *Client) importPolicy(
	ctx context.Context, rules any, replaced Replacement,
) (*models.Policy, error) {
	query := url.Values{}
	if replaced.SameLabels {
		query.Set("replace", "true")
	}
	if len(replaced.WithLabels) > 0 {
		query["replace-with-labels"] = replaced.WithLabels
	}
	return c.policy(ctx, call{
		method: http.MethodPut, path: []string{"policy"}, query: query, body: rules,
	})
}

// DeletePolicy is DELETE /policy: the rules that have all these labels, of which there is one at
// least.
func (c *Client) DeletePolicy(ctx context.Context, labels ...string) (*models.Policy, error) {
	if len(labels) == 0 {
		return nil, errors.New("DELETE /policy: no labels; DeleteAllPolicy deletes all rules")
	}
	r := call{method: http.MethodDelete, path: []string{"policy"}}
	return c.policy(ctx, labelled(r, labels))
}

// DeleteAllPolicy is DELETE /policy without labels: all rules.
func (c *Client) DeleteAllPolicy(ctx context.Context) (*models.Policy, error) {
	return c.policy(ctx, call{method: http.MethodDelete, path: []string{"policy"}})
}

func (c *Client) policy(ctx context.Context, r call) (*models.Policy, error) {
	var policy models.Policy
	if err := c.read(ctx, r, &policy); err != nil {
		return nil, err
	}
	return &policy, nil
}

// Selectors is GET /policy/selectors.
func (c *Client) Selectors(ctx context.Context) ([]models.Selector, error) {
	return list[models.Selector](ctx, c, get("policy", "selectors"))
}

// ResolvePolicy is GET /policy/resolve: whether a flow would pass.
func (c *Client) ResolvePolicy(
	ctx context.Context, request *models.PolicyResolutionRequest,
) (*models.PolicyResolution, error) {
	r := get("policy", "resolve")
	r.body = request
	var resolution models.PolicyResolution
	if err := c.read(ctx, r, &resolution); err != nil {
		return nil, err
	}
	return &resolution, nil
}
