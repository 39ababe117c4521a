package agent.policy.request;

import agent.maps.layout.PolicyDirection;
import agent.maps.layout.RedirectKind;

/**
 * Ports of which the flows of an endpoint go through a proxy.
 *
 * @param direction seen from the endpoint
 * @param kind the proxy
 * @param protocol the IP protocol number
 * @param firstPort the first port
 * @param lastPort the last port
 */
public record PolicyRedirect(
    PolicyDirection direction, RedirectKind kind, int protocol, int firstPort, int lastPort) {}
