package agent.server.handler;

import agent.contract.WireFormat;
import agent.contract.fqdn.FqdnLookupModel;
import agent.dns.NameLookup;
import agent.dns.Names;
import agent.endpoint.Endpoints;
import agent.endpoint.state.EndpointIdentifier;
import agent.policy.rule.NamePattern;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import agent.types.Prefix;
import agent.types.Refusal;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Routes of the names that policy uses. */
public final class FqdnHandlers implements ApiHandler.Group {
  private static final String PATTERN = "matchpattern";
  private static final String CIDR = "cidr";

  private final Names names;
  private final Endpoints endpoints;

  /**
   * Creates the handlers.
   *
   * @param names the names of this node
   * @param endpoints the endpoints
   */
  public FqdnHandlers(Names names, Endpoints endpoints) {
    this.names = names;
    this.endpoints = endpoints;
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.LIST_NAMES, this::list);
    handlers.put(Route.DELETE_NAMES, this::delete);
    handlers.put(Route.LIST_NAMES_OF_ENDPOINT, this::listOfEndpoint);
  }

  private Answer list(ApiRequest request) {
    final NamePattern pattern = pattern(request);
    final Prefix cidr = cidr(request);
    final List<NameLookup> found = matching(names.list(), pattern, cidr);
    if (found.isEmpty() && (cidr != null || request.query(PATTERN) != null)) {
      throw Refusal.notFound(cidr == null ? PATTERN : CIDR, "no name matches");
    }
    return Answer.streamedArray(found, FqdnHandlers::encode);
  }

  private static List<NameLookup> matching(List<NameLookup> all, NamePattern pattern, Prefix cidr) {
    return all.stream()
        .filter(lookup -> pattern.matches(lookup.name()))
        .filter(lookup -> cidr == null || lookup.addresses().stream().anyMatch(cidr::contains))
        .toList();
  }

  private static NamePattern pattern(ApiRequest request) {
    final String text = request.query(PATTERN);
    return text == null ? NamePattern.ALL : NamePattern.parse(PATTERN, text);
  }

  private static Prefix cidr(ApiRequest request) {
    final String text = request.query(CIDR);
    return text == null ? null : Prefix.parse(CIDR, text);
  }

  private Answer delete(ApiRequest request) throws Exception {
    ApiRequest.await(names.remove(pattern(request)));
    return Answer.ok();
  }

  private Answer listOfEndpoint(ApiRequest request) {
    final NamePattern pattern = pattern(request);
    final Prefix cidr = cidr(request);
    final EndpointIdentifier id = EndpointIdentifier.parse(request.path("id"));
    final int endpoint = Math.toIntExact(endpoints.get(id).id());
    final List<NameLookup> found = matching(names.list(endpoint), pattern, cidr);
    if (found.isEmpty() && (cidr != null || request.query(PATTERN) != null)) {
      throw Refusal.notFound("id", "no lookup of endpoint " + id + " matches");
    }
    return Answer.streamedArray(found, FqdnHandlers::encode);
  }

  static FqdnLookupModel encode(NameLookup lookup) {
    return new FqdnLookupModel(
        lookup.endpointId() == 0 ? null : (long) lookup.endpointId(),
        WireFormat.timestamp(lookup.expirationTime()),
        lookup.name(),
        lookup.addresses().stream().map(Object::toString).toList(),
        WireFormat.timestamp(lookup.lookupTime()),
        lookup.source().name().toLowerCase(Locale.ROOT),
        lookup.ttlSec());
  }
}
