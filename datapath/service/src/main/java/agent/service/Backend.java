package agent.service;

import agent.types.IpAddress;
import agent.types.Refusal;
import java.util.Locale;

/**
 * One that serves.
 *
 * @param address its address
 * @param port its port, 1 to 65535
 * @param state whether it takes connections
 * @param weight its share of new connections, 0 to 65535
 * @param nodeName the node that it runs on; null where it is not known
 */
public record Backend(IpAddress address, int port, State state, int weight, String nodeName) {
  /** Whether it takes connections, with the names of the API in lower case. */
  public enum State {
    /** It takes new connections. */
    ACTIVE,
    /** It keeps its connections and takes no new ones. */
    TERMINATING,
    /** It does not answer, and takes nothing. */
    QUARANTINED,
    /** It is out of service on purpose, and takes nothing. */
    MAINTENANCE;

    private final String text = name().toLowerCase(Locale.ROOT);

    /** Returns the name in the API. */
    public String text() {
      return text;
    }

    /**
     * Returns the state of a name.
     *
     * @throws Refusal INVALID naming the field, for any other name
     */
    public static State parse(String field, String name) {
      for (final State state : values()) {
        if (state.text.equals(name)) {
          return state;
        }
      }
      throw Refusal.invalid(
          field, "'" + name + "' is not active, terminating, quarantined or maintenance");
    }
  }
}
