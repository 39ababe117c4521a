package models

// DebugInformation is the agent and its environment, for a report of a fault.
type DebugInformation struct {
	// Memory mappings of the process, as in /proc/self/smaps.
	AgentMemoryMap string `json:"agent-memory-map"`
	// Status of the daemon.
	AgentStatus *DaemonStatus `json:"agent-status"`
	// Version of the agent.
	AgentVersion string `json:"agent-version"`
	// Endpoints of this node.
	EndpointList []Endpoint `json:"endpoint-list"`
	// Environment of the process as NAME=value; values that may be secret are masked.
	EnvironmentVariables []string `json:"environment-variables"`
	// Release of the running kernel.
	KernelVersion string `json:"kernel-version"`
	// Rules and their revision; absent where they cannot be read.
	Policy *Policy `json:"policy"`
	// Services; empty where load balancing is off.
	ServiceList []Service `json:"service-list"`
	// Report of each subsystem by its name.
	Subsystem map[string]string `json:"subsystem"`
}

// MarshalJSON leaves out absent fields and keeps empty lists and maps.
func (m DebugInformation) MarshalJSON() ([]byte, error) { return encode(m) }
