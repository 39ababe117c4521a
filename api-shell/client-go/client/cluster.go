package client

import (
	"context"
	"net/http"
	"strconv"

	"agent.internal/client-go/models"
)

// Nodes is GET /cluster/nodes. Without a client ID (0) all nodes are in NodesAdded; with the
// ClientID of the last answer there is what has changed since.
func (c *Client) Nodes(ctx context.Context, clientID int64) (*models.NodeList, error) {
	r := get("cluster", "nodes")
	if clientID != 0 {
		r.header = http.Header{"Client-Id": {strconv.FormatInt(clientID, 10)}}
	}
	var nodes models.NodeList
	if err := c.read(ctx, r, &nodes); err != nil {
		return nil, err
	}
	return &nodes, nil
}

// DebugInformation is GET /debuginfo.
func (c *Client) DebugInformation(ctx context.Context) (*models.DebugInformation, error) {
	var information models.DebugInformation
	if err := c.read(ctx, get("debuginfo"), &information); err != nil {
		return nil, err
	}
	return &information, nil
}
