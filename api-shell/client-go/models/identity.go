package models

// IdentityInUse is an identity that local endpoints use.
type IdentityInUse struct {
	// The identity.
	Identity *Identity `json:"identity,omitempty"`
	// Local endpoints that use it, at least 1.
	RefCount *int64 `json:"refCount,omitempty"`
}

// Identity is a security identity.
type Identity struct {
	// Number of the identity, unique in the cluster; local ones are unique on the node.
	ID int64 `json:"id" wire:"required"`
	// Labels that make the identity.
	Labels []string `json:"labels"`
	// SHA-256 of the labels in hexadecimal digits.
	LabelsSHA256 string `json:"labelsSHA256"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m Identity) MarshalJSON() ([]byte, error) { return encode(m) }
