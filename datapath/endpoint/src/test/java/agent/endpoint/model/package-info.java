/** A naive model of connection tracking, and random conversations to compare programs with it. */
package agent.endpoint.model;
