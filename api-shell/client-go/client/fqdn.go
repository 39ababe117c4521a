package client

import (
	"context"
	"net/http"

	"agent.internal/client-go/models"
)

// Names is GET /fqdn/cache: the DNS names that match a pattern and have an address in a CIDR, each
// of which may be empty.
func (c *Client) Names(ctx context.Context, matchPattern, cidr string) ([]models.FqdnLookup, error) {
	r := get("fqdn", "cache")
	r.query = present("matchpattern", matchPattern, "cidr", cidr)
	return list[models.FqdnLookup](ctx, c, r)
}

// NamesOfEndpoint is GET /fqdn/cache/{id}: the DNS names that an endpoint has looked up.
func (c *Client) NamesOfEndpoint(
	ctx context.Context, id, matchPattern, cidr string,
) ([]models.FqdnLookup, error) {
	r := get("fqdn", "cache", id)
	r.query = present("matchpattern", matchPattern, "cidr", cidr)
	return list[models.FqdnLookup](ctx, c, r)
}

// DeleteNames is DELETE /fqdn/cache: it removes the DNS names that match a pattern; an empty one is
// all of them.
func (c *Client) DeleteNames(ctx context.Context, matchPattern string) error {
	return c.do(ctx, call{
		method: http.MethodDelete,
		path:   []string{"fqdn", "cache"},
		query:  present("matchpattern", matchPattern),
	})
}
