package agent.policy.request;

import agent.maps.layout.PolicyDirection;

/**
 * The messages that a proxy has had because of a redirect of an endpoint.
 *
 * @param direction of the redirect, seen from the endpoint
 * @param port the port of the server
 */
public record RedirectStatistics(
    PolicyDirection direction, int port, Messages requests, Messages responses) {
  /**
   * Counts since the first flow.
   *
   * @param received what was read
   * @param forwarded what was sent on
   * @param denied what policy does not allow
   * @param error what could not be read or sent on, or had no answer
   */
  public record Messages(long received, long forwarded, long denied, long error) {
    /** Nothing was read yet. */
    public static final Messages NONE = new Messages(0, 0, 0, 0);
  }
}
