package models

// NodeAddress is an address of this node and the pool behind it.
type NodeAddress struct {
	// Type of the address.
	AddressType string `json:"address-type,omitempty"`
	// CIDR of the addresses of local endpoints.
	AllocRange string `json:"alloc-range,omitempty"`
	// Whether the family is on.
	Enabled *bool `json:"enabled,omitempty"`
	// Address of the node.
	IP string `json:"ip,omitempty"`
}

// NodeAddressing is the node address records of both families.
type NodeAddressing struct {
	// IPv4 address record.
	IPv4 *NodeAddress `json:"ipv4,omitempty"`
	// IPv6 address record.
	IPv6 *NodeAddress `json:"ipv6,omitempty"`
}

// NodeList holds the nodes of the cluster that were added and removed since the last request of a
// client.
type NodeList struct {
	// Number to send as header client-id of the next request.
	ClientID *int64 `json:"client-id"`
	// Nodes that are new to the client, or as they are after a change.
	NodesAdded []Node `json:"nodes-added"`
	// Nodes that are gone, or as they were before a change.
	NodesRemoved []Node `json:"nodes-removed"`
	// Name of this node.
	Self string `json:"self"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m NodeList) MarshalJSON() ([]byte, error) { return encode(m) }

// Node is a node of the cluster.
type Node struct {
	// Addresses of the health endpoint of the node; absent where it has none.
	HealthEndpointAddress *NodeAddressing `json:"health-endpoint-address"`
	// Names of cluster and node, separated by a slash.
	Name string `json:"name"`
	// Addresses of the node.
	PrimaryAddress *NodeAddressing `json:"primary-address"`
	// Further addresses of the node.
	SecondaryAddresses []NodeAddress `json:"secondary-addresses"`
	// Where the node is known from; local for this node.
	Source string `json:"source"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m Node) MarshalJSON() ([]byte, error) { return encode(m) }
