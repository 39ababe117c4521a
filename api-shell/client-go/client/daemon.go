package client

import (
	"context"
	"io"
	"net/http"

	"agent.internal/client-go/models"
)

// Healthz is GET /healthz; in brief the states alone.
func (c *Client) Healthz(ctx context.Context, brief bool) (*models.DaemonStatus, error) {
	var status models.DaemonStatus
	if err := c.read(ctx, briefly(get("healthz"), brief), &status); err != nil {
		return nil, err
	}
	return &status, nil
}

// Health is GET /health; in brief the modules alone that are not OK.
func (c *Client) Health(ctx context.Context, brief bool) (*models.ModuleHealth, error) {
	var health models.ModuleHealth
	if err := c.read(ctx, briefly(get("health"), brief), &health); err != nil {
		return nil, err
	}
	return &health, nil
}

func briefly(r call, brief bool) call {
	if brief {
		r.header = http.Header{"Brief": {"true"}}
	}
	return r
}

// Config is GET /config.
func (c *Client) Config(ctx context.Context) (*models.DaemonConfiguration, error) {
	return c.config(ctx, get("config"))
}

// Configure is PATCH /config: it changes the options that are named, all or none.
func (c *Client) Configure(
	ctx context.Context, change *models.DaemonConfigurationSpec,
) (*models.DaemonConfiguration, error) {
	return c.config(ctx, call{method: http.MethodPatch, path: []string{"config"}, body: change})
}

func (c *Client) config(ctx context.Context, r call) (*models.DaemonConfiguration, error) {
	var configuration models.DaemonConfiguration
	if err := c.read(ctx, r, &configuration); err != nil {
		return nil, err
	}
	return &configuration, nil
}

// Metrics is GET /metrics/.
func (c *Client) Metrics(ctx context.Context) ([]models.Metric, error) {
	return list[models.Metric](ctx, c, get("metrics", ""))
}

// MetricsText is GET /metrics/ in the text format of Prometheus. The caller closes the answer.
func (c *Client) MetricsText(ctx context.Context) (io.ReadCloser, error) {
	r := get("metrics", "")
	r.header = http.Header{"Accept": {"text/plain"}}
	return c.stream(ctx, r)
}

// OpenAPI is GET /openapi.yaml, the document of the API. The caller closes the answer.
func (c *Client) OpenAPI(ctx context.Context) (io.ReadCloser, error) {
	return c.stream(ctx, get("openapi.yaml"))
}

func (c *Client) stream(ctx context.Context, r call) (io.ReadCloser, error) {
	response, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// Maps is GET /map.
func (c *Client) Maps(ctx context.Context) (*models.MapList, error) {
	var maps models.MapList
	if err := c.read(ctx, get("map"), &maps); err != nil {
		return nil, err
	}
	return &maps, nil
}
