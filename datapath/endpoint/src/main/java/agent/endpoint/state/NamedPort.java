package agent.endpoint.state;

/**
 * A named port of a workload.
 *
 * @param name the name
 * @param port the number
 * @param protocol the name of the layer 4 protocol
 */
public record NamedPort(String name, int port, String protocol) {}
