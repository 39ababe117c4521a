package agent.policy.request;

import java.util.List;

/**
 * What policy says of an HTTP request.
 *
 * @param allowed whether it may pass
 * @param changes what is done to its header where a {@code headerMatches} does not hold, in order
 */
public record HttpVerdict(boolean allowed, List<HeaderChange> changes) {
  /** It passes as it is. */
  public static final HttpVerdict ALLOWED = new HttpVerdict(true, List.of());

  /** It is answered 403. */
  public static final HttpVerdict DENIED = new HttpVerdict(false, List.of());

  /** What a mismatch does. */
  public enum Action {
    /** The access log tells it. */
    LOG,
    /** A line with the value is added to those that there are. */
    ADD,
    /** All lines of the field are removed. */
    DELETE,
    /** All lines of the field become one with the value. */
    REPLACE
  }

  /**
   * One change.
   *
   * @param action what to do
   * @param name the name of the field
   * @param value the value that the rule asks for
   */
  public record HeaderChange(Action action, String name, String value) {}
}
