package client

import (
	"context"
	"net/http"
	"strconv"

	"agent.internal/client-go/models"
)

// Services is GET /service.
func (c *Client) Services(ctx context.Context) ([]models.Service, error) {
	return list[models.Service](ctx, c, get("service"))
}

// Service is GET /service/{id}.
func (c *Client) Service(ctx context.Context, id int32) (*models.Service, error) {
	return c.service(ctx, get("service", number(id)))
}

// PutService is PUT /service/{id}: it creates the service or replaces the one with this id.
func (c *Client) PutService(
	ctx context.Context, id int32, spec *models.ServiceSpec,
) (*models.Service, error) {
	return c.service(ctx,
		call{method: http.MethodPut, path: []string{"service", number(id)}, body: spec})
}

// DeleteService is DELETE /service/{id}.
func (c *Client) DeleteService(ctx context.Context, id int32) error {
	return c.do(ctx, call{method: http.MethodDelete, path: []string{"service", number(id)}})
}

func (c *Client) service(ctx context.Context, r call) (*models.Service, error) {
	var service models.Service
	if err := c.read(ctx, r, &service); err != nil {
		return nil, err
	}
	return &service, nil
}

func number(id int32) string {
	return strconv.FormatInt(int64(id), 10)
}
