package client

import (
	"context"
	"net/http"

	"agent.internal/client-go/models"
)

// Prefilter is GET /prefilter.
func (c *Client) Prefilter(ctx context.Context) (*models.Prefilter, error) {
	return c.prefilter(ctx, get("prefilter"))
}

// AddToPrefilter is PATCH /prefilter: it adds prefixes, all or none.
func (c *Client) AddToPrefilter(
	ctx context.Context, change *models.PrefilterList,
) (*models.Prefilter, error) {
	return c.prefilter(ctx, call{method: http.MethodPatch, path: []string{"prefilter"}, body: change})
}

// RemoveFromPrefilter is DELETE /prefilter: it removes prefixes; one that is not there is ignored.
func (c *Client) RemoveFromPrefilter(
	ctx context.Context, change *models.PrefilterList,
) (*models.Prefilter, error) {
	return c.prefilter(ctx, call{method: http.MethodDelete, path: []string{"prefilter"}, body: change})
}

func (c *Client) prefilter(ctx context.Context, r call) (*models.Prefilter, error) {
	var prefilter models.Prefilter
	if err := c.read(ctx, r, &prefilter); err != nil {
		return nil, err
	}
	return &prefilter, nil
}
