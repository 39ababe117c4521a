package agent.datapath.spec;

import agent.types.IpAddress;

/**
 * A flow whose packets the datapath sends to a proxy of this agent, as its ends know it.
 *
 * @param protocol the IP protocol number: TCP or UDP
 * @param client who opened it
 * @param clientPort the port of the client, in host order
 * @param clientIdentity the security identity of the client
 * @param clientEndpoint the id of the local endpoint that is the client; 0: none is
 * @param server where the client sent it to
 * @param serverPort the port of the server, in host order
 * @param serverIdentity the security identity of the server
 * @param serverEndpoint the id of the local endpoint that is the server; 0: none is
 */
public record RedirectedFlow(
    int protocol,
    IpAddress client,
    int clientPort,
    int clientIdentity,
    int clientEndpoint,
    IpAddress server,
    int serverPort,
    int serverIdentity,
    int serverEndpoint) {
  /** Returns whether this is the same flow as another one, whatever the identities of its ends. */
  public boolean hasEndsOf(RedirectedFlow other) {
    return protocol == other.protocol
        && client.equals(other.client)
        && clientPort == other.clientPort
        && clientEndpoint == other.clientEndpoint
        && server.equals(other.server)
        && serverPort == other.serverPort
        && serverEndpoint == other.serverEndpoint;
  }
}
