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
    /** The field is added. */
    ADD,
    /** The fields of this name with other values are removed. */
    DELETE,
    /** The fields of this name become one with the value. */
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
