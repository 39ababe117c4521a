package agent.endpoint.state;

import agent.datapath.spec.EndpointSpec;
import agent.types.Refusal;

/**
 * The endpoint id string of the contract: {@code [prefix:]id}.
 *
 * @param kind the kind of identifier
 * @param value the text after the prefix
 */
public record EndpointIdentifier(Kind kind, String value) {
  /** The prefixes of the contract. */
  public enum Kind {
    /** The agent's own id, 1 to 65535; on creation 0 lets the agent allocate one. */
    AGENT_LOCAL("agent-local", 1),
    /** {@code <cluster>:<node>:<id>}. */
    AGENT_GLOBAL("agent-global", 3),
    /** {@code <container id>:<interface>}. */
    CNI_ATTACHMENT_ID("cni-attachment-id", 2),
    /** The runtime's container id. */
    CONTAINER_ID("container-id", 1),
    /** The runtime's container name. */
    CONTAINER_NAME("container-name", 1),
    /** {@code <namespace>:<pod>}. */
    POD_NAME("pod-name", 2),
    /** {@code <namespace>:<name>} of the endpoint object. */
    CEP_NAME("cep-name", 2),
    /** The runtime's endpoint id. */
    RUNTIME_ENDPOINT("runtime-endpoint", 1);

    private final String prefix;
    private final int parts;

    Kind(String prefix, int parts) {
      this.prefix = prefix;
      this.parts = parts;
    }
  }

  /** The largest local id. */
  public static final int MAX_LOCAL_ID = EndpointSpec.MAX_ID;

  private static final int MAX_LENGTH = 1024;

  /** Returns the identifier of a local id. */
  public static EndpointIdentifier local(int id) {
    return new EndpointIdentifier(Kind.AGENT_LOCAL, Integer.toString(id));
  }

  /**
   * Reads an identifier.
   *
   * @param text {@code [prefix:]id}
   * @return the identifier
   * @throws Refusal INVALID of the field {@code id}
   */
  public static EndpointIdentifier parse(String text) {
    if (text == null || text.isEmpty()) {
      throw Refusal.invalid("id", "is missing");
    }
    if (text.length() > MAX_LENGTH) {
      throw Refusal.invalid("id", "longer than " + MAX_LENGTH + " characters");
    }
    if (text.chars().anyMatch(c -> c < ' ' || c == 0x7f)) {
      throw Refusal.invalid("id", "contains control characters");
    }
    final int colon = text.indexOf(':');
    if (colon < 0) {
      return checked(Kind.AGENT_LOCAL, text);
    }
    final String prefix = text.substring(0, colon);
    for (final Kind kind : Kind.values()) {
      if (kind.prefix.equals(prefix)) {
        return checked(kind, text.substring(colon + 1));
      }
    }
    throw Refusal.invalid("id", "'" + prefix + "' is not a valid prefix of an endpoint id");
  }

  private static EndpointIdentifier checked(Kind kind, String value) {
    final String[] parts = kind.parts == 1 ? new String[] {value} : value.split(":", -1);
    boolean good = parts.length == kind.parts;
    for (final String part : parts) {
      good &= !part.isEmpty();
    }
    if (!good) {
      throw Refusal.invalid("id", "'" + value + "' is not a valid " + kind.prefix);
    }
    if (kind == Kind.AGENT_LOCAL || kind == Kind.AGENT_GLOBAL) {
      number(parts[parts.length - 1]);
    }
    return new EndpointIdentifier(kind, value);
  }

  private static int number(String text) {
    if (text.length() > 5 || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
      throw Refusal.invalid("id", "'" + text + "' is not a number from 0 to " + MAX_LOCAL_ID);
    }
    final int number = Integer.parseInt(text);
    if (number > MAX_LOCAL_ID) {
      throw Refusal.invalid("id", "'" + text + "' is not a number from 0 to " + MAX_LOCAL_ID);
    }
    return number;
  }

  /** Returns the local id; 0 for a kind without one. */
  public int localId() {
    return switch (kind) {
      case AGENT_LOCAL -> number(value);
      case AGENT_GLOBAL -> number(part(2));
      default -> 0;
    };
  }

  /**
   * Returns one of the parts between the colons.
   *
   * @param index from 0
   * @return the part
   */
  public String part(int index) {
    return value.split(":", -1)[index];
  }

  /** Returns {@code prefix:id}. */
  @Override
  public String toString() {
    return kind.prefix + ":" + value;
  }
}
