package agent.server.handler;

import agent.contract.daemon.DaemonConfigurationModel;
import agent.endpoint.DaemonConfiguration;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import agent.server.view.DaemonView;
import java.util.Map;

/** Route that changes the configuration of the daemon. */
public final class ConfigurationHandlers implements ApiHandler.Group {
  private final DaemonConfiguration configuration;
  private final DaemonView daemon;

  /**
   * Creates the handlers.
   *
   * @param configuration changes the configuration
   * @param daemon shows it
   */
  public ConfigurationHandlers(DaemonConfiguration configuration, DaemonView daemon) {
    this.configuration = configuration;
    this.daemon = daemon;
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(
        Route.PATCH_CONFIG,
        request -> {
          final DaemonConfigurationModel.Spec body =
              request.body(DaemonConfigurationModel.Spec.class);
          ApiRequest.await(configuration.change(body.options(), body.policyEnforcement()));
          return Answer.ok(daemon.configuration());
        });
  }
}
