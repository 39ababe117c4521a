/** The management API: its routes, what a request and an answer are, and how failures are told. */
package agent.server;
