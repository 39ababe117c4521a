package agent.endpoint;

/**
 * A port of a workload that has a name.
 *
 * @param name the name
 * @param port the number
 * @param protocol the layer 4 protocol's name
 */
public record NamedPort(String name, int port, String protocol) {}
