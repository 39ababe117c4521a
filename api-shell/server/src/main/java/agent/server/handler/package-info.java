/** Handlers: each decodes a request, makes one call on a facade of the domain, and encodes. */
package agent.server.handler;
