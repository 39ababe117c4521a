package agent.service;

import agent.types.IpAddress;

/**
 * The address that clients use.
 *
 * @param address its address
 * @param port its port, 1 to 65535
 * @param protocol its protocol
 */
public record Frontend(IpAddress address, int port, ServiceProtocol protocol) {
  @Override
  public String toString() {
    return (address.isIpv4() ? address.toString() : "[" + address + "]")
        + ":"
        + port
        + "/"
        + protocol;
  }
}
