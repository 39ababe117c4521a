/** The configuration of the daemon that can change while it runs. */
package agent.endpoint.config;
