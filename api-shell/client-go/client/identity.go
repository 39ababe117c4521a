package client

import (
	"context"
	"strconv"

	"agent.internal/client-go/models"
)

// Identities is GET /identity: those that have all these labels, or all identities.
func (c *Client) Identities(ctx context.Context, labels ...string) ([]models.Identity, error) {
	return list[models.Identity](ctx, c, labelled(get("identity"), labels))
}

// EachIdentity is GET /identity, identity by identity.
func (c *Client) EachIdentity(
	ctx context.Context, labels []string, onIdentity func(*models.Identity) error,
) error {
	return each(ctx, c, labelled(get("identity"), labels), onIdentity)
}

// Identity is GET /identity/{id}.
func (c *Client) Identity(ctx context.Context, id int64) (*models.Identity, error) {
	var identity models.Identity
	if err := c.read(ctx, get("identity", strconv.FormatInt(id, 10)), &identity); err != nil {
		return nil, err
	}
	return &identity, nil
}

// IdentitiesInUse is GET /identity/endpoints.
func (c *Client) IdentitiesInUse(ctx context.Context) ([]models.IdentityInUse, error) {
	return list[models.IdentityInUse](ctx, c, get("identity", "endpoints"))
}
