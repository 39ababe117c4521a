package agent.policy.request;

/** What of an HTTP request rules look at, as the server will see it. */
public interface HttpRequest {
  /** Returns the method, such as {@code GET}. */
  String method();

  /** Returns the path with the query, in normal form. */
  String path();

  /** Returns the host without the port, in lower case; empty: the request names none. */
  String host();

  /** Returns the host with the port where the request names one, in lower case. */
  String authority();

  /**
   * Returns whether a header field has this value, for whoever reads one of its lines or all of
   * them (RFC 9110 section 5.3): each line alone and all joined by {@code ", "} have it, so that of
   * several lines none has a value.
   *
   * @param name compared without case
   * @param value compared with case; null: any value, of any number of lines
   */
  boolean hasHeader(String name, String value);

  /**
   * Returns whether one line of a header field has this value.
   *
   * @param name compared without case
   * @param value compared with case
   */
  boolean hasHeaderLine(String name, String value);
}
