package agent.server.handler;

import agent.contract.daemon.MetricModel;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.RenderedAnswer;
import agent.server.Route;
import agent.server.metrics.MetricFamily;
import agent.server.metrics.MetricRegistry;
import agent.server.metrics.MetricText;
import agent.server.view.DaemonView;
import java.util.List;
import java.util.Map;

/** Routes of the daemon: status, health, configuration, metrics. */
public final class DaemonHandlers implements ApiHandler.Group {
  private static final int OK = 200;

  private final DaemonView daemon;
  private final MetricRegistry metrics;
  private final RenderedAnswer whole;
  private final RenderedAnswer brief;

  /**
   * Creates the handlers.
   *
   * @param daemon the daemon
   * @param metrics its metrics
   */
  public DaemonHandlers(DaemonView daemon, MetricRegistry metrics) {
    this.daemon = daemon;
    this.metrics = metrics;
    whole = status(false);
    brief = status(true);
  }

  /** The status moves by itself: its age alone bounds how late it is. */
  private RenderedAnswer status(boolean isBrief) {
    return new RenderedAnswer(() -> 0, System::nanoTime, () -> daemon.status(isBrief));
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.GET_HEALTHZ, ApiHandler.rendering(whole, this::status));
    handlers.put(
        Route.GET_HEALTH, request -> Answer.ok(daemon.health(request.headerSwitch("brief"))));
    handlers.put(Route.GET_CONFIG, request -> Answer.ok(daemon.configuration()));
    handlers.put(Route.GET_METRICS, this::metrics);
  }

  private Answer status(ApiRequest request) {
    final boolean isBrief = request.headerSwitch("brief");
    return (isBrief ? brief : whole).answer(request, () -> Answer.ok(daemon.status(isBrief)));
  }

  private Answer metrics(ApiRequest request) {
    final List<MetricFamily> families = metrics.collect();
    final MetricText form = MetricText.accepted(request.header("Accept"));
    return form == null
        ? Answer.ok(samples(families))
        : new Answer(OK, new Answer.Text(form.contentType(), form.write(families)));
  }

  private static List<MetricModel> samples(List<MetricFamily> families) {
    return families.stream()
        .flatMap(
            family ->
                family.samples().stream()
                    .map(
                        sample ->
                            new MetricModel(
                                sample.labels(), family.name() + sample.suffix(), sample.value())))
        .toList();
  }
}
