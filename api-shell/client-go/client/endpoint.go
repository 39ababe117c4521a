package client

import (
	"context"
	"net/http"
	"net/url"

	"agent.internal/client-go/models"
)

// Endpoints is GET /endpoint: those that have all these labels, or all endpoints.
func (c *Client) Endpoints(ctx context.Context, labels ...string) ([]models.Endpoint, error) {
	return list[models.Endpoint](ctx, c, labelled(get("endpoint"), labels))
}

// EachEndpoint is GET /endpoint, endpoint by endpoint.
func (c *Client) EachEndpoint(
	ctx context.Context, labels []string, onEndpoint func(*models.Endpoint) error,
) error {
	return each(ctx, c, labelled(get("endpoint"), labels), onEndpoint)
}

func labelled(r call, labels []string) call {
	if len(labels) > 0 {
		r.query = url.Values{"labels": labels}
	}
	return r
}

// Endpoint is GET /endpoint/{id}.
func (c *Client) Endpoint(ctx context.Context, id string) (*models.Endpoint, error) {
	return c.endpoint(ctx, get("endpoint", id))
}

// CreateEndpoint is PUT /endpoint/{id}; the id 0 has the agent allocate one.
func (c *Client) CreateEndpoint(
	ctx context.Context, id string, request *models.EndpointChangeRequest,
) (*models.Endpoint, error) {
	return c.endpoint(ctx, call{method: http.MethodPut, path: []string{"endpoint", id}, body: request})
}

// ModifyEndpoint is PATCH /endpoint/{id}.
func (c *Client) ModifyEndpoint(
	ctx context.Context, id string, request *models.EndpointChangeRequest,
) (*models.Endpoint, error) {
	return c.endpoint(ctx, call{method: http.MethodPatch, path: []string{"endpoint", id}, body: request})
}

func (c *Client) endpoint(ctx context.Context, r call) (*models.Endpoint, error) {
	var endpoint models.Endpoint
	if err := c.read(ctx, r, &endpoint); err != nil {
		return nil, err
	}
	return &endpoint, nil
}

// DeleteEndpoint is DELETE /endpoint/{id}. It returns the errors that the deletion met; the agent
// repeats a deletion that is not finished.
func (c *Client) DeleteEndpoint(ctx context.Context, id string) ([]string, error) {
	return list[string](ctx, c, call{method: http.MethodDelete, path: []string{"endpoint", id}})
}

// DeleteEndpointsOf is DELETE /endpoint: the endpoints of a container. It returns the errors that
// the deletion met.
func (c *Client) DeleteEndpointsOf(ctx context.Context, containerID string) ([]string, error) {
	return list[string](ctx, c, call{
		method: http.MethodDelete,
		path:   []string{"endpoint"},
		body:   models.EndpointBatchDeleteRequest{ContainerID: containerID},
	})
}

// EndpointConfig is GET /endpoint/{id}/config.
func (c *Client) EndpointConfig(ctx context.Context, id string) (*models.EndpointConfiguration, error) {
	return c.endpointConfig(ctx, get("endpoint", id, "config"))
}

// ConfigureEndpoint is PATCH /endpoint/{id}/config.
func (c *Client) ConfigureEndpoint(
	ctx context.Context, id string, change *models.EndpointConfigurationSpec,
) (*models.EndpointConfiguration, error) {
	path := []string{"endpoint", id, "config"}
	return c.endpointConfig(ctx, call{method: http.MethodPatch, path: path, body: change})
}

func (c *Client) endpointConfig(ctx context.Context, r call) (*models.EndpointConfiguration, error) {
	var configuration models.EndpointConfiguration
	if err := c.read(ctx, r, &configuration); err != nil {
		return nil, err
	}
	return &configuration, nil
}

// EndpointLabels is GET /endpoint/{id}/labels.
func (c *Client) EndpointLabels(ctx context.Context, id string) (*models.EndpointLabels, error) {
	return c.endpointLabels(ctx, get("endpoint", id, "labels"))
}

// LabelEndpoint is PATCH /endpoint/{id}/labels: it replaces the labels that a client has set.
func (c *Client) LabelEndpoint(
	ctx context.Context, id string, labels []string,
) (*models.EndpointLabels, error) {
	user := append([]string{}, labels...)
	return c.endpointLabels(ctx, call{
		method: http.MethodPatch,
		path:   []string{"endpoint", id, "labels"},
		body:   models.LabelConfiguration{User: user},
	})
}

func (c *Client) endpointLabels(ctx context.Context, r call) (*models.EndpointLabels, error) {
	var labels models.EndpointLabels
	if err := c.read(ctx, r, &labels); err != nil {
		return nil, err
	}
	return &labels, nil
}

// EndpointLog is GET /endpoint/{id}/log, newest first.
func (c *Client) EndpointLog(ctx context.Context, id string) ([]models.EndpointLogEntry, error) {
	return list[models.EndpointLogEntry](ctx, c, get("endpoint", id, "log"))
}

// EndpointHealthz is GET /endpoint/{id}/healthz.
func (c *Client) EndpointHealthz(ctx context.Context, id string) (*models.EndpointHealth, error) {
	var health models.EndpointHealth
	if err := c.read(ctx, get("endpoint", id, "healthz"), &health); err != nil {
		return nil, err
	}
	return &health, nil
}
