package agent.endpoint.state;

import agent.types.MacAddress;

/**
 * The veth of an endpoint.
 *
 * @param name the host side's name
 * @param index the host side's index in the agent's network namespace
 * @param mac the hardware address of the workload's side
 * @param hostMac the hardware address of the host side
 */
public record EndpointDevice(String name, int index, MacAddress mac, MacAddress hostMac) {}
