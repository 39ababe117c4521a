// Package client calls the management API of the agent of a node.
//
//	agent, err := client.New(client.DefaultAddress)
//	...
//	endpoints, err := agent.Endpoints(ctx)
//
// There is a method for each operation. A call that the agent refuses returns an *Error with the
// HTTP status and the agent's sentence; a call that is not answered returns another error. The
// context bounds a call with the whole of its answer. The methods named Each… read a list while it
// arrives, so that memory does not grow with it.
//
// A Client may be used by any number of goroutines.
package client
