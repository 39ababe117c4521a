package models

// FqdnLookup is addresses of a DNS name that were found together.
type FqdnLookup struct {
	// Endpoint whose lookup it was; 0 where it was none.
	EndpointID int64 `json:"endpoint-id,omitempty"`
	// Until when policy uses the addresses; with the source connection, since when it does so for open connections alone.
	ExpirationTime string `json:"expiration-time,omitempty"`
	// Name, with a dot at the end.
	FQDN string `json:"fqdn,omitempty"`
	// Addresses.
	IPs []string `json:"ips,omitempty"`
	// When they were found.
	LookupTime string `json:"lookup-time,omitempty"`
	// lookup or precache; connection: either, whose time is over, while connections to the addresses are open.
	Source string `json:"source,omitempty"`
	// Seconds for which the answer is valid.
	TTL int64 `json:"ttl,omitempty"`
}
