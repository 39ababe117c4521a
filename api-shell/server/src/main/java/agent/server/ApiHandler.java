package agent.server;

import java.util.Map;

/**
 * Serves one route: decodes the request, makes one call to the domain, encodes the result. It runs
 * on a virtual thread and may block.
 */
@FunctionalInterface
public interface ApiHandler {
  /** The handlers of the routes that serve one part of the domain. */
  @FunctionalInterface
  interface Group {
    /**
     * Adds the handlers.
     *
     * @param handlers receives one handler for each route of this group
     */
    void addTo(Map<Route, ApiHandler> handlers);
  }

  /**
   * Serves a request.
   *
   * @param request the request
   * @return the answer
   * @throws Exception a {@link agent.types.Refusal} becomes its status code, anything else 500; the
   *     message of an {@link agent.types.OperationException} is the answer
   */
  Answer handle(ApiRequest request) throws Exception;
}
