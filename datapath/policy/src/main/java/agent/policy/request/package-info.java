/** What policy says of a request within a flow: HTTP requests and DNS questions. */
package agent.policy.request;
