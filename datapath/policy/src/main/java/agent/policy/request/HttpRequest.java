package agent.policy.request;

/** What of an HTTP request rules look at, as the server will see it. */
public interface HttpRequest {
  /** Returns the method, such as {@code GET}. */
  String method();

  /** Returns the path with the query, in normal form. */
  String path();

  /** Returns the host without the port, in lower case; empty: the request names none. */
  String host();

  /**
   * Returns whether the request has a header field with this name and value.
   *
   * @param name compared without case
   * @param value null: any value
   */
  boolean hasHeader(String name, String value);
}
