package agent.types;

/**
 * The name of a service.
 *
 * @param name the name in its namespace
 * @param namespace the namespace; empty for none
 */
public record ServiceName(String name, String namespace) {
  @Override
  public String toString() {
    return namespace.isEmpty() ? name : namespace + "/" + name;
  }
}
