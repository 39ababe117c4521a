package models

// ProxyReplacement holds the state of the replacement of the orchestrator's service proxy.
type ProxyReplacement struct {
	// Devices with their addresses.
	DeviceList []ProxyReplacementDevice `json:"deviceList"`
	// Names of the devices.
	Devices []string `json:"devices"`
	// Device over which backends on other nodes are reached.
	DirectRoutingDevice string `json:"directRoutingDevice"`
	// Parts of the replacement.
	Features *ProxyReplacementFeatures `json:"features"`
	// Whether the replacement is on.
	Mode string `json:"mode"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m ProxyReplacement) MarshalJSON() ([]byte, error) { return encode(m) }

// ProxyReplacementDevice is a device on which services are served.
type ProxyReplacementDevice struct {
	// Addresses of the device.
	IP []string `json:"ip"`
	// Name of the device.
	Name string `json:"name"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m ProxyReplacementDevice) MarshalJSON() ([]byte, error) { return encode(m) }

// ProxyReplacementFeatures holds the parts of the replacement.
type ProxyReplacementFeatures struct {
	// Whether sockets of workloads are left to the devices.
	BPFSocketLBHostNSOnly *bool `json:"bpfSocketLBHostnsOnly,omitempty"`
	// Services on external addresses.
	ExternalIPs *ProxyReplacementFeature `json:"externalIPs,omitempty"`
	// Backends that end keep their connections.
	GracefulTermination *ProxyReplacementFeature `json:"gracefulTermination,omitempty"`
	// Ports of the node for one workload.
	HostPort *ProxyReplacementFeature `json:"hostPort,omitempty"`
	// Services for the node itself.
	HostReachableServices *ProxyReplacementHostReachableServices `json:"hostReachableServices,omitempty"`
	// Translation between the families.
	NAT46X64 *ProxyReplacementNat46X64 `json:"nat46X64,omitempty"`
	// Services on ports of the node.
	NodePort *ProxyReplacementNodePort `json:"nodePort,omitempty"`
	// Clients that keep their backend.
	SessionAffinity *ProxyReplacementFeature `json:"sessionAffinity,omitempty"`
	// Services resolved at the socket.
	SocketLB *ProxyReplacementFeature `json:"socketLB,omitempty"`
	// Events of services resolved at the socket.
	SocketLBTracing *ProxyReplacementFeature `json:"socketLBTracing,omitempty"`
}

// ProxyReplacementFeature holds the state of a part of the replacement.
type ProxyReplacementFeature struct {
	// Whether it is on.
	Enabled *bool `json:"enabled,omitempty"`
}

// ProxyReplacementHostReachableServices holds the state of services for the node itself.
type ProxyReplacementHostReachableServices struct {
	// Whether it is on.
	Enabled *bool `json:"enabled"`
	// Protocols for which it is on.
	Protocols []string `json:"protocols"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m ProxyReplacementHostReachableServices) MarshalJSON() ([]byte, error) { return encode(m) }

// ProxyReplacementNat46X64 holds the state of the translation between the families.
type ProxyReplacementNat46X64 struct {
	// Whether it is on.
	Enabled *bool `json:"enabled,omitempty"`
	// Translation for other hosts.
	Gateway *ProxyReplacementGateway `json:"gateway,omitempty"`
	// Translation for services.
	Service *ProxyReplacementFeature `json:"service,omitempty"`
}

// ProxyReplacementGateway holds the state of the translation for other hosts.
type ProxyReplacementGateway struct {
	// Whether it is on.
	Enabled *bool `json:"enabled"`
	// Prefixes that are translated.
	Prefixes []string `json:"prefixes"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m ProxyReplacementGateway) MarshalJSON() ([]byte, error) { return encode(m) }

// ProxyReplacementNodePort holds the state of services on ports of the node.
type ProxyReplacementNodePort struct {
	// Acceleration at XDP.
	Acceleration string `json:"acceleration,omitempty"`
	// How a backend is chosen.
	Algorithm string `json:"algorithm,omitempty"`
	// How direct server return passes the service's address on.
	DSRMode string `json:"dsrMode,omitempty"`
	// Whether it is on.
	Enabled *bool `json:"enabled,omitempty"`
	// Entries of the Maglev table.
	LUTSize *int32 `json:"lutSize,omitempty"`
	// How packets reach backends on other nodes.
	Mode string `json:"mode,omitempty"`
	// Last port of the range.
	PortMax *int32 `json:"portMax,omitempty"`
	// First port of the range.
	PortMin *int32 `json:"portMin,omitempty"`
}
