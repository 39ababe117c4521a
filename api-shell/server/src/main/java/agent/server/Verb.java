package agent.server;

/** The HTTP methods that the API uses. */
public enum Verb {
  /** Reads. */
  GET,
  /** Creates or replaces. */
  PUT,
  /** Creates. */
  POST,
  /** Changes. */
  PATCH,
  /** Removes. */
  DELETE;

  /** Returns whether a call with this method changes something. */
  public boolean changes() {
    return this != GET;
  }

  static Verb of(String method) {
    return switch (method) {
      case "GET" -> GET;
      case "PUT" -> PUT;
      case "POST" -> POST;
      case "PATCH" -> PATCH;
      case "DELETE" -> DELETE;
      default -> null;
    };
  }
}
