package agent.server.handler;

import agent.contract.service.ServiceModel;
import agent.contract.service.ServiceSpecModel;
import agent.contract.service.ServiceSpecModel.BackendAddress;
import agent.contract.service.ServiceSpecModel.Flags;
import agent.contract.service.ServiceSpecModel.FrontendAddress;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import agent.service.Backend;
import agent.service.Service;
import agent.service.Services;
import java.util.Map;

/** Routes of services. */
public final class ServiceHandlers implements ApiHandler.Group {
  private final Services services;

  /**
   * Creates the handlers.
   *
   * @param services the services of this node
   */
  public ServiceHandlers(Services services) {
    this.services = services;
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(
        Route.LIST_SERVICES,
        request -> Answer.streamedArray(services.list(), ServiceHandlers::encode));
    handlers.put(Route.GET_SERVICE, request -> Answer.ok(encode(services.get(id(request)))));
    handlers.put(Route.PUT_SERVICE, this::put);
    handlers.put(Route.DELETE_SERVICE, this::delete);
  }

  private Answer put(ApiRequest request) throws Exception {
    final Service service =
        ServiceDecoder.decode(id(request), request.body(ServiceSpecModel.class));
    final Services.Put put = ApiRequest.await(services.put(service));
    final ServiceModel answer = encode(put.service());
    return put.isCreated() ? Answer.created(answer) : Answer.ok(answer);
  }

  private Answer delete(ApiRequest request) throws Exception {
    ApiRequest.await(services.remove(id(request)));
    return Answer.ok();
  }

  private static int id(ApiRequest request) {
    return request.pathNumber("id", "service number");
  }

  static ServiceModel encode(Service service) {
    final boolean hasAffinity = service.affinitySec() > 0;
    final String protocol = service.frontend().protocol().name();
    final ServiceSpecModel spec =
        new ServiceSpecModel(
            service.backends().stream().map(backend -> encode(backend, protocol)).toList(),
            new Flags(
                hasAffinity ? service.affinitySec() : null,
                service.isLocalOutside() ? ServiceDecoder.LOCAL : ServiceDecoder.CLUSTER,
                service.forwarding() == null ? null : service.forwarding().text(),
                service.isLocal() ? ServiceDecoder.LOCAL : ServiceDecoder.CLUSTER,
                service.name(),
                service.namespace(),
                hasAffinity ? ServiceDecoder.CLIENT_IP : ServiceDecoder.NONE,
                service.type().text()),
            new FrontendAddress(
                service.frontend().address().toString(),
                service.frontend().port(),
                protocol,
                ServiceDecoder.EXTERNAL),
            service.id());
    return new ServiceModel(service.source().text(), spec, new ServiceModel.Status(spec));
  }

  private static BackendAddress encode(Backend backend, String protocol) {
    return new BackendAddress(
        backend.address().toString(),
        backend.nodeName(),
        backend.port(),
        protocol,
        backend.state().text(),
        backend.weight());
  }
}
