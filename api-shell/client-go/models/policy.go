package models

// CIDRSet is a CIDR with exceptions.
type CIDRSet struct {
	// CIDR.
	CIDR string `json:"cidr" wire:"required"`
	// CIDRs within it that are left out.
	Except []string `json:"except"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m CIDRSet) MarshalJSON() ([]byte, error) { return encode(m) }

// EgressRule is one egress entry; a missing peer list allows all peers, an empty one none;
// an entry with nothing at all selects no peer.
type EgressRule struct {
	// ICMP types.
	ICMPs []ICMPRule `json:"icmps"`
	// Peers by CIDR.
	ToCIDR []string `json:"toCIDR"`
	// Peers by CIDR with exceptions.
	ToCIDRSet []CIDRSet `json:"toCIDRSet"`
	// Peers by labels.
	ToEndpoints []EndpointSelector `json:"toEndpoints"`
	// Peers by entity.
	ToEntities []string `json:"toEntities"`
	// Peers by DNS name.
	ToFQDNs []FQDNSelector `json:"toFQDNs"`
	// Ports; absent for all.
	ToPorts []PortRule `json:"toPorts"`
	// Labels that every peer must have besides.
	ToRequires []EndpointSelector `json:"toRequires"`
	// Backends of services. Of their addresses those are meant that belong to no endpoint and to no node.
	ToServices []ServicePeer `json:"toServices"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m EgressRule) MarshalJSON() ([]byte, error) { return encode(m) }

// EndpointSelector selects endpoints by their labels; an empty one selects all.
type EndpointSelector struct {
	// Requirements, all of which must hold.
	MatchExpressions []LabelRequirement `json:"matchExpressions"`
	// Labels by [source:]key, all of which must be present.
	MatchLabels map[string]string `json:"matchLabels"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m EndpointSelector) MarshalJSON() ([]byte, error) { return encode(m) }

// LabelRequirement is one requirement on a label.
type LabelRequirement struct {
	// Label key as [source:]key.
	Key string `json:"key" wire:"required"`
	// How the label is compared.
	Operator string `json:"operator" wire:"required"`
	// Values of In and NotIn.
	Values []string `json:"values"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m LabelRequirement) MarshalJSON() ([]byte, error) { return encode(m) }

// FQDNSelector is a DNS name or a pattern of names.
type FQDNSelector struct {
	// DNS name.
	MatchName string `json:"matchName,omitempty"`
	// Pattern of DNS names, in which * stands for any characters of a label.
	MatchPattern string `json:"matchPattern,omitempty"`
}

// ICMPRule holds the ICMP types of both families.
type ICMPRule struct {
	// ICMP types.
	Fields []ICMPField `json:"fields"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m ICMPRule) MarshalJSON() ([]byte, error) { return encode(m) }

// ICMPField is an ICMP type.
type ICMPField struct {
	// Family of the ICMP type; IPv4 where it is absent.
	Family string `json:"family,omitempty"`
	// Number of the ICMP type, or its name in the registry of the family, such as EchoRequest.
	Type ICMPType `json:"type"`
}

// IngressRule is one ingress entry; a missing peer list allows all peers, an empty one none;
// an entry with nothing at all selects no peer.
type IngressRule struct {
	// Peers by CIDR.
	FromCIDR []string `json:"fromCIDR"`
	// Peers by CIDR with exceptions.
	FromCIDRSet []CIDRSet `json:"fromCIDRSet"`
	// Peers by labels.
	FromEndpoints []EndpointSelector `json:"fromEndpoints"`
	// Peers by entity.
	FromEntities []string `json:"fromEntities"`
	// Labels that every peer must have besides.
	FromRequires []EndpointSelector `json:"fromRequires"`
	// ICMP types.
	ICMPs []ICMPRule `json:"icmps"`
	// Ports; absent for all.
	ToPorts []PortRule `json:"toPorts"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m IngressRule) MarshalJSON() ([]byte, error) { return encode(m) }

// Label is a label in three parts.
type Label struct {
	// Key of the label.
	Key string `json:"key"`
	// Source of the label, such as k8s.
	Source string `json:"source,omitempty"`
	// Value of the label.
	Value string `json:"value,omitempty"`
}

// Policy holds the rules and the revision of the repository.
type Policy struct {
	// Rules as JSON text, which PUT /policy takes.
	Policy string `json:"policy"`
	// Revision of the repository; rises with each change.
	Revision int64 `json:"revision"`
	// What of the rules of an import no request can match, each with its path; absent for nothing.
	Warnings []string `json:"warnings,omitempty"`
}

// PolicyResolution says whether a flow would pass.
type PolicyResolution struct {
	// One line for each rule that was considered, more where the request is verbose or a proxy judges requests.
	Log string `json:"log"`
	// Whether the flow would pass.
	Verdict string `json:"verdict"`
}

// PolicyResolutionRequest is the question whether a flow would pass.
type PolicyResolutionRequest struct {
	// Peer that opens the flow; required.
	From *PolicyResolutionRequestFrom `json:"from,omitempty"`
	// Peer that the flow is opened to; required.
	To *PolicyResolutionRequestTo `json:"to,omitempty"`
	// Whether the log has more than one line for each rule.
	Verbose *bool `json:"verbose,omitempty"`
}

// PolicyResolutionRequestFrom is the peer that opens a flow.
type PolicyResolutionRequestFrom struct {
	// Labels of an endpoint; reserved:<name> or cidr:<CIDR> for other peers.
	Labels []string `json:"labels"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m PolicyResolutionRequestFrom) MarshalJSON() ([]byte, error) { return encode(m) }

// PolicyResolutionRequestTo is the peer that a flow is opened to.
type PolicyResolutionRequestTo struct {
	// Destination ports, each of which is to pass; none for everything.
	DPorts []PolicyResolutionRequestPort `json:"dports"`
	// Labels of an endpoint; reserved:<name> or cidr:<CIDR> for other peers.
	Labels []string `json:"labels"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m PolicyResolutionRequestTo) MarshalJSON() ([]byte, error) { return encode(m) }

// PolicyResolutionRequestPort is a destination port.
type PolicyResolutionRequestPort struct {
	// Name of the port.
	Name string `json:"name,omitempty"`
	// Port number, or the type of an ICMP message.
	Port *int32 `json:"port,omitempty"`
	// Layer 4 protocol; ANY where it is absent.
	Protocol string `json:"protocol,omitempty"`
}

// PortRule holds the ports, and L7 rules on them.
type PortRule struct {
	// Ports.
	Ports []Port `json:"ports"`
	// Rules on the requests that use these ports.
	Rules *L7Rules `json:"rules"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m PortRule) MarshalJSON() ([]byte, error) { return encode(m) }

// Port is a port or a range of ports, or a protocol without ports.
type Port struct {
	// Last port of a range that starts with port.
	EndPort *int32 `json:"endPort,omitempty"`
	// Port number, or the name of a port of the workload; absent for a protocol without ports.
	Port PortText `json:"port,omitempty"`
	// Layer 4 protocol; ANY (TCP, UDP and SCTP) where it is absent. ICMP, ICMPv6, VRRP and IGMP have no ports.
	Protocol string `json:"protocol,omitempty"`
}

// L7Rules holds the rules on requests.
type L7Rules struct {
	// DNS names that may be asked for.
	DNS []FQDNSelector `json:"dns"`
	// HTTP requests that may pass.
	HTTP []HTTPRule `json:"http"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m L7Rules) MarshalJSON() ([]byte, error) { return encode(m) }

// HTTPRule is an HTTP rule.
type HTTPRule struct {
	// Headers, and what is done with a request that does not have them.
	HeaderMatches []HeaderMatch `json:"headerMatches"`
	// Headers that must be present: Name, or Name: value.
	Headers []string `json:"headers"`
	// Regular expression (RE2) that the whole host must match, without its port or with it, in any case.
	Host string `json:"host"`
	// Regular expression (RE2) that the whole method must match.
	Method string `json:"method"`
	// Regular expression (RE2) that the whole path with the query must match.
	Path string `json:"path"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m HTTPRule) MarshalJSON() ([]byte, error) { return encode(m) }

// HeaderMatch is a header, and what is done with a request that does not have it.
type HeaderMatch struct {
	// What is done with the request, which passes: LOG, ADD, DELETE or REPLACE; where it is absent,
	// the rule does not match the request.
	Mismatch string `json:"mismatch,omitempty"`
	// Name of the header.
	Name string `json:"name"`
	// Value of the header; any where it is absent.
	Value string `json:"value,omitempty"`
}

// Rule is a policy rule: the endpoints that it selects, and what they may and must not exchange
// with whom.
type Rule struct {
	// Free text.
	Description string `json:"description"`
	// What the endpoints may reach.
	Egress []EgressRule `json:"egress"`
	// What the endpoints must not reach; deny takes precedence over allow.
	EgressDeny []EgressRule `json:"egressDeny"`
	// Directions in which the rule turns enforcement on; where it is absent, those that it has a list for.
	EnableDefaultDeny *DefaultDeny `json:"enableDefaultDeny"`
	// Endpoints that the rule applies to; a rule must have one.
	EndpointSelector *EndpointSelector `json:"endpointSelector"`
	// What may reach the endpoints.
	Ingress []IngressRule `json:"ingress"`
	// What must not reach the endpoints; deny takes precedence over allow.
	IngressDeny []IngressRule `json:"ingressDeny"`
	// Labels of the rule, by which it is read, replaced and deleted.
	Labels []Label `json:"labels"`
	// Who alone replaces and deletes the rule; empty for the API.
	Source string `json:"source"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m Rule) MarshalJSON() ([]byte, error) { return encode(m) }

// DefaultDeny says in which directions a rule turns enforcement on.
type DefaultDeny struct {
	// Whether it does for egress.
	Egress *bool `json:"egress,omitempty"`
	// Whether it does for ingress.
	Ingress *bool `json:"ingress,omitempty"`
}

// Selector is a selector of the rules and the identities that it selects.
type Selector struct {
	// Identities that it selects.
	Identities []int64 `json:"identities"`
	// Labels of the rules that use it.
	Labels []Label `json:"labels"`
	// The selector in readable form.
	Selector string `json:"selector"`
	// Rules that use it.
	Users *int64 `json:"users"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m Selector) MarshalJSON() ([]byte, error) { return encode(m) }

// ServicePeer selects services whose backends are peers.
type ServicePeer struct {
	// Services with this name and namespace (flags.name and flags.namespace).
	Service *ServiceName `json:"k8sService,omitempty"`
}

// ServiceName is the name of a service.
type ServiceName struct {
	// Namespace; services without one where it is absent.
	Namespace string `json:"namespace,omitempty"`
	// Name.
	ServiceName string `json:"serviceName"`
}
