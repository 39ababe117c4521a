package models

// Service is a service, asked for and realized.
type Service struct {
	// Who alone changes and deletes it: api, or another source of services.
	Source string `json:"source,omitempty"`
	// Service that was asked for.
	Spec *ServiceSpec `json:"spec,omitempty"`
	// Service in force.
	Status *ServiceStatus `json:"status,omitempty"`
}

// ServiceStatus is the service in force.
type ServiceStatus struct {
	// Service that the datapath has.
	Realized *ServiceSpec `json:"realized,omitempty"`
}

// ServiceSpec says what a service is.
type ServiceSpec struct {
	// Addresses that serve it.
	BackendAddresses []ServiceBackend `json:"backend-addresses,omitempty"`
	// How it is served.
	Flags *ServiceFlags `json:"flags,omitempty"`
	// Address that clients use.
	FrontendAddress *ServiceFrontend `json:"frontend-address,omitempty"`
	// Number of the service; in a request that of the path, or 0.
	ID int32 `json:"id,omitempty"`
}

// ServiceFrontend is the address that clients use.
type ServiceFrontend struct {
	// IPv4 or IPv6 address.
	IP string `json:"ip,omitempty"`
	// Port, 1 to 65535.
	Port int32 `json:"port,omitempty"`
	// TCP, UDP, SCTP or ANY; empty for ANY.
	Protocol string `json:"protocol,omitempty"`
	// external, or empty.
	Scope string `json:"scope,omitempty"`
}

// ServiceBackend is one that serves.
type ServiceBackend struct {
	// IPv4 or IPv6 address, of the family of the frontend.
	IP string `json:"ip,omitempty"`
	// Name of the node that it runs on.
	NodeName string `json:"nodeName,omitempty"`
	// Port, 1 to 65535.
	Port int32 `json:"port,omitempty"`
	// Protocol of the frontend, or empty.
	Protocol string `json:"protocol,omitempty"`
	// active, terminating, quarantined or maintenance; empty for active.
	State string `json:"state,omitempty"`
	// Share of new connections, 0 to 65535; nil for 1.
	Weight *int32 `json:"weight,omitempty"`
}

// ServiceFlags says how a service is served.
type ServiceFlags struct {
	// With ClientIP, seconds for which a client keeps its backend after its last connection.
	AffinityTimeoutSeconds int32 `json:"affinityTimeoutSeconds,omitempty"`
	// Cluster, or empty.
	ExtTrafficPolicy string `json:"extTrafficPolicy,omitempty"`
	// snat or dsr; empty for dsr with --lb, else snat.
	ForwardingMode string `json:"forwardingMode,omitempty"`
	// Cluster or Local; empty for Cluster.
	IntTrafficPolicy string `json:"intTrafficPolicy,omitempty"`
	// Name, for people.
	Name string `json:"name,omitempty"`
	// Namespace of the name.
	Namespace string `json:"namespace,omitempty"`
	// None or ClientIP; empty for None.
	SessionAffinity string `json:"sessionAffinity,omitempty"`
	// ClusterIP, or empty.
	Type string `json:"type,omitempty"`
}
