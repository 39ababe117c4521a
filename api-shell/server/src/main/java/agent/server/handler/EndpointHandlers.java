package agent.server.handler;

import agent.contract.endpoint.EndpointBatchDeleteRequest;
import agent.contract.endpoint.EndpointChangeRequest;
import agent.contract.endpoint.EndpointConfigurationSpecModel;
import agent.contract.endpoint.EndpointModel;
import agent.contract.endpoint.LabelConfigurationModel;
import agent.endpoint.Endpoints;
import agent.endpoint.state.EndpointIdentifier;
import agent.endpoint.state.EndpointSnapshot;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.RenderedAnswer;
import agent.server.Route;
import agent.server.view.ProxyView;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** Routes of endpoints. */
public final class EndpointHandlers implements ApiHandler.Group {
  private static final int ACCEPTED = 202;

  private final Endpoints endpoints;
  private final ProxyView proxies;
  private final EndpointDecoder decoder = new EndpointDecoder();
  private final RenderedAnswer all;

  /**
   * Creates the handlers.
   *
   * @param endpoints the endpoints
   * @param proxies what the proxies do for them
   */
  public EndpointHandlers(Endpoints endpoints, ProxyView proxies) {
    this.endpoints = endpoints;
    this.proxies = proxies;
    all =
        new RenderedAnswer(
            endpoints::version,
            System::nanoTime,
            () -> endpoints.list(List.of()).stream().map(this::encode).iterator());
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.LIST_ENDPOINTS, ApiHandler.rendering(all, this::list));
    handlers.put(Route.DELETE_ENDPOINTS, this::deleteByContainer);
    handlers.put(Route.GET_ENDPOINT, request -> get(request, this::encode));
    handlers.put(Route.PUT_ENDPOINT, this::create);
    handlers.put(Route.PATCH_ENDPOINT, this::modify);
    handlers.put(Route.DELETE_ENDPOINT, this::delete);
    handlers.put(
        Route.GET_ENDPOINT_CONFIG, request -> get(request, EndpointEncoder::configuration));
    handlers.put(Route.PATCH_ENDPOINT_CONFIG, this::configure);
    handlers.put(Route.GET_ENDPOINT_LABELS, request -> get(request, EndpointEncoder::labels));
    handlers.put(Route.PATCH_ENDPOINT_LABELS, this::label);
    handlers.put(Route.GET_ENDPOINT_LOG, request -> get(request, EndpointEncoder::log));
    handlers.put(Route.GET_ENDPOINT_HEALTHZ, request -> get(request, EndpointEncoder::health));
  }

  private EndpointModel encode(EndpointSnapshot endpoint) {
    return EndpointEncoder.endpoint(endpoint, proxies.of(endpoint.id()));
  }

  private static EndpointIdentifier id(ApiRequest request) {
    return EndpointIdentifier.parse(request.path("id"));
  }

  private Answer list(ApiRequest request) {
    final Optional<List<String>> labels = request.labels();
    return labels.isPresent()
        ? streamed(labels.get())
        : all.answer(request, () -> streamed(List.of()));
  }

  private Answer streamed(List<String> labels) {
    return Answer.streamedArray(endpoints.list(labels), this::encode);
  }

  private Answer get(ApiRequest request, Function<? super EndpointSnapshot, ?> encoder) {
    return Answer.ok(encoder.apply(endpoints.get(id(request))));
  }

  private Answer create(ApiRequest request) throws Exception {
    final EndpointIdentifier id = id(request);
    final EndpointChangeRequest body = request.body(EndpointChangeRequest.class);
    return Answer.created(encode(ApiRequest.await(endpoints.create(id, decoder.decode(body)))));
  }

  private Answer modify(ApiRequest request) throws Exception {
    final EndpointIdentifier id = id(request);
    final EndpointChangeRequest body = request.body(EndpointChangeRequest.class);
    return Answer.ok(encode(ApiRequest.await(endpoints.modify(id, decoder.decode(body)))));
  }

  private Answer delete(ApiRequest request) throws Exception {
    return deleted(ApiRequest.await(endpoints.delete(id(request))));
  }

  private Answer deleteByContainer(ApiRequest request) throws Exception {
    final String containerId = request.body(EndpointBatchDeleteRequest.class).containerId();
    return deleted(ApiRequest.await(endpoints.deleteByContainerId(containerId)));
  }

  private static Answer deleted(List<String> errors) {
    return errors.isEmpty() ? Answer.ok(errors) : new Answer(ACCEPTED, new Answer.Json(errors));
  }

  private Answer configure(ApiRequest request) throws Exception {
    final EndpointIdentifier id = id(request);
    final EndpointConfigurationSpecModel body = request.body(EndpointConfigurationSpecModel.class);
    final List<String> labels =
        body.labelConfiguration() == null ? null : body.labelConfiguration().user();
    return Answer.ok(
        EndpointEncoder.configuration(
            ApiRequest.await(endpoints.configure(id, body.options(), labels))));
  }

  private Answer label(ApiRequest request) throws Exception {
    final EndpointIdentifier id = id(request);
    final List<String> labels = request.body(LabelConfigurationModel.class).user();
    if (labels == null) {
      throw ApiRequest.badBody("user", "is missing, an array of labels is expected");
    }
    return Answer.ok(EndpointEncoder.labels(ApiRequest.await(endpoints.setUserLabels(id, labels))));
  }
}
