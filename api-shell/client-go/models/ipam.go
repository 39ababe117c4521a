package models

// AddressPair is the addresses of a workload, one a family at most.
type AddressPair struct {
	// IPv4 address.
	IPv4 string `json:"ipv4,omitempty"`
	// UUID of the timer with which the IPv4 lease expires.
	IPv4ExpirationUUID string `json:"ipv4-expiration-uuid,omitempty"`
	// Pool of the IPv4 address.
	IPv4PoolName string `json:"ipv4-pool-name,omitempty"`
	// IPv6 address.
	IPv6 string `json:"ipv6,omitempty"`
	// UUID of the timer with which the IPv6 lease expires.
	IPv6ExpirationUUID string `json:"ipv6-expiration-uuid,omitempty"`
	// Pool of the IPv6 address.
	IPv6PoolName string `json:"ipv6-pool-name,omitempty"`
}

// IPAMAllocation says what POST /ipam allocated.
type IPAMAllocation struct {
	// Allocated addresses.
	Address *AddressPair `json:"address,omitempty"`
	// Addresses of the node.
	HostAddressing *NodeAddressing `json:"host-addressing,omitempty"`
	// IPv4 allocation.
	IPv4 *IPAMFamilyAllocation `json:"ipv4,omitempty"`
	// IPv6 allocation.
	IPv6 *IPAMFamilyAllocation `json:"ipv6,omitempty"`
}

// IPAMFamilyAllocation holds the allocation of one address family.
type IPAMFamilyAllocation struct {
	// CIDRs that the workload reaches over the gateway.
	CIDRs []string `json:"cidrs"`
	// UUID of the timer with which the lease expires; present where expiration was asked for.
	ExpirationUUID string `json:"expiration-uuid"`
	// Gateway of the workload.
	Gateway string `json:"gateway"`
	// Number of the network interface, where the platform has one.
	InterfaceNumber string `json:"interface-number"`
	// Allocated address.
	IP string `json:"ip"`
	// MAC address of the master interface, where the address is a secondary one.
	MasterMAC string `json:"master-mac"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m IPAMFamilyAllocation) MarshalJSON() ([]byte, error) { return encode(m) }
