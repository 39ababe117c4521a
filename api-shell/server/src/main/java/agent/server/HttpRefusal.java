package agent.server;

import java.util.Map;

/** A request that the server refuses before it calls the domain. */
final class HttpRefusal extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int status;
  private final transient Map<String, String> headers;

  private HttpRefusal(int status, String message, Map<String, String> headers) {
    super(message, null, false, false);
    this.status = status;
    this.headers = headers;
  }

  static HttpRefusal of(int status, String message) {
    return new HttpRefusal(status, message, Map.of());
  }

  static HttpRefusal badRequest(String field, String reason) {
    return of(400, field + ": " + reason);
  }

  static HttpRefusal withHeader(int status, String message, String name, String value) {
    return new HttpRefusal(status, message, Map.of(name, value));
  }

  int status() {
    return status;
  }

  Map<String, String> headers() {
    return headers;
  }
}
