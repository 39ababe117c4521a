package agent.l7proxy;

/**
 * The messages of the flows of one redirect.
 *
 * @param endpoint the id of the local endpoint whose flows they are
 * @param isIngress whether the endpoint is the server; else it is the client
 * @param serverPort the port of the server, in host order
 */
public record RedirectStatistics(
    int endpoint, boolean isIngress, int serverPort, Messages requests, Messages responses) {
  /**
   * Counts since the first flow.
   *
   * @param received what was read
   * @param forwarded what was sent on
   * @param denied what policy does not allow
   * @param error what could not be read, or had no answer
   */
  public record Messages(long received, long forwarded, long denied, long error) {}
}
