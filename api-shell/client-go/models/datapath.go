package models

// MapContents is a BPF map with its contents.
type MapContents struct {
	// Entries of the map.
	Cache []MapEntry `json:"cache"`
	// Number of entries.
	Entries *int64 `json:"entries"`
	// Flags of the map as the kernel has them.
	Flags *int64 `json:"flags"`
	// Bytes of a key.
	KeySize *int32 `json:"key-size"`
	// Largest number of entries.
	MaxEntries *int64 `json:"max-entries"`
	// When the contents were read from the kernel.
	MirroredAt string `json:"mirrored-at"`
	// Name of the map.
	Name string `json:"name"`
	// Path of its pin; absent where it has none.
	Path string `json:"path"`
	// Number of entries divided by the largest number, 0 to 1.
	Pressure *float64 `json:"pressure"`
	// Type of the map as bpftool prints it, or "type" and the number of another one.
	Type string `json:"type"`
	// Bytes of a value.
	ValueSize *int32 `json:"value-size"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m MapContents) MarshalJSON() ([]byte, error) { return encode(m) }

// MapEntry is an entry of a BPF map in readable form.
type MapEntry struct {
	// What is still to be done to the kernel's entry; ok is nothing.
	DesiredAction string `json:"desired-action,omitempty"`
	// Key in readable form.
	Key string `json:"key,omitempty"`
	// Error of the last write of this entry.
	LastError string `json:"last-error,omitempty"`
	// Value in readable form.
	Value string `json:"value,omitempty"`
}

// MapList holds all open BPF maps.
type MapList struct {
	// Open maps.
	Maps []Map `json:"maps"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m MapList) MarshalJSON() ([]byte, error) { return encode(m) }

// Map is one open BPF map.
type Map struct {
	// Number of entries.
	Entries *int64 `json:"entries,omitempty"`
	// Flags of the map as the kernel has them.
	Flags *int64 `json:"flags,omitempty"`
	// Bytes of a key.
	KeySize *int32 `json:"key-size,omitempty"`
	// Largest number of entries.
	MaxEntries *int64 `json:"max-entries,omitempty"`
	// Name of the map.
	Name string `json:"name,omitempty"`
	// Path of its pin; absent where it has none.
	Path string `json:"path,omitempty"`
	// Number of entries divided by the largest number, 0 to 1.
	Pressure *float64 `json:"pressure,omitempty"`
	// Type of the map as bpftool prints it, or "type" and the number of another one.
	Type string `json:"type,omitempty"`
	// Bytes of a value.
	ValueSize *int32 `json:"value-size,omitempty"`
}

// PrefilterList is a prefilter list; in PATCH and DELETE /prefilter the prefixes to add or remove.
type PrefilterList struct {
	// CIDRs in canonical form: host bits cleared, no duplicates.
	Deny []string `json:"deny"`
	// Revision of the list; in a request it must be the current one, or absent.
	Revision *int64 `json:"revision"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m PrefilterList) MarshalJSON() ([]byte, error) { return encode(m) }

// Prefilter is the prefilter list, asked for and realized.
type Prefilter struct {
	// List that was asked for.
	Spec *PrefilterList `json:"spec,omitempty"`
	// List in force.
	Status *PrefilterStatus `json:"status,omitempty"`
}

// PrefilterStatus is the list in force.
type PrefilterStatus struct {
	// List that the device drops.
	Realized *PrefilterList `json:"realized,omitempty"`
}
