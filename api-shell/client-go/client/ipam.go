package client

import (
	"context"
	"net/http"
	"net/url"

	"agent.internal/client-go/models"
)

// Allocation says which address is wanted.
type Allocation struct {
	// Family is "ipv4" or "ipv6"; both where it is empty.
	Family string
	// Owner is who the address is for.
	Owner string
	// Pool is the pool; the default one where it is empty.
	Pool string
	// Expires has the lease expire unless an endpoint claims the address.
	Expires bool
}

// Allocate is POST /ipam: the next free address of each family.
func (c *Client) Allocate(ctx context.Context, wanted Allocation) (*models.IPAMAllocation, error) {
	r := call{
		method: http.MethodPost,
		path:   []string{"ipam"},
		query:  present("family", wanted.Family, "owner", wanted.Owner, "pool", wanted.Pool),
	}
	if wanted.Expires {
		r.header = http.Header{"Expiration": {"true"}}
	}
	var allocation models.IPAMAllocation
	if err := c.read(ctx, r, &allocation); err != nil {
		return nil, err
	}
	return &allocation, nil
}

// AllocateAddress is POST /ipam/{ip}; owner and pool may be empty.
func (c *Client) AllocateAddress(ctx context.Context, ip, owner, pool string) error {
	return c.do(ctx, call{
		method: http.MethodPost,
		path:   []string{"ipam", ip},
		query:  present("owner", owner, "pool", pool),
	})
}

// ReleaseAddress is DELETE /ipam/{ip}; the pool may be empty.
func (c *Client) ReleaseAddress(ctx context.Context, ip, pool string) error {
	return c.do(ctx, call{
		method: http.MethodDelete,
		path:   []string{"ipam", ip},
		query:  present("pool", pool),
	})
}

// present returns the parameters whose values are not empty.
func present(namesAndValues ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] != "" {
			query.Set(namesAndValues[i], namesAndValues[i+1])
		}
	}
	return query
}
