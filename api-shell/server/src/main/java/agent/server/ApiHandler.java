package agent.server;

import java.nio.ByteBuffer;
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

  /**
   * Returns the body of the answer to a request without parameters, body and header fields that
   * this handler reads, where it is rendered and valid; null for every other handler. It must not
   * wait: an I/O thread calls it.
   *
   * @param changes how many changing calls the API has answered
   */
  default ByteBuffer rendered(long changes) {
    return null;
  }

  /**
   * Returns a handler whose answer to a plain request is rendered once per change.
   *
   * @param plain the answer to a plain request
   * @param handler serves every request
   */
  static ApiHandler rendering(RenderedAnswer plain, ApiHandler handler) {
    return new ApiHandler() {
      @Override
      public Answer handle(ApiRequest request) throws Exception {
        return handler.handle(request);
      }

      @Override
      public ByteBuffer rendered(long changes) {
        return plain.present(changes);
      }
    };
  }
}
