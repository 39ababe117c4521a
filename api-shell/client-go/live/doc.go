// Package live drives a running agent with the client: go test -tags live ./live, where
// AGENT_ADDRESS is the address of an agent with nothing in it but a prefilter device, and
// AGENT_ENDPOINT the body of PUT /endpoint/0 for a workload that is connected to its node.
package live
