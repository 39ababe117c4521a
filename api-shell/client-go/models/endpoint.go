package models

// EndpointBatchDeleteRequest is the body of DELETE /endpoint.
type EndpointBatchDeleteRequest struct {
	// Container whose endpoints are deleted.
	ContainerID string `json:"container-id"`
}

// EndpointChangeRequest is the body of PUT and PATCH /endpoint/{id}.
type EndpointChangeRequest struct {
	// Addresses of the workload; those that no lease covers are allocated.
	Addressing *AddressPair `json:"addressing"`
	// ID assigned by the container runtime.
	ContainerID string `json:"container-id"`
	// Device name in the network namespace of the workload.
	ContainerInterfaceName string `json:"container-interface-name"`
	// Name assigned by the container runtime.
	ContainerName string `json:"container-name"`
	// Switches of the datapath for this endpoint.
	DatapathConfiguration *DatapathConfiguration `json:"datapath-configuration"`
	// ID of the tail call map of the endpoint.
	DatapathMapID *int32 `json:"datapath-map-id"`
	// Whether container name, container ID and pod name do not find the endpoint.
	DisableLegacyIdentifiers *bool `json:"disable-legacy-identifiers"`
	// Read from the host side where it is left out; another address than its own is refused.
	HostMAC string `json:"host-mac"`
	// Local ID; 0, or absence, has the agent allocate one.
	ID *int32 `json:"id"`
	// Found by the name where it is left out; must be that of the name where both are given.
	InterfaceIndex *int32 `json:"interface-index"`
	// Found by the index where it is left out.
	InterfaceName string `json:"interface-name"`
	// Orchestrator namespace.
	K8sNamespace string `json:"k8s-namespace"`
	// Orchestrator pod name.
	K8sPodName string `json:"k8s-pod-name"`
	// Orchestrator pod UID.
	K8sUID string `json:"k8s-uid"`
	// Labels as [source:]key[=value].
	Labels []string `json:"labels"`
	// Read from the other end of the veth where it is left out; another address than its own is
	// refused.
	MAC string `json:"mac"`
	// Ports that rules may mean by name, at most 256; each name once for a protocol. In a change they
	// replace all that the endpoint has; left out, these stay.
	NamedPorts []NamedPortRequest `json:"named-ports"`
	// Cookie of the network namespace of the workload.
	NetNSCookie string `json:"netns-cookie"`
	// Process ID of the workload.
	PID *int32 `json:"pid"`
	// Refused: the rules and --enable-policy decide enforcement.
	PolicyEnabled *bool `json:"policy-enabled"`
	// Values kept with the endpoint as they are.
	Properties any `json:"properties"`
	// Endpoint ID of the runtime's network.
	RuntimeEndpointID string `json:"runtime-endpoint-id"`
	// Network ID of the runtime.
	RuntimeNetworkID string `json:"runtime-network-id"`
	// The agent decides the actual state.
	State string `json:"state" wire:"required"`
	// Whether the call is answered only when the endpoint is enforced.
	SyncBuildEndpoint *bool `json:"sync-build-endpoint"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m EndpointChangeRequest) MarshalJSON() ([]byte, error) { return encode(m) }

// NamedPortRequest is a port of a workload that rules may mean by its name.
type NamedPortRequest struct {
	// Service name (RFC 6335 section 5.1): at most 15 letters, digits and hyphens. Case does not
	// matter; lower case is kept.
	Name string `json:"name"`
	// 1 to 65535.
	Port int32 `json:"port"`
	// TCP, UDP or SCTP; TCP where it is left out.
	Protocol string `json:"protocol,omitempty"`
}

// DatapathConfiguration holds the switches of the datapath for one endpoint.
type DatapathConfiguration struct {
	// Whether source addresses are not verified.
	DisableSIPVerification *bool `json:"disable-sip-verification,omitempty"`
	// Whether addresses are managed elsewhere: not released, and not allocated again on restore.
	ExternalIPAM *bool `json:"external-ipam,omitempty"`
	// Whether a route to the device is installed.
	InstallEndpointRoute *bool `json:"install-endpoint-route,omitempty"`
	// Whether ARP of the workload passes to the stack.
	RequireARPPassthrough *bool `json:"require-arp-passthrough,omitempty"`
	// False is refused: the program towards the workload is always there.
	RequireEgressProgram *bool `json:"require-egress-prog,omitempty"`
	// Refused: --host-routing decides for the node.
	RequireRouting *bool `json:"require-routing,omitempty"`
}

// EndpointConfiguration holds the configuration of an endpoint.
type EndpointConfiguration struct {
	// Error of the last change that failed.
	Error string `json:"error"`
	// Options that cannot be changed, by name.
	Immutable map[string]string `json:"immutable"`
	// Configuration in force.
	Realized *EndpointConfigurationSpec `json:"realized"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m EndpointConfiguration) MarshalJSON() ([]byte, error) { return encode(m) }

// EndpointConfigurationSpec holds the labels and options of an endpoint, asked for or realized
type EndpointConfigurationSpec struct {
	// Labels set by a client.
	LabelConfiguration *LabelConfiguration `json:"label-configuration"`
	// Options by name; a switch is Enabled or Disabled, a level has a name.
	Options map[string]string `json:"options"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m EndpointConfigurationSpec) MarshalJSON() ([]byte, error) { return encode(m) }

// EndpointHealth holds the health of an endpoint and its parts.
type EndpointHealth struct {
	// Health of the programs.
	BPF string `json:"bpf,omitempty"`
	// Whether both sides of the veth have a carrier, the route is there, the hooks are of this
	// agent, and the workload has answered ARP or neighbour solicitations for its addresses within
	// the last 8 seconds. An address for which it has never answered does not count while it
	// answers for the other.
	Connected *bool `json:"connected,omitempty"`
	// The worst of the parts.
	OverallHealth string `json:"overallHealth,omitempty"`
	// Health of the policy.
	Policy string `json:"policy,omitempty"`
}

// EndpointIdentifiers holds the names by which orchestrator and runtime know an endpoint.
type EndpointIdentifiers struct {
	// ID of the attachment by the container runtime: container and interface.
	CNIAttachmentID string `json:"cni-attachment-id,omitempty"`
	// ID assigned by the runtime; deprecated, may not be unique.
	ContainerID string `json:"container-id,omitempty"`
	// Name assigned by the runtime; deprecated, may not be unique.
	ContainerName string `json:"container-name,omitempty"`
	// Orchestrator namespace; deprecated, may not be unique.
	K8sNamespace string `json:"k8s-namespace,omitempty"`
	// Orchestrator pod name; deprecated, may not be unique.
	K8sPodName string `json:"k8s-pod-name,omitempty"`
	// Namespace and pod name; deprecated, may not be unique.
	PodName string `json:"pod-name,omitempty"`
	// Endpoint ID of the runtime's network.
	RuntimeEndpointID string `json:"runtime-endpoint-id,omitempty"`
	// Network ID of the runtime.
	RuntimeNetworkID string `json:"runtime-network-id,omitempty"`
}

// EndpointLabels holds the label sets of an endpoint; the spec alone is the user part.
type EndpointLabels struct {
	// Labels that a client asked for.
	Spec *LabelConfiguration `json:"spec,omitempty"`
	// Label sets in force.
	Status *EndpointLabelsStatus `json:"status,omitempty"`
}

// EndpointLabelsStatus holds the label sets in force.
type EndpointLabelsStatus struct {
	// Labels derived from the orchestrator.
	Derived []string `json:"derived"`
	// Derived labels that a client switched off.
	Disabled []string `json:"disabled"`
	// Labels of the client in force.
	Realized *LabelConfiguration `json:"realized"`
	// Labels that make the identity.
	SecurityRelevant []string `json:"security-relevant"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m EndpointLabelsStatus) MarshalJSON() ([]byte, error) { return encode(m) }

// EndpointLogEntry is one transition in the log of an endpoint.
type EndpointLogEntry struct {
	// Type of the status change.
	Code string `json:"code,omitempty"`
	// Cause of the change.
	Message string `json:"message,omitempty"`
	// State after the change.
	State string `json:"state,omitempty"`
	// When the change occurred.
	Timestamp string `json:"timestamp,omitempty"`
}

// Endpoint is an endpoint as GET and PUT /endpoint/{id} answer it.
type Endpoint struct {
	// Local ID of the endpoint.
	ID int32 `json:"id"`
	// Who alone changes and deletes it: api, or another source of endpoints.
	Source string `json:"source,omitempty"`
	// Configuration that was asked for.
	Spec *EndpointConfigurationSpec `json:"spec,omitempty"`
	// What the endpoint is.
	Status *EndpointStatus `json:"status,omitempty"`
}

// EndpointNetworking holds the addresses and devices of an endpoint.
type EndpointNetworking struct {
	// Addresses of the workload.
	Addressing []AddressPair `json:"addressing"`
	// Device name in the network namespace of the workload.
	ContainerInterfaceName string `json:"container-interface-name"`
	// Addresses of the node.
	HostAddressing *NodeAddressing `json:"host-addressing"`
	// MAC address of the device on the node.
	HostMAC string `json:"host-mac"`
	// Index of the device on the node.
	InterfaceIndex *int32 `json:"interface-index"`
	// Name of the device on the node.
	InterfaceName string `json:"interface-name"`
	// MAC address of the device of the workload.
	MAC string `json:"mac"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m EndpointNetworking) MarshalJSON() ([]byte, error) { return encode(m) }

// EndpointPolicy holds the policy of an endpoint, as asked for and in force.
type EndpointPolicy struct {
	// Policy revision enforced in the proxy.
	ProxyPolicyRevision *int64 `json:"proxy-policy-revision"`
	// Traffic of the redirects to the proxy.
	ProxyStatistics []ProxyStatistics `json:"proxy-statistics"`
	// Policy in force.
	Realized *ResolvedPolicy `json:"realized"`
	// Policy as the rules ask for it.
	Spec *ResolvedPolicy `json:"spec"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m EndpointPolicy) MarshalJSON() ([]byte, error) { return encode(m) }

// ResolvedPolicy holds the policy as resolved for one endpoint.
type ResolvedPolicy struct {
	// Whether some port is allowed to every identity, the denied ones aside.
	AllowedEgressAny *bool `json:"allowed-egress-any"`
	// Identities that it may reach.
	AllowedEgressIdentities []int64 `json:"allowed-egress-identities"`
	// Whether some port is allowed to every identity, the denied ones aside.
	AllowedIngressAny *bool `json:"allowed-ingress-any"`
	// Identities that may reach it.
	AllowedIngressIdentities []int64 `json:"allowed-ingress-identities"`
	// Number of the calculation in use.
	Build *int64 `json:"build"`
	// Rules on CIDRs by direction.
	CIDRPolicy *PolicyDirections `json:"cidr-policy"`
	// Whether some port is denied to every identity.
	DeniedEgressAny *bool `json:"denied-egress-any"`
	// Identities that it must not reach.
	DeniedEgressIdentities []int64 `json:"denied-egress-identities"`
	// Whether some port is denied to every identity.
	DeniedIngressAny *bool `json:"denied-ingress-any"`
	// Identities that must not reach it.
	DeniedIngressIdentities []int64 `json:"denied-ingress-identities"`
	// Identity of the endpoint.
	ID *int64 `json:"id"`
	// Rules on ports by direction.
	L4 *PolicyDirections `json:"l4"`
	// Directions in which policy is enforced.
	PolicyEnabled string `json:"policy-enabled"`
	// Revision of the policy repository.
	PolicyRevision *int64 `json:"policy-revision"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m ResolvedPolicy) MarshalJSON() ([]byte, error) { return encode(m) }

// PolicyDirections holds the rules by direction.
type PolicyDirections struct {
	// Rules on traffic from the endpoint.
	Egress []DerivedRule `json:"egress"`
	// Rules on traffic to the endpoint.
	Ingress []DerivedRule `json:"ingress"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m PolicyDirections) MarshalJSON() ([]byte, error) { return encode(m) }

// DerivedRule is a rule with the labels of the rules it derives from.
type DerivedRule struct {
	// Labels of each rule that it derives from.
	DerivedFromRules [][]string `json:"derived-from-rules"`
	// The rule in readable form.
	Rule string `json:"rule"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m DerivedRule) MarshalJSON() ([]byte, error) { return encode(m) }

// ProxyStatistics holds the traffic of one proxy redirect.
type ProxyStatistics struct {
	// Port that the proxy listens on.
	AllocatedProxyPort *int32 `json:"allocated-proxy-port,omitempty"`
	// Direction in which the redirect is installed.
	Location string `json:"location,omitempty"`
	// Port that is redirected; a range is shown by its first port, and by each that has had a flow.
	Port *int32 `json:"port,omitempty"`
	// L7 protocol.
	Protocol string `json:"protocol,omitempty"`
	// Counts of messages.
	Statistics *ProxyMessageStatistics `json:"statistics,omitempty"`
}

// ProxyMessageStatistics holds the counts of messages by direction.
type ProxyMessageStatistics struct {
	// Counts of requests.
	Requests *ProxyMessageCounts `json:"requests,omitempty"`
	// Counts of responses.
	Responses *ProxyMessageCounts `json:"responses,omitempty"`
}

// ProxyMessageCounts holds the counts of messages by outcome.
type ProxyMessageCounts struct {
	// Messages that policy denied.
	Denied *int64 `json:"denied,omitempty"`
	// Messages that could not be read or sent on, or had no answer.
	Error *int64 `json:"error,omitempty"`
	// Messages passed on.
	Forwarded *int64 `json:"forwarded,omitempty"`
	// Messages received.
	Received *int64 `json:"received,omitempty"`
}

// EndpointStatus is the status part of an endpoint.
type EndpointStatus struct {
	// Controllers of the endpoint.
	Controllers []Controller `json:"controllers"`
	// Names by which orchestrator and runtime know it.
	ExternalIdentifiers *EndpointIdentifiers `json:"external-identifiers"`
	// Health of the endpoint.
	Health *EndpointHealth `json:"health"`
	// Security identity; absent while it is not known.
	Identity *Identity `json:"identity"`
	// Label sets in force.
	Labels *EndpointLabelsStatus `json:"labels"`
	// Last transitions, newest first.
	Log []EndpointLogEntry `json:"log"`
	// Named ports of the workload.
	NamedPorts []NamedPort `json:"namedPorts"`
	// Addresses and devices.
	Networking *EndpointNetworking `json:"networking"`
	// Policy, as asked for and in force.
	Policy *EndpointPolicy `json:"policy"`
	// Configuration in force.
	Realized *EndpointConfigurationSpec `json:"realized"`
	// State of the endpoint.
	State string `json:"state" wire:"required"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m EndpointStatus) MarshalJSON() ([]byte, error) { return encode(m) }

// NamedPort is a named port of an endpoint.
type NamedPort struct {
	// Name of the port.
	Name string `json:"name,omitempty"`
	// Port number.
	Port *int32 `json:"port,omitempty"`
	// Layer 4 protocol.
	Protocol string `json:"protocol,omitempty"`
}

// LabelConfiguration holds the labels that a user set.
type LabelConfiguration struct {
	// Labels set by a client, as [source:]key[=value].
	User []string `json:"user"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m LabelConfiguration) MarshalJSON() ([]byte, error) { return encode(m) }
