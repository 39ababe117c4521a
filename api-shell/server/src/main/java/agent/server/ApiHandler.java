package agent.server;

/** Serves one route: decode, one call on the domain, encode. It may block; it runs on a worker. */
@FunctionalInterface
public interface ApiHandler {
  /**
   * Serves a request.
   *
   * @param request the request
   * @return the answer
   * @throws Exception a {@link agent.types.Refusal} becomes its status code, anything else 500
   */
  Answer handle(ApiRequest request) throws Exception;
}
