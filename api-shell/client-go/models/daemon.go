package models

// Controller is a background task with its success and failure counts.
type Controller struct {
	// Name of the controller, unique within its endpoint or the daemon.
	Name string `json:"name,omitempty"`
	// UUID of the controller.
	UUID string `json:"uuid,omitempty"`
	// How the controller runs.
	Configuration *ControllerConfiguration `json:"configuration,omitempty"`
	// How its runs went.
	Status *ControllerStatus `json:"status,omitempty"`
}

// ControllerConfiguration says how a controller runs.
type ControllerConfiguration struct {
	// Whether a failed run is repeated.
	ErrorRetry *bool `json:"error-retry,omitempty"`
	// Back-off before the first repetition, in seconds such as 1.0s; it doubles with each failure.
	ErrorRetryBase string `json:"error-retry-base,omitempty"`
	// Time between two regular runs, in seconds such as 2.0s; absent where it runs on demand only.
	Interval string `json:"interval,omitempty"`
}

// ControllerStatus says how the runs of a controller went.
type ControllerStatus struct {
	// Failed runs since the last successful one.
	ConsecutiveFailureCount *int64 `json:"consecutive-failure-count,omitempty"`
	// Failed runs in total.
	FailureCount *int64 `json:"failure-count,omitempty"`
	// Successful runs in total.
	SuccessCount *int64 `json:"success-count,omitempty"`
	// Message of the last failed run.
	LastFailureMessage string `json:"last-failure-msg,omitempty"`
	// When a run failed last.
	LastFailureTimestamp string `json:"last-failure-timestamp,omitempty"`
	// When a run succeeded last.
	LastSuccessTimestamp string `json:"last-success-timestamp,omitempty"`
}

// DaemonConfiguration holds the configuration of the daemon.
type DaemonConfiguration struct {
	// Configuration that was asked for.
	Spec *DaemonConfigurationSpec `json:"spec,omitempty"`
	// Configuration in force.
	Status *DaemonConfigurationStatus `json:"status,omitempty"`
}

// DaemonConfigurationSpec holds the mutable options and the enforcement mode.
type DaemonConfigurationSpec struct {
	// Mutable options by name, such as Debug; a switch is Enabled or Disabled, a level has a name.
	Options map[string]string `json:"options"`
	// When policy is enforced: in the directions in which a rule selects the endpoint, always, or
	// never.
	PolicyEnforcement string `json:"policy-enforcement"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m DaemonConfigurationSpec) MarshalJSON() ([]byte, error) { return encode(m) }

// DaemonConfigurationProtocols is a switch for each address family.
type DaemonConfigurationProtocols struct {
	// Whether it is on for IPv4.
	IPv4 *bool `json:"ipv4,omitempty"`
	// Whether it is on for IPv6.
	IPv6 *bool `json:"ipv6,omitempty"`
}

// DaemonConfigurationStatus holds the configuration in force.
type DaemonConfigurationStatus struct {
	// Largest IPv4 packet that GRO assembles on workload-facing devices, in bytes.
	GROIPv4MaxSize *int32 `json:"GROIPv4MaxSize"`
	// Largest IPv6 packet that GRO assembles on workload-facing devices, in bytes.
	GROMaxSize *int32 `json:"GROMaxSize"`
	// Largest IPv4 packet that GSO takes on workload-facing devices, in bytes.
	GSOIPv4MaxSize *int32 `json:"GSOIPv4MaxSize"`
	// Largest IPv6 packet that GSO takes on workload-facing devices, in bytes.
	GSOMaxSize *int32 `json:"GSOMaxSize"`
	// Addresses of this node and the ranges of its endpoints.
	Addressing *NodeAddressing `json:"addressing"`
	// Start-up options by name, with the values in force.
	DaemonConfigurationMap map[string]any `json:"daemonConfigurationMap"`
	// Datapath mode, the option --datapath-mode.
	DatapathMode string `json:"datapathMode"`
	// MTU of workload-facing devices, in bytes.
	DeviceMTU *int32 `json:"deviceMTU"`
	// Configured compatibility mode of rules for multi-homed endpoints.
	EgressMultiHomeIPRuleCompat *bool `json:"egress-multi-home-ip-rule-compat"`
	// Start-up options that cannot be changed while the agent runs, by name.
	Immutable map[string]string `json:"immutable"`
	// Ports reserved in the network namespace of a workload, comma-separated.
	IPLocalReservedPorts string `json:"ipLocalReservedPorts"`
	// How addresses are managed; embedded is the allocator of this agent.
	IPAMMode string `json:"ipam-mode"`
	// Configuration of the key-value store; empty where there is none.
	KVStoreConfiguration map[string]any `json:"kvstoreConfiguration"`
	// Whether packets of endpoints that leave the node are masqueraded.
	Masquerade *bool `json:"masquerade"`
	// Masquerading by family.
	MasqueradeProtocols *DaemonConfigurationProtocols `json:"masqueradeProtocols"`
	// Status of the event stream of the datapath.
	NodeMonitor map[string]any `json:"nodeMonitor"`
	// Path of the configuration with which the orchestrator is reached.
	OrchestratorConfiguration string `json:"orch-configuration"`
	// Address of the orchestrator.
	OrchestratorEndpoint string `json:"orch-endpoint"`
	// Options in force.
	Realized *DaemonConfigurationSpec `json:"realized"`
	// MTU of network-facing routes, in bytes.
	RouteMTU *int32 `json:"routeMTU"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m DaemonConfigurationStatus) MarshalJSON() ([]byte, error) { return encode(m) }

// DaemonStatus holds the status of the daemon.
type DaemonStatus struct {
	// The agent itself: the worst of its modules.
	Agent *ComponentStatus `json:"agent"`
	// Version of the agent.
	AgentVersion string `json:"agent-version"`
	// How programs are attached to devices: tcx links, or the clsact qdisc of older kernels.
	AttachMode string `json:"attach-mode"`
	// Provider of certificates for mutual authentication.
	AuthCertificateProvider *ComponentStatus `json:"auth-certificate-provider"`
	// Bandwidth manager.
	BandwidthManager *BandwidthManager `json:"bandwidth-manager"`
	// BPF maps with their sizes.
	BPFMaps *BPFMaps `json:"bpf-maps"`
	// Number to send as header client-id of GET /cluster/nodes.
	ClientID *int64 `json:"client-id"`
	// Clock of the datapath.
	ClockSource *ClockSource `json:"clock-source"`
	// The cluster: its name and this node's name.
	Cluster any `json:"cluster"`
	// Connections to other clusters.
	ClusterMesh any `json:"cluster-mesh"`
	// Chaining with another network plugin.
	CNIChaining any `json:"cni-chaining"`
	// Configuration file of the network plugin.
	CNIFile *ComponentStatus `json:"cni-file"`
	// Container runtime.
	ContainerRuntime *ComponentStatus `json:"container-runtime"`
	// Controllers of the daemon.
	Controllers []Controller `json:"controllers"`
	// Encryption between nodes.
	Encryption any `json:"encryption"`
	// Flow observer.
	FlowObserver *FlowObserver `json:"flowobs"`
	// Policy for the node itself.
	HostFirewall *HostFirewall `json:"host-firewall"`
	// Whether flows bypass the stack of the node.
	HostRouting *HostRouting `json:"host-routing"`
	// Range of the identities of this cluster: min-identity and max-identity.
	IdentityRange any `json:"identity-range"`
	// Leased addresses and their owners.
	IPAM any `json:"ipam"`
	// BIG TCP for IPv4.
	IPv4BigTCP *BigTCP `json:"ipv4-big-tcp"`
	// BIG TCP for IPv6.
	IPv6BigTCP *BigTCP `json:"ipv6-big-tcp"`
	// Kernel of the node.
	Kernel *Kernel `json:"kernel"`
	// Key-value store.
	KVStore *ComponentStatus `json:"kvstore"`
	// Masquerading.
	Masquerading *Masquerading `json:"masquerading"`
	// Event stream of the datapath: events seen and lost.
	NodeMonitor any `json:"nodeMonitor"`
	// Orchestrator.
	Orchestrator *Orchestrator `json:"orch"`
	// Replacement of the orchestrator's service proxy.
	OrchestratorProxyReplacement *ProxyReplacement `json:"orch-proxy-replacement"`
	// L7 proxy.
	Proxy *Proxy `json:"proxy"`
	// Routing modes.
	Routing *Routing `json:"routing"`
	// SRv6.
	SRv6 *SRv6 `json:"srv6"`
	// Parts of this status that are out of date, with the time since when.
	Stale map[string]string `json:"stale"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m DaemonStatus) MarshalJSON() ([]byte, error) { return encode(m) }

// ComponentStatus holds the state of a component of the agent.
type ComponentStatus struct {
	// Status, warning or error in a sentence.
	Message string `json:"msg,omitempty"`
	// State of the component.
	State string `json:"state,omitempty"`
}

// Kernel holds the kernel of the node.
type Kernel struct {
	// Features that the kernel lacks and the agent does without: name, the Linux that has it, and what follows.
	Missing []string `json:"missing"`
	// Release, as uname -r prints it.
	Release string `json:"release"`
}

// BandwidthManager holds the state of the bandwidth manager.
type BandwidthManager struct {
	// TCP congestion control of workloads.
	CongestionControl string `json:"congestionControl"`
	// Devices on which rates are limited.
	Devices []string `json:"devices"`
	// Whether it is on.
	Enabled *bool `json:"enabled"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m BandwidthManager) MarshalJSON() ([]byte, error) { return encode(m) }

// BPFMaps holds the sizes of the BPF maps.
type BPFMaps struct {
	// Share of the memory from which map sizes are derived, 0 to 1.
	DynamicSizeRatio *float64 `json:"dynamic-size-ratio"`
	// Open maps.
	Maps []MapSize `json:"maps"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m BPFMaps) MarshalJSON() ([]byte, error) { return encode(m) }

// MapSize holds the size of a BPF map.
type MapSize struct {
	// Name of the map.
	Name string `json:"name,omitempty"`
	// Largest number of entries.
	Size *int64 `json:"size,omitempty"`
}

// ClockSource holds the clock of the datapath.
type ClockSource struct {
	// Timer ticks of the kernel in a second.
	Hertz *int64 `json:"hertz,omitempty"`
	// Clock that the programs read.
	Mode string `json:"mode,omitempty"`
}

// FlowObserver holds the state of the flow observer.
type FlowObserver struct {
	// Its metrics.
	Metrics *FlowObserverMetrics `json:"metrics,omitempty"`
	// Status, warning or error in a sentence.
	Message string `json:"msg,omitempty"`
	// Ring of stored flows.
	Observer *FlowObserverRing `json:"observer,omitempty"`
	// State of the component.
	State string `json:"state,omitempty"`
}

// FlowObserverMetrics holds the state of the metrics of the flow observer.
type FlowObserverMetrics struct {
	// State of the metrics.
	State string `json:"state,omitempty"`
}

// FlowObserverRing holds the ring of the flow observer.
type FlowObserverRing struct {
	// Flows stored now.
	CurrentFlows *int64 `json:"current-flows,omitempty"`
	// Flows that can be stored.
	MaxFlows *int64 `json:"max-flows,omitempty"`
	// Flows seen in total.
	SeenFlows *int64 `json:"seen-flows,omitempty"`
	// Time since the observer started, such as 1h2m3s.
	Uptime string `json:"uptime,omitempty"`
}

// HostFirewall holds the state of the firewall of the node.
type HostFirewall struct {
	// Devices that it guards.
	Devices []string `json:"devices"`
	// Whether it is on.
	Mode string `json:"mode"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m HostFirewall) MarshalJSON() ([]byte, error) { return encode(m) }

// HostRouting holds the routing mode of the flows of this node, and the reason for it.
type HostRouting struct {
	// Whether flows bypass the stack of the node (BPF) or pass it (Legacy).
	Mode string `json:"mode,omitempty"`
	// Why this mode is in force.
	Reason string `json:"reason,omitempty"`
}

// BigTCP holds the state and sizes of BIG TCP in one family.
type BigTCP struct {
	// Whether it is on.
	Enabled *bool `json:"enabled,omitempty"`
	// Largest packet that GRO assembles, in bytes.
	MaxGRO *int32 `json:"maxGRO,omitempty"`
	// Largest packet that GSO takes, in bytes.
	MaxGSO *int32 `json:"maxGSO,omitempty"`
}

// Masquerading holds the state of masquerading.
type Masquerading struct {
	// Whether it is on.
	Enabled *bool `json:"enabled,omitempty"`
	// Whether it is on, by family.
	EnabledProtocols *DaemonConfigurationProtocols `json:"enabledProtocols,omitempty"`
	// Whether a list of destinations without masquerading is read.
	IPMasqAgent *bool `json:"ip-masq-agent,omitempty"`
	// What masquerades.
	Mode string `json:"mode,omitempty"`
	// Obsolete; see the fields of each family.
	SNATExclusionCIDR string `json:"snat-exclusion-cidr,omitempty"`
	// IPv4 CIDR to which packets are not masqueraded.
	SNATExclusionCIDRV4 string `json:"snat-exclusion-cidr-v4,omitempty"`
	// IPv6 CIDR to which packets are not masqueraded.
	SNATExclusionCIDRV6 string `json:"snat-exclusion-cidr-v6,omitempty"`
}

// Orchestrator holds the state of the connection to the orchestrator.
type Orchestrator struct {
	// API versions of the orchestrator.
	ApiVersions []string `json:"api-versions"`
	// Status, warning or error in a sentence.
	Message string `json:"msg"`
	// State of the component.
	State string `json:"state"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m Orchestrator) MarshalJSON() ([]byte, error) { return encode(m) }

// Proxy holds the state of the L7 proxy.
type Proxy struct {
	// Where the proxy engine runs.
	EngineDeploymentMode string `json:"engine-deployment-mode"`
	// Address that the proxy listens on.
	IP string `json:"ip"`
	// Ports for redirects, such as 10000-20000.
	PortRange string `json:"port-range"`
	// Redirects in force.
	Redirects []ProxyRedirect `json:"redirects"`
	// Ports that the proxy listens on.
	TotalPorts *int64 `json:"total-ports"`
	// Ports that are redirected to the proxy.
	TotalRedirects *int64 `json:"total-redirects"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m Proxy) MarshalJSON() ([]byte, error) { return encode(m) }

// ProxyRedirect is a redirect to the L7 proxy.
type ProxyRedirect struct {
	// Name of the redirect.
	Name string `json:"name,omitempty"`
	// Proxy to which it points.
	Proxy string `json:"proxy,omitempty"`
	// Port of the proxy on the node.
	ProxyPort *int32 `json:"proxy-port,omitempty"`
}

// Routing holds the routing modes of the node.
type Routing struct {
	// How packets reach other nodes: by the routes of the node, by routes of the agent, or in the
	// overlay.
	InterHostRoutingMode string `json:"inter-host-routing-mode,omitempty"`
	// Whether flows bypass the stack of the node (BPF) or pass it (Legacy).
	IntraHostRoutingMode string `json:"intra-host-routing-mode,omitempty"`
	// Protocol of the overlay, or disabled.
	TunnelProtocol string `json:"tunnel-protocol,omitempty"`
}

// SRv6 holds the state of SRv6.
type SRv6 struct {
	// Whether it is on.
	Enabled *bool `json:"enabled,omitempty"`
	// Encapsulation.
	EncapMode string `json:"srv6EncapMode,omitempty"`
}

// Metric is one sample of a metric.
type Metric struct {
	// Labels of the sample by name.
	Labels map[string]string `json:"labels"`
	// Name of the metric, with the suffix of the sample.
	Name string `json:"name" wire:"required"`
	// Value of the sample.
	Value float64 `json:"value" wire:"required"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m Metric) MarshalJSON() ([]byte, error) { return encode(m) }

// ModuleHealth holds the health of the modules of the daemon.
type ModuleHealth struct {
	// Modules; in brief those alone that are not OK.
	Modules []Module `json:"modules"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m ModuleHealth) MarshalJSON() ([]byte, error) { return encode(m) }

// Module holds the health of one module.
type Module struct {
	// When the module was last OK.
	LastOk string `json:"last-ok,omitempty"`
	// When the module last reported.
	LastUpdated string `json:"last-updated,omitempty"`
	// Level of the module.
	Level string `json:"level,omitempty"`
	// What the module does, or what is wrong.
	Message string `json:"message,omitempty"`
	// Name of the module.
	ModuleID string `json:"module-id,omitempty"`
}
