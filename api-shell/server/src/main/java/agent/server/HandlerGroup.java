package agent.server;

import java.util.Map;

/** The handlers of routes that serve one part of the domain. */
@FunctionalInterface
public interface HandlerGroup {
  /**
   * Adds the handlers.
   *
   * @param handlers where to
   */
  void addTo(Map<Route, ApiHandler> handlers);
}
